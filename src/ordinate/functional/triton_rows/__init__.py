"""The row work of the losses as Triton kernels, for GPUs: each module is the twin of the PyTorch rows it stands for.

PyTorch spreads a block's work over many kernels, each of which reads and writes the whole block. Here a row is read
as few times as its formula allows, by programs that walk over it in chunks. No sum depends on the order in which
programs run, so the same input gives the same bits.

Only the modules beside this one import Triton, and they are imported where they are used.
"""

import warnings
from functools import lru_cache
from importlib.util import find_spec

import torch
from torch import Tensor

CHUNK = 1024  # columns that a program holds at a time, at most
TILE = 32  # samples below and above an anchor whose mixtures a program holds at a time
ELEMENTS_A_WARP = 256  # 8 a thread


def uses_kernels(block: Tensor) -> bool:
    """Whether the rows of ``block`` are for the kernels: on a GPU for which Triton can build them."""
    return block.is_cuda and _builds(block.device)


def chunk_of(columns: int) -> dict[str, int]:
    """What a kernel is launched with for rows of so many columns."""
    chunk = min(CHUNK, max(16, 1 << (columns - 1).bit_length()))
    return {"CHUNK": chunk, "num_warps": max(1, chunk // ELEMENTS_A_WARP)}


def chunks_of(columns: int) -> int:
    """How many chunks such a row has."""
    return -(-columns // chunk_of(columns)["CHUNK"])


@lru_cache
def _builds(device: torch.device) -> bool:
    if find_spec("triton") is None or torch.cuda.get_device_capability(device) < (7, 0):
        return False
    try:
        from ordinate.functional.triton_rows.probe import run

        run(device)
    except Exception as error:  # a missing C compiler or Python header shows in many ways
        warnings.warn(
            f"Triton builds no kernel for {device} ({error}): the losses run on PyTorch's, which takes more time",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True
