"""Probabilities of ranks around an estimate, for methods that give an estimate alone."""

import torch
from jaxtyping import Float
from torch import Tensor


def probabilities_around(
    estimate: Float[Tensor, " n"], variance: Float[Tensor, " n"], num_classes: int
) -> Float[Tensor, "n c"]:
    """Return the mass of a normal distribution within half a rank of each rank, relative to that of all ranks 0..C-1.

    The rank nearest to the estimate has the highest. A variance below 0.0025 counts as that.

    Example:
        >>> estimate, variance = torch.tensor([1.2], dtype=torch.float64), torch.tensor([0.25], dtype=torch.float64)
        >>> probabilities_around(estimate, variance, 3).numpy().round(2)
        array([[0.08, 0.65, 0.27]])
    """
    spread = variance.sqrt().clamp(min=0.05)[:, None]
    bounds = torch.arange(num_classes + 1, dtype=estimate.dtype) - 0.5
    mass = torch.special.ndtr((bounds - estimate[:, None]) / spread).diff(dim=1)
    return mass / mass.sum(1, keepdim=True)
