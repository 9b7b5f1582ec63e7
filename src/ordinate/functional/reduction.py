"""How the anchors' values become one loss."""

from jaxtyping import Bool, Float
from torch import Tensor

from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import Group, gathered, processes
from ordinate.functional.precision import wide


def anchor_coefficients(
    reduction: str, weights: Float[Tensor, " n"] | None, counted: Bool[Tensor, " n"], group: Group
) -> Float[Tensor, " n"]:
    """What each anchor's value is multiplied with: its weight, over their sum for ``"mean"`` and ``"pair_mean"``.

    Anchors that are not ``counted`` have no value.

    Raises:
        OrdinateError: where the counted anchors all weigh nothing: no mean exists, and a sum is 0 whatever the
            embeddings.
    """
    share = wide(counted) if weights is None else counted * wide(weights)
    total = gathered(share.sum()[None], group)[0].sum()  # with a gradient, that of weights
    if not bool(total > 0):
        raise OrdinateError("weights: got zero for every anchor that has a loss, takes some above 0")
    if reduction == "none":
        return share
    share = share * processes(group)
    return share if reduction == "sum" else share / total
