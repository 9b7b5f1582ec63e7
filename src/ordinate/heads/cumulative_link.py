"""The cumulative link model: one score per sample and a threshold between any two adjacent ranks (McCullagh, 1980)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus


class CumulativeLink(nn.Module):
    r"""Probabilities of C ranks from scores: P(rank <= h) = sigmoid(threshold_h - score).

    Args:
        num_classes: C.

    Example:
        >>> CumulativeLink(3)(torch.zeros(2, 1)).shape
        torch.Size([2, 3])
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.zeros(1))
        self.steps = nn.Parameter(torch.zeros(num_classes - 2))  # The softplus of a step leads to the next threshold.

    @property
    def thresholds(self) -> Float[Tensor, " t"]:
        """The C - 1 thresholds, in rising order."""
        return torch.cat([self.first, self.first + softplus(self.steps).cumsum(0)])

    def forward(self, scores: Float[Tensor, "n 1"]) -> Float[Tensor, "n c"]:
        up_to = (self.thresholds - scores).sigmoid()
        up_to = torch.cat([torch.zeros_like(scores), up_to, torch.ones_like(scores)], dim=1)
        probabilities = up_to.diff(dim=1).clamp(min=1e-9)  # Far from a threshold, differences of sigmoids round to 0.
        return probabilities / probabilities.sum(1, keepdim=True)
