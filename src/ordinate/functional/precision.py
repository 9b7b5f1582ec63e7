"""Which floating-point types the formulas compute in."""

import torch
from torch import Tensor

WITHOUT_FLOAT64 = ("mps",)  # types of device
HALF = (torch.float16, torch.bfloat16)


def widest(device: torch.device) -> torch.dtype:
    """Return the widest floating-point type of a device: float64, or float32 on Apple's GPU, which has no float64."""
    return torch.float32 if device.type in WITHOUT_FLOAT64 else torch.float64


def wide(x: Tensor) -> Tensor:
    """Return ``x`` in the widest type of its device."""
    return x.to(widest(x.device))


def widened(x: Tensor) -> Tensor:
    """Return half precision as float32: sums overflow float16 and lose all but two digits in bfloat16."""
    return x.float() if x.dtype in HALF else x
