"""Periodic embedding of numbers (Gorishniy et al., "On Embeddings for Numerical Features", 2022)."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import relu


class PeriodicEmbedding(nn.Module):
    r"""Each number x becomes itself and ``relu(W [sin(2 pi c x), cos(2 pi c x)] + b)`` with learned frequencies c.

    A plain network learns functions that bend often only slowly; this gives it every bend at the start.
    Columns that are not numbers pass as they are.

    Args:
        in_features: Columns of the input (n, in_features).
        numeric: Positions of the columns that are numbers.
        frequencies: Number of frequencies c of each number, drawn normal with deviation ``scale``.
        features: Number of outputs per number.
        scale: Deviation of the frequencies at the start, in cycles per standard deviation of the column.

    Example:
        >>> PeriodicEmbedding(3, numeric=[0, 2], features=4)(torch.zeros(5, 3)).shape
        torch.Size([5, 11])
    """

    numeric: Tensor

    def __init__(
        self, in_features: int, numeric: Sequence[int], frequencies: int = 16, features: int = 12, scale: float = 0.3
    ) -> None:
        super().__init__()
        self.register_buffer("numeric", torch.tensor(list(numeric), dtype=torch.int64))
        self.frequencies = nn.Parameter(torch.randn(len(numeric), frequencies) * scale)
        self.weight = nn.Parameter(torch.randn(len(numeric), 2 * frequencies, features) / math.sqrt(2 * frequencies))
        self.bias = nn.Parameter(torch.zeros(len(numeric), features))
        self.out_features = in_features + len(numeric) * features

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n g"]:
        phase = 2 * math.pi * x[:, self.numeric, None] * self.frequencies
        waves = torch.cat([phase.sin(), phase.cos()], dim=2)
        embedded = relu(torch.einsum("nfk,fkd->nfd", waves, self.weight) + self.bias)
        return torch.cat([x, embedded.flatten(1)], dim=1)
