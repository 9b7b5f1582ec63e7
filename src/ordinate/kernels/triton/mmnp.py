"""MMNP's rows: the twin of ``_hinges``.

Eq. 2 is a sum of similarities, each as often as it stands in a hinge above 0: those numbers are the gradient, and the
value is their product with the similarities. The positives are sorted by PyTorch, whose sort takes rows of any length.
"""

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.kernels.triton import chunk_of, chunks_of

UNSPECIALIZED = ["first", "last", "real", "steps", "width"]  # One kernel serves all their values.


@torch.compiler.disable
def hinge_rows(
    shifted: Float[Tensor, "b m"],
    first: int,
    positives: Float[Tensor, "b p"],
    order: Int[Tensor, "b p"],
    *,
    with_self: bool,
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """Return eq. 2 of anchors of one rank, and its gradient.

    Args:
        shifted: Similarities of the anchors, each negative's raised by the margin.
        first: First column of the positives.
        positives: Similarities of the positives, ascending; infinity where an anchor meets itself.
        order: Place of each of them among the columns of the positives.
        with_self: Whether each anchor stands among its positives.
    """
    b, m = shifted.shape
    width = positives.shape[1]
    last = first + width
    real = width - int(with_self)
    gradient = torch.empty_like(shifted)
    reached = torch.zeros(b, width, dtype=torch.int32, device=shifted.device)
    pushed = shifted.new_empty(b, chunks_of(m), dtype=torch.float64)
    pulled = shifted.new_empty(b, dtype=torch.float64)
    with torch.cuda.device_of(shifted):
        _negatives[b, chunks_of(m)](
            shifted, positives, reached, gradient, pushed, m, first, last, real, width.bit_length(), **chunk_of(m)
        )
        _positives[b,](positives, order, reached, gradient, pulled, m, first, width, **chunk_of(width))
    return pushed.sum(1) - pulled, gradient


@triton.jit(do_not_specialize=UNSPECIALIZED)
def _negatives(shifted, positives, reached, gradient, pushed, m, first, last, real, steps, CHUNK: tl.constexpr):
    """How many positives each negative exceeds; at each positive, how many negatives exceed it and none beyond."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    inside = (at < m) & ((at < first) | (at >= last))
    s = tl.load(shifted + row * m + at, mask=inside, other=0)
    ascending = positives + row * (last - first)
    low = tl.zeros((CHUNK,), tl.int32)
    high = tl.where(inside, real, 0)
    for _ in range(steps):
        centre = (low + high) >> 1
        exceeds = (low < high) & (tl.load(ascending + centre, mask=low < high, other=0) < s)
        high = tl.where(exceeds, high, centre)
        low = tl.where(exceeds, centre + 1, low)
    tl.store(gradient + row * m + at, low.to(s.dtype), mask=inside)
    tl.store(pushed + row * tl.num_programs(1) + tl.program_id(1), tl.sum(low.to(tl.float64) * s.to(tl.float64)))
    counts = reached + row * (last - first)
    tl.atomic_add(counts + low - 1, 1, mask=(low > 0) & (low < real), sem="relaxed")
    beyond = tl.sum((low == real).to(tl.int32))  # There are often many, which are added in one step.
    tl.atomic_add(counts + real - 1, beyond, mask=(real > 0) & (beyond > 0), sem="relaxed")


@triton.jit(do_not_specialize=UNSPECIALIZED)
def _positives(positives, order, reached, gradient, pulled, m, first, width, CHUNK: tl.constexpr):
    """How many negatives exceed each positive, from the largest to the smallest."""
    row = tl.program_id(0).to(tl.int64)
    carry = tl.zeros((), tl.int32)
    total = tl.zeros((CHUNK,), tl.float64)
    for done in range(0, width, CHUNK):
        at = width - 1 - done - tl.arange(0, CHUNK)
        inside = at >= 0
        count = tl.load(reached + row * width + at, mask=inside, other=0)
        exceeding = carry + tl.cumsum(count)
        carry += tl.sum(count)
        s = tl.load(positives + row * width + at, mask=inside & (exceeding > 0), other=0)
        total += exceeding.to(tl.float64) * s.to(tl.float64)
        column = first + tl.load(order + row * width + at, mask=inside, other=0)
        tl.store(gradient + row * m + column, (-exceeding).to(s.dtype), mask=inside)
    tl.store(pulled + row, tl.sum(total))
