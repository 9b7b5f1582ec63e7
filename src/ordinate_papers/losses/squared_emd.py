"""Squared earth mover's distance between the predicted distribution of ranks and the true rank."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.functional.inputs import check_ranks


def squared_emd_losses(logits: Float[Tensor, "n c"], ranks: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the squared differences of predicted and true cumulative distribution, summed over ranks.

    The squared earth mover's distance of Hou, Yu and Samaras (2016) for ordered classes; it is the ranked probability
    score of the prediction.

    Args:
        logits: (n, C), one per rank.
        ranks: (n,), ranks 0..C-1.

    Raises:
        OrdinateError: A label is not one of the C ranks.

    Example:
        >>> squared_emd_losses(torch.tensor([[0.0, 0.0], [-99.0, 99.0]]), torch.tensor([0, 0])).tolist()
        [0.25, 1.0]
    """
    ranks = check_ranks(ranks, len(logits), logits.shape[1])
    reached = ranks[:, None] <= torch.arange(logits.shape[1], device=logits.device)
    return (logits.softmax(1).cumsum(1) - reached.to(logits.dtype)).square().sum(1)
