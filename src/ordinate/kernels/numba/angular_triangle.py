"""OTD's rows over all triplets: the angles of some anchors with their references, and the slopes of their errors."""

from math import atan2, pi, sin, sqrt

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray
from torch import Tensor

from ordinate.kernels.numba import ANY_ORDER, in_threads, own_columns


def _arcsine_by_root(square: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return arcsin(x) / x of squares x^2 above 0."""
    root = np.sqrt(square)
    return np.arcsin(root) / root


# The series of arcsin(x) / x by powers of x^2 up to 1/4, the highest first, is right to 2e-15.
ARCSINE = tuple(Chebyshev.interpolate(_arcsine_by_root, 12, [0, 0.25]).convert(kind=Polynomial).coef[::-1].tolist())


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
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """Return the sums of some anchors' terms, and the gradient of their weighted sum, which overwrites the cosines."""
    values = torch.empty_like(cosine[:, 0])
    coefficients = torch.ones_like(values) if coefficients is None else coefficients
    tensors = cosine, u, v, ranks, ref_ranks, shares, coefficients, values
    columns = own_columns(self_index, len(cosine))
    in_threads(_angle_rows, len(cosine), *(tensor.contiguous().numpy() for tensor in tensors), columns, near)
    return values, cosine


@njit(**ANY_ORDER)
def _angle_rows(
    start, stop, cosine, u, v, ranks, ref_ranks, shares, coefficients, values, self_index, near
):  # fmt: skip
    m = len(ref_ranks)
    cosines, share, target = np.empty(m), np.empty(m), np.empty(m)
    previous = -1
    for i in range(start, stop):
        if ranks[i] != previous:
            previous = ranks[i]
            for j in range(m):
                share[j] = shares[previous, j]
                target[j] = abs(previous - ref_ranks[j]) / (len(shares) - 1)
        cosines[:] = cosine[i]
        if self_index[i] >= 0:
            cosines[self_index[i]] = np.inf  # It stands in no triplet.
        factor, total, close = -2 / pi * coefficients[i], 0.0, 0
        for j in range(m):
            x = min(max(cosines[j], -1.0), 1.0)
            is_close = 1 - abs(x) <= near
            close += is_close
            far = abs(x) >= 0.5
            z = (1 - abs(x)) / 2 if far else x * x
            series = 0.0
            for power in range(len(ARCSINE)):  # Its number is at most 1/2: beyond, it is that of the half angle.
                series = series * z + ARCSINE[power]
            arcsine = (sqrt(z) if far else x) * series
            angle = (2 * arcsine if x > 0 else pi - 2 * arcsine) if far else pi / 2 - arcsine
            error = angle / pi - target[j]
            pull = 0.0 if is_close else share[j] * error
            total += pull * error
            cosine[i, j] = factor * pull / sqrt(1.0 if is_close else (1 - x) * (1 + x))
        if close > 0:
            for j in range(m):
                if 1 - abs(cosines[j]) <= near and cosines[j] < 2:
                    apart, together = 0.0, 0.0
                    for k in range(u.shape[1]):
                        apart += (u[i, k] - v[j, k]) ** 2
                        together += (u[i, k] + v[j, k]) ** 2
                    angle = 2 * atan2(sqrt(apart), sqrt(together))
                    error = angle / pi - target[j]
                    total += share[j] * error * error
                    if 0 < angle < pi:
                        cosine[i, j] = factor * share[j] * error / sin(angle)
        values[i] = total
