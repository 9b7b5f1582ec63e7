"""The floating-point types that the formulas compute in, and weighted means."""

import torch
from jaxtyping import Float
from torch import Tensor

DEVICES_WITHOUT_FLOAT64 = ("mps",)


def accumulation_dtype(device: torch.device) -> torch.dtype:
    """Return the widest floating-point type of a device: float64, or float32 on Apple's GPU, which has no float64."""
    return torch.float32 if device.type in DEVICES_WITHOUT_FLOAT64 else torch.float64


def to_accumulation_dtype(x: Tensor) -> Tensor:
    """Return ``x`` in the widest floating-point type of its device."""
    return x.to(accumulation_dtype(x.device))


def upcast_half(x: Tensor) -> Tensor:
    """Return half precision as float32: sums overflow float16 and lose all but two digits in bfloat16."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def weighted_mean(values: Float[Tensor, "n *p"], weights: Float[Tensor, " n"] | None = None) -> Float[Tensor, ""]:
    """Return the mean of all values, those of each sample counted by its weight.

    Args:
        values: Values (n,), or (n, p) for p values per sample.
        weights: Weights (n,), of which only the ratios matter; None for equal ones.

    Example:
        >>> import torch
        >>> weighted_mean(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 1.0])).item()
        2.0
    """
    if weights is None:
        return values.mean()
    weights = weights.to(values.dtype)
    return (weights * values.reshape(len(values), -1).mean(1)).sum() / weights.sum()
