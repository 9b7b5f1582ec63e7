"""The multi-margin n-pair (MMNP) loss of CLOC."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn.functional import pad

from ordinate import kernels
from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.functional.anchor_blocks import Gradients, RowSums, anchor_blocks, block_sums, rows_of
from ordinate.functional.contrast import Contrast, Inputs, check_triplets, prepare
from ordinate.functional.global_batch import Group, holds_anywhere, summed
from ordinate.functional.inputs import MAX_FACTOR, check_devices, check_ranks
from ordinate.functional.numerics import to_accumulation_dtype
from ordinate.functional.similarity import PAIRS_AT_ONCE, CosineBlocks, fill_self
from ordinate.options import MMNPOptions, PairReduction


def mmnp(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, "n *p"],
    margins: Float[Tensor, " boundaries"],
    *,
    triplets: Int[Tensor, "t 3"] | None = None,
    reduction: PairReduction = MMNPOptions.reduction,
    block_size: int | None = MMNPOptions.block_size,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Shaped[Tensor, "m *q"] | None = None,
    weights: Shaped[Tensor, " n"] | None = None,
    self_index: Int[Tensor, " n"] | None = None,
    group: Group = None,
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
        embeddings: Embeddings (n, d), floating point, finite; normalised here.
        labels: Ranks (n,), 0..C-1, where C is one more than the number of margins.
        margins: Margins (C-1,), positive; the one at h lies between the ranks h and h + 1. They receive a gradient.
        triplets: Indices (t, 3) of positive, anchor and negative (j, i, k) of the hinges to use, such as those that a
            miner chose; None takes all that the batch offers.
        reduction: ``"pair_mean"`` averages over an anchor's (positive, negative) pairs, then over the anchors
            that have one, weighted; ``"published"``, the reduction of the authors' code, divides an anchor's pair mean
            by its number of negatives as well; ``"sum"`` is eq. 2, summed over pairs, times the weight, averaged over
            all n anchors; ``"none"`` is eq. 2 times the weight for each anchor, 0 for one that has no pair.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.
        ref_emb: Embeddings (m, d) that the anchors are contrasted with instead of the batch.
        ref_labels: Labels of ``ref_emb``, (m,).
        weights: Weights (n,) of the anchors, >= 0. They receive a gradient where they require one.
        self_index: Place (n,) of each anchor itself in ``ref_emb``, so that it is not contrasted with itself.
        group: Processes whose batches are joined into one; see :mod:`ordinate.functional.global_batch`.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``, float32 for half precision and under autocast.

    Raises:
        OrdinateError: input that the formula has no value for, such as a batch in which no anchor has both a
            positive and a negative; or embeddings of one dimension, whose cosines are all 1 or -1.

    Example:
        >>> import torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> mmnp(embeddings, torch.tensor([0, 0, 1, 1]), torch.tensor([1.25])).item()
        0.25
    """
    options = MMNPOptions(reduction=reduction, block_size=block_size)
    inputs = Inputs(ref_emb=ref_emb, ref_labels=ref_labels, weights=weights, self_index=self_index, group=group)
    if not isinstance(margins, Tensor) or margins.dim() != 1 or len(margins) == 0 or not margins.is_floating_point():
        got = type(margins).__name__ if not isinstance(margins, Tensor) else f"{margins.dtype} {tuple(margins.shape)}"
        raise OrdinateError("margins", got, "a floating-point tensor (C-1,), one margin per boundary")
    check_devices(embeddings, margins=margins)
    if not bool((margins > 0).all() & (margins <= MAX_FACTOR).all()):
        raise OrdinateError("margins", margins.tolist(), f"values above 0, of at most {MAX_FACTOR:g}")
    num_classes = len(margins) + 1
    check = partial(
        check_ranks, num_classes=num_classes, hint=f"there are {len(margins)} margins, one fewer than ranks"
    )
    contrast = prepare(embeddings, labels, check, inputs, are_chosen=triplets is not None)
    ranks, ref_ranks = contrast.labels, contrast.ref_labels

    row_sums: RowSums
    order = None
    sizes = torch.bincount(ref_ranks, minlength=num_classes)
    negatives = len(ref_ranks) - sizes[ranks]
    if triplets is None:
        positives = sizes[ranks] - int(contrast.self_index is not None)
        pairs = positives * negatives
        order = contrast.ascending(ranks, ref_ranks)  # An anchor's positives are neighbours.
        row_sums = _RowSums(
            dtype=torch.promote_types(contrast.anchors.dtype, contrast.references.dtype),
            ref_ranks=ref_ranks[order.references],
            ref_starts=[0, *sizes.cumsum(0).tolist()],
            rank_starts=[0, *torch.bincount(ranks, minlength=num_classes).cumsum(0).tolist()],
            self_index=order.self_index,
            block_size=options.block_size,
        )
    else:
        row_sums = _GivenHinges.of(triplets, contrast)
        pairs = torch.bincount(row_sums.anchor, minlength=len(ranks))
    if not holds_anywhere(pairs > 0, contrast.group):
        got = f"ranks {ranks.unique().tolist()} with {counted(len(ranks), 'sample')}"
        raise OrdinateError(
            "labels",
            f"{got} in which no anchor has both a positive and a negative",
            "at least two ranks, one of them with two samples",
            "ordinate.data.samplers.RankBatches draws such batches",
        )
    coefficients = contrast.coefficients(options.reduction, pairs > 0)
    if options.reduction in ("pair_mean", "published"):
        coefficients = coefficients / pairs.clamp(min=1)
        if options.reduction == "published":
            coefficients = coefficients / negatives.clamp(min=1)
    elif options.reduction == "sum":
        coefficients = coefficients / float(summed(torch.tensor(len(ranks), device=ranks.device), contrast.group))

    position = to_accumulation_dtype(torch.cat([margins.new_zeros(1), margins])).cumsum(0)
    shift = (position[:, None] - position).abs()
    steepest = 1.0
    if options.reduction in ("sum", "none"):
        steepest = float(pairs.max())
    a, b = contrast.units(steepest)
    return contrast.loss(row_sums, coefficients, a, b, shift, reduction=options.reduction, order=order)


