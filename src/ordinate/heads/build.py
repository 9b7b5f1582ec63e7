"""Build a head from the name of its loss."""

from typing import cast

from ordinate.checks import check_choice
from ordinate.extensions import added_heads, load_object
from ordinate.heads.linear import REGRESSION_LOSSES, LinearHead, RegressionHead
from ordinate.options import BinSize, LinearLoss, head_losses


def build_head(name: str, embedding_dim: int, target_dim: int = 1, *, bin_size: BinSize = None) -> RegressionHead:
    """Return a new head of continuous targets.

    Args:
        name: ``"l1"``, ``"mse"`` or ``"huber"`` for a linear head trained by that loss, or the name of a head of an
            extension, such as ``"dex"``, ``"dldl_v2"``, ``"or"`` and ``"corn"`` of :mod:`ordinate_papers.heads`.
        embedding_dim: Dimension d of the embeddings (n, d).
        target_dim: Dimension p of the targets (n, p).
        bin_size: Size of the bins of a head on bins of the target, in its units; the others have no use for it.

    Raises:
        OrdinateError: an unknown name, or sizes that are not one positive number per dimension.

    Example:
        >>> build_head("huber", 8, 2).linear
        Linear(in_features=8, out_features=2, bias=True)
    """
    check_choice(name, head_losses(), "head_loss")
    if name in REGRESSION_LOSSES:
        return LinearHead(embedding_dim, target_dim, cast(LinearLoss, name))
    head: RegressionHead = load_object(added_heads()[name])(embedding_dim, target_dim, bin_size)
    return head
