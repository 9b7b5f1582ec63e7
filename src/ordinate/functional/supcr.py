"""SupCR, the supervised contrastive regression loss (Rank-N-Contrast)."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn.functional import pad

from ordinate import kernels
from ordinate.functional.anchor_blocks import Gradients, Order, anchor_blocks, block_sums, check_block_size
from ordinate.functional.contrast import Contrast, check_contrasted, check_exponents, prepare
from ordinate.functional.global_batch import Group
from ordinate.functional.inputs import check_choice, check_positive, check_targets, check_whole
from ordinate.functional.label_distance import LABEL_DISTANCES, LabelDistance, pairwise_label_distance
from ordinate.functional.numerics import accumulation_dtype, to_accumulation_dtype
from ordinate.functional.similarity import BLOCKS, SIMILARITIES, SimilarityBlocks, fill_self
from ordinate.options import Reduction, Similarity

if TYPE_CHECKING:
    from ordinate.kernels.triton.supcr import LineRows

CELLS = 16  # of the table of mirror images for each label, at least
LOG2_E = math.log2(math.e)  # exp2 is three times as fast as exp
MANTISSA = 51  # bits of the largest label in whole steps
EXP_RANGE = {
    torch.float32: 60.0,
    torch.float64: 600.0,
}  # of an exponent, within which exp() and 1 / exp() keep all digits


def supcr(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, "n *p"],
    *,
    temperature: float = 2.0,
    similarity: Similarity = "neg_l2",
    label_distance: LabelDistance = "l1",
    num_positives: int | None = None,
    tie_tolerance: float = 0.0,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Shaped[Tensor, "m *q"] | None = None,
    weights: Shaped[Tensor, " n"] | None = None,
    reduction: Reduction = "mean",
    own: Int[Tensor, " n"] | None = None,
    group: Group = None,
    block_size: int | None = None,
) -> Float[Tensor, "*n"]:
    r"""Supervised contrastive regression loss (SupCR, eq. 1).

    .. math::
        L = \frac1n \sum_i \frac{1}{n-1} \sum_{j \ne i} -\log
            \frac{\exp(s_{ij}/\tau)}{\sum_{k \ne i,\; d_{ik} \ge d_{ij}} \exp(s_{ik}/\tau)}

    with similarities s of embeddings and distances d of labels. Every sample is a positive once, contrasted
    with all that lie at least as far from the anchor in label space, itself and its ties included.

    Exact in O(n^2 log n) time, over blocks of anchors. With labels of one dimension the batch is sorted once: what
    lies at least as far as j from an anchor is everything beyond j on its side and beyond j's mirror image on the
    other, so two running sums from the far ends give all denominators, and two from the anchor outwards the
    gradient. Other label distances order each anchor's row and take one running sum each way.

    Args:
        embeddings: (n, d), floating point, finite, not normalised (the paper uses them as they are).
        labels: (n,) or (n, p), real and finite.
        temperature: tau > 0; 2.0 in the paper.
        similarity: ``"neg_l2"`` (the paper's), ``"neg_l1"`` or ``"cosine"``.
        label_distance: ``"l1"`` (the paper's), ``"l2"``, ``"angular"`` for (pitch, yaw) in radians, or a callable
            of (n, p) and (m, p) labels that returns (n, m) distances.
        num_positives: contrast only the K closest samples as positives (Table 13), those that tie with the
            K-th included; None takes all.
        tie_tolerance: distances that differ by no more than this count as equal. Labels such as 0.1 k lose
            their ties to rounding; 0 compares floats as they are.
        ref_emb: (m, d), what the anchors are contrasted with instead of the batch.
        ref_labels: (m,) or (m, p), given with ``ref_emb``.
        weights: (n,), one per anchor, >= 0. Receives a gradient where it requires one.
        reduction: ``"mean"`` (weighted mean over anchors), ``"sum"``, or ``"none"`` for one value an anchor.
        own: (n,), where each anchor itself stands among ``ref_emb``, so that it is not contrasted with itself.
        group: processes whose batches are joined into one; see :mod:`ordinate.functional.global_batch`.
        block_size: anchors per block, which bounds the memory; None chooses.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``, float32 for half precision and under autocast.

    Raises:
        OrdinateError: input that the formula has no value for, such as a single sample with nothing to contrast; or
            two samples, or one reference (each term of eq. 1 is then log 1), or under ``"cosine"`` embeddings of one
            dimension (the cosine of two numbers is 1 or -1): nothing would be learned.

    Example:
        >>> import torch
        >>> embeddings = torch.tensor([[0.0], [1.0], [3.0]])
        >>> round(supcr(embeddings, torch.tensor([10.0, 20.0, 40.0])).item(), 4)
        0.2102
    """
    check_supcr_options(
        temperature=temperature,
        similarity=similarity,
        label_distance=label_distance,
        num_positives=num_positives,
        tie_tolerance=tie_tolerance,
        reduction=reduction,
        block_size=block_size,
    )
    contrast = prepare(
        embeddings, labels, check_targets,
        ref_emb=ref_emb, ref_labels=ref_labels, weights=weights, own=own, group=group,
    )  # fmt: skip
    check_contrasted(contrast, given=ref_emb is not None)
    check_exponents(contrast, similarity, temperature)
    a, b = contrast.anchors, contrast.references
    if similarity == "cosine":
        a, b = contrast.units(1 / temperature)
    everyone = torch.ones(len(a), dtype=torch.bool, device=a.device)
    coefficients = contrast.coefficients(reduction, everyone)
    order, paths = _paths(contrast, label_distance, num_positives, tie_tolerance)
    self_index = contrast.self_index if order is None else order.self_index
    row_sums = _RowSums(similarity, 1 / float(temperature), self_index, paths, block_size)
    return contrast.loss(row_sums, coefficients, a, b, reduction=reduction, order=order)


def check_supcr_options(
    *,
    temperature: float,
    similarity: str,
    label_distance: LabelDistance,
    num_positives: int | None,
    tie_tolerance: float,
    reduction: str,
    block_size: int | None,
) -> None:
    """Raise where an option of :func:`supcr` cannot be used."""
    check_positive(temperature, "temperature")
    check_choice(similarity, SIMILARITIES, "similarity")
    if not callable(label_distance):
        check_choice(label_distance, LABEL_DISTANCES, "label_distance")
    if num_positives is not None:
        check_whole(num_positives, "num_positives")
    check_positive(tie_tolerance, "tie_tolerance", or_zero=True)
    check_choice(reduction, get_args(Reduction), "reduction")
    check_block_size(block_size)


class _Path:
    """A way to compute the rows of anchors."""

    @abstractmethod
    def rows(
        self,
        similarity: Float[Tensor, "b m"],
        scale: float,
        rows: slice,
        self_index: Int[Tensor, " b"] | None,
        factors: Float[Tensor, " b"],
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]] | None:
        """Values of some anchors, and their gradient for ``scale * similarity`` times a factor each.

        None where the dtype is too narrow.
        """


_Paths = list[tuple[torch.dtype, _Path]]


def _paths(
    contrast: Contrast, label_distance: LabelDistance, num_positives: int | None, tie_tolerance: float
) -> tuple[Order | None, _Paths]:
    """Choose the order of anchors and references, and the paths: the fastest first, the last never too narrow."""
    y, ref_y = contrast.labels, contrast.ref_labels
    widest_type = accumulation_dtype(y.device)
    on_a_line = y.shape[1] == 1 and label_distance in ("l1", "l2") and num_positives is None and tie_tolerance == 0
    every = torch.cat([y, ref_y])[:, 0]
    compiled = on_a_line and kernels.uses_numba(y) and bool(torch.isfinite(every.max() - every.min()))
    steps = _whole_steps(every) if on_a_line and not compiled else None
    if not compiled and steps is None:
        return None, [(widest_type, _AnyLabels(y, ref_y, label_distance, num_positives, tie_tolerance))]
    keys = y[:, 0]
    order = contrast.ascending(keys, keys if ref_y is y else ref_y[:, 0])
    y, ref_y = to_accumulation_dtype(y[order.anchors]), to_accumulation_dtype(ref_y[order.references])
    line: _Path = _CompiledLine(y[:, 0], ref_y[:, 0])
    if steps is not None:
        line = _Line(steps[: len(y)][order.anchors], steps[len(y) :][order.references], order.self_index)
    narrow = widest_type not in (contrast.anchors.dtype, contrast.references.dtype)
    paths: _Paths = [(torch.float32, line)] if narrow else []
    any_labels = _AnyLabels(y, ref_y, label_distance, num_positives, tie_tolerance)
    return order, [*paths, (widest_type, line), (widest_type, any_labels)]


@dataclass(frozen=True)
class _RowSums:
    """Eq. 1 for every anchor, and the gradient of its weighted sum."""

    similarity: Similarity
    scale: float
    self_index: Int[Tensor, " n"] | None
    paths: Sequence[tuple[torch.dtype, _Path]]
    block_size: int | None

    def __call__(self, coefficients: Tensor | None, a: Tensor, b: Tensor) -> tuple[Tensor, Gradients]:
        pairs = _Pairs(a, b, self.similarity)
        paths = list(self.paths)

        def rows(block: slice, factors: Tensor | None) -> tuple[Tensor, Tensor]:
            self_index = None if self.self_index is None else self.self_index[block]
            chosen = to_accumulation_dtype(
                a.new_ones(block.stop - block.start) if factors is None else to_accumulation_dtype(factors) * self.scale
            )
            while True:
                dtype, path = paths[0]
                similarity = pairs.block(dtype, block, self_index)
                if similarity is not None:
                    found = path.rows(similarity, self.scale, block, self_index, chosen)
                    if found is not None:
                        return found
                paths.pop(0)

        blocks = anchor_blocks(len(a), len(b), self.block_size, a.device)
        return block_sums(blocks, rows, pairs, coefficients)


class _Pairs:
    """Similarities of anchors with references, computed in one dtype or another."""

    def __init__(self, a: Float[Tensor, "n d"], b: Float[Tensor, "m d"], similarity: Similarity) -> None:
        self.a, self.b, self.similarity = a, b, similarity
        self.of_dtype: dict[torch.dtype, SimilarityBlocks] = {}

    def block(
        self, dtype: torch.dtype, rows: slice, self_index: Int[Tensor, " b"] | None
    ) -> Float[Tensor, "b m"] | None:
        if dtype not in self.of_dtype:
            self.of_dtype[dtype] = BLOCKS[self.similarity](self.a, self.b, dtype)
        return self.of_dtype[dtype].block(rows, self_index)

    def pull(self, rows: slice, gradient: Float[Tensor, "b m"]) -> None:
        self.of_dtype[gradient.dtype].pull(rows, gradient)

    def gradients(self) -> list[Tensor]:
        gradients = [torch.zeros_like(self.a), torch.zeros_like(self.b)]
        for pairs in self.of_dtype.values():
            for total, part in zip(gradients, pairs.gradients(), strict=True):
                total.add_(part)
        return gradients


@dataclass(frozen=True)
class _CompiledLine(_Path):
    """Labels of one dimension, anchors and references in ascending order, each anchor's row in a compiled loop."""

    y: Float[Tensor, " n"]
    ref_y: Float[Tensor, " m"]

    def rows(
        self,
        similarity: Float[Tensor, "b m"],
        scale: float,
        rows: slice,
        self_index: Int[Tensor, " b"] | None,
        factors: Float[Tensor, " b"],
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]] | None:
        from ordinate.kernels.numba.supcr import supcr_rows

        total = to_accumulation_dtype(similarity.sum(1))
        e = fill_self(similarity.mul(scale * LOG2_E).exp2_(), self_index, 0)
        count = e.shape[1]
        if self_index is not None:  # an anchor is not its own positive
            count -= 1
            total += 1
        log_sum, least, gradient = supcr_rows(e, self.y[rows], self.ref_y, self_index, factors / count)
        if not (least.min() >= math.exp(-EXP_RANGE[similarity.dtype]) and log_sum.isfinite().all()):
            return None
        return (log_sum - total * scale) / count, gradient


class _Line(_Path):
    """Labels of one dimension, anchors and references in ascending order, as whole numbers.

    Beyond a reference lie those farther out on its side, and on the other side those from its mirror image
    ``2 y_i - y_j`` outwards. References of one label make a group. Where a mirror image falls is read from a table
    of cells; only where its cell holds a group must it be searched for.
    """

    def __init__(self, y: Int[Tensor, " n"], ref_y: Int[Tensor, " m"], self_index: Int[Tensor, " n"] | None) -> None:
        self.y = y
        self.groups, self.group, sizes = ref_y.unique_consecutive(return_inverse=True, return_counts=True)
        self.ties = len(self.groups) < len(ref_y)
        self.sizes = to_accumulation_dtype(sizes)
        self.starts = pad(sizes.cumsum(0), (1, 0))
        self.start = self.starts.tolist()
        self.below = torch.searchsorted(self.groups, y)  # groups below each anchor's label
        self.self_group = None if self_index is None else self.group[self_index]
        self.cell_bits = (int(self.groups[-1] - self.groups[0]) // (CELLS * len(self.groups))).bit_length()
        occupied = torch.bincount((self.groups - self.groups[0]) >> self.cell_bits)
        cells = 2 * (occupied.cumsum(0) - occupied) + (occupied > 0)  # twice the groups below; odd where it holds some
        self.cells = torch.cat([cells[:1] * 0, cells, cells[:1] * 0 + 2 * len(self.groups)])

    def rows(
        self,
        similarity: Float[Tensor, "b m"],
        scale: float,
        rows: slice,
        self_index: Int[Tensor, " b"] | None,
        factors: Float[Tensor, " b"],
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]] | None:
        if kernels.uses_triton(similarity):
            found = self._kernels.rows(similarity, scale, rows, self_index, EXP_RANGE[similarity.dtype])
            return found and (found[0], found[1].mul_(factors[:, None].to(similarity)))
        if max(1.0, -float(similarity.amin())) * scale > EXP_RANGE[similarity.dtype]:
            return None
        total = similarity.sum(1)
        e = fill_self((similarity * scale).exp_(), self_index, 0)

        below = self.below[rows, None]
        low, high = below[[0, -1], 0].tolist()  # groups below all anchors of the block, and below any
        is_left = torch.arange(low, high, device=below.device) < below
        mirror, tied = self._mirror(rows)
        is_left_of = tied[1] < below[tied[0], 0]
        tied_left, tied_right = tied[:, is_left_of].unbind(), tied[:, ~is_left_of].unbind()
        mirror[tied_right] += 1
        denominator = self._outer_sums(e, mirror, low, high, is_left)
        mirror[tied_right] -= 1
        mirror[tied_left] += 1

        sizes = self.sizes.to(e)
        logs = denominator.log()
        log_sum = logs @ sizes if self.ties else logs.sum(1)
        share = denominator.reciprocal_().mul_(sizes) if self.ties else denominator.reciprocal_()
        count = e.shape[1]
        if self_index is not None and self.self_group is not None:  # an anchor is not its own positive
            count -= 1
            total += 1
            self_group = self.self_group[rows, None]
            log_sum -= logs.gather(1, self_group)[:, 0]
            share.scatter_(1, self_group, share.gather(1, self_group) * (1 - 1 / sizes[self_group]))
        pushed = self._inner_sums(share, mirror, low, high, is_left)
        if self.ties:
            pushed = pushed.index_select(1, self.group)
        gradient = pushed.mul_(e).sub_(1).mul_((factors / count)[:, None].to(e))
        return to_accumulation_dtype((log_sum - total * scale) / count), fill_self(gradient, self_index, 0)

    @cached_property
    def _kernels(self) -> "LineRows":
        from ordinate.kernels.triton.supcr import LineRows

        cells = self.cells >> 1
        return LineRows(self.y, self.below, self.groups, self.group, self.starts, cells, self.cell_bits)

    def _mirror(self, rows: slice) -> tuple[Int[Tensor, "b u"], Int[Tensor, "2 k"]]:
        """First group at or above each group's mirror image, and the places where it is one, as far away as that."""
        y, first = self.y[rows], self.groups[0]
        cell = ((2 * y - first + (1 << self.cell_bits))[:, None] - self.groups).bitwise_right_shift_(self.cell_bits)
        code = self.cells.expand(len(y), -1).gather(1, cell.clamp_(0, len(self.cells) - 1))
        mirror = code >> 1
        places = code.bitwise_and_(1).nonzero()
        row, column = places.unbind(1)
        image = 2 * y[row] - self.groups[column]
        found = torch.searchsorted(self.groups, image)
        mirror[row, column] = found
        is_tie = (self.groups[found.clamp_(max=len(self.groups) - 1)] == image) & (self.groups[column] != y[row])
        return mirror, places[is_tie].T

    def _outer_sums(
        self, e: Float[Tensor, "b m"], mirror: Int[Tensor, "b u"], low: int, high: int, is_left: Tensor
    ) -> Float[Tensor, "b u"]:
        """For each group the sum over all that lie at least as far from the anchor."""
        groups = len(self.groups)
        from_left = e[:, : self.start[high]].cumsum(1)
        from_right = e[:, self.start[low] :].flip(1).cumsum(1).flip(1)
        if self.ties:
            starts = self.starts
            from_left = from_left.index_select(1, starts[1 : high + 1] - 1)
            from_right = from_right.index_select(1, starts[low:-1] - starts[low])
        from_left = pad(from_left, (1, 0))  # at c: groups < c
        from_right = pad(from_right, (low, 1))  # at c: groups >= c
        middle = mirror[:, low:high]
        middle_left = from_right.gather(1, middle) + from_left[:, low + 1 : high + 1]
        middle_right = from_left.gather(1, middle.clamp(max=high)) + from_right[:, low:high]
        return torch.cat(
            [
                from_right.gather(1, mirror[:, :low]).add_(from_left[:, 1 : low + 1]),
                torch.where(is_left, middle_left, middle_right),
                from_left.gather(1, mirror[:, high:]).add_(from_right[:, high:groups]),
            ],
            dim=1,
        )

    def _inner_sums(self, share: Tensor, mirror: Tensor, low: int, high: int, is_left: Tensor) -> Tensor:
        """For each group the sum of the shares that lie no farther from the anchor."""
        left, right = share[:, :high].flip(1), share[:, low:].clone()
        left[:, : high - low].masked_fill_(~is_left.flip(1), 0)
        right[:, : high - low].masked_fill_(is_left, 0)
        sums = share.new_zeros(len(share), share.shape[1] + 1)  # at c: between the anchor and the start of group c
        sums[:, low + 1 :] = right.cumsum(1)
        sums[:, :high] += left.cumsum(1).flip(1)
        inner = sums.gather(1, mirror)
        inner[:, :low] += sums[:, :low]
        inner[:, low:high] += torch.where(is_left, sums[:, low:high], sums[:, low + 1 : high + 1])
        inner[:, high:] += sums[:, high + 1 :]
        return inner


@dataclass(frozen=True)
class _AnyLabels(_Path):
    """Labels of any dimension and distance: each anchor's row in the order of its label distances."""

    y: Float[Tensor, "n p"]
    ref_y: Float[Tensor, "m p"]
    label_distance: LabelDistance
    num_positives: int | None
    tolerance: float

    def rows(
        self,
        similarity: Float[Tensor, "b m"],
        scale: float,
        rows: slice,
        self_index: Int[Tensor, " b"] | None,
        factors: Float[Tensor, " b"],
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]:
        distance = pairwise_label_distance(self.y[rows], self.ref_y, self.label_distance)
        m = similarity.shape[1]
        if self_index is not None:  # behind every other sample, and without weight
            distance = fill_self(distance.clone(), self_index, torch.inf)
            m -= 1
        distance, order = distance.sort(dim=1)
        distance, order = distance[:, :m], order[:, :m]
        s = similarity.gather(1, order) * scale
        tie_start, tie_end = _tie_edges(distance, self.tolerance)
        running = _running_logsumexp(s.flip(1)).flip(1)
        denominator = running.gather(1, tie_start)
        share = _positive_share(distance, self.num_positives, self.tolerance)

        # d value_i / d s_ik = -share_ik + sum of share_ij exp(s_ik - denominator_ij) over positives j no farther than k
        pushed = _running_logsumexp(share.log() - denominator).gather(1, tie_end)
        gradient = (torch.exp(s + pushed) - share) * factors[:, None]
        values = torch.where(share > 0, share * (denominator - s), 0).sum(1)
        return values, torch.zeros_like(similarity).scatter_(1, order, gradient)


def _whole_steps(y: Float[Tensor, " n"]) -> Int[Tensor, " n"] | None:
    """Labels in steps of which each is a whole number, few enough that their differences are exact; None if none are.

    All float32 labels have such a step unless the smallest is tiny beside the largest.
    """
    largest = float(y.abs().max())
    if not 1e-200 < largest < 1e200:
        return torch.zeros_like(y, dtype=torch.int64) if largest == 0 else None
    steps = to_accumulation_dtype(y) * 2.0 ** (MANTISSA - math.frexp(largest)[1])
    whole = steps.round()
    return whole.long() if bool((steps == whole).all()) else None


def _tie_edges(distance: Tensor, tolerance: float) -> tuple[Tensor, Tensor]:
    """First and last position, in each ascending row, of the samples that tie with each one."""
    if tolerance > 0:  # one comparison, distance >= nearest, for both edges: rounding must not set them apart
        distance = distance.contiguous()
        nearest = distance - tolerance
        return torch.searchsorted(distance, nearest), torch.searchsorted(nearest, distance, right=True) - 1
    last = distance.shape[1] - 1
    position = torch.arange(last + 1, device=distance.device).expand_as(distance)
    rises = distance[:, 1:] > distance[:, :-1]
    start = torch.where(pad(rises, (1, 0), value=True), position, 0).cummax(1).values
    to_end = torch.where(pad(rises, (0, 1), value=True), last - position, 0).flip(1).cummax(1).values.flip(1)
    return start, last - to_end


def _positive_share(distance: Tensor, num_positives: int | None, tolerance: float) -> Tensor:
    """Weight of each sample as a positive of its anchor: they sum to 1 along an ascending row."""
    if num_positives is None or num_positives >= distance.shape[1]:
        return torch.full_like(distance, 1 / distance.shape[1], dtype=accumulation_dtype(distance.device))
    positive = distance <= distance[:, num_positives - 1 : num_positives] + tolerance
    return to_accumulation_dtype(positive) / positive.sum(1, keepdim=True)


def _running_logsumexp(x: Tensor) -> Tensor:
    """Log-sum-exp of each row's entries up to each position; minus infinity counts for nothing."""
    peak = x.amax(1, keepdim=True)
    below_peak = x - peak
    if bool((below_peak < -EXP_RANGE[x.dtype]).logical_and(below_peak > -torch.inf).any()):
        return x.logcumsumexp(1)
    return below_peak.exp_().cumsum(1).log_() + peak
