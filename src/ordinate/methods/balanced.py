"""Training that may make up for rare labels."""

from jaxtyping import Float, Shaped
from torch import Tensor

from ordinate.methods.imbalance import Balance
from ordinate.training.stages import Stage, StagedMethod


class BalancedMethod(StagedMethod):
    """A method that may make up for rare labels.

    Args:
        stages, chunk_size: See :class:`~ordinate.training.stages.StagedMethod`.
        balance: weighs samples of rare labels, calibrates the embeddings that a head sees, and adds RankSim's loss;
            None does nothing of it.
    """

    def __init__(self, stages: tuple[Stage, ...], chunk_size: int | None, balance: Balance | None) -> None:
        super().__init__(stages, chunk_size)
        self.balance = balance

    def weights(
        self, y: Shaped[Tensor, "n *p"], sample_weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, " n"] | None:
        """What samples weigh: their own weights times, in training, those of the balance; None if all the same."""
        balanced = self.balance.weights(y) if self.balance is not None and self.training else None
        if balanced is None or sample_weights is None:
            return sample_weights if balanced is None else balanced
        return balanced * sample_weights

    def calibrated(self, embeddings: Float[Tensor, "n d"], y: Shaped[Tensor, "n *p"]) -> Float[Tensor, "n d"]:
        """Return the embeddings of a training batch as its head sees them."""
        return embeddings if self.balance is None else self.balance.calibrated(embeddings, y)

    def with_ranks(
        self, loss: Float[Tensor, ""], embeddings: Float[Tensor, "n d"], y: Shaped[Tensor, "n *p"]
    ) -> Float[Tensor, ""]:
        """The loss of a batch that trains the encoder, and RankSim's where it is asked for."""
        return loss if self.balance is None else loss + self.balance.rank_loss(embeddings, y)

    def on_train_epoch_end(self) -> None:
        if self.balance is not None:
            self.balance.end_epoch()
        super().on_train_epoch_end()
