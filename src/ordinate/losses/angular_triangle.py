"""OTD's loss as a module."""

from typing import Any

from ordinate.functional import angular_triangle
from ordinate.functional.angular_triangle import check_angular_triangle_options
from ordinate.losses.formula_loss import TripletFormulaLoss
from ordinate.options import Reduction


class AngularTriangleLoss(TripletFormulaLoss):
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
