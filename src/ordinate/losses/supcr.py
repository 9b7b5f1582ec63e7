"""SupCR's loss as a module."""

from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ordinate.functional import supcr
from ordinate.functional.global_batch import joined_processes
from ordinate.functional.label_distance import LabelDistance
from ordinate.functional.supcr import check_supcr_options
from ordinate.losses.settings import shown


class SupCRLoss(nn.Module):
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
        similarity: str = "neg_l2",
        label_distance: LabelDistance = "l1",
        num_positives: int | None = None,
        tie_tolerance: float = 0.0,
        reduction: str = "mean",
        block_size: int | None = None,
        gather_distributed: bool = True,
    ) -> None:
        super().__init__()
        check_supcr_options(
            temperature=temperature,
            similarity=similarity,
            label_distance=label_distance,
            num_positives=num_positives,
            tie_tolerance=tie_tolerance,
            reduction=reduction,
            block_size=block_size,
        )
        self.temperature = temperature
        self.similarity = similarity
        self.label_distance = label_distance
        self.num_positives = num_positives
        self.tie_tolerance = tie_tolerance
        self.reduction = reduction
        self.block_size = block_size
        self.gather_distributed = gather_distributed

    def extra_repr(self) -> str:
        return shown(
            self, "temperature", "similarity", "label_distance", "num_positives", "tie_tolerance", "reduction",
            "block_size", "gather_distributed",
        )  # fmt: skip

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, "n *p"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Shaped[Tensor, "m *p"] | None = None,
        weights: Float[Tensor, " n"] | None = None,
        own: Int[Tensor, " n"] | None = None,
    ) -> Float[Tensor, "*n"]:
        return supcr(
            embeddings,
            labels,
            temperature=self.temperature,
            similarity=self.similarity,
            label_distance=self.label_distance,
            num_positives=self.num_positives,
            tie_tolerance=self.tie_tolerance,
            ref_emb=ref_emb,
            ref_labels=ref_labels,
            weights=weights,
            reduction=self.reduction,
            own=own,
            group=joined_processes(self.gather_distributed, ref_emb, own),
            block_size=self.block_size,
        )
