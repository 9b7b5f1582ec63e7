"""Threads of the processor by the size of the work: one for a small network of a table."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

SMALL = 100_000_000  # products of a weight and a sample in a pass: two threads save 10 ms at most, and where other
# programs keep the cores busy they wait for one another after every operation, in all 30 times as long as one takes


@contextmanager
def few_for_little(network: nn.Module, x: Tensor, batch_size: int) -> Iterator[None]:
    """Run PyTorch on one thread where ``batch_size`` samples of a table are little work for a network.

    Sizes alone decide, so that the same fit has the same sums however busy the machine is; afterwards there are as many
    threads as before.

    Args:
        network: whose weights each sample is multiplied with once.
        x: (n, features), samples; those of other shapes, or of tokens, are never little work.
        batch_size: samples that pass at a time.
    """
    threads, weights = torch.get_num_threads(), sum(weight.numel() for weight in network.parameters())
    little = x.dim() == 2 and x.is_floating_point() and weights * batch_size <= SMALL
    if little:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if little:
            torch.set_num_threads(threads)
