"""CORAL: one direction in the embedding and a bias for every threshold (Cao et al., 2020)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class CORALLayer(nn.Module):
    """Logits of a rank lying above each threshold, that differ between thresholds by a constant.

    The biases start in descending order, from 1 to 1/(C-1). Its loss is that of OR.

    Args:
        embedding_dim: Dimension d of the embeddings (n, d).
        num_classes: C; (n, C-1) logits.

    Example:
        >>> CORALLayer(4, num_classes=5)(torch.zeros(2, 4))[0]
        tensor([1.0000, 0.7500, 0.5000, 0.2500], grad_fn=<SelectBackward0>)
    """

    def __init__(self, embedding_dim: int, num_classes: int) -> None:
        super().__init__()
        self.direction = nn.Linear(embedding_dim, 1, bias=False)
        self.biases = nn.Parameter(torch.arange(num_classes - 1, 0, -1) / (num_classes - 1))

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n boundaries"]:
        return self.direction(embeddings) + self.biases
