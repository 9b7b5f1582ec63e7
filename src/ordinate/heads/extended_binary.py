"""OR: one binary classifier per threshold (Niu et al., 2016, "Ordinal regression with multiple output CNN")."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from ordinate.heads.binned import BinnedHead, check_positions


def extended_binary_losses(logits: Float[Tensor, "n t"], positions: Shaped[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the binary cross-entropy of every sample, the mean over the thresholds.

    Threshold k lies at k + 1/2, between the bins (or ranks) k and k+1; all are of the same importance.

    Args:
        logits: (n, t), of the target lying above each threshold.
        positions: (n,) targets in bins from the lowest, or ranks.

    Example:
        >>> extended_binary_losses(torch.tensor([[9.0, 9.0, -9.0]]), torch.tensor([2.0])) < 1e-3
        tensor([True])
    """
    above = check_positions(positions, logits)[:, None] > thresholds(logits)
    return binary_cross_entropy_with_logits(logits, above.to(logits.dtype), reduction="none").mean(1)


def thresholds(logits: Float[Tensor, "n t"]) -> Float[Tensor, " t"]:
    """Return the positions 1/2, 3/2 and so on, one per column."""
    return torch.arange(logits.shape[1], dtype=logits.dtype, device=logits.device) + 0.5


def rank_probabilities(above: Float[Tensor, "n t"]) -> Float[Tensor, "n t+1"]:
    """Return the probability of every rank, from that of lying above each threshold.

    Where a later threshold is likelier passed than an earlier one, no distribution has such probabilities; put in
    descending order they have one, with the same mean rank and the same number of thresholds above any value.

    Args:
        above: (n, t), t = C - 1.

    Returns:
        (n, C), rows that sum to 1.

    Example:
        >>> rank_probabilities(torch.tensor([[0.75, 0.25, 0.5]]))
        tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    falling = above.sort(dim=1, descending=True).values
    ends = torch.ones_like(above[:, :1])
    return -torch.cat([ends, falling, 0 * ends], dim=1).diff(dim=1)


class ORHead(BinnedHead):
    """A binary classifier for every threshold between bins; predicts as many bins up as thresholds are passed.

    Its arguments are those of :class:`~ordinate.heads.binned.BinnedHead`.

    Example:
        >>> head = ORHead(4, bin_size=1.0)
        >>> head.standardise(torch.tensor([[20.0], [60.0]]))
        >>> head.linears[0].out_features
        40
    """

    def outputs(self, bins: int) -> int:
        return bins - 1

    def position_losses(self, logits: Float[Tensor, "n t"], positions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        return extended_binary_losses(logits, positions)

    def positions(self, logits: Float[Tensor, "n t"]) -> Float[Tensor, " n"]:
        return (logits > 0).sum(1).to(logits.dtype)
