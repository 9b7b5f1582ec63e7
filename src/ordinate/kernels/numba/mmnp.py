"""MMNP's rows of anchors of one rank."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from torch import Tensor

from ordinate.kernels.numba import LOOP, in_threads, own_columns


def mmnp_rows(
    shifted: Float[Tensor, "b m"], first: int, last: int, self_index: Int[Tensor, " b"] | None
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """Return eq. 2 of anchors whose positives are the columns ``first`` to ``last - 1``, and its gradient."""
    columns = own_columns(self_index, len(shifted))
    sums, gradient = np.empty(len(shifted)), np.empty_like(shifted.numpy())
    in_threads(_mmnp_rows, len(shifted), shifted.numpy(), first, last, columns, sums, gradient)
    return torch.from_numpy(sums), torch.from_numpy(gradient)


@njit(**LOOP)
def _mmnp_rows(  # noqa: PLR0912, PLR0915  # One pass, which a call in the middle would break.
    start, stop, shifted, first, last, self_index, sums, gradient
):  # fmt: skip
    most, m = last - first, shifted.shape[1]
    cells = 2 * most
    ascending, column = np.empty(most), np.empty(most, np.int64)
    begin, place = np.empty(cells + 2, np.int64), np.empty(cells + 2, np.int64)
    total, reached = np.empty(most + 1), np.empty(most + 1, np.int64)
    for i in range(start, stop):
        # Sort the positives: deal them into cells, two for each, and put them in order within each cell.
        low, high = np.inf, -np.inf
        for j in range(most):
            if j != self_index[i]:
                low, high = min(low, shifted[i, first + j]), max(high, shifted[i, first + j])
        # The number of positives over a smaller range would overflow: they are all put in one cell.
        scale = cells / (high - low) if high - low > 1e-290 else 0.0
        place[:] = 0
        for j in range(most):
            if j != self_index[i]:
                place[min(cells, int((shifted[i, first + j] - low) * scale)) + 1] += 1
        for cell in range(cells + 1):
            place[cell + 1] += place[cell]
        begin[:] = place
        count = place[cells + 1]
        for j in range(most):
            if j != self_index[i]:
                value = shifted[i, first + j]
                cell = min(cells, int((value - low) * scale))
                k = place[cell]
                place[cell] += 1  # It ends where the next cell begins.
                while k > begin[cell] and ascending[k - 1] > value:
                    ascending[k], column[k] = ascending[k - 1], column[k - 1]
                    k -= 1
                ascending[k], column[k] = value, j
        total[0] = 0
        for k in range(count):
            total[k + 1] = total[k] + ascending[k]
        # Each negative exceeds the positives of the cells below its own, and some of its own.
        reached[:] = 0
        hinges = 0.0
        for j in range(m):
            if first <= j < last:
                continue
            value = shifted[i, j]
            exceeded = 0
            if value > low:
                cell = min(cells, int((value - low) * scale)) if value < high else cells
                exceeded, end = begin[cell], place[cell]
                while end - exceeded > 8:  # No more positives than this are looked through one by one.
                    middle = (exceeded + end) // 2
                    if ascending[middle] < value:
                        exceeded = middle + 1
                    else:
                        end = middle
                while exceeded < end and ascending[exceeded] < value:
                    exceeded += 1
                hinges += exceeded * value - total[exceeded]
                reached[exceeded] += 1
            gradient[i, j] = exceeded
        sums[i] = hinges
        if self_index[i] >= 0:
            gradient[i, first + self_index[i]] = 0
        exceeding = 0
        for k in range(count - 1, -1, -1):
            exceeding += reached[k + 1]
            gradient[i, first + column[k]] = -exceeding
