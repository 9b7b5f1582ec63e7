"""The multi-margin n-pair (MMNP) loss of CLOC."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from ordinate.errors import OrdinateError
from ordinate.functional import triton_rows
from ordinate.functional.anchor_blocks import Gradients, anchor_blocks, check_block_size, ordered, reduced
from ordinate.functional.compiled_rows import mmnp_rows, runs_compiled
from ordinate.functional.global_batch import Group, contrasts, holds_anywhere, joined_value, summed
from ordinate.functional.inputs import (
    check_choice,
    check_embeddings,
    check_ranks,
    check_weights,
)
from ordinate.functional.precision import wide, widest
from ordinate.functional.reduction import anchor_coefficients
from ordinate.functional.similarity import CosineBlocks, units, with_own


def mmnp(
    embeddings: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
    margins: Float[Tensor, " c-1"],
    *,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Int[Tensor, " m"] | None = None,
    weights: Float[Tensor, " n"] | None = None,
    reduction: str = "pair_mean",
    own: Int[Tensor, " n"] | None = None,
    group: Group = None,
    block_size: int | None = None,
) -> Float[Tensor, "*n"]:
    r"""Multi-margin n-pair loss (CLOC, eq. 2).

    .. math::
        \ell_i = \sum_{j \in P_i} \sum_{k \in N_i} \max(0,\; m_{y_i y_k} + \psi_{ik} - \psi_{ij})

    with the cosine :math:`\psi`, positives P of the anchor's rank (itself left out), negatives N of every other
    rank, and m the sum of the margins of the boundaries between the two ranks.

    Exact in O(n^2 log n) time, over blocks of anchors of one rank: an anchor's positive similarities are sorted once,
    and a binary search tells each shifted negative how many of them it exceeds and their sum. Those counts are the
    gradient.

    Args:
        embeddings: (n, d), floating point, finite; normalised here.
        labels: (n,), ranks 0..C-1, where C is one more than the number of margins.
        margins: (C-1,), positive; the one at h lies between the ranks h and h + 1. Receives a gradient.
        ref_emb: (m, d), what the anchors are contrasted with instead of the batch; nothing is left out of it.
        ref_labels: (m,), given with ``ref_emb``.
        weights: (n,), one per anchor, >= 0. Receives a gradient where it requires one.
        reduction: ``"pair_mean"`` averages over an anchor's (positive, negative) pairs, then over the anchors
            that have one, weighted; ``"sum"`` is eq. 2, summed over pairs, times the weight, averaged over all n
            anchors; ``"none"`` is eq. 2 times the weight for each anchor, 0 for one that has no pair.
        own: (n,), where each anchor itself stands among ``ref_emb``, to be left out of its contrasts.
        group: processes whose batches are joined into one: the anchors are those of this process, contrasted with
            the samples of all; the value is that of the joined batch, and gradients averaged over the processes, as
            DistributedDataParallel does, are its gradient.
        block_size: anchors a block, which bounds the memory; None chooses.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``, float32 for half precision and under autocast.

    Raises:
        OrdinateError: input that the formula has no value for, such as a batch in which no anchor has both a
            positive and a negative; or embeddings of one
            dimension (the cosine of two numbers is 1 or -1): nothing would be learned.

    Example:
        >>> import torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> mmnp(embeddings, torch.tensor([0, 0, 1, 1]), torch.tensor([1.25])).item()
        0.25
    """
    embeddings = check_embeddings(embeddings)
    check_mmnp_options(reduction=reduction, block_size=block_size)
    if not isinstance(margins, Tensor) or margins.dim() != 1 or len(margins) == 0 or not margins.is_floating_point():
        raise OrdinateError("margins: takes a floating-point tensor (C-1,), one margin a boundary")
    if not bool((margins > 0).all() & torch.isfinite(margins).all()):
        raise OrdinateError(f"margins: got {margins.tolist()}, takes finite values above 0")
    num_classes = len(margins) + 1
    weights = check_weights(weights, len(embeddings))
    ranks = check_ranks(labels, len(embeddings), num_classes)
    refs, ref_labels, own = contrasts(embeddings, labels, ref_emb, ref_labels, own, group)
    ref_ranks = check_ranks(ref_labels, len(refs), num_classes, "ref_labels")

    sizes = torch.bincount(ref_ranks, minlength=num_classes)
    positives = sizes[ranks] - int(own is not None)
    pairs = positives * (len(refs) - sizes[ranks])
    if not holds_anywhere(pairs > 0, group):
        raise OrdinateError(
            f"labels: got ranks {ranks.unique().tolist()} with {len(ranks)} samples in which no anchor has both a "
            "positive and a negative, takes at least two ranks, one of them with two samples"
        )
    coefficients = anchor_coefficients(reduction, weights, pairs > 0, group)
    if reduction == "pair_mean":
        coefficients = coefficients / pairs.clamp(min=1)
    elif reduction == "sum":
        coefficients = coefficients / float(summed(torch.tensor(len(ranks), device=ranks.device), group))

    order = ranks.argsort()  # an anchor's positives stand side by side
    ref_order = order if ref_labels is labels else ref_ranks.argsort()
    own = None if own is None else ref_order.argsort()[own[order]]
    a, b = units(embeddings, refs)
    position = wide(torch.cat([margins.new_zeros(1), margins])).cumsum(0)
    shift = (position[:, None] - position).abs()
    dtype = torch.float64 if torch.float64 in (embeddings.dtype, refs.dtype) else torch.float32
    rank_starts = torch.searchsorted(ranks[order], torch.arange(num_classes + 1, device=ranks.device)).tolist()
    ref_starts = [0, *sizes.cumsum(0).tolist()]
    row_sums = _RowSums(dtype, (order, ref_order), ref_ranks[ref_order], ref_starts, rank_starts, own, block_size)
    if reduction != "none":
        return joined_value(reduced(row_sums, coefficients[order], a, b, shift), group).to(embeddings.dtype)
    values = reduced(row_sums, None, a, b, shift)[order.argsort()]
    return (values * coefficients).to(embeddings.dtype)


def check_mmnp_options(*, reduction: str, block_size: int | None) -> None:
    """Raise where an option of :func:`mmnp` cannot be used."""
    check_choice(reduction, ("pair_mean", "sum", "none"), "reduction")
    check_block_size(block_size)


@dataclass(frozen=True)
class _RowSums:
    """Eq. 2 for every anchor, in ascending order of rank, and the gradient of its weighted sum."""

    dtype: torch.dtype
    orders: tuple[Int[Tensor, " n"], Int[Tensor, " m"]]  # of anchors and references, by rank
    ref_ranks: Int[Tensor, " m"]
    ref_starts: Sequence[int]  # where each rank starts among the references
    rank_starts: Sequence[int]  # and among the anchors
    own: Int[Tensor, " n"] | None
    block_size: int | None

    def __call__(self, coefficients: Tensor | None, a: Tensor, b: Tensor, shift: Tensor) -> tuple[Tensor, Gradients]:
        values = torch.zeros(len(a), dtype=widest(a.device), device=a.device)
        grad_shift = torch.zeros_like(shift)
        a, b = ordered((a, b), self.orders)
        cosines = CosineBlocks(a, b, self.dtype)
        for rank, (start, end) in enumerate(pairwise(self.rank_starts)):
            shifts = shift[rank, self.ref_ranks].to(self.dtype)
            first, last = self.ref_starts[rank : rank + 2]
            if first == last or last - first == len(b):
                continue
            for block in anchor_blocks(end - start, len(b), self.block_size, a.device):
                rows = slice(start + block.start, start + block.stop)
                own = None if self.own is None else self.own[rows] - first
                values[rows], gradient = _hinges(cosines.block(rows).add_(shifts), first, last, own)
                if coefficients is not None:
                    gradient.mul_(coefficients[rows, None].to(gradient))
                    grad_shift[rank].index_add_(0, self.ref_ranks, wide(gradient.sum(0)))
                    cosines.pull(rows, None, gradient)
        if coefficients is None:
            return values, None
        grad_a, grad_b = ordered(cosines.gradients(), [order.argsort() for order in self.orders])
        return values, [grad_a.to(a), grad_b.to(b), grad_shift.fill_diagonal_(0)]


def _hinges(
    shifted: Float[Tensor, "b m"], first: int, last: int, own: Int[Tensor, " b"] | None
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """Eq. 2 of anchors whose positives are the columns from ``first`` to before ``last``, and its gradient."""
    if runs_compiled(shifted):
        return mmnp_rows(shifted, first, last, own)
    if triton_rows.uses_kernels(shifted):
        from ordinate.functional.triton_rows.mmnp import hinge_rows

        return hinge_rows(shifted, first, last, own)
    positives = with_own(shifted[:, first:last], own, torch.inf)  # its own: beyond every negative
    positives, order = positives.sort(dim=1)
    negatives = torch.cat([shifted[:, :first], shifted[:, last:]], 1)
    exceeded = torch.searchsorted(positives, negatives)
    totals = pad(positives.cumsum(1), (1, 0))
    hinges = negatives.mul_(exceeded).sub_(totals.gather(1, exceeded))
    values = hinges.sum(1)

    count = exceeded.to(shifted)
    reached = torch.zeros_like(totals).scatter_add_(1, exceeded, torch.ones_like(count))
    exceeding = reached.flip(1).cumsum(1).flip(1)[:, 1:]  # how many negatives exceed each sorted positive
    gradient = torch.empty_like(shifted)
    gradient[:, first:last].scatter_(1, order, exceeding.neg_())
    gradient[:, :first], gradient[:, last:] = count[:, :first], count[:, first:]
    return values, gradient
