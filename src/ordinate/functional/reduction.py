"""How the anchors' values become one loss."""

from jaxtyping import Bool, Float
from torch import Tensor

from ordinate.errors import OrdinateError


def mean_coefficients(weights: Float[Tensor, " n"] | None, counted: Bool[Tensor, " n"]) -> Float[Tensor, " n"]:
    """What each anchor's value is multiplied with in the weighted mean over the anchors that are ``counted``.

    Raises:
        OrdinateError: where the counted anchors all weigh nothing, so that no mean exists.
    """
    share = counted.double() if weights is None else counted * weights.double()
    total = share.sum()
    if not bool(total > 0):
        raise OrdinateError("weights: got zero for every anchor that has a loss, takes some above 0")
    return share / total


def sum_coefficients(weights: Float[Tensor, " n"] | None, counted: Bool[Tensor, " n"]) -> Float[Tensor, " n"]:
    """What each anchor's value is multiplied with in the weighted sum: its weight."""
    return counted.double() if weights is None else counted * weights.double()
