"""The rows of the losses as Triton kernels, for GPUs: one module per loss.

PyTorch spreads a block's work over many kernels, each of which reads and writes the whole block. Here a row is read
as few times as its formula allows, by programs that walk over it in chunks. No sum depends on the order in which
programs run, so the same input gives the same bits.

Only this package imports Triton, and it is imported where it is used.
"""

import torch
import triton
import triton.language as tl

CHUNK = 1024  # The most columns that a program holds at a time.
TILE = 32  # The most samples below, and above, an anchor whose mixtures a program holds at a time.


def chunk_of(columns: int) -> dict[str, int]:
    """Return the launch options of a kernel for rows of so many columns."""
    chunk = min(CHUNK, max(16, 1 << (columns - 1).bit_length()))
    return {"CHUNK": chunk, "num_warps": max(1, chunk // 256)}  # A thread has 8 columns.


def chunks_of(columns: int) -> int:
    """Return how many chunks such a row has."""
    return -(-columns // chunk_of(columns)["CHUNK"])


def run_smallest_kernel(device: torch.device) -> None:
    """Build and run the smallest kernel, which shows whether Triton can build any."""
    with torch.cuda.device_of(one := torch.zeros(1, device=device)):
        _set_one[(1,)](one)


@triton.jit
def _set_one(place):
    tl.store(place, 1.0)
