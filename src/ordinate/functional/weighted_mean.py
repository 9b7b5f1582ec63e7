"""The mean over samples that may be weighted."""

from jaxtyping import Float
from torch import Tensor


def weighted_mean(values: Float[Tensor, "n *p"], weights: Float[Tensor, " n"] | None = None) -> Float[Tensor, ""]:
    """Return the mean of all values, those of each sample counted by its weight.

    Args:
        values: (n,), or (n, p) for p values per sample.
        weights: (n,), of which only the ratios matter; None for equal ones.

    Example:
        >>> import torch
        >>> weighted_mean(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 1.0])).item()
        2.0
    """
    if weights is None:
        return values.mean()
    weights = weights.to(values.dtype)
    return (weights * values.reshape(len(values), -1).mean(1)).sum() / weights.sum()
