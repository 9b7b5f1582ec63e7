"""OTD's loss as a module."""

from typing import Any

from jaxtyping import Float, Int, Shaped
from torch import Tensor

from ordinate.functional import angular_triangle
from ordinate.functional.angular_triangle import check_angular_triangle_options
from ordinate.losses.formula_loss import FormulaLoss
from ordinate.options import Reduction


class AngularTriangleLoss(FormulaLoss):
    """Loss of the ordinal triplet network; options as in :func:`ordinate.functional.angular_triangle`.

    In several processes it is the loss of their joined batches, unless ``gather_distributed`` is False.

    Example:
        >>> import torch
        >>> loss = AngularTriangleLoss(num_classes=3)
        >>> loss(torch.randn(9, 4), torch.arange(9) % 3).shape
        torch.Size([])
    """

    num_classes: int

    def __init__(
        self,
        num_classes: int,
        *,
        reduction: Reduction = "mean",
        block_size: int | None = None,
        gather_distributed: bool = True,
    ) -> None:
        options: dict[str, Any] = {"num_classes": num_classes, "reduction": reduction, "block_size": block_size}
        check_angular_triangle_options(**options)
        super().__init__(angular_triangle, gather_distributed=gather_distributed, **options)

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, "n *p"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Shaped[Tensor, "m *q"] | None = None,
        weights: Shaped[Tensor, " n"] | None = None,
        own: Int[Tensor, " n"] | None = None,
        triplets: Int[Tensor, "t 3"] | None = None,
    ) -> Float[Tensor, "*n"]:
        return self.loss(embeddings, labels, ref_emb, own, ref_labels=ref_labels, weights=weights, triplets=triplets)
