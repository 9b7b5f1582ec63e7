import pytest
import torch

from ordinate_papers.heads import CORALLayer

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))


def test_logits_and_first_biases_are_coral_pytorchs():
    layers = pytest.importorskip("coral_pytorch.layers")
    theirs, ours = layers.CoralLayer(4, num_classes=5), CORALLayer(4, num_classes=5)
    ours.direction.weight.data.copy_(theirs.coral_weights.weight)
    torch.testing.assert_close(ours(X), theirs(X), rtol=0, atol=1e-6)
