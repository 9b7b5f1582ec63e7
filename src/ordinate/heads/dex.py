"""DEX: classify the bin, predict the expectation (Rothe et al., 2015, "Deep EXpectation of apparent age")."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn.functional import cross_entropy

from ordinate.heads.binned import BinnedHead, check_positions


def dex_losses(logits: Float[Tensor, "n k"], positions: Shaped[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the cross-entropy of every sample with the bin whose centre is nearest.

    Args:
        logits: (n, k), one a bin.
        positions: (n,) targets in bins from the lowest; those outside count as the bin at that end.

    Example:
        >>> dex_losses(torch.zeros(2, 4), torch.tensor([0.2, 9.0])).exp()
        tensor([4., 4.])
    """
    bins = check_positions(positions, logits).round().clamp(0, logits.shape[1] - 1).long()
    return cross_entropy(logits, bins, reduction="none")


def expected_positions(logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """Return the expectation of the bin under the softmax of the logits.

    Example:
        >>> expected_positions(torch.zeros(1, 5))
        tensor([2.])
    """
    bins = torch.arange(logits.shape[1], dtype=logits.dtype, device=logits.device)
    return (logits.softmax(1) * bins).sum(1)


class DEXHead(BinnedHead):
    """Cross-entropy on the bins of the target; the prediction is the expectation of the bins' centres.

    Its arguments are those of :class:`~ordinate.heads.binned.BinnedHead`.

    Example:
        >>> head = DEXHead(4, bin_size=1.0)
        >>> head.standardise(torch.tensor([[20.0], [60.0]]))
        >>> head(torch.zeros(3, 4)).shape, head.linears[0].out_features
        (torch.Size([3, 1]), 41)
    """

    def position_losses(self, logits: Float[Tensor, "n k"], positions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        return dex_losses(logits, positions)

    def positions(self, logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return expected_positions(logits)
