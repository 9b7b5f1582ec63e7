"""SORD: cross-entropy with soft labels that fall off with the distance to the true rank."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from ordinate.functional.inputs import check_ranks


def sord_losses(logits: Float[Tensor, "n c"], ranks: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the cross-entropy of every sample with the soft label of its rank (Díaz and Marathe, CVPR 2019).

    The soft label of rank y is the softmax of ``-(k - y)**2`` over the ranks k: the paper's encoding with the squared
    distance, one of those that it offers.

    Args:
        logits: (n, C), one per rank.
        ranks: (n,), ranks 0..C-1.

    Raises:
        OrdinateError: A label is not one of the C ranks.

    Example:
        >>> near, far = sord_losses(torch.tensor([[0.0, 5.0, 0.0], [0.0, 0.0, 5.0]]), torch.tensor([0, 0]))
        >>> (near < far).item()
        True
    """
    ranks = check_ranks(ranks, len(logits), logits.shape[1])
    places = torch.arange(logits.shape[1], dtype=logits.dtype, device=logits.device)
    soft_labels = (-(places - ranks[:, None]).square()).softmax(1)
    return cross_entropy(logits, soft_labels, reduction="none")
