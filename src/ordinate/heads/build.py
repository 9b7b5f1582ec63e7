"""Build a head from the name of its loss."""

from typing import cast

from ordinate.checks import check_choice
from ordinate.heads.binned import BinnedHead, BinSize, CORNHead, DEXHead, DLDLv2Head, ORHead
from ordinate.heads.linear import REGRESSION_LOSSES, LinearHead, RegressionHead
from ordinate.options import HeadLoss, LinearLoss

BINNED: dict[str, type[BinnedHead]] = {"dex": DEXHead, "dldl_v2": DLDLv2Head, "or": ORHead, "corn": CORNHead}
HEAD_LOSSES = (*REGRESSION_LOSSES, *BINNED)


def build_head(name: HeadLoss, embedding_dim: int, target_dim: int = 1, *, bin_size: BinSize = None) -> RegressionHead:
    """Return a new head of continuous targets.

    Args:
        name: ``"l1"``, ``"mse"`` or ``"huber"`` for a linear head trained by that loss; ``"dex"``, ``"dldl_v2"``,
            ``"or"`` or ``"corn"`` for one on bins of the target.
        embedding_dim: Dimension d of the embeddings (n, d).
        target_dim: Dimension p of the targets (n, p).
        bin_size: Size of a bin of the heads on bins, as :func:`~ordinate.heads.equal_bins` takes it; the others have no
            use for it.

    Raises:
        OrdinateError: an unknown name, or sizes that are not one positive number per dimension.

    Example:
        >>> build_head("or", 8, bin_size=0.5)
        ORHead(
          (linears): ModuleList(
            (0): Linear(in_features=8, out_features=1, bias=True)
          )
        )
    """
    check_choice(name, HEAD_LOSSES, "head_loss")
    if name in BINNED:
        return BINNED[name](embedding_dim, target_dim, bin_size)
    return LinearHead(embedding_dim, target_dim, cast(LinearLoss, name))
