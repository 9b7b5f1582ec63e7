"""The losses in ``SentenceTransformerTrainer``: of sentences with labels, and of pairs with scores."""

from collections.abc import Iterable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ordinate.adapters.transformers import LOSS_IN_MODEL
from ordinate.counts import counted
from ordinate.encoders.text import pair_features
from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes


class SentenceLoss(nn.Module):
    """A loss for ``SentenceTransformerTrainer``, on a column of texts or two, and one of labels.

    The embedding of a text is that of the model. A pair with sentence embeddings u and v has one embedding,
    ``(u, v, |u - v|, u * v)``, as in SupReMix's training on STS-B and in the estimators' text encoder. The parameters
    of the loss and of the head are trained by the trainer too, but only in a single process: with several processes
    sentence-transformers averages the gradients of the model only.

    A model with dropout draws masks for each text of a pair, which makes ``|u - v|`` larger in training than in
    prediction: set its dropout to 0 for pairs. A batch that is too small for a loss is an error:
    ``dataloader_drop_last=True``.

    Args:
        model: ``SentenceTransformer`` that embeds the texts.
        loss: Loss of :mod:`ordinate.losses`.
        head: Module from sentence embeddings (n, k, w), k = 1 or 2, to embeddings (n, d). ``TextEncoder(None, w, k,
            d)`` of :mod:`ordinate.encoders.text` is that of the estimators; None has none.

    Raises:
        OrdinateError: while training, more than two columns of texts, or parameters of loss or head in several
            processes.

    Example:
        >>> import torch
        >>> from ordinate.losses import SupReMixLoss
        >>> model = torch.nn.Identity()  # stands for a SentenceTransformer
        >>> loss = SentenceLoss(model, SupReMixLoss(temperature=0.5, window=2.0))  # for SentenceTransformerTrainer
        >>> texts = [{"sentence_embedding": torch.randn(8, 4)} for _ in range(2)]
        >>> loss(texts, torch.tensor([0.0, 1.2, 5.0, 3.4, 4.0, 1.2, 2.0, 2.6])).shape
        torch.Size([])
    """

    def __init__(self, model: nn.Module, loss: nn.Module, head: nn.Module | None = None) -> None:
        super().__init__()
        self.model = model
        self.head = head
        self.add_module(LOSS_IN_MODEL, loss)

    def forward(
        self, sentence_features: Iterable[dict[str, object]], labels: Shaped[Tensor, "n *p"]
    ) -> Float[Tensor, "*n"]:
        self.train(self.model.training)  # The trainer sets the mode of the model only.
        vectors = [self.model(features)["sentence_embedding"] for features in sentence_features]
        return self.compute_loss_from_embeddings(vectors, labels)

    def compute_loss_from_embeddings(
        self, embeddings: list[Float[Tensor, "n w"]], labels: Shaped[Tensor, "n *p"]
    ) -> Float[Tensor, "*n"]:
        """Return the loss of sentence embeddings, one tensor per column of texts."""
        loss: nn.Module = getattr(self, LOSS_IN_MODEL)
        if len(embeddings) not in {1, 2}:
            raise OrdinateError(
                "train_dataset", f"{counted(len(embeddings), 'column')} of texts", "one, or the two of a pair"
            )
        if embeddings[0].requires_grad and all_processes() is not None:
            for name, module in {"loss": loss, "head": self.head}.items():
                if module is not None and any(parameter.requires_grad for parameter in module.parameters()):
                    raise OrdinateError(name, "parameters to train in several processes", "none, or a single process")
        if self.head is not None:
            return loss(self.head(torch.stack(embeddings, 1)), labels)
        if len(embeddings) == 2:
            return loss(pair_features(*embeddings), labels)
        return loss(embeddings[0], labels)
