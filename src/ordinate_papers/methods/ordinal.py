"""Ranks end to end by the losses that ask whether a rank lies above each threshold: OR, CORN and CORAL."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.checks import check_choice
from ordinate.methods.plain import CrossEntropy
from ordinate_papers.heads.thresholds import (
    CORALLayer,
    corn_losses,
    extended_binary_losses,
    threshold_probabilities,
)  # fmt: skip

OrdinalLoss = Literal["or", "corn", "coral"]
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "or": extended_binary_losses,
    "corn": corn_losses,
    "coral": extended_binary_losses,
}


class Ordinal(CrossEntropy):
    """Encoder and a head with one output per threshold between two adjacent ranks, trained together.

    The loss is that of OR (Niu et al., 2016: ORCNN in CLOC's Table 1), CORN (Shi et al., 2021) or CORAL (Cao et al.,
    2020); the rank predicted is, as in these papers, the median.

    Args:
        encoder, embedding_dim, num_classes, options: Arguments of :class:`~ordinate.methods.plain.CrossEntropy`.
        loss: ``"or"``, ``"corn"`` or ``"coral"``.
    """

    rule: ClassVar[str] = "median"

    def __init__(
        self, encoder: nn.Module, embedding_dim: int, num_classes: int, *, loss: OrdinalLoss = "or", **options: Any
    ) -> None:
        check_choice(loss, tuple(LOSSES), "loss")
        if loss == "coral":
            head: nn.Module = CORALLayer(embedding_dim, num_classes)
        else:
            head = nn.Linear(embedding_dim, num_classes - 1)
        super().__init__(encoder, embedding_dim, num_classes, head=head, **options)
        self.loss = loss

    def probabilities(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        return threshold_probabilities(self.head(embeddings), self.loss)

    def sample_losses(self, embeddings: Float[Tensor, "n d"], y: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
        return LOSSES[self.loss](self.head(embeddings), y)
