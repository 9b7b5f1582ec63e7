"""Networks of a table that are trained as one, each without a fold of the samples, which it is validated on."""

import math
from abc import ABC, abstractmethod
from dataclasses import replace

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, nll_loss

from ordinate.encoders.blend_head import BlendHead
from ordinate.encoders.members import BlendEncoder
from ordinate.functional.inputs import check_ranks, check_targets
from ordinate.functional.numerics import to_accumulation_dtype, weighted_mean
from ordinate.training.optimization import Optimization, Stage


class Members(nn.Module, ABC):
    """Networks and the loss that each learns from; :func:`~ordinate.methods.member_training.train_members` trains them.

    Args:
        encoder: Encoder of the members, (n, f) to (n, members * d).
        head: Module from these embeddings to predictions.
        epochs, patience, optimization: Options of the first stage. A ``patience`` of ``"auto"`` waits for as many
            epochs as led to the best, but no fewer than hold 150 steps, and at most 40 or as many as hold 400 steps.
        refit: Epochs of the second stage, in which all members see all samples, as a share of those up to the best of
            the first; 0 for no second one.

    Attributes:
        stages: The stages of training.
        unseen: (n, C) or (n, 1), what members that had not seen a sample predicted of it in the best epoch of the first
            stage.
        hurried: Whether the learning rate ever followed the time.
    """

    unseen: Tensor

    def __init__(
        self,
        encoder: BlendEncoder,
        head: BlendHead,
        *,
        epochs: int = 400,
        patience: int | str | None = "auto",
        refit: float = 0.2,
        optimization: Optimization = Optimization("adamw", weight_decay=0.1, schedule="constant", warmup=0.0),
    ) -> None:
        super().__init__()
        stages = [Stage("members", epochs, optimization)]
        if refit:
            falling = replace(optimization, schedule="cosine", warmup=0.0)
            stages.append(Stage("all samples", math.ceil(refit * epochs), falling))
        self.stages = tuple(stages)
        self.patience = patience
        self.refit = refit
        self.encoder: BlendEncoder = encoder
        self.head = head
        self.hurried = False
        self.encoder_learning_rate: float | None = None

    def parameters_of_stage(self, index: int) -> list[nn.Parameter]:
        """The parameters that a stage trains: all."""
        return list(self.parameters())

    def forward(self, x: Float[Tensor, "m n f"]) -> Float[Tensor, "m n o"]:
        """Return the logits of each member, or its standardised targets, of samples of its own."""
        outputs: Tensor = self.head.members(self.encoder.members.of_own_samples(x))
        return outputs

    def batch_loss(self, x: Float[Tensor, "n f"], y: Tensor, weights: Float[Tensor, "n m"] | None) -> Float[Tensor, ""]:
        """Return the mean loss over members and samples, counted by the weight of each sample in each member."""
        losses = self.sample_losses(self(x.expand(self.head.shape[0], *x.shape)), self.as_labels(y))
        if weights is None:
            return losses.mean()
        counted = weights.to(losses.dtype).T  # The sum is positive, because some members see every sample.
        return (losses * counted).sum() / counted.sum()

    def predictions(self, x: Float[Tensor, "m n f"]) -> Float[Tensor, "m n o"]:
        """Return what each member predicts of samples of its own: probabilities, or standardised targets."""
        outputs = self(x)
        return outputs if self.head.num_classes is None else outputs.softmax(2)

    @abstractmethod
    def as_labels(self, y: Tensor) -> Tensor:
        """Return labels in the shape and dtype that the loss takes."""

    @abstractmethod
    def sample_losses(self, outputs: Float[Tensor, "m n o"], y: Tensor) -> Float[Tensor, "m n"]:
        """Return the loss of every sample in every member."""

    @abstractmethod
    def standardised_labels(self, y: Tensor) -> Tensor:
        """Return ranks (n,), or standardised targets (n, 1) in float64."""

    @abstractmethod
    def unseen_figures(
        self, predictions: Float[Tensor, "n o"], y: Tensor, weights: Float[Tensor, " n"] | None
    ) -> dict[str, Tensor]:
        """Return what to log of predictions of samples that were not seen, ``val_loss`` among it."""


class RankMembers(Members):
    """Members that learn the probability of every rank, by cross-entropy."""

    def as_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return check_ranks(y, len(y), int(self.head.num_classes or 0))

    def standardised_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return self.as_labels(y)

    def sample_losses(self, outputs: Float[Tensor, "m n o"], y: Int[Tensor, " n"]) -> Float[Tensor, "m n"]:
        members = len(outputs)
        losses = cross_entropy(outputs.flatten(0, 1), y.repeat(members), reduction="none")
        return losses.unflatten(0, (members, len(y)))

    def unseen_figures(
        self, predictions: Float[Tensor, "n o"], y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None
    ) -> dict[str, Tensor]:
        predicted = predictions.argmax(1)
        losses = nll_loss(predictions.clamp(min=1e-9).log(), y, reduction="none")
        return {
            "val_loss": weighted_mean(losses, weights),
            "val_accuracy": weighted_mean(to_accumulation_dtype(predicted == y), weights),
            "val_mae": weighted_mean(to_accumulation_dtype((predicted - y).abs()), weights),
        }


class TargetMembers(Members):
    """Members that learn one continuous target, by the squared error."""

    def as_labels(self, y: Tensor) -> Float[Tensor, "n 1"]:
        return check_targets(y, len(y), dimensions=1)

    def standardised_labels(self, y: Tensor) -> Float[Tensor, "n 1"]:
        mean, scale = self.head.target_mean.to(y.device), self.head.target_scale.to(y.device)
        return (self.as_labels(y).double() - mean) / scale

    def sample_losses(self, outputs: Float[Tensor, "m n o"], y: Float[Tensor, "n 1"]) -> Float[Tensor, "m n"]:
        return (outputs - self.standardised_labels(y).to(outputs.dtype)).square()[:, :, 0]

    def unseen_figures(
        self, predictions: Float[Tensor, "n o"], y: Float[Tensor, "n 1"], weights: Float[Tensor, " n"] | None
    ) -> dict[str, Tensor]:
        errors = (predictions - self.standardised_labels(y))[:, 0]
        return {
            "val_loss": weighted_mean(errors.square(), weights),
            "val_mae": weighted_mean(errors.abs() * self.head.target_scale.to(errors.device), weights),
        }
