"""The smallest kernel, which shows whether Triton can build any."""

import torch
import triton
import triton.language as tl


def run(device: torch.device) -> None:
    """Build and run it there."""
    with torch.cuda.device_of(one := torch.zeros(1, device=device)):
        _set_one[(1,)](one)


@triton.jit
def _set_one(place):
    tl.store(place, 1.0)
