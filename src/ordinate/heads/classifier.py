"""CLOC's classifier: two linear layers on the embedding (CLOC, Section 4.2)."""

from jaxtyping import Float
from torch import Tensor, nn


class Classifier(nn.Sequential):
    """Linear, ReLU, linear: one score per rank.

    Example:
        >>> import torch
        >>> Classifier(4, num_classes=3)(torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(self, embedding_dim: int, num_classes: int) -> None:
        super().__init__(nn.Linear(embedding_dim, embedding_dim), nn.ReLU(), nn.Linear(embedding_dim, num_classes))

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        return super().forward(embeddings)
