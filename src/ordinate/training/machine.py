"""What the options of training mean on this machine: devices, threads and memory, and the stages of a method."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor, nn

from ordinate.errors import OrdinateError
from ordinate.training.options import Training
from ordinate.training.stage import Stage


def optimized(training: Training, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Return the stages of a method with the options of training instead of their own."""
    given = {name: getattr(training, name) for name in ("optimizer", "schedule", "warmup")}
    given = {name: value for name, value in given.items() if value is not None}
    first = stages[0].optimization
    factor = 1.0
    if training.learning_rate is not None:
        factor = training.learning_rate / first.learning_rate
    changed = []
    for number, stage in enumerate(stages):
        usual = stage.optimization
        decay = usual.weight_decay
        if usual == first and training.weight_decay is not None:
            decay = training.weight_decay
        rate = factor * usual.learning_rate
        if number > 0 and training.head_learning_rate is not None:
            rate = training.head_learning_rate
        changed.append(replace(stage, optimization=replace(usual, learning_rate=rate, weight_decay=decay, **given)))
    return tuple(changed)


def check_accelerator(accelerator: str) -> None:
    """Raise where a GPU is asked for that is not there."""
    is_missing = accelerator in ("gpu", "cuda") and not torch.cuda.is_available()
    if is_missing or (accelerator == "mps" and not torch.backends.mps.is_available()):
        raise OrdinateError("accelerator", f"{accelerator!r}, and this machine has no GPU", "'auto' or 'cpu'")


# Products of a weight and a sample in a pass. Below this, two threads save 10 ms at most. If other programs keep the
# cores busy, the threads wait for one another after every operation, and take 30 times as long as one.
SMALL = 100_000_000


@contextmanager
def single_thread_if_small(network: nn.Module, x: Tensor, batch_size: int) -> Iterator[None]:
    """Run PyTorch on one thread where ``batch_size`` samples of a table are little work for a network.

    Sizes alone decide, so that the same fit has the same sums however busy the machine is; afterwards there are as many
    threads as before.

    Args:
        network: Network whose weights are multiplied with each sample once.
        x: (n, features), samples; those of other shapes, or of tokens, are never little work.
        batch_size: Number of samples that pass at a time.
    """
    _one_in_forked_processes()
    threads, weights = torch.get_num_threads(), sum(weight.numel() for weight in network.parameters())
    little = x.dim() == 2 and x.is_floating_point() and weights * batch_size <= SMALL
    if little:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if little:
            torch.set_num_threads(threads)


@contextmanager
def one_torch_thread() -> Iterator[int]:
    """Run each operation of PyTorch on one thread, and yield how many threads there were, which may each run some."""
    _one_in_forked_processes()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)


@cache
def _one_in_forked_processes() -> None:
    """Let processes that are forked from now on use one thread, as PyTorch's own workers do.

    The threads of GNU's OpenMP, which PyTorch's operations run in once there was one, do not outlive a fork: the next
    operation of several threads would wait for them for ever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def keep_freed_memory(most: int = 2**30) -> None:
    """Let the C library keep blocks of up to ``most`` bytes that are freed, which the next step asks for again.

    Otherwise the system takes and clears their pages each time, and features of images take 1.4 times as long. It does
    nothing without glibc.
    """
    at_the_end, by_size = -1, -3  # The numbers of M_TRIM_THRESHOLD and M_MMAP_THRESHOLD.
    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(by_size, most)
        mallopt(at_the_end, 2 * most - 1)
