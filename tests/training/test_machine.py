"""What the command sets on the machine."""

import platform
import resource

import pytest
import torch

from ordinate.training.machine import keep_freed_memory
from tests import processes


def page_faults():
    """Return how often the system gave a page to 20 tensors of 64 MB, one after another."""
    torch.zeros(2**24)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.zeros(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def use_again():
    given_back = page_faults()
    keep_freed_memory()
    assert page_faults() < 0.1 * given_back


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_memory_that_is_freed_is_used_again():
    assert processes.run(use_again) == 0
