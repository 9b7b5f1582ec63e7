"""Ranks end to end: cross-entropy, and the losses that ask whether a rank lies above each threshold."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ordinate.checks import check_choice
from ordinate.decisions import predict_ranks
from ordinate.functional.global_batch import all_processes, mean_over_all
from ordinate.functional.inputs import check_ranks
from ordinate.functional.numerics import to_accumulation_dtype, weighted_mean
from ordinate.heads.binned import corn_losses, extended_binary_losses
from ordinate.heads.ranks import CORALLayer, probabilities_of
from ordinate.options import OrdinalLoss
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Logs, Stage, StagedMethod, Weights

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross_entropy": lambda logits, ranks: cross_entropy(logits, ranks, reduction="none"),
    "or": extended_binary_losses,
    "corn": corn_losses,
    "coral": extended_binary_losses,
}


class Ordinal(StagedMethod):
    """Encoder and one linear layer trained together.

    The loss is cross-entropy with one output per rank, or that of OR (Niu et al., 2016: ORCNN in CLOC's Table 1), CORN
    (Shi et al., 2021) or CORAL (Cao et al., 2020), with one output per threshold between two adjacent ranks.

    Args:
        encoder: Network that maps a batch to embeddings (n, embedding_dim).
        embedding_dim: Dimension d of the embeddings.
        num_classes: C.
        loss: ``"cross_entropy"``, ``"or"``, ``"corn"`` or ``"coral"``.
        epochs: Epochs of training.
        patience, chunk_size: See :class:`~ordinate.training.staged_method.StagedMethod`.
        optimization: Optimizer and its schedule.
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        num_classes: int,
        *,
        loss: OrdinalLoss = "cross_entropy",
        epochs: int = 100,
        patience: int | None = None,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adam", weight_decay=0.0, schedule="constant", warmup=0.0),
    ) -> None:
        check_choice(loss, tuple(LOSSES), "loss")
        super().__init__((Stage("encoder and head", epochs, optimization, patience),), chunk_size)
        self.encoder = encoder
        self.loss = loss
        self.num_classes = num_classes
        if loss == "coral":
            self.head: nn.Module = CORALLayer(embedding_dim, num_classes)
        else:
            outputs = num_classes if loss == "cross_entropy" else num_classes - 1
            self.head = nn.Linear(embedding_dim, outputs)

    def as_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return check_ranks(y, len(y), self.num_classes)

    def probabilities(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        return probabilities_of(self.head(embeddings), self.loss)

    def decide(self, probabilities: Float[Tensor, "n c"]) -> Int[Tensor, " n"]:
        """Return the ranks that the loss's paper predicts: the mode under cross-entropy, otherwise the median."""
        rule = "mode" if self.loss == "cross_entropy" else "median"
        ranks = predict_ranks(probabilities.detach().cpu().numpy(), rule)
        return torch.from_numpy(ranks).to(probabilities.device)

    def sample_losses(self, embeddings: Float[Tensor, "n d"], y: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
        """Return the loss of every sample."""
        return LOSSES[self.loss](self.head(embeddings), y)

    def batch_loss(self, x: Tensor, y: Int[Tensor, " n"], weights: Weights = None) -> Float[Tensor, ""]:
        losses = self.sample_losses(self.embed(x), y)
        if weights is not None:
            losses = weights.to(losses.dtype) * losses
        return mean_over_all(losses.mean(), len(y), all_processes())

    def validate_embeddings(self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], weights: Weights = None) -> Logs:
        predicted = self.decide(self.probabilities(x))
        return {
            "val_loss": weighted_mean(self.sample_losses(x, y), weights),
            "val_accuracy": weighted_mean(to_accumulation_dtype(predicted == y), weights),
            "val_mae": weighted_mean(to_accumulation_dtype((predicted - y).abs()), weights),
        }
