"""Two views of every sample of a batch, for losses that compare them."""

from collections.abc import Callable

import torch
from jaxtyping import Shaped
from torch import Tensor

DrawViews = Callable[[Tensor], tuple[Tensor, Tensor]]


def side_by_side(
    x: Shaped[Tensor, "n ..."], y: Shaped[Tensor, "n *p"], draw: DrawViews
) -> tuple[Shaped[Tensor, "m ..."], Shaped[Tensor, "m *p"]]:
    """Return two views of every sample, next to each other, with its label repeated."""
    return torch.stack(draw(x), 1).flatten(0, 1), y.repeat_interleave(2, dim=0)


def dropout_views(x: Shaped[Tensor, "n ..."]) -> tuple[Shaped[Tensor, "n ..."], Shaped[Tensor, "n ..."]]:
    """Return the samples twice: what makes them differ is the dropout of the encoder (SimCSE, Gao et al., 2021).

    Example:
        >>> x, same = dropout_views(torch.tensor([[5, 7]]))
        >>> torch.equal(x, same)
        True
    """
    return x, x
