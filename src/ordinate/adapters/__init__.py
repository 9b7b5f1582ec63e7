"""The losses and methods in trainers of other libraries; ``pip install "ordinate[adapters]"`` installs what they need.

What fits as it is has no adapter: any ``loss(embeddings, labels)`` is a criterion of skorch's nets.
"""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.adapters.lightning import LightningData, LightningMethod
    from ordinate.adapters.pytorch_metric_learning import CrossBatchMemory, MetricLearningLoss
    from ordinate.adapters.sentence_transformers import SentenceLoss
    from ordinate.adapters.skorch import EmbeddingNet
    from ordinate.adapters.transformers import trainer_loss

_HOMES = {
    "CrossBatchMemory": "ordinate.adapters.pytorch_metric_learning",
    "EmbeddingNet": "ordinate.adapters.skorch",
    "LightningData": "ordinate.adapters.lightning",
    "LightningMethod": "ordinate.adapters.lightning",
    "MetricLearningLoss": "ordinate.adapters.pytorch_metric_learning",
    "SentenceLoss": "ordinate.adapters.sentence_transformers",
    "trainer_loss": "ordinate.adapters.transformers",
}

__all__ = [
    "CrossBatchMemory", "EmbeddingNet", "LightningData", "LightningMethod", "MetricLearningLoss", "SentenceLoss",
    "trainer_loss",
]  # fmt: skip

__getattr__, __dir__ = lazily("ordinate.adapters", _HOMES)
