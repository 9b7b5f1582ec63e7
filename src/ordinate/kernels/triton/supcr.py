"""SupCR's rows for labels of one dimension: the twin of ``_Line``.

Anchors and references ascend in label; right of an anchor stand the references whose label is not below its own. Each
side is summed from its far end towards the anchor, which with the sum beyond the mirror image ``2 y_i - y_j`` gives
every denominator; then the shares are summed from the anchor outwards, which gives the gradient. Labels are whole
numbers: a mirror image is exact, and so is a tie with it.
"""

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from ordinate.kernels.triton import chunk_of, chunks_of

UNSPECIALIZED = ["count", "last_cell", "bits", "steps"]  # One kernel serves all their values.


class LineRows:
    """Where the kernels look for a label among the references.

    References of one label make a group. Cells of ``2 ** bits`` steps divide the line: a search stays in one of them.

    Args:
        y: Labels of the anchors, ascending.
        below: Number of groups below each of them.
        groups: Labels of the groups.
        group: Group of each reference.
        starts: Starts of the groups among the references.
        cells: Number of groups below each cell; the first and the last lie outside of all labels.
        bits: Bits of a cell's width.
    """

    def __init__(
        self,
        y: Int[Tensor, " n"],
        below: Int[Tensor, " n"],
        groups: Int[Tensor, " g"],
        group: Int[Tensor, " m"],
        starts: Int[Tensor, " g+1"],
        cells: Int[Tensor, " c"],
        bits: int,
    ) -> None:
        # No mirror image has the label of the last group.
        self.y, self.below, self.starts = y - groups[0], below.int(), starts.int()
        self.groups, self.group = pad(groups - groups[0], (0, 1), value=1 << 62), group.int()
        self.cells = cells.int()
        self.search = {
            "bits": bits,
            "steps": int(cells.diff().max()).bit_length(),  # Steps of a binary search in the fullest cell.
            "last_cell": len(cells) - 1,
            "TIES": len(groups) < len(group),
        }

    @torch.compiler.disable
    def rows(
        self,
        similarity: Float[Tensor, "b m"],
        scale: float,
        rows: slice,
        self_index: Int[Tensor, " b"] | None,
        widest: float,
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]] | None:
        """Values of some anchors and their gradient for ``scale * similarity``; None past the ``widest`` exponent."""
        b, m = similarity.shape
        y, below = self.y[rows], self.below[rows]
        start = self.starts[below]
        count = m if self_index is None else m - 1
        self_index = torch.full_like(start, -1) if self_index is None else self_index
        factor = similarity.new_full((1,), scale)
        sums, inner = torch.empty_like(similarity), torch.empty_like(similarity)
        least = similarity.new_empty(b, 2)
        totals, logs = similarity.new_empty(2, b, 2, dtype=torch.float64)
        line = y, below, self.groups, self.group, self.starts, self.cells
        with torch.cuda.device_of(similarity):
            _inwards[b, 2](similarity, factor, self_index, start, sums, least, totals, m, **chunk_of(m))
            if max(1.0, -float(least.amin())) * scale > widest:
                return None
            _outwards[b, 2](sums, self_index, start, inner, logs, *line, m, **self.search, **chunk_of(m))
            gradient = sums  # The sums have been read, so their memory is reused.
            _gradient[b, chunks_of(m)](
                similarity, factor, self_index, inner, gradient, *line, m, count, **self.search, **chunk_of(m)
            )
        return (logs.sum(1) - totals.sum(1) * scale) / count, gradient


@triton.jit
def _inwards(similarity, factor, self_index, start, sums, least, totals, m, CHUNK: tl.constexpr):
    """Sums of exp(similarity) from the far end of one side up to each column; the side's least and its total."""
    row, right = tl.program_id(0).to(tl.int64), tl.program_id(1)
    edge, itself, scale = tl.load(start + row), tl.load(self_index + row), tl.load(factor)
    width = m - edge if right == 1 else edge
    carry = tl.zeros((), tl.float64)
    total = tl.zeros((CHUNK,), tl.float64)
    lowest = tl.zeros((CHUNK,), similarity.dtype.element_ty)
    for done in tl.range(0, width, CHUNK, num_stages=3):  # Later chunks are loaded while one is summed.
        walked = done + tl.arange(0, CHUNK)
        inside = walked < width
        at = m - 1 - walked if right == 1 else walked
        s = tl.load(similarity + row * m + at, mask=inside, other=0)
        lowest = tl.minimum(lowest, s)
        others = inside & (at != itself)
        total += tl.where(others, s, 0).to(tl.float64)
        e = tl.where(others, tl.exp(s * scale), 0).to(tl.float64)
        tl.store(sums + row * m + at, carry + tl.cumsum(e), mask=inside)
        carry += tl.sum(e)
    tl.store(least + row * 2 + right, tl.min(lowest))
    tl.store(totals + row * 2 + right, tl.sum(total))


