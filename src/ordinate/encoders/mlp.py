"""Encoders of tables: a multilayer perceptron, and a periodic embedding of numbers before it."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import relu

from ordinate.checks import check_choice
from ordinate.options import Activation

ACTIVATIONS = {"relu": nn.ReLU, "silu": nn.SiLU, "gelu": nn.GELU, "tanh": nn.Tanh}


class MLP(nn.Sequential):
    """Hidden layers with an activation each, then a linear layer to the embedding.

    The end is linear, so that embeddings reach the whole space: OTD's half circle needs cosines below 0.

    Args:
        in_features: Columns of the input (n, in_features).
        embedding_dim: Dimension d of the embeddings (n, d); None leaves out the linear layer.
        widths: Numbers of units of the hidden layers.
        activation: ``"relu"``, ``"silu"``, ``"gelu"`` or ``"tanh"``.
        dropout: Share of hidden units dropped in training, 0 to 1.

    Example:
        >>> import torch
        >>> MLP(5, embedding_dim=8)(torch.zeros(2, 5)).shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        in_features: int,
        embedding_dim: int | None,
        widths: Sequence[int] = (256, 256, 256),
        activation: Activation = "relu",
        dropout: float = 0.0,
    ) -> None:
        check_choice(activation, [*ACTIVATIONS], "activation")
        layers: list[nn.Module] = []
        width = in_features
        for hidden in widths:
            layers += [nn.Linear(width, hidden), ACTIVATIONS[activation]()]
            if dropout:
                layers.append(nn.Dropout(dropout))
            width = hidden
        if embedding_dim is not None:
            layers.append(nn.Linear(width, embedding_dim))
        super().__init__(*layers)

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n d"]:
        return super().forward(x)


class PeriodicEmbedding(nn.Module):
    r"""Each number x becomes itself and ``relu(W [sin(2 pi c x), cos(2 pi c x)] + b)`` with learned frequencies c.

    A network of plain layers learns functions of high frequency slowly; with this embedding it learns them sooner
    (Gorishniy et al., 2022). Columns that are not numbers pass as they are.

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
