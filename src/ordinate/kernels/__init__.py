"""Fast versions of the losses' PyTorch code; the formulas can be understood without them.

Each module of :mod:`ordinate.kernels.numba` and :mod:`ordinate.kernels.triton` replaces the PyTorch code for the rows
of the loss of the same name, and is tested against it. The two functions here decide which of them the losses use.
"""

from functools import lru_cache
from importlib.util import find_spec

import torch
from torch import Tensor

from ordinate.errors import warn

NUMBA = find_spec("numba") is not None


def uses_numba(block: Tensor) -> bool:
    """Return whether Numba's loops compute the rows of this block: on a processor, where it is installed.

    A program that is being exported holds PyTorch's operations alone.
    """
    return block.device.type == "cpu" and NUMBA and not torch.compiler.is_compiling()


def uses_triton(block: Tensor) -> bool:
    """Return whether Triton's kernels compute the rows of this block: on a GPU for which it can build them."""
    return block.is_cuda and _triton_builds(block.device)


@lru_cache
def _triton_builds(device: torch.device) -> bool:
    if find_spec("triton") is None or torch.cuda.get_device_capability(device) < (7, 0):
        return False
    try:
        from ordinate.kernels.triton import run_smallest_kernel

        run_smallest_kernel(device)
    except Exception as error:  # A missing C compiler or Python header shows in many ways.
        warn(
            f"Triton builds no kernel for {device} ({error}): the losses run on PyTorch's, which takes more time",
            RuntimeWarning,
        )
        return False
    return True
