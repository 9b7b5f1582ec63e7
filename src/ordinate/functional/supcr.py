"""SupCR, the supervised contrastive regression loss (Rank-N-Contrast)."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn.functional import pad

from ordinate import kernels
from ordinate.functional.anchor_blocks import Gradients, SampleOrder, anchor_blocks, block_sums, rows_of
from ordinate.functional.contrast import (
    Contrast,
    Inputs,
    check_contrasted,
    check_exponents,
    check_labels_differ,
    prepare,
)
from ordinate.functional.global_batch import Group
from ordinate.functional.inputs import check_targets
from ordinate.functional.label_distance import pairwise_label_distance
from ordinate.functional.numerics import accumulation_dtype, to_accumulation_dtype
from ordinate.functional.similarity import BLOCKS, SimilarityBlocks, fill_self
from ordinate.options import LabelDistance, Reduction, Similarity, SupCROptions

if TYPE_CHECKING:
    from ordinate.kernels.triton.supcr import LineRows

MAX_EXPONENT = {torch.float32: 60.0, torch.float64: 600.0}  # Up to here exp() and 1 / exp() keep all digits.


def supcr(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, "n *p"],
    *,
    temperature: float = SupCROptions.temperature,
    similarity: Similarity = SupCROptions.similarity,
    label_distance: LabelDistance = SupCROptions.label_distance,
    num_positives: int | None = SupCROptions.num_positives,
    tie_tolerance: float = SupCROptions.tie_tolerance,
    reduction: Reduction = SupCROptions.reduction,
    block_size: int | None = SupCROptions.block_size,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Shaped[Tensor, "m *q"] | None = None,
    weights: Shaped[Tensor, " n"] | None = None,
    self_index: Int[Tensor, " n"] | None = None,
    group: Group = None,
) -> Float[Tensor, "*n"]:
    r"""Supervised contrastive regression loss (SupCR, eq. 1).

    .. math::
        L = \frac1n \sum_i \frac{1}{n-1} \sum_{j \ne i} -\log
            \frac{\exp(s_{ij}/\tau)}{\sum_{k \ne i,\; d_{ik} \ge d_{ij}} \exp(s_{ik}/\tau)}

    with similarities s of embeddings and distances d of labels. Every sample is a positive once, contrasted
    with all that lie at least as far from the anchor in label space, itself and its ties included.

    Exact in O(n^2 log n) time, over blocks of anchors. With labels of one dimension the batch is sorted once.
    The samples that lie at least as far as j from an anchor are all beyond j on its side and all beyond j's mirror
    image on the other. So two running sums from the far ends give all denominators, and two from the anchor outwards
    the gradient. Other label distances order each anchor's row and take one running sum each way.

    Args:
        embeddings: Embeddings (n, d), floating point, finite, not normalised (the paper uses them as they are).
        labels: Labels (n,) or (n, p), real and finite.
        temperature: Temperature tau of the softmax, > 0; 2.0 in the paper.
        similarity: Similarity of embeddings: ``"neg_l2"`` (the paper's), ``"neg_l1"`` or ``"cosine"``.
        label_distance: Distance of labels: ``"l1"`` (the paper's), ``"l2"``, ``"angular"`` for (pitch, yaw) in radians,
            or a callable of (n, p) and (m, p) labels that returns (n, m) distances.
        num_positives: Number K of the closest samples that are positives (Table 13), samples that tie with the K-th
            included; None takes all samples.
        tie_tolerance: Largest difference of two label distances that count as equal. Labels such as 0.1 k lose their
            ties to rounding; 0 compares floats as they are.
        reduction: ``"mean"`` for the weighted mean over anchors, ``"sum"``, or ``"none"`` for one value per anchor.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.
        ref_emb: Embeddings (m, d) that the anchors are contrasted with instead of the batch.
        ref_labels: Labels of ``ref_emb``, (m,) or (m, p).
        weights: Weights (n,) of the anchors, >= 0. They receive a gradient where they require one.
        self_index: Place (n,) of each anchor itself in ``ref_emb``, so that it is not contrasted with itself.
        group: Processes whose batches are joined into one; see :mod:`ordinate.functional.global_batch`.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``, float32 for half precision and under autocast.

    Raises:
        OrdinateError: input that the formula has no value for, such as a single sample with nothing to contrast; or
            two samples, or one reference (each term of eq. 1 is then log 1), or labels that are all the same, or under
            ``"cosine"`` embeddings of one dimension (the cosine of two numbers is 1 or -1): nothing would be learned.

    Example:
        >>> import torch
        >>> embeddings = torch.tensor([[0.0], [1.0], [3.0]])
        >>> round(supcr(embeddings, torch.tensor([10.0, 20.0, 40.0])).item(), 4)
        0.2102
    """
    options = SupCROptions(
        temperature=temperature, similarity=similarity, label_distance=label_distance, num_positives=num_positives,
        tie_tolerance=tie_tolerance, reduction=reduction, block_size=block_size,
    )  # fmt: skip
    inputs = Inputs(ref_emb=ref_emb, ref_labels=ref_labels, weights=weights, self_index=self_index, group=group)
    contrast = prepare(embeddings, labels, check_targets, inputs)
    check_contrasted(contrast)
    check_labels_differ(contrast)
    check_exponents(contrast, options.similarity, options.temperature)
    a, b = contrast.anchors, contrast.references
    if options.similarity == "cosine":
        a, b = contrast.units(1 / options.temperature)
    everyone = torch.ones(len(a), dtype=torch.bool, device=a.device)
    coefficients = contrast.coefficients(options.reduction, everyone)
    order, paths = _paths(contrast, options)
    self_index = contrast.self_index
    if order is not None:
        self_index = order.self_index
    row_sums = _RowSums(options, self_index, paths)
    return contrast.loss(row_sums, coefficients, a, b, reduction=options.reduction, order=order)


@dataclass(frozen=True)
class _Block:
    """A block of anchors: their similarities with all references, and the factors of the gradient."""

    rows: slice
    similarity: Float[Tensor, "b m"]
    scale: float  # 1 / temperature
    self_index: Int[Tensor, " b"] | None
    factors: Float[Tensor, " b"]


_ValuesAndGradient = tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]


class _Path:
    """A way to compute the rows of anchors."""

    @abstractmethod
    def rows(self, block: _Block) -> _ValuesAndGradient | None:
        """Return the values of the anchors, and their gradient for similarities; None if the dtype is too narrow."""


_Paths = list[tuple[torch.dtype, _Path]]


def _paths(contrast: Contrast, options: SupCROptions) -> tuple[SampleOrder | None, _Paths]:
    """Choose the order of anchors and references, and the paths: the fastest first, the last never too narrow."""
    y, ref_y = contrast.labels, contrast.ref_labels
    wide = accumulation_dtype(y.device)
    on_a_line = y.shape[1] == 1 and options.label_distance in ("l1", "l2")
    on_a_line = on_a_line and options.num_positives is None and options.tie_tolerance == 0
    every = torch.cat([y, ref_y])[:, 0]
    uses_numba = on_a_line and kernels.uses_numba(y) and bool(torch.isfinite(every.max() - every.min()))
    steps = _whole_steps(every) if on_a_line and not uses_numba else None
    if not uses_numba and steps is None:
        return None, [(wide, _AnyLabels(y, ref_y, options))]
    keys = y[:, 0]
    order = contrast.ascending(keys, keys if ref_y is y else ref_y[:, 0])
    y, ref_y = to_accumulation_dtype(y[order.anchors]), to_accumulation_dtype(ref_y[order.references])
    line: _Path = _NumbaLine(y[:, 0], ref_y[:, 0])
    if steps is not None:
        line = _Line(steps[: len(y)][order.anchors], steps[len(y) :][order.references], order.self_index)
    paths: _Paths = [(wide, line), (wide, _AnyLabels(y, ref_y, options))]
    if wide not in (contrast.anchors.dtype, contrast.references.dtype):
        paths.insert(0, (torch.float32, line))
    return order, paths


@dataclass(frozen=True)
class _RowSums:
    """Compute eq. 1 for every anchor, and the gradient of its weighted sum."""

    options: SupCROptions
    self_index: Int[Tensor, " n"] | None
    paths: _Paths

    def __call__(self, coefficients: Tensor | None, a: Tensor, b: Tensor) -> tuple[Tensor, Gradients]:
        pairs = _Pairs(a, b, self.options.similarity)
        paths = list(self.paths)
        scale = 1 / float(self.options.temperature)

        def rows(block: slice, factors: Tensor | None) -> _ValuesAndGradient:
            self_index = rows_of(self.self_index, block)
            if factors is None:
                factors = to_accumulation_dtype(a.new_ones(block.stop - block.start))
            else:
                factors = to_accumulation_dtype(factors) * scale
            while True:
                dtype, path = paths[0]
                similarity = pairs.block(dtype, block, self_index)
                if similarity is not None:
                    found = path.rows(_Block(block, similarity, scale, self_index, factors))
                    if found is not None:
                        return found
                paths.pop(0)

        blocks = anchor_blocks(len(a), len(b), self.options.block_size, a.device)
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

    def add_gradient(self, rows: slice, gradient: Float[Tensor, "b m"]) -> None:
        self.of_dtype[gradient.dtype].add_gradient(rows, gradient)

    def gradients(self) -> list[Tensor]:
        gradients = [torch.zeros_like(self.a), torch.zeros_like(self.b)]
        for pairs in self.of_dtype.values():
            for total, part in zip(gradients, pairs.gradients(), strict=True):
                total.add_(part)
        return gradients


@dataclass(frozen=True)
class _NumbaLine(_Path):
    """Labels of one dimension, anchors and references in ascending order, each anchor's row in a compiled loop."""

    y: Float[Tensor, " n"]
    ref_y: Float[Tensor, " m"]

    def rows(self, block: _Block) -> _ValuesAndGradient | None:
        from ordinate.kernels.numba.supcr import supcr_rows

        similarity, self_index = block.similarity, block.self_index
        total = to_accumulation_dtype(similarity.sum(1))
        # The function exp2 is three times as fast as exp.
        e = fill_self(similarity.mul(block.scale * math.log2(math.e)).exp2_(), self_index, 0)
        count = e.shape[1]
        if self_index is not None:  # An anchor is not its own positive.
            count -= 1
            total += 1
        log_sum, least, gradient = supcr_rows(e, self.y[block.rows], self.ref_y, self_index, block.factors / count)
        if not (least.min() >= math.exp(-MAX_EXPONENT[similarity.dtype]) and log_sum.isfinite().all()):
            return None
        return (log_sum - total * block.scale) / count, gradient


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
        self.below = torch.searchsorted(self.groups, y)  # Number of groups below each anchor's label.
        self.self_group = self_index
        if self_index is not None:
            self.self_group = self.group[self_index]
        # The table has at least 16 cells for each label, so that most cells hold none.
        self.cell_bits = (int(self.groups[-1] - self.groups[0]) // (16 * len(self.groups))).bit_length()
        occupied = torch.bincount((self.groups - self.groups[0]) >> self.cell_bits)
        # Twice the number of groups below the cell; odd if the cell holds some.
        cells = 2 * (occupied.cumsum(0) - occupied) + (occupied > 0)
        self.cells = torch.cat([cells[:1] * 0, cells, cells[:1] * 0 + 2 * len(self.groups)])

    def rows(self, block: _Block) -> _ValuesAndGradient | None:
        similarity, scale, rows, self_index = block.similarity, block.scale, block.rows, block.self_index
        if kernels.uses_triton(similarity):
            found = self._kernels.rows(similarity, scale, rows, self_index, MAX_EXPONENT[similarity.dtype])
            return found and (found[0], found[1].mul_(block.factors[:, None].to(similarity)))
        if max(1.0, -float(similarity.amin())) * scale > MAX_EXPONENT[similarity.dtype]:
            return None
        total = similarity.sum(1)
        e = fill_self((similarity * scale).exp_(), self_index, 0)

        below = self.below[rows, None]
        low, high = below[[0, -1], 0].tolist()  # Number of groups below all anchors of the block, and below any.
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
        share = denominator.reciprocal_()
        if self.ties:
            log_sum = logs @ sizes
            share.mul_(sizes)
        else:
            log_sum = logs.sum(1)
        count = e.shape[1]
        if self_index is not None and self.self_group is not None:  # An anchor is not its own positive.
            count -= 1
            total += 1
            self_group = self.self_group[rows, None]
            log_sum -= logs.gather(1, self_group)[:, 0]
            share.scatter_(1, self_group, share.gather(1, self_group) * (1 - 1 / sizes[self_group]))
        pushed = self._inner_sums(share, mirror, low, high, is_left)
        if self.ties:
            pushed = pushed.index_select(1, self.group)
        gradient = pushed.mul_(e).sub_(1).mul_((block.factors / count)[:, None].to(e))
        return to_accumulation_dtype((log_sum - total * scale) / count), fill_self(gradient, self_index, 0)

    @cached_property
    def _kernels(self) -> "LineRows":
        from ordinate.kernels.triton.supcr import LineRows

        cells = self.cells >> 1
        return LineRows(self.y, self.below, self.groups, self.group, self.starts, cells, self.cell_bits)

    def _mirror(self, rows: slice) -> tuple[Int[Tensor, "b u"], Int[Tensor, "2 k"]]:
        """Return the first group at or above each group's mirror image, and the places where it is the image."""
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
        """Return for each group the sum over all that lie at least as far from the anchor."""
        groups = len(self.groups)
        from_left = e[:, : self.start[high]].cumsum(1)
        from_right = e[:, self.start[low] :].flip(1).cumsum(1).flip(1)
        if self.ties:
            starts = self.starts
            from_left = from_left.index_select(1, starts[1 : high + 1] - 1)
            from_right = from_right.index_select(1, starts[low:-1] - starts[low])
        from_left = pad(from_left, (1, 0))  # Column c sums over groups < c.
        from_right = pad(from_right, (low, 1))  # Column c sums over groups >= c.
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
        """Return for each group the sum of the shares that lie no farther from the anchor."""
        left, right = share[:, :high].flip(1), share[:, low:].clone()
        left[:, : high - low].masked_fill_(~is_left.flip(1), 0)
        right[:, : high - low].masked_fill_(is_left, 0)
        # Column c sums between the anchor and the start of group c.
        sums = share.new_zeros(len(share), share.shape[1] + 1)
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
    options: SupCROptions

    def rows(self, block: _Block) -> _ValuesAndGradient:
        options, self_index = self.options, block.self_index
        distance = pairwise_label_distance(self.y[block.rows], self.ref_y, options.label_distance)
        m = distance.shape[1]
        if self_index is not None:  # The anchor goes behind every other sample, and has no weight.
            distance = fill_self(distance.clone(), self_index, torch.inf)
            m -= 1
        distance, order = distance.sort(dim=1)
        distance, order = distance[:, :m], order[:, :m]
        s = block.similarity.gather(1, order) * block.scale
        tie_start, tie_end = _tie_edges(distance, options.tie_tolerance)
        running = _running_logsumexp(s.flip(1)).flip(1)
        denominator = running.gather(1, tie_start)
        share = _positive_share(distance, options.num_positives, options.tie_tolerance)

        # The derivative d value_i / d s_ik is -share_ik plus the sum of share_ij exp(s_ik - denominator_ij) over the
        # positives j no farther than k.
        pushed = _running_logsumexp(share.log() - denominator).gather(1, tie_end)
        gradient = (torch.exp(s + pushed) - share) * block.factors[:, None]
        values = torch.where(share > 0, share * (denominator - s), 0).sum(1)
        return values, torch.zeros_like(block.similarity).scatter_(1, order, gradient)


def _whole_steps(y: Float[Tensor, " n"], bits: int = 51) -> Int[Tensor, " n"] | None:
    """Return labels in steps of which each is a whole number of at most so many bits; None if there are no such steps.

    Differences of the numbers are then exact. All float32 labels have such a step unless the smallest is tiny compared
    with the largest.
    """
    largest = float(y.abs().max())
    if largest == 0:
        return torch.zeros_like(y, dtype=torch.int64)
    if not 1e-200 < largest < 1e200:
        return None
    steps = to_accumulation_dtype(y) * 2.0 ** (bits - math.frexp(largest)[1])
    whole = steps.round()
    if bool((steps == whole).all()):
        return whole.long()
    return None


def _tie_edges(distance: Tensor, tolerance: float) -> tuple[Tensor, Tensor]:
    """Return the first and last position, in each ascending row, of the samples that tie with each one."""
    if tolerance > 0:
        # Both edges follow from one comparison, distance >= nearest, so that rounding does not set them apart.
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
    """Return the weight of each sample as a positive of its anchor; weights sum to 1 along an ascending row."""
    if num_positives is None or num_positives >= distance.shape[1]:
        return torch.full_like(distance, 1 / distance.shape[1], dtype=accumulation_dtype(distance.device))
    positive = distance <= distance[:, num_positives - 1 : num_positives] + tolerance
    return to_accumulation_dtype(positive) / positive.sum(1, keepdim=True)


def _running_logsumexp(x: Tensor) -> Tensor:
    """Return the log-sum-exp of each row's entries up to each position; minus infinity adds nothing."""
    peak = x.amax(1, keepdim=True)
    below_peak = x - peak
    if bool((below_peak < -MAX_EXPONENT[x.dtype]).logical_and(below_peak > -torch.inf).any()):
        return x.logcumsumexp(1)
    return below_peak.exp_().cumsum(1).log_() + peak
