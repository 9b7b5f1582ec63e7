"""The threads in which torch's own operations run, lent for other work: the only call of OpenMP through ctypes."""

import os
import sys
from collections.abc import Callable
from ctypes import CDLL, CFUNCTYPE, c_void_p
from functools import cache

_Work = CFUNCTYPE(None, c_void_p)
_process = os.getpid()


def run_in_torch_threads(work: Callable[[], None], threads: int) -> bool:
    """Run ``work``, which must not raise, once in each of torch's threads; return False where there are none to use.

    They are those of GNU's OpenMP, spin for a while after each operation, and would stand in the way of any others. A
    process that was forked has none of them, and cannot have.
    """
    parallel = _gomp_parallel() if os.getpid() == _process else None
    if parallel is None:
        return False
    parallel(_Work(lambda _: work()), None, threads, 0)
    return True


@cache
def _gomp_parallel() -> Callable[..., None] | None:
    try:
        return CDLL(None).GOMP_parallel if sys.platform == "linux" else None
    except AttributeError:
        return None
