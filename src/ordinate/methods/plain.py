"""Ranks end to end by cross-entropy, and what other baselines of ranks build on."""

from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ordinate.decisions import predict_ranks
from ordinate.functional.global_batch import all_processes, mean_over_all
from ordinate.functional.inputs import check_ranks
from ordinate.functional.numerics import to_accumulation_dtype, weighted_mean
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Logs, Stage, StagedMethod, Weights


class CrossEntropy(StagedMethod):
    """Encoder and head trained together by cross-entropy.

    A baseline with another loss gives its ``head`` and overrides ``rule``, :meth:`probabilities` and
    :meth:`sample_losses`.

    Args:
        encoder: Network that maps a batch to embeddings (n, embedding_dim).
        embedding_dim: Dimension d of the embeddings.
        num_classes: C.
        head: Module from embeddings to logits; None for a linear layer with one output per rank.
        epochs: Epochs of training.
        patience, chunk_size: See :class:`~ordinate.training.staged_method.StagedMethod`.
        optimization: Optimizer and its schedule.
    """

    rule: ClassVar[str] = "mode"  # How a rank is predicted from the probabilities.

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        num_classes: int,
        *,
        head: nn.Module | None = None,
        epochs: int = 100,
        patience: int | None = None,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adam", weight_decay=0.0, schedule="constant", warmup=0.0),
    ) -> None:
        super().__init__((Stage("encoder and head", epochs, optimization, patience),), chunk_size)
        self.encoder = encoder
        self.num_classes = num_classes
        self.head = nn.Linear(embedding_dim, num_classes) if head is None else head

    def as_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return check_ranks(y, len(y), self.num_classes)

    def probabilities(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        return self.head(embeddings).softmax(1)

    def decide(self, probabilities: Float[Tensor, "n c"]) -> Int[Tensor, " n"]:
        """Return the ranks that the method's rule predicts."""
        ranks = predict_ranks(probabilities.detach().cpu().numpy(), self.rule)
        return torch.from_numpy(ranks).to(probabilities.device)

    def sample_losses(self, embeddings: Float[Tensor, "n d"], y: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
        """Return the loss of every sample."""
        return cross_entropy(self.head(embeddings), y, reduction="none")

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
