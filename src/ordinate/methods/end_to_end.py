"""Regression end to end: what SupCR and SupReMix are compared with (SupCR, Tables 1 to 4)."""

from jaxtyping import Float
from torch import Tensor, nn

from ordinate.heads.binned import BinSize
from ordinate.heads.build import build_head
from ordinate.methods.imbalance import Balance
from ordinate.methods.regression import Regression
from ordinate.options import HeadLoss
from ordinate.training.optimization import Optimization
from ordinate.training.stages import Stage


class EndToEnd(Regression):
    """Encoder and head trained together, from the start, by the head's loss alone.

    Args:
        encoder: maps a batch to embeddings (n, embedding_dim).
        embedding_dim: d.
        target_dim: p of the targets (n, p).
        head_loss, bin_size: See :func:`~ordinate.heads.build_head`.
        epochs: 400 in the paper.
        patience, chunk_size: See :class:`~ordinate.training.stages.StagedMethod`.
        balance: See :class:`~ordinate.methods.balanced.BalancedMethod`.
        optimization: SGD with cosine annealing in the paper.
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        target_dim: int = 1,
        *,
        head_loss: HeadLoss = "l1",
        bin_size: BinSize = None,
        epochs: int = 400,
        patience: int | None = None,
        chunk_size: int | None = None,
        balance: Balance | None = None,
        optimization: Optimization = Optimization("sgd", 0.05, 1e-4, warmup=0.0),
    ) -> None:
        head = build_head(head_loss, embedding_dim, target_dim, bin_size=bin_size)
        stages = (Stage("encoder and head", epochs, optimization, patience),)
        super().__init__(encoder, head, stages, chunk_size, balance)

    def batch_loss(
        self, x: Tensor, y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        embeddings = self.embed(x)
        return self.with_ranks(self.head_loss(embeddings, y, weights), embeddings, y)

    def validate_embeddings(
        self, x: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> dict[str, Tensor]:
        return self.validate_head(x, y, weights)
