"""SupCR's rows for labels of one dimension."""

from math import log

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from torch import Tensor

from ordinate.kernels.numba import LOOP, in_threads, own_columns

MAX_PRODUCT = 1e40  # Denominators are multiplied up to here before a logarithm is taken.
ROWS_AT_ONCE = 4  # The processor works on one row while it waits for another.


def supcr_rows(
    e: Float[Tensor, "b m"],
    y: Float[Tensor, " b"],
    ref_y: Float[Tensor, " m"],
    self_index: Int[Tensor, " b"] | None,
    weights: Float[Tensor, " b"],
) -> tuple[Float[Tensor, " b"], Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """Return each anchor's sum of log denominators, the least of them, and how strongly it pushes each sample away.

    Args:
        e: Exponentials of the scaled similarities, 0 to the anchor itself; overwritten by the last result.
        y: Labels of the anchors.
        ref_y: Labels of the references, ascending.
        self_index: Column of each anchor itself, which is not a positive.
        weights: Weights of the anchors in the last result.
    """
    columns = own_columns(self_index, len(e))
    sums, least = np.empty(len(e)), np.empty(len(e))
    arguments = e.numpy(), y.numpy(), ref_y.numpy(), columns, weights.numpy(), sums, least
    in_threads(_supcr_rows, len(e), *arguments)
    return torch.from_numpy(sums), torch.from_numpy(least), e


@njit(**LOOP)
def _supcr_rows(start, stop, e, y, ref_y, self_index, weights, sums, least):
    m = len(ref_y)
    order = np.empty((ROWS_AT_ONCE, m), np.int64)
    distance, running = np.empty((ROWS_AT_ONCE, m)), np.empty((ROWS_AT_ONCE, m))
    left, right, total = np.empty(ROWS_AT_ONCE, np.int64), np.empty(ROWS_AT_ONCE, np.int64), np.empty(ROWS_AT_ONCE)
    for first in range(start, stop, ROWS_AT_ONCE):
        left[:], right[:], total[:] = 0, m - 1, 0.0
        for k in range(m):  # References ascend in label: walk from both ends inwards, the farther first.
            for lane in range(ROWS_AT_ONCE):
                i = min(first + lane, stop - 1)
                below, above = y[i] - ref_y[left[lane]], ref_y[right[lane]] - y[i]
                is_left = int(below > above)
                j = right[lane] + is_left * (left[lane] - right[lane])
                distance[lane, k] = max(below, above)
                order[lane, k] = j
                total[lane] += e[i, j]
                running[lane, k] = total[lane]
                left[lane] += is_left
                right[lane] += is_left - 1
        for lane in range(min(ROWS_AT_ONCE, stop - first)):
            i = first + lane
            log_sum, product, pushed, denominator, k = 0.0, 1.0, 0.0, 0.0, m - 1
            while k >= 0:  # Walk outwards: a denominator counts for all samples that are no nearer.
                denominator, nearest = running[lane, k], k
                while k >= 0 and distance[lane, k] == distance[lane, nearest]:  # Ties share it.
                    if order[lane, k] != self_index[i]:
                        pushed += 1 / denominator
                        product *= denominator
                        if not 1 / MAX_PRODUCT < product < MAX_PRODUCT:
                            log_sum += log(product)
                            product = 1.0
                    k -= 1
                for passed in range(nearest, k, -1):
                    j = order[lane, passed]
                    e[i, j] = (e[i, j] * pushed - 1) * weights[i]
            sums[i], least[i] = log_sum + log(product), denominator
            if self_index[i] >= 0:
                e[i, self_index[i]] = 0