@dataclass(frozen=True)
class _RowSums:
    """Compute eq. 2 for every anchor, in ascending order of rank, and the gradient of its weighted sum."""

    dtype: torch.dtype
    ref_ranks: Int[Tensor, " m"]
    ref_starts: Sequence[int]  # Start of each rank among the references, then the end of the last one.
    rank_starts: Sequence[int]  # Start of each rank among the anchors.
    self_index: Int[Tensor, " n"] | None
    block_size: int | None

    def __call__(self, coefficients: Tensor | None, a: Tensor, b: Tensor, shift: Tensor) -> tuple[Tensor, Gradients]:
        cosines, grad_shift = CosineBlocks(a, b, self.dtype), torch.zeros_like(shift)

        def rows(block: slice, factors: Tensor | None) -> tuple[Tensor, Tensor]:
            rank = sum(start <= block.start for start in self.rank_starts) - 1
            first, last = self.ref_starts[rank : rank + 2]
            self_index = rows_of(self.self_index, block)
            if self_index is not None:
                self_index = self_index - first
            shifted = cosines.block(block, None).add_(shift[rank, self.ref_ranks].to(self.dtype))
            values, gradient = _hinges(shifted, first, last, self_index)
            if factors is not None:
                gradient.mul_(factors[:, None].to(gradient))
                grad_shift[rank].index_add_(0, self.ref_ranks, to_accumulation_dtype(gradient.sum(0)))
            return values, gradient

        values, gradients = block_sums(self._blocks(len(b), a.device), rows, cosines, coefficients)
        return values, gradients and [*gradients, grad_shift.fill_diagonal_(0)]

    def _blocks(self, references: int, device: torch.device) -> Iterator[slice]:
        """Yield blocks of anchors of one rank, which has positives and negatives."""
        ends = zip(pairwise(self.rank_starts), pairwise(self.ref_starts), strict=True)
        for (start, end), (first, last) in ends:
            if 0 < last - first < references:
                for block in anchor_blocks(end - start, references, self.block_size, device):
                    yield slice(start + block.start, start + block.stop)


