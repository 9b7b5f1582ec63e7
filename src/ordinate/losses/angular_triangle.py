"""OTD's loss as a module."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.functional import angular_triangle
from ordinate.functional.angular_triangle import check_angular_triangle_options
from ordinate.functional.global_batch import joined_processes
from ordinate.losses.settings import shown


class AngularTriangleLoss(nn.Module):
    """Loss of the ordinal triplet network; options as in :func:`ordinate.functional.angular_triangle`.

    In several processes it is the loss of their joined batches, unless ``gather_distributed`` is False.

    Example:
        >>> import torch
        >>> loss = AngularTriangleLoss(num_classes=3)
        >>> loss(torch.randn(9, 4), torch.arange(9) % 3).shape
        torch.Size([])
    """

    def __init__(
        self,
        num_classes: int,
        *,
        reduction: str = "mean",
        block_size: int | None = None,
        gather_distributed: bool = True,
    ) -> None:
        super().__init__()
        check_angular_triangle_options(num_classes=num_classes, reduction=reduction, block_size=block_size)
        self.num_classes = num_classes
        self.reduction = reduction
        self.block_size = block_size
        self.gather_distributed = gather_distributed

    def extra_repr(self) -> str:
        return shown(self, "num_classes", "reduction", "block_size", "gather_distributed")

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Int[Tensor, " n"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Int[Tensor, " m"] | None = None,
        weights: Float[Tensor, " n"] | None = None,
        own: Int[Tensor, " n"] | None = None,
        triplets: Int[Tensor, "t 3"] | None = None,
    ) -> Float[Tensor, "*n"]:
        return angular_triangle(
            embeddings,
            labels,
            self.num_classes,
            triplets=triplets,
            ref_emb=ref_emb,
            ref_labels=ref_labels,
            weights=weights,
            reduction=self.reduction,
            own=own,
            group=joined_processes(self.gather_distributed, ref_emb, own),
            block_size=self.block_size,
        )
