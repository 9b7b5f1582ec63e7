"""A linear model of a table's columns beside the network that embeds them."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.heads.linear import LinearHead

LEAST_SHARE_OF_DIRECTION = 1e-6  # of the largest singular value, below which rounding decides


class LinearPath(nn.Module):
    """A network whose embeddings are moved so that a linear head predicts in part what a linear model does.

    Of all that the head maps to the blend of its own prediction and the linear model's, the embedding becomes the
    nearest to the network's: it moves within the rows of the head's weights, and stays as it is across them.

    Args:
        network: from columns (n, f) to embeddings (n, d).
        in_features: f.
        embedding_dim: d.
        target_dim: p of the targets (n, p) that the head predicts.

    Example:
        >>> network, head, model = nn.Linear(5, 4), LinearHead(4), LinearHead(5)
        >>> path = LinearPath(network, in_features=5, embedding_dim=4)
        >>> path.blend(head, model, torch.tensor([0.3]))
        >>> x = torch.randn(6, 5)
        >>> wanted = 0.7 * head(network(x)) + 0.3 * model(x)
        >>> torch.allclose(head(path(x)), wanted, atol=1e-5)
        True
    """

    def __init__(self, network: nn.Module, in_features: int, embedding_dim: int, target_dim: int = 1) -> None:
        super().__init__()
        self.network = network
        self.by_columns = nn.Linear(in_features, target_dim).requires_grad_(False)
        self.by_embedding = nn.Linear(embedding_dim, target_dim, bias=False).requires_grad_(False)
        self.towards = nn.Linear(target_dim, embedding_dim, bias=False).requires_grad_(False)

    def blend(self, head: LinearHead, model: LinearHead, shares: Float[Tensor, " p"]) -> None:
        """Move embeddings so that the head predicts these shares of what the model does and the rest of what it did.

        Args:
            head: from embeddings to targets.
            model: from columns to the same targets.
            shares: from 0 to 1, of each target.
        """
        scale = head.target_scale.double()
        weight, constant = _affine(head, self.by_embedding.in_features, scale)
        of_columns, their_constant = _affine(model, self.by_columns.in_features, scale)
        with torch.no_grad():
            self.by_embedding.weight.copy_(weight)
            self.by_columns.weight.copy_(of_columns)
            self.by_columns.bias.copy_(their_constant - constant)
            self.towards.weight.copy_(_inverse(weight) * shares.double())

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n d"]:
        embeddings: Tensor = self.network(x)
        moved: Tensor = embeddings + self.towards(self.by_columns(x) - self.by_embedding(embeddings))
        return moved


def reachable(head: LinearHead, changes: Float[Tensor, "n p"]) -> Float[Tensor, "n p"]:
    """Return the changes nearest to these that moved embeddings make to what a linear head predicts.

    They are these, unless targets depend on each other, or are more than embeddings have dimensions.
    """
    scale = head.target_scale.double()
    weight, _ = _affine(head, head.linear.in_features, scale)
    return (changes / scale) @ (weight @ _inverse(weight)).T * scale


def _inverse(weight: Float[Tensor, "p d"]) -> Float[Tensor, "d p"]:
    inverse: Tensor = torch.linalg.pinv(weight, rtol=LEAST_SHARE_OF_DIRECTION)
    return inverse


def _affine(
    head: LinearHead, width: int, scale: Float[Tensor, " p"]
) -> tuple[Float[Tensor, "p w"], Float[Tensor, " p"]]:
    """Return weights and constants of a head as one affine map of its ``width`` columns, in deviations of targets."""
    dtype = head.linear.weight.dtype
    with torch.no_grad():
        constant = head(torch.zeros(1, width, dtype=dtype))
        rows = head(torch.eye(width, dtype=dtype)) - constant
    return rows.T.double() / scale[:, None], constant[0].double() / scale
