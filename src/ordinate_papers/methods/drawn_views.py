"""Two views of every sample of a batch, for losses that compare them."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

DrawViews = Callable[[Tensor], tuple[Tensor, Tensor]]


def side_by_side(
    x: Shaped[Tensor, "n ..."],
    y: Shaped[Tensor, "n *p"],
    weights: Float[Tensor, " n"] | None,
    draw: DrawViews | None,
) -> tuple[Shaped[Tensor, "m ..."], Shaped[Tensor, "m *p"], Float[Tensor, " m"] | None]:
    """Return two views of every sample, next to each other, with label and weight repeated; all as it is without draw.

    Args:
        x: Samples (n, ...).
        y: Labels (n,) or (n, p).
        weights: Weights (n,) of the samples; None for equal ones.
        draw: Function that draws two views of every sample; None if the samples are views already.
    """
    if draw is None:
        return x, y, weights
    if weights is not None:
        weights = weights.repeat_interleave(2)
    return torch.stack(draw(x), 1).flatten(0, 1), y.repeat_interleave(2, dim=0), weights


def dropout_views(x: Shaped[Tensor, "n ..."]) -> tuple[Shaped[Tensor, "n ..."], Shaped[Tensor, "n ..."]]:
    """Return the samples twice: what makes them differ is the dropout of the encoder (SimCSE, Gao et al., 2021).

    Example:
        >>> x, same = dropout_views(torch.tensor([[5, 7]]))
        >>> torch.equal(x, same)
        True
    """
    return x, x
