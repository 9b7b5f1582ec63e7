"""A linear model of a table's columns beside the network that embeds them."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class LinearPath(nn.Module):
    """A network whose embeddings are moved so that a linear head predicts in part what a linear model does.

    Of all that the head maps to the blend of its own prediction and the linear model's, the embedding becomes the
    nearest to the network's: it moves within the rows of the head's weights, and stays as it is across them.

    Args:
        network: from columns (n, f) to embeddings (n, d).
        in_features: f.
        embedding_dim: d.

    Example:
        >>> network, head, model = nn.Linear(5, 4), nn.Linear(4, 1), nn.Linear(5, 1)
        >>> path = LinearPath(network, in_features=5, embedding_dim=4)
        >>> path.blend(head, model, share=0.3)
        >>> x = torch.randn(6, 5)
        >>> wanted = 0.7 * head(network(x)) + 0.3 * model(x)
        >>> torch.allclose(head(path(x)), wanted, atol=1e-5)
        True
    """

    def __init__(self, network: nn.Module, in_features: int, embedding_dim: int) -> None:
        super().__init__()
        self.network = network
        self.kept = nn.Linear(embedding_dim, embedding_dim, bias=False).requires_grad_(False)
        self.path = nn.Linear(in_features, embedding_dim).requires_grad_(False)

    def blend(self, head: nn.Module, model: nn.Module, share: float) -> None:
        """Move embeddings so that the head predicts ``share`` of what the model does and the rest of what it did.

        Args:
            head: affine, from embeddings to targets (n, p), of p independent directions.
            model: affine, from columns to the same targets.
            share: from 0 to 1.
        """
        weight, bias = _affine(head, self.kept.in_features)
        of_columns, constant = _affine(model, self.path.in_features)
        towards = share * torch.linalg.pinv(weight)
        identity = torch.eye(self.kept.in_features, dtype=torch.float64)
        with torch.no_grad():
            self.kept.weight.copy_(identity - towards @ weight)
            self.path.weight.copy_(towards @ of_columns)
            self.path.bias.copy_(towards @ (constant - bias))

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n d"]:
        embeddings: Tensor = self.kept(self.network(x)) + self.path(x)
        return embeddings


def directions(head: nn.Module, embedding_dim: int) -> int:
    """Return in how many independent directions of embeddings an affine head looks."""
    return int(torch.linalg.matrix_rank(_affine(head, embedding_dim)[0]))


def _affine(layer: nn.Module, width: int) -> tuple[Float[Tensor, "p w"], Float[Tensor, " p"]]:
    """Return weights and constants of a module that is affine in its ``width`` columns, in float64."""
    dtype = next(layer.parameters()).dtype
    with torch.no_grad():
        constant = layer(torch.zeros(1, width, dtype=dtype))
        rows = layer(torch.eye(width, dtype=dtype)) - constant
    return rows.T.double(), constant[0].double()
