"""How the anchors' values become one loss."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ordinate.errors import OrdinateError


def mean_over_anchors(
    values: Float[Tensor, " n"], weights: Float[Tensor, " n"] | None, counted: Bool[Tensor, " n"]
) -> Float[Tensor, ""]:
    """Weighted mean of ``values`` over the anchors that are ``counted``; the others contribute nothing.

    Raises:
        OrdinateError: where the counted anchors all weigh nothing, so that no mean exists.
    """
    share = counted.to(values.dtype) if weights is None else counted * weights.to(values.dtype)
    total = share.sum()
    if not bool(total > 0):
        raise OrdinateError("weights: got zero for every anchor that has a loss, takes some above 0")
    return torch.where(counted, values * share, 0).sum() / total


def weigh(values: Float[Tensor, " n"], weights: Float[Tensor, " n"] | None) -> Float[Tensor, " n"]:
    """Each anchor's value times its weight."""
    return values if weights is None else values * weights.to(values.dtype)
