"""Ranks end to end by losses that came after the papers: SORD, squared EMD, kappa, and unimodal heads."""

from collections.abc import Callable
from typing import Any, Literal

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ordinate.checks import check_choice
from ordinate.functional.global_batch import all_processes, mean_over_all
from ordinate.functional.numerics import weighted_mean
from ordinate.methods.plain import CrossEntropy
from ordinate_papers.losses.sord import sord_losses
from ordinate_papers.losses.squared_emd import squared_emd_losses
from ordinate_papers.losses.unimodal import UnimodalHead
from ordinate_papers.losses.weighted_kappa import weighted_kappa_loss

RankLossName = Literal["sord", "squared_emd", "weighted_kappa", "binomial", "poisson"]
RankLoss = Callable[[Tensor, Tensor, Tensor | None], Tensor]


def _averaged(losses: Callable[[Tensor, Tensor], Tensor]) -> RankLoss:
    return lambda logits, ranks, weights: weighted_mean(losses(logits, ranks), weights)


_cross_entropy = _averaged(lambda logits, ranks: cross_entropy(logits, ranks.long(), reduction="none"))
LOSSES: dict[str, RankLoss] = {
    "sord": _averaged(sord_losses),
    "squared_emd": _averaged(squared_emd_losses),
    "weighted_kappa": weighted_kappa_loss,
    "binomial": _cross_entropy,
    "poisson": _cross_entropy,
}


class LaterOrdinal(CrossEntropy):
    """Encoder and head trained together by one of :data:`LOSSES`; predicts the most probable rank.

    In several processes the kappa of a batch is the mean of those of the processes.

    Args:
        encoder: Network from a batch to embeddings (n, embedding_dim).
        embedding_dim: Dimension d of the embeddings.
        num_classes: Number of ranks C.
        loss: Name of the loss; ``"binomial"`` and ``"poisson"`` are cross-entropy on a unimodal head.
        options: Options of :class:`~ordinate.methods.plain.CrossEntropy`.
    """

    def __init__(
        self, encoder: nn.Module, embedding_dim: int, num_classes: int, *, loss: RankLossName, **options: Any
    ) -> None:
        check_choice(loss, tuple(LOSSES), "loss")
        super().__init__(encoder, embedding_dim, num_classes, **options)
        self.rank_loss = loss
        if loss in ("binomial", "poisson"):
            self.head = UnimodalHead(embedding_dim, num_classes, loss)

    def batch_loss(
        self, x: Tensor, y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        loss = LOSSES[self.rank_loss](self.head(self.embed(x)), y, weights)
        return mean_over_all(loss, len(y), all_processes())

    def validate_embeddings(
        self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> dict[str, Tensor]:
        loss = LOSSES[self.rank_loss](self.head(x), y, weights)
        return super().validate_embeddings(x, y, weights) | {"val_loss": loss}
