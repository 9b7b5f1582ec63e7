"""Row work compiled for the processor by Numba, where it is installed: a row passes through the cache once.

PyTorch needs some forty passes over a block of rows for what is one loop here. Each function stands for rows of the
formula that it is named after, and is tested against them.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from ordinate.functional.openmp import run_in_torch_threads

PRODUCT = 1e40  # of denominators, up to which they are multiplied before a logarithm is taken
CELLS = 2  # for each positive, into which they are dealt
STEPS = 8  # positives of a cell that are looked through one by one
NARROW = 1e-290  # range of positives that are all put in one cell: their number over it would overflow
GRAIN = 1 << 15  # elements from which torch shares an operation between its threads
TOGETHER = 4  # rows, so that the processor works on one while it waits for another
NUMBA = find_spec("numba") is not None

_loops: dict[Callable[..., None], Callable[..., None]] = {}
_pools: dict[int, ThreadPoolExecutor] = {}


def runs_compiled(tensor: Tensor) -> bool:
    """Whether the rows of this tensor are work for compiled loops."""
    return tensor.device.type == "cpu" and NUMBA


def supcr_rows(
    e: Float[Tensor, "b m"],
    y: Float[Tensor, " b"],
    ref_y: Float[Tensor, " m"],
    self_index: Int[Tensor, " b"] | None,
    weights: Float[Tensor, " b"],
) -> tuple[Float[Tensor, " b"], Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """For each anchor the sum of its log denominators, the least of them, and how strongly it pushes each sample away.

    Args:
        e: exp of the scaled similarities, 0 to the anchor itself; overwritten by the last result.
        y: labels of the anchors.
        ref_y: labels of the references, ascending.
        self_index: the column of each anchor itself, which is not a positive.
        weights: of the anchors, in the last result.
    """
    columns = np.full(len(e), -1) if self_index is None else self_index.numpy()
    sums, least = np.empty(len(e)), np.empty(len(e))
    arguments = e.numpy(), y.numpy(), ref_y.numpy(), columns, weights.numpy(), sums, least
    _in_threads(_supcr_rows, len(e), *arguments)
    return torch.from_numpy(sums), torch.from_numpy(least), e


def mmnp_rows(
    shifted: Float[Tensor, "b m"], first: int, last: int, self_index: Int[Tensor, " b"] | None
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """Eq. 2 of anchors whose positives are the columns from ``first`` to before ``last``, and its gradient."""
    columns = np.full(len(shifted), -1) if self_index is None else self_index.numpy()
    sums, gradient = np.empty(len(shifted)), np.empty_like(shifted.numpy())
    _in_threads(_mmnp_rows, len(shifted), shifted.numpy(), first, last, columns, sums, gradient)
    return torch.from_numpy(sums), torch.from_numpy(gradient)


def _supcr_rows(
    start: int,
    stop: int,
    e: NDArray[np.floating],
    y: NDArray[np.float64],
    ref_y: NDArray[np.float64],
    self_index: NDArray[np.int64],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    least: NDArray[np.float64],
) -> None:
    m = len(ref_y)
    order = np.empty((TOGETHER, m), np.int64)
    distance, running = np.empty((TOGETHER, m)), np.empty((TOGETHER, m))
    left, right, total = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.int64), np.empty(TOGETHER)
    for first in range(start, stop, TOGETHER):
        left[:], right[:], total[:] = 0, m - 1, 0.0
        for k in range(m):  # from both ends inwards, the farther first: references ascend in label
            for lane in range(TOGETHER):
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
        for lane in range(min(TOGETHER, stop - first)):
            i = first + lane
            log_sum, product, pushed, denominator, k = 0.0, 1.0, 0.0, 0.0, m - 1
            while k >= 0:  # outwards: what each denominator passes on to all that are no nearer
                denominator, nearest = running[lane, k], k
                while k >= 0 and distance[lane, k] == distance[lane, nearest]:  # those as far away share it
                    if order[lane, k] != self_index[i]:
                        pushed += 1 / denominator
                        product *= denominator
                        if not 1 / PRODUCT < product < PRODUCT:
                            log_sum += log(product)
                            product = 1.0
                    k -= 1
                for passed in range(nearest, k, -1):
                    j = order[lane, passed]
                    e[i, j] = (e[i, j] * pushed - 1) * weights[i]
            sums[i], least[i] = log_sum + log(product), denominator
            if self_index[i] >= 0:
                e[i, self_index[i]] = 0


def _mmnp_rows(  # noqa: PLR0912, PLR0915  # one pass, which a call in the middle would break
    start: int,
    stop: int,
    shifted: NDArray[np.floating],
    first: int,
    last: int,
    self_index: NDArray[np.int64],
    sums: NDArray[np.float64],
    gradient: NDArray[np.floating],
) -> None:
    most, m = last - first, shifted.shape[1]
    cells = CELLS * most
    ascending, column = np.empty(most), np.empty(most, np.int64)
    begin, place = np.empty(cells + 2, np.int64), np.empty(cells + 2, np.int64)
    total, reached = np.empty(most + 1), np.empty(most + 1, np.int64)
    for i in range(start, stop):
        # sort the positives: dealt into cells, and put in order within each
        low, high = np.inf, -np.inf
        for j in range(most):
            if j != self_index[i]:
                low, high = min(low, shifted[i, first + j]), max(high, shifted[i, first + j])
        scale = cells / (high - low) if high - low > NARROW else 0.0
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
                place[cell] += 1  # in the end, where the next cell begins
                while k > begin[cell] and ascending[k - 1] > value:
                    ascending[k], column[k] = ascending[k - 1], column[k - 1]
                    k -= 1
                ascending[k], column[k] = value, j
        total[0] = 0
        for k in range(count):
            total[k + 1] = total[k] + ascending[k]
        # each negative exceeds the positives of the cells below its own, and some of its own
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
                while end - exceeded > STEPS:
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


def _compiled(loop: Callable[..., None]) -> Callable[..., None]:
    if loop not in _loops:
        from numba import njit

        _loops[loop] = njit(nogil=True, cache=True, error_model="numpy")(loop)
    return _loops[loop]


def _in_threads(loop: Callable[..., None], rows: int, *arguments: Any) -> None:
    """Run the compiled loop over all rows of the first argument, shared between as many threads as torch uses."""
    compiled, threads = _compiled(loop), torch.get_num_threads()
    if threads == 1 or arguments[0].size < GRAIN:
        compiled(0, rows, *arguments)
        return
    parts = iter([*pairwise([rows * part // threads for part in range(threads + 1)])])
    raised: list[BaseException] = []

    def work() -> None:
        try:
            for start, stop in parts:  # each is taken by one thread
                compiled(start, stop, *arguments)
        except BaseException as error:  # is raised again by the thread that waits
            raised.append(error)

    if run_in_torch_threads(work, threads):
        work()  # whatever is left
    else:
        others = [_threads().submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()
    if raised:
        raise raised[0]


def _threads() -> ThreadPoolExecutor:
    """The threads of this process: a fork does not inherit them."""
    process = os.getpid()
    if process not in _pools:
        _pools.clear()
        _pools[process] = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="ordinate")
    return _pools[process]
