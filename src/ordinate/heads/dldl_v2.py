"""DLDL-v2: learn a distribution and its expectation at once (Gao et al., 2018)."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from ordinate.heads.binned import BinnedHead, check_positions
from ordinate.heads.dex import expected_positions

DEVIATION = 2.0  # of the normal distribution, in bins; 2 years with bins of a year in the paper


def dldl_v2_losses(logits: Float[Tensor, "n k"], positions: Shaped[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return divergence from a normal distribution around the target plus absolute error of the expectation.

    The normal distribution, with a deviation of 2 bins, is taken at the bins' centres and made to sum to 1; the
    Kullback-Leibler divergence is of the prediction from it; the absolute error, in bins, counts as much (lambda 1).

    Args:
        logits: (n, k), one a bin.
        positions: (n,) targets in bins from the lowest; those outside count as the end of the range.

    Example:
        >>> bins = torch.arange(9.0)
        >>> dldl_v2_losses(-((bins - 4) ** 2)[None] / 8, torch.tensor([4.0])).abs() < 1e-6
        tensor([True])
    """
    last = logits.shape[1] - 1
    positions = check_positions(positions, logits).clamp(0, last)
    bins = torch.arange(last + 1, dtype=logits.dtype, device=logits.device)
    log_normal = (-0.5 * ((bins - positions[:, None]) / DEVIATION).square()).log_softmax(1)
    divergence = (log_normal.exp() * (log_normal - logits.log_softmax(1))).sum(1)
    return divergence + (expected_positions(logits) - positions).abs()


class DLDLv2Head(BinnedHead):
    """A distribution over the bins of the target, drawn to a normal one around it; predicts the expectation.

    Its arguments are those of :class:`~ordinate.heads.binned.BinnedHead`.

    Example:
        >>> head = DLDLv2Head(4, target_dim=2, bin_size=(0.5, 1.0))
        >>> head.standardise(torch.tensor([[-40.0, -45.0], [10.0, 45.0]]))
        >>> [linear.out_features for linear in head.linears]
        [101, 91]
    """

    def position_losses(self, logits: Float[Tensor, "n k"], positions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        return dldl_v2_losses(logits, positions)

    def positions(self, logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return expected_positions(logits)
