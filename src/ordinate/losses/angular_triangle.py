"""OTD's loss as a module."""

from typing import Any

from torch import Tensor

from ordinate.functional.angular_triangle import angular_triangle
from ordinate.losses.formula_loss import TripletFormulaLoss
from ordinate.options import AngularTriangleOptions, Reduction


class AngularTriangleLoss(TripletFormulaLoss):
    """Loss of the ordinal triplet network, :func:`ordinate.functional.angular_triangle`.

    Args:
        num_classes: Number C of ranks, at least 2.
        reduction: ``"mean"`` over triplets (eq. 5), ``"sum"`` over triplets, or ``"none"``: for each anchor the mean
            over its triplets, 0 for one that has none.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.
        gather_distributed: Whether, in several processes, it is the loss of their joined batches.

    Example:
        >>> import torch
        >>> loss = AngularTriangleLoss(num_classes=3)
        >>> loss(torch.randn(9, 4), torch.arange(9) % 3).shape
        torch.Size([])
    """

    options: AngularTriangleOptions

    def __init__(
        self,
        num_classes: int,
        *,
        reduction: Reduction = AngularTriangleOptions.reduction,
        block_size: int | None = AngularTriangleOptions.block_size,
        gather_distributed: bool = True,
    ) -> None:
        options = AngularTriangleOptions(num_classes=num_classes, reduction=reduction, block_size=block_size)
        super().__init__(options, gather_distributed=gather_distributed)

    @property
    def num_classes(self) -> int:
        """The number of ranks of the options."""
        return self.options.num_classes

    def formula(self, embeddings: Tensor, labels: Tensor, **inputs: Any) -> Tensor:
        return angular_triangle(embeddings, labels, **vars(self.options), **inputs)
