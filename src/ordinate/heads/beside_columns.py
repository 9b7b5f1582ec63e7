"""Ordinal logistic regression on a table's columns beside what a network says of the ranks."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.heads.cumulative_link import CumulativeLink, fit_cumulative_link


class BesideColumns(nn.Module):
    """A cumulative link model of columns, and the share that it has in the probabilities of ranks.

    Args:
        in_features: f columns.
        num_classes: C.

    Example:
        >>> beside = BesideColumns(in_features=2, num_classes=3)
        >>> beside.share.fill_(0.25)
        tensor(0.2500, dtype=torch.float64)
        >>> network = torch.tensor([[0.8, 0.1, 0.1]]).double()
        >>> beside(network, torch.zeros(1, 2)) - 0.75 * network == 0.25 * beside.by_columns(torch.zeros(1, 2))
        tensor([[True, True, True]])
    """

    share: Tensor

    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(in_features, 1, bias=False).double().requires_grad_(False)
        self.link = CumulativeLink(num_classes).double().requires_grad_(False)
        self.register_buffer("share", torch.zeros((), dtype=torch.float64))

    @classmethod
    def fit(
        cls, x: Float[Tensor, "n f"], ranks: Int[Tensor, " n"], num_classes: int, weights: Float[Tensor, " n"] | None
    ) -> "BesideColumns":
        """Return the model of standardised columns that has the greatest likelihood, less a penalty, and no share yet.

        Args:
            x: (n, f).
            ranks: (n,), 0 to C-1.
            num_classes: C.
            weights: (n,), by which the samples count, of mean 1; None for equal ones.
        """
        fitted = cls(x.shape[1], num_classes)
        fitted.layer, fitted.link = fit_cumulative_link(x, ranks, num_classes, weights)
        return fitted

    def by_columns(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank by the columns alone."""
        probabilities: Tensor = self.link(self.layer(x.double()))
        return probabilities

    def forward(self, probabilities: Float[Tensor, "n c"], x: Float[Tensor, "n f"]) -> Float[Tensor, "n c"]:
        """Return the weighted mean of these probabilities and those by the columns."""
        return (1 - self.share) * probabilities + self.share * self.by_columns(x)
