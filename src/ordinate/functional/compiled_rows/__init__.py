"""The row work of the losses compiled for the processor by Numba, where it is installed: one module per loss.

PyTorch needs some forty passes over a block of rows for what is one loop here, in which a row passes through the cache
once. Each function stands for the PyTorch rows of its loss, and is tested against them. Only the modules beside this
one import Numba, and they are imported where they are used.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from ordinate.functional.openmp import run_in_torch_threads

GRAIN = 1 << 15  # elements from which torch shares an operation between its threads
LOOP: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
ANY_ORDER: dict[str, Any] = LOOP | {
    "fastmath": {"reassoc", "contract"}
}  # of sums within a row: several columns at once
NUMBA = find_spec("numba") is not None

_pools: dict[int, ThreadPoolExecutor] = {}


def runs_compiled(tensor: Tensor) -> bool:
    """Whether the rows of this tensor are work for compiled loops."""
    return tensor.device.type == "cpu" and NUMBA


def columns_of(self_index: Int[Tensor, " b"] | None, rows: int) -> NDArray[np.int64]:
    """Return the column of each anchor itself, -1 where it is in none."""
    return np.full(rows, -1) if self_index is None else self_index.numpy()


def in_threads(loop: Callable[..., None], rows: int, *arguments: Any) -> None:
    """Run a compiled loop over all rows of the first argument, shared between as many threads as torch uses."""
    threads = torch.get_num_threads()
    if threads == 1 or arguments[0].size < GRAIN:
        loop(0, rows, *arguments)
        return
    parts = iter([*pairwise([rows * part // threads for part in range(threads + 1)])])
    raised: list[BaseException] = []

    def work() -> None:
        try:
            for start, stop in parts:  # each is taken by one thread
                loop(start, stop, *arguments)
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