@dataclass(frozen=True)
class _GivenHinges:
    """Compute eq. 2 for every anchor over the hinges that were given, and the gradient of its weighted sum."""

    anchor: Int[Tensor, " t"]
    positive: Int[Tensor, " t"]
    negative: Int[Tensor, " t"]
    ranks: Int[Tensor, " n"]
    ref_ranks: Int[Tensor, " m"]

    @classmethod
    def of(cls, triplets: Int[Tensor, "t 3"], contrast: Contrast) -> "_GivenHinges":
        positive, anchor, negative = check_triplets(triplets, contrast)
        ranks, ref_ranks = contrast.labels, contrast.ref_labels
        is_wrong = (ref_ranks[positive] != ranks[anchor]) | (ref_ranks[negative] == ranks[anchor])
        if bool(is_wrong.any()):
            i = int(is_wrong.nonzero()[0])
            found = [int(rank) for rank in (ref_ranks[positive[i]], ranks[anchor[i]], ref_ranks[negative[i]])]
            raise OrdinateError(
                "triplets", f"one of the ranks {found}", "positive, anchor and negative, such as [1, 1, 2]"
            )
        return cls(anchor, positive, negative, ranks, ref_ranks)

    def __call__(self, coefficients: Tensor | None, a: Tensor, b: Tensor, shift: Tensor) -> tuple[Tensor, Gradients]:
        values = a.new_zeros(len(a))
        grad_a, grad_b, grad_shift = torch.zeros_like(a), torch.zeros_like(b), torch.zeros_like(shift)
        for part in torch.arange(len(self.anchor), device=a.device).split(PAIRS_AT_ONCE):
            anchor, positive, negative = self.anchor[part], self.positive[part], self.negative[part]
            boundary = self.ranks[anchor], self.ref_ranks[negative]
            apart = b[negative] - b[positive]
            hinge = (shift[boundary] + (a[anchor] * apart).sum(1)).clamp(min=0)
            values.index_add_(0, anchor, hinge)
            if coefficients is not None:
                pull = coefficients[anchor] * (hinge > 0)
                grad_shift.index_put_(boundary, pull, accumulate=True)
                on_references = pull[:, None] * a[anchor]
                grad_a.index_add_(0, anchor, pull[:, None] * apart)
                grad_b.index_add_(0, negative, on_references).index_add_(0, positive, on_references, alpha=-1)
        if coefficients is None:
            return values, None
        return values, (grad_a, grad_b, grad_shift)


def _hinges(
    shifted: Float[Tensor, "b m"], first: int, last: int, self_index: Int[Tensor, " b"] | None
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """Return eq. 2 of anchors whose positives are the columns ``first`` to ``last - 1``, and its gradient."""
    if kernels.uses_numba(shifted):
        from ordinate.kernels.numba.mmnp import mmnp_rows

        return mmnp_rows(shifted, first, last, self_index)
    positives = fill_self(shifted[:, first:last], self_index, torch.inf)  # No negative exceeds the anchor itself.
    positives, order = positives.sort(dim=1)
    if kernels.uses_triton(shifted):
        from ordinate.kernels.triton.mmnp import hinge_rows

        return hinge_rows(shifted, first, positives, order, with_self=self_index is not None)
    negatives = torch.cat([shifted[:, :first], shifted[:, last:]], 1)
    exceeded = torch.searchsorted(positives, negatives)
    totals = pad(positives.cumsum(1), (1, 0))
    hinges = negatives.mul_(exceeded).sub_(totals.gather(1, exceeded))
    values = hinges.sum(1)

    count = exceeded.to(shifted)
    reached = torch.zeros_like(totals).scatter_add_(1, exceeded, torch.ones_like(count))
    exceeding = reached.flip(1).cumsum(1).flip(1)[:, 1:]  # Number of negatives that exceed each sorted positive.
    gradient = torch.empty_like(shifted)
    gradient[:, first:last].scatter_(1, order, exceeding.neg_())
    gradient[:, :first], gradient[:, last:] = count[:, :first], count[:, first:]
    return values, gradient
