"""Random numbers of torch that do not depend on what else the process does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_TURN = threading.RLock()


@contextmanager
def own_random_numbers(seed: int | None = None, *, gpus: bool = False) -> Iterator[None]:
    """Draw from a seed, and leave torch's random numbers as they were; those of all GPUs too where ``gpus``.

    They are the whole process's. Threads therefore take turns: of several that fit models, one trains at a time.
    """
    with _TURN, torch.random.fork_rng(range(torch.cuda.device_count()) if gpus else []):
        if seed is not None:
            torch.manual_seed(seed)
        yield
