"""OTD's rows over all triplets: the twin of ``_AllTriplets``.

Near 0 and pi, where arccos loses digits, the angle comes from the difference and the sum of the two directions, as it
does in PyTorch. A pair that stands in no triplet, such as an anchor with itself, is never near.
"""

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.kernels.triton import chunk_of, chunks_of

PI = tl.constexpr(3.141592653589793)


@torch.compiler.disable
def angle_rows(
    cosine: Float[Tensor, "b m"],
    u: Float[Tensor, "b d"],
    v: Float[Tensor, "m d"],
    ranks: Int[Tensor, " b"],
    ref_ranks: Int[Tensor, " m"],
    shares: Float[Tensor, "c m"],
    self_index: Int[Tensor, " b"] | None,
    coefficients: Float[Tensor, " b"] | None,
    near: float,
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"] | None]:
    """Return the sums of some anchors' terms, and the gradient of their weighted sum, which overwrites the cosines."""
    b, m = cosine.shape
    values = cosine.new_empty(b, chunks_of(m))
    self_index = torch.full_like(ranks, -1) if self_index is None else self_index
    factors = cosine.new_ones(b) if coefficients is None else coefficients
    bound = cosine.new_full((1,), near)
    with torch.cuda.device_of(cosine):
        _terms[b, chunks_of(m)](
            cosine, u, v, ranks, ref_ranks, shares, self_index, factors, bound, values,
            m, u.shape[1], len(shares), **chunk_of(m),
        )  # fmt: skip
    return values.sum(1), None if coefficients is None else cosine


@triton.jit(do_not_specialize=["num_classes"])
def _terms(
    cosine, u, v, ranks, ref_ranks, shares, self_index, factors, bound, values, m, d, num_classes, CHUNK: tl.constexpr
):
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = part * CHUNK + tl.arange(0, CHUNK)
    inside = at < m
    rank = tl.load(ranks + row)
    share = tl.load(shares + rank * m + at, mask=inside & (at != tl.load(self_index + row)), other=0)
    target = tl.abs(tl.load(ref_ranks + at, mask=inside, other=0) - rank).to(tl.float64) / (num_classes - 1)
    x = tl.load(cosine + row * m + at, mask=inside, other=0)
    x = tl.minimum(tl.maximum(x, -1), 1)
    angle, sine = _arccos(x), tl.sqrt((1 - x) * (1 + x))
    is_near = (1 - tl.abs(x) <= tl.load(bound)) & (share > 0)
    if tl.sum(is_near.to(tl.int32)) > 0:
        apart, together = _lengths(u + row * d, v + at.to(tl.int64) * d, d, is_near, CHUNK)
        small = _arctan_of_small(tl.minimum(apart, together) / tl.maximum(apart, together))
        angle = tl.where(is_near, tl.where(x > 0, 2 * small, PI - 2 * small), angle)
        sine = tl.where(is_near, 2 * apart * together / (apart * apart + together * together), sine)
    error = angle / PI - target
    pull = share * error
    tl.store(values + row * tl.num_programs(1) + part, tl.sum(pull * error))
    # The slope of the angle is -1 / sine; it has none at exactly 0 and pi.
    pull *= -2 / PI * tl.load(factors + row)
    slope = tl.where(sine > 0, pull / tl.where(sine > 0, sine, 1), 0)
    tl.store(cosine + row * m + at, slope, mask=inside)


@triton.jit
def _lengths(u, v, d, chosen, CHUNK: tl.constexpr):
    """Lengths of the difference and of the sum of one vector with some others; 1 and 1 for those not chosen."""
    apart, together = tl.zeros((CHUNK,), tl.float64), tl.zeros((CHUNK,), tl.float64)
    for k in range(d):
        a, b = tl.load(u + k), tl.load(v + k, mask=chosen, other=0)
        apart += (a - b) * (a - b)
        together += (a + b) * (a + b)
    return tl.sqrt(tl.where(chosen, apart, 1)), tl.sqrt(tl.where(chosen, together, 1))


@triton.jit
def _arctan_of_small(t):
    square = t * t  # It is below 1e-8, so the next term is below 1e-24.
    return t * (1 - square * (1 / 3 - square / 5))


@triton.jit
def _arccos(x):
    """FreeBSD's rational approximation of arccos, to the last digit; Triton has none."""
    far = tl.abs(x) >= 0.5
    z = tl.where(far, (1 - tl.abs(x)) / 2, x * x)
    top = 2.01212532134862925881e-01 + z * (
        -4.00555345006794114027e-02 + z * (7.91534994289814532176e-04 + z * 3.47933107596021167570e-05)
    )
    top = z * (1.66666666666666657415e-01 + z * (-3.25565818622400915405e-01 + z * top))
    bottom = 2.02094576023350569471 + z * (-6.88283971605453293030e-01 + z * 7.70381505559019352791e-02)
    bottom = 1 + z * (-2.40339491173441421878 + z * bottom)
    arcsine = tl.where(far, tl.sqrt(z), x) * (1 + top / bottom)
    return tl.where(far, tl.where(x > 0, 2 * arcsine, PI - 2 * arcsine), PI / 2 - arcsine)
