"""SupCR's loss as a module."""

from typing import Any

from ordinate.functional import supcr
from ordinate.functional.label_distance import LabelDistance
from ordinate.functional.supcr import check_supcr_options
from ordinate.losses.formula_loss import FormulaLoss
from ordinate.options import Reduction, Similarity


class SupCRLoss(FormulaLoss):
    """Supervised contrastive regression loss; options as in :func:`ordinate.functional.supcr`.

    In several processes it is the loss of their joined batches, unless ``gather_distributed`` is False.

    Example:
        >>> import torch
        >>> loss = SupCRLoss(temperature=2.0)
        >>> loss(torch.randn(8, 4), torch.arange(8.0)).shape
        torch.Size([])
    """

    def __init__(
        self,
        *,
        temperature: float = 2.0,
        similarity: Similarity = "neg_l2",
        label_distance: LabelDistance = "l1",
        num_positives: int | None = None,
        tie_tolerance: float = 0.0,
        reduction: Reduction = "mean",
        block_size: int | None = None,
        gather_distributed: bool = True,
    ) -> None:
        options: dict[str, Any] = {
            "temperature": temperature, "similarity": similarity, "label_distance": label_distance,
            "num_positives": num_positives, "tie_tolerance": tie_tolerance, "reduction": reduction,
            "block_size": block_size,
        }  # fmt: skip
        check_supcr_options(**options)
        super().__init__(supcr, gather_distributed=gather_distributed, **options)
