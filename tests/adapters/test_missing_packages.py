"""Without a trainer's package the adapters can be imported, and say what to install."""

import subprocess
import sys

PACKAGES = ("pytorch_metric_learning", "sentence_transformers", "skorch", "transformers", "accelerate", "datasets")
CODE = """
import sys
sys.modules.update(dict.fromkeys({packages}))
import torch
from ordinate import adapters
from ordinate.adapters import SentenceLoss, trainer_loss
from ordinate.losses import SupCRLoss
trainer_loss(SupCRLoss()), SentenceLoss(torch.nn.Identity(), SupCRLoss())
for name in ("MetricLearningLoss", "CrossBatchMemory", "EmbeddingNet"):
    try:
        getattr(adapters, name)
    except ValueError as error:
        print(error)
"""


def test_what_is_missing_is_named_with_the_way_to_install_it():
    run = subprocess.run(
        [sys.executable, "-c", CODE.format(packages=PACKAGES)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["MetricLearningLoss", "MetricLearningLoss", "EmbeddingNet"]
    assert [line.split()[2] for line in lines] == ["pytorch_metric_learning", "pytorch_metric_learning", "skorch"]
    assert all(line.endswith('pip install "ordinate[adapters]"') for line in lines)
