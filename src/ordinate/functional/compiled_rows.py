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

PRODUCT = 1e40  # of denominators, up to which they are multiplied before a logarithm is taken; each is above 1e-261
CELLS = 2  # for each positive, into which they are dealt
STEPS = 8  # positives of a cell that are looked through one by one
NUMBA = find_spec("numba") is not None

_loops: dict[Callable[..., None], Callable[..., None]] = {}
_pools: dict[int, ThreadPoolExecutor] = {}


def runs_compiled(tensor: Tensor) -> bool:
    """Whether the rows of this tensor are work for compiled loops."""
    return tensor.device.type == "cpu" and NUMBA


def supcr_rows(
    e: Float[Tensor, "b m"], y: Float[Tensor, " b"], ref_y: Float[Tensor, " m"], own: Int[Tensor, " b"] | None
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """For each anchor the sum of its log denominators, and minus one plus what pushes each sample away.

    Args:
        e: exp of the scaled similarities, 0 in own columns.
        y: labels of the anchors.
        ref_y: labels of the references, ascending.
        own: each anchor's own column, which is no positive.
    """
    columns = np.full(len(e), -1) if own is None else own.numpy()
    sums, gradient = np.empty(len(e)), np.empty_like(e.numpy())
    _in_threads(_supcr_rows, len(e), e.numpy(), y.numpy(), ref_y.numpy(), columns, sums, gradient)
    return torch.from_numpy(sums), torch.from_numpy(gradient)


def mmnp_rows(
    shifted: Float[Tensor, "b m"], first: int, last: int, own: Int[Tensor, " b"] | None
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b m"]]:
    """Eq. 2 of anchors whose positives are the columns from ``first`` to before ``last``, and its gradient."""
    columns = np.full(len(shifted), -1) if own is None else own.numpy()
    sums, gradient = np.empty(len(shifted)), np.empty_like(shifted.numpy())
    _in_threads(_mmnp_rows, len(shifted), shifted.numpy(), first, last, columns, sums, gradient)
    return torch.from_numpy(sums), torch.from_numpy(gradient)


def _supcr_rows(
    start: int,
    stop: int,
    e: NDArray[np.floating],
    y: NDArray[np.float64],
    ref_y: NDArray[np.float64],
    own: NDArray[np.int64],
    sums: NDArray[np.float64],
    gradient: NDArray[np.floating],
) -> None:
    m = len(ref_y)
    order = np.empty(m, np.int64)
    distance, running, passed = np.empty(m), np.empty(m), np.empty(m)
    for i in range(start, stop):
        left, right, total = 0, m - 1, 0.0
        for k in range(m):  # from both ends inwards, the farther first: references ascend in label
            below, above = y[i] - ref_y[left], ref_y[right] - y[i]
            is_left = int(below > above)
            j = right + is_left * (left - right)
            distance[k] = max(below, above)
            order[k] = j
            total += e[i, j]
            running[k] = total
            left += is_left
            right += is_left - 1
        log_sum, product, total, tied = 0.0, 1.0, 0.0, False
        for k in range(m - 1, -1, -1):  # outwards: what each denominator passes on to all that are no nearer
            if k < m - 1 and distance[k] == distance[k + 1]:  # those as far away share one denominator
                running[k] = running[k + 1]
                tied = True
            j = order[k]
            if j != own[i]:
                total += 1 / running[k]
                product *= running[k]
                if not 1 / PRODUCT < product < PRODUCT:
                    log_sum += log(product)
                    product = 1.0
            passed[k] = total
            gradient[i, j] = e[i, j] * total - 1
        sums[i] = log_sum + log(product)
        if tied:
            for k in range(1, m):
                if distance[k] == distance[k - 1]:
                    passed[k] = passed[k - 1]
                    gradient[i, order[k]] = e[i, order[k]] * passed[k] - 1
        if own[i] >= 0:
            gradient[i, own[i]] = 0


def _mmnp_rows(  # noqa: PLR0912, PLR0915  # one pass, which a call in the middle would break
    start: int,
    stop: int,
    shifted: NDArray[np.floating],
    first: int,
    last: int,
    own: NDArray[np.int64],
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
            if j != own[i]:
                low, high = min(low, shifted[i, first + j]), max(high, shifted[i, first + j])
        scale = cells / (high - low) if high > low else 0.0
        place[:] = 0
        for j in range(most):
            if j != own[i]:
                place[min(cells, int((shifted[i, first + j] - low) * scale)) + 1] += 1
        for cell in range(cells + 1):
            place[cell + 1] += place[cell]
        begin[:] = place
        count = place[cells + 1]
        for j in range(most):
            if j != own[i]:
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
        if own[i] >= 0:
            gradient[i, first + own[i]] = 0
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
    """Run the compiled loop over all rows, shared between as many threads as torch uses."""
    compiled, threads = _compiled(loop), min(rows, torch.get_num_threads())
    if threads == 1:
        compiled(0, rows, *arguments)
        return
    own, *others = pairwise([rows * part // threads for part in range(threads + 1)])
    parts = [_threads().submit(compiled, *edge, *arguments) for edge in others]
    compiled(*own, *arguments)
    for part in parts:
        part.result()


def _threads() -> ThreadPoolExecutor:
    """The threads of this process: a fork does not inherit them."""
    process = os.getpid()
    if process not in _pools:
        _pools.clear()
        _pools[process] = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="ordinate")
    return _pools[process]
