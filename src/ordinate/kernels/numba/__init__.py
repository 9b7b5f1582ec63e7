"""The rows of the losses as loops that Numba compiles for the processor: one module per loss.

PyTorch needs some forty passes over a block of rows where one loop does here, in which a row passes through the cache
once. Only the modules of this package import Numba, and they are imported where they are used.
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import CDLL, CFUNCTYPE, c_void_p
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

LOOP: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
# Sums within a row may be taken in any order, so that the processor takes several columns at once.
ANY_ORDER: dict[str, Any] = LOOP | {"fastmath": {"reassoc", "contract"}}
MIN_ELEMENTS_FOR_THREADS = 1 << 15  # Larger tensors are also split between threads by torch itself.

_Work = CFUNCTYPE(None, c_void_p)
_imported_in = os.getpid()
_pools: dict[int, ThreadPoolExecutor] = {}


def own_columns(self_index: Int[Tensor, " b"] | None, rows: int) -> NDArray[np.int64]:
    """Return the column of each anchor itself, -1 where it is in none."""
    return np.full(rows, -1) if self_index is None else self_index.numpy()


def in_threads(loop: Callable[..., None], rows: int, *arguments: Any) -> None:
    """Run a compiled loop over all rows of the first argument, shared between as many threads as torch uses."""
    threads = torch.get_num_threads()
    if threads == 1 or arguments[0].size < MIN_ELEMENTS_FOR_THREADS:
        loop(0, rows, *arguments)
        return
    parts = iter([*pairwise([rows * part // threads for part in range(threads + 1)])])
    raised: list[BaseException] = []

    def work() -> None:
        try:
            for start, stop in parts:  # Each part is taken by one thread.
                loop(start, stop, *arguments)
        except BaseException as error:  # The thread that waits raises it again.
            raised.append(error)

    if run_in_torch_threads(work, threads):
        work()  # This thread computes the parts that are left.
    else:
        others = [_pool().submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()
    if raised:
        raise raised[0]


def _pool() -> ThreadPoolExecutor:
    """Return the threads of this process, as a fork does not inherit them."""
    process = os.getpid()
    if process not in _pools:
        _pools.clear()
        _pools[process] = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="ordinate")
    return _pools[process]


def run_in_torch_threads(work: Callable[[], None], threads: int) -> bool:
    """Run ``work``, which must not raise, once in each of torch's threads; return False where there are none to use.

    They are those of GNU's OpenMP, spin for a while after each operation, and would slow down any others. A process
    that was forked has none of them, and cannot have. This is the only call of OpenMP through ctypes.
    """
    if os.getpid() != _imported_in:
        return False
    parallel = _gomp_parallel()
    if parallel is None:
        return False
    parallel(_Work(lambda _: work()), None, threads, 0)
    return True


@cache
def _gomp_parallel() -> Callable[..., None] | None:
    if sys.platform != "linux":
        return None
    return getattr(CDLL(None), "GOMP_parallel", None)
