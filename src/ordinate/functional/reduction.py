"""How the anchors' values become one loss."""

from jaxtyping import Bool, Float
from torch import Tensor

from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import Group, processes, summed


def anchor_coefficients(
    reduction: str, weights: Float[Tensor, " n"] | None, counted: Bool[Tensor, " n"], group: Group
) -> Float[Tensor, " n"]:
    """What each anchor's value is multiplied with: its weight, over their sum for ``"mean"`` and ``"pair_mean"``.

    Anchors that are not ``counted`` have no value.

    Raises:
        OrdinateError: where the counted anchors all weigh nothing, so that no mean exists.
    """
    share = counted.double() if weights is None else counted * weights.double()
    if reduction == "none":
        return share
    share = share * processes(group)
    if reduction == "sum":
        return share
    total = summed(share.sum(), group) / processes(group)
    if not bool(total > 0):
        raise OrdinateError("weights: got zero for every anchor that has a loss, takes some above 0")
    return share / total
