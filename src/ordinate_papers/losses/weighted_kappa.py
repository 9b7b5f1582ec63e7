"""Quadratic weighted kappa as a loss on the predicted probabilities of a batch."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.errors import OrdinateError
from ordinate.functional.inputs import check_ranks


def weighted_kappa_loss(
    logits: Float[Tensor, "n c"], ranks: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
) -> Float[Tensor, ""]:
    """Return the logarithm of 1 - kappa with quadratic weights (de la Torre, Puig and Valls, 2018).

    1 - kappa is the expected squared rank error of the batch, over that of predictions dealt out at random: the
    predicted probabilities stand for counts of predictions.

    Args:
        logits: (n, C), one per rank.
        ranks: (n,), ranks 0..C-1.
        weights: (n,), what each sample counts; None for equal weights.

    Raises:
        OrdinateError: A label is not one of the C ranks, or there is a single sample, which chance predicts as well.

    Example:
        >>> ranks = torch.tensor([0, 2, 1])
        >>> right, constant = 9 * torch.eye(3)[ranks], torch.zeros(3, 3)
        >>> weighted_kappa_loss(right, ranks).item() < weighted_kappa_loss(constant, ranks).item()
        True
    """
    if len(logits) < 2:
        raise OrdinateError("logits", f"{len(logits)} sample(s)", "at least 2, to compare with chance")
    ranks = check_ranks(ranks, len(logits), logits.shape[1])
    shares = logits.new_full((len(logits),), 1 / len(logits))
    if weights is not None:
        shares = weights.to(logits.dtype) / weights.sum()
    places = torch.arange(logits.shape[1], dtype=logits.dtype, device=logits.device)
    squares = (places[:, None] - places).square()
    probabilities = logits.softmax(1)
    observed = (shares * (probabilities * squares[ranks]).sum(1)).sum()
    true_shares = torch.zeros_like(places).index_add(0, ranks.long(), shares)
    by_chance = (shares @ probabilities) @ squares @ true_shares
    least = torch.finfo(logits.dtype).tiny  # All samples of one rank, predicted exactly, leave 0 / 0.
    return (observed + least).log() - (by_chance + least).log()
