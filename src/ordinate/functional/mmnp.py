"""The multi-margin n-pair (MMNP) loss of CLOC."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from ordinate.errors import OrdinateError
from ordinate.functional.inputs import (
    check_choice,
    check_embeddings,
    check_ranks,
    check_references,
    check_weights,
)
from ordinate.functional.reduction import mean_over_anchors, weigh
from ordinate.functional.similarity import unit


def mmnp(
    embeddings: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
    margins: Float[Tensor, " c-1"],
    *,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Int[Tensor, " m"] | None = None,
    weights: Float[Tensor, " n"] | None = None,
    reduction: str = "pair_mean",
) -> Float[Tensor, "*n"]:
    r"""Multi-margin n-pair loss (CLOC, eq. 2).

    .. math::
        \ell_i = \sum_{j \in P_i} \sum_{k \in N_i} \max(0,\; m_{y_i y_k} + \psi_{ik} - \psi_{ij})

    with the cosine :math:`\psi`, positives P of the anchor's rank (itself left out), negatives N of every other
    rank, and m the sum of the margins of the boundaries between the two ranks.

    Exact in O(n^2 log n) time and O(n^2) memory: an anchor's positive similarities are sorted once, and a
    binary search tells each shifted negative how many of them it exceeds and their sum. Those counts are the
    gradient.

    Args:
        embeddings: (n, d), floating point, finite; normalised here.
        labels: (n,), ranks 0..C-1, where C is one more than the number of margins.
        margins: (C-1,), positive; the one at h lies between the ranks h and h + 1. Receives a gradient.
        ref_emb: (m, d), what the anchors are contrasted with instead of the batch; nothing is left out of it.
        ref_labels: (m,), given with ``ref_emb``.
        weights: (n,), one an anchor, >= 0.
        reduction: ``"pair_mean"`` averages over an anchor's (positive, negative) pairs, then over the anchors
            that have one, weighted; ``"sum"`` is eq. 2, summed over pairs, times the weight, averaged over all n
            anchors; ``"none"`` is eq. 2 times the weight for each anchor, 0 for one that has no pair.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``.

    Raises:
        OrdinateError: input that the formula has no value for, such as a batch in which no anchor has both a
            positive and a negative.

    Example:
        >>> import torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> mmnp(embeddings, torch.tensor([0, 0, 1, 1]), torch.tensor([1.25])).item()
        0.25
    """
    check_embeddings(embeddings)
    check_choice(reduction, ("pair_mean", "sum", "none"), "reduction")
    if not isinstance(margins, Tensor) or margins.dim() != 1 or len(margins) == 0 or not margins.is_floating_point():
        raise OrdinateError("margins: takes a floating-point tensor (C-1,), one margin a boundary")
    if not bool((margins > 0).all() & torch.isfinite(margins).all()):
        raise OrdinateError(f"margins: got {margins.tolist()}, takes finite values above 0")
    num_classes = len(margins) + 1
    weights = check_weights(weights, len(embeddings))
    ranks = check_ranks(labels, len(embeddings), num_classes)
    refs, ref_labels = check_references(embeddings, labels, ref_emb, ref_labels)
    ref_ranks = check_ranks(ref_labels, len(refs), num_classes, "ref_labels")
    leave_out_self = ref_emb is None

    rank_sizes = torch.bincount(ref_ranks, minlength=num_classes)
    positives = rank_sizes[ranks] - int(leave_out_self)
    pairs = positives * (len(refs) - rank_sizes[ranks])
    if not bool((pairs > 0).any()):
        raise OrdinateError(
            f"labels: got ranks {ranks.unique().tolist()} with {len(ranks)} samples in which no anchor has both a "
            "positive and a negative, takes at least two ranks, one of them with two samples"
        )
    position = torch.cat([margins.new_zeros(1), margins]).double().cumsum(0)
    shift = (position[:, None] - position).abs()
    cosine = unit(embeddings) @ unit(refs).T
    sums = _Rows.apply(cosine, shift, ranks, ref_ranks, leave_out_self)
    if reduction == "pair_mean":
        loss = mean_over_anchors(sums / pairs.clamp(min=1), weights, pairs > 0)
    else:
        loss = weigh(sums, weights)
        loss = loss.mean() if reduction == "sum" else loss
    return loss.to(embeddings.dtype)


class _Rows(torch.autograd.Function):
    """Eq. 2 for each anchor from its row of cosines; the gradient is computed alongside."""

    @staticmethod
    def forward(
        ctx: Any, cosine: Tensor, shift: Tensor, ranks: Tensor, ref_ranks: Tensor, leave_out_self: bool
    ) -> Tensor:
        sums = cosine.new_zeros(len(cosine))
        gradient = torch.zeros_like(cosine)
        for rank in ranks.unique():
            anchors = (ranks == rank).nonzero()[:, 0]
            is_positive = ref_ranks == rank
            positive_at, negative_at = is_positive.nonzero()[:, 0], (~is_positive).nonzero()[:, 0]
            rows = cosine[anchors]
            positives = rows[:, positive_at]
            if leave_out_self:  # the anchors are the positives: beyond every negative, where no search finds them
                positives.fill_diagonal_(torch.inf)
            positives, order = positives.sort(dim=1)
            negatives = rows[:, negative_at] + shift[rank, ref_ranks[negative_at]]

            exceeded = torch.searchsorted(positives, negatives)
            totals = torch.cat([positives.new_zeros(len(anchors), 1), positives.cumsum(1)], dim=1)
            hinge = exceeded * negatives - totals.gather(1, exceeded)
            sums[anchors] = hinge.masked_fill(exceeded == 0, 0).sum(1)

            reached = torch.zeros_like(totals).scatter_add_(1, exceeded, torch.ones_like(negatives))
            exceeding = reached.flip(1).cumsum(1).flip(1)[:, 1:]  # how many negatives exceed each sorted positive
            gradient[anchors[:, None], positive_at[order]] = -exceeding
            gradient[anchors[:, None], negative_at] = exceeded.to(gradient)
        ctx.save_for_backward(gradient, ranks, ref_ranks)
        ctx.num_classes = len(shift)
        return sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        gradient, ranks, ref_ranks = ctx.saved_tensors
        gradient = grad[:, None] * gradient
        by_rank = gradient.new_zeros(ctx.num_classes, gradient.shape[1]).index_add_(0, ranks, gradient)
        by_pair = gradient.new_zeros(ctx.num_classes, ctx.num_classes).index_add_(1, ref_ranks, by_rank)
        return gradient, by_pair.fill_diagonal_(0), None, None, None
