"""SupCR's loss as a module."""

from typing import Any

from torch import Tensor

from ordinate.functional.supcr import supcr
from ordinate.losses.formula_loss import FormulaLoss
from ordinate.options import LabelDistance, Reduction, Similarity, SupCROptions


class SupCRLoss(FormulaLoss):
    """Supervised contrastive regression loss, :func:`ordinate.functional.supcr`.

    Args:
        temperature: Temperature tau of the softmax, > 0; 2.0 in the paper.
        similarity: Similarity of embeddings: ``"neg_l2"`` (the paper's), ``"neg_l1"`` or ``"cosine"``.
        label_distance: Distance of labels: ``"l1"`` (the paper's), ``"l2"``, ``"angular"`` for (pitch, yaw) in radians,
            or a callable of (n, p) and (m, p) labels that returns (n, m) distances.
        num_positives: Number K of the closest samples that are positives (Table 13), samples that tie with the K-th
            included; None takes all samples.
        tie_tolerance: Largest difference of two label distances that count as equal. Labels such as 0.1 k lose their
            ties to rounding; 0 compares floats as they are.
        reduction: ``"mean"`` for the weighted mean over anchors, ``"sum"``, or ``"none"`` for one value per anchor.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.
        gather_distributed: Whether, in several processes, it is the loss of their joined batches.

    Example:
        >>> import torch
        >>> loss = SupCRLoss(temperature=2.0)
        >>> loss(torch.randn(8, 4), torch.arange(8.0)).shape
        torch.Size([])
    """

    options: SupCROptions

    def __init__(
        self,
        *,
        temperature: float = SupCROptions.temperature,
        similarity: Similarity = SupCROptions.similarity,
        label_distance: LabelDistance = SupCROptions.label_distance,
        num_positives: int | None = SupCROptions.num_positives,
        tie_tolerance: float = SupCROptions.tie_tolerance,
        reduction: Reduction = SupCROptions.reduction,
        block_size: int | None = SupCROptions.block_size,
        gather_distributed: bool = True,
    ) -> None:
        options = SupCROptions(
            temperature=temperature, similarity=similarity, label_distance=label_distance,
            num_positives=num_positives, tie_tolerance=tie_tolerance, reduction=reduction, block_size=block_size,
        )  # fmt: skip
        super().__init__(options, gather_distributed=gather_distributed)

    def formula(self, embeddings: Tensor, labels: Tensor, **inputs: Any) -> Tensor:
        return supcr(embeddings, labels, **vars(self.options), **inputs)
