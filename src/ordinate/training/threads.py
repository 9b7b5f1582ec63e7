"""Threads of the processor by the size of the work: one for a small network of a table."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor, nn

SMALL = 100_000_000  # products of a weight and a sample in a pass: two threads save 10 ms at most, and where other
# programs keep the cores busy they wait for one another after every operation, in all 30 times as long as one takes


@contextmanager
def single_thread_if_small(network: nn.Module, x: Tensor, batch_size: int) -> Iterator[None]:
    """Run PyTorch on one thread where ``batch_size`` samples of a table are little work for a network.

    Sizes alone decide, so that the same fit has the same sums however busy the machine is; afterwards there are as many
    threads as before.

    Args:
        network: whose weights each sample is multiplied with once.
        x: (n, features), samples; those of other shapes, or of tokens, are never little work.
        batch_size: samples that pass at a time.
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


@cache
def _one_in_forked_processes() -> None:
    """Let processes that are forked from now on use one thread, as PyTorch's own workers do.

    The threads of GNU's OpenMP, which PyTorch's operations run in once there was one, do not outlive a fork: the next
    operation of several threads would wait for them for ever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
