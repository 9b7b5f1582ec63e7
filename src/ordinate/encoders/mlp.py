"""Multilayer perceptron for tables."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn

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