@triton.jit(do_not_specialize=UNSPECIALIZED)
def _outwards(
    sums, self_index, start, inner, logs, y, below, groups, group, starts, cells, m, bits, steps, last_cell,
    TIES: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """One side's denominators: their logarithms, and the sums of their inverses from the anchor up to each column."""
    row, right = tl.program_id(0).to(tl.int64), tl.program_id(1)
    edge, itself = tl.load(start + row), tl.load(self_index + row)
    label, middle = tl.load(y + row), tl.load(below + row)
    width = m - edge if right == 1 else edge
    carry = tl.zeros((), tl.float64)
    total = tl.zeros((CHUNK,), tl.float64)
    for done in range(0, width, CHUNK):
        walked = done + tl.arange(0, CHUNK)
        inside = walked < width
        at = edge + walked if right == 1 else edge - 1 - walked
        is_right, self_group, image, after = _mirror(
            at, inside, label, middle, groups, group, cells, bits, steps, last_cell, TIES
        )
        # Add everything outwards from the own group and from the mirror image; at distance 0 these meet in the middle.
        near = tl.where(
            is_right, _start(self_group, starts, inside, TIES), _start(self_group + 1, starts, inside, TIES) - 1
        )
        far = tl.where(is_right, tl.minimum(after, middle), image)
        far = _start(far, starts, inside, TIES) - is_right.to(tl.int32)
        denominator = tl.load(sums + row * m + near, mask=inside, other=1)
        denominator += tl.load(sums + row * m + far, mask=inside & (far >= 0) & (far < m), other=0)
        others = inside & (at != itself)
        denominator = tl.where(others, denominator, 1)
        total += tl.log(denominator).to(tl.float64)
        share = tl.where(others, 1 / denominator, 0).to(tl.float64)
        tl.store(inner + row * m + at, carry + tl.cumsum(share), mask=inside)
        carry += tl.sum(share)
    tl.store(logs + row * 2 + right, tl.sum(total))


@triton.jit(do_not_specialize=UNSPECIALIZED)
def _gradient(
    similarity, factor, self_index, inner, gradient, y, below, groups, group, starts, cells, m, count, bits, steps,
    last_cell, TIES: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """exp(similarity) times the shares of all that lie no farther, less its own pull."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    inside = at < m
    middle = tl.load(below + row)
    is_right, self_group, image, after = _mirror(
        at, inside, tl.load(y + row), middle, groups, group, cells, bits, steps, last_cell, TIES
    )
    near = tl.where(
        is_right, _start(self_group + 1, starts, inside, TIES) - 1, _start(self_group, starts, inside, TIES)
    )
    far = _start(tl.where(is_right, image, after), starts, inside, TIES) - 1 + is_right.to(tl.int32)
    across = inside & tl.where(is_right, image < middle, after > middle)
    pushed = tl.load(inner + row * m + near, mask=inside, other=0) + tl.load(
        inner + row * m + far, mask=across, other=0
    )
    s = tl.load(similarity + row * m + at, mask=inside, other=0)
    slope = (pushed * tl.exp(s * tl.load(factor)) - 1) / count
    tl.store(gradient + row * m + at, tl.where(at == tl.load(self_index + row), 0, slope), mask=inside)


@triton.jit
def _mirror(at, inside, label, middle, groups, group, cells, bits, steps, last_cell, TIES: tl.constexpr):
    """Whether a column stands right, its group, the first group not below its mirror image, the first one above it."""
    self_group = tl.load(group + at, mask=inside, other=0) if TIES else at
    mirrored = 2 * label - tl.load(groups + self_group, mask=inside, other=0)
    cell = tl.minimum(tl.maximum((mirrored >> bits) + 1, 0), last_cell)
    low = tl.load(cells + cell)
    high = tl.load(cells + tl.minimum(cell + 1, last_cell))
    for _ in range(steps):
        centre = (low + high) >> 1
        is_below = (low < high) & (tl.load(groups + centre) < mirrored)
        high = tl.where(is_below, high, centre)
        low = tl.where(is_below, centre + 1, low)
    after = low + (tl.load(groups + low) == mirrored).to(tl.int32)
    return self_group >= middle, self_group, low, after


@triton.jit
def _start(of, starts, inside, TIES: tl.constexpr):
    """First column of a group."""
    return tl.load(starts + of, mask=inside, other=0) if TIES else of
