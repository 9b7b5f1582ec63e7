"""Networks trained as one, each without a fold of the samples, which it is validated on."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, nll_loss

from ordinate.encoders.blend_head import BlendHead
from ordinate.encoders.members import BlendEncoder
from ordinate.functional.inputs import check_ranks, check_targets
from ordinate.functional.numerics import to_accumulation_dtype, weighted_mean
from ordinate.training.optimization import Optimization
from ordinate.training.stages import Stage, StagedMethod

LEAST = 1e-9  # probability whose logarithm is taken


class Members(StagedMethod):
    """Members under the mean of their losses; early stopping by what each predicts of samples that it does not see.

    A batch is ``(x, y, weights)`` with weights (n, members) of every sample in every member, 0 where the member does
    not see it. Validation batches hold the training samples, with the weights of those that a member does not see: the
    validation loss is that of the mean prediction of the members that have not seen a sample.

    Args:
        encoder: Encoder of the members, (n, f) to (n, members * d).
        head: Module from these embeddings to predictions.
        epochs, patience, optimization: Options of the first stage.
        refit: epochs of the second stage, as a share of those up to the best of the first; 0 for no second one.
        chunk_size: See :class:`~ordinate.training.stages.StagedMethod`.

    Attributes:
        unseen: (n, C) or (n, 1), what members that had not seen a sample predicted of it in the best epoch of the first
            stage.
    """

    unseen: Tensor

    def __init__(
        self,
        encoder: BlendEncoder,
        head: BlendHead,
        *,
        epochs: int = 400,
        patience: int | None = 40,
        refit: float = 0.2,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adamw", weight_decay=0.1, schedule="constant", warmup=0.0),
    ) -> None:
        stages = [Stage("members", epochs, optimization, patience)]
        if refit:
            falling = replace(optimization, schedule="cosine", warmup=0.0)
            stages.append(Stage("all samples", math.ceil(refit * epochs), falling))
        super().__init__(tuple(stages), chunk_size)
        self.refit = refit
        self.encoder: BlendEncoder = encoder
        self.head = head

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n d"]:
        return torch.cat([self.encoder(part) for part in x.split(self.encoder.most_rows)])

    @abstractmethod
    def sample_losses(self, outputs: Float[Tensor, "m n o"], y: Tensor) -> Float[Tensor, "m n"]:
        """Return the loss of every sample in every member."""

    @abstractmethod
    def standardised_labels(self, y: Tensor) -> Tensor:
        """Return ranks (n,), or standardised targets (n, 1) in float64."""

    def begin_stage(self) -> None:
        if self.stage_index == 1:
            self.stages = (self.stages[0], replace(self.stage, epochs=math.ceil(self.refit * self.best_epochs[0])))

    def batch_loss(self, x: Tensor, y: Tensor, weights: Tensor | None = None) -> Float[Tensor, ""]:
        losses = self.sample_losses(self.head.outputs(self.embed(x)), y)
        if weights is None:
            return losses.mean()
        if self.stage_index == 1:  # every member sees every sample
            weights = weights.amax(1, keepdim=True).expand_as(weights)
        counted = weights.to(losses.dtype).T  # of a sum above 0, as every sample is seen by some members
        return (losses * counted).sum() / counted.sum()

    def validation_step(self, batch: Sequence[Any], batch_idx: int) -> None:
        if self.stage_index == 0:
            super().validation_step(batch, batch_idx)

    def on_validation_epoch_end(self) -> None:
        if self.validation_outputs:
            super().on_validation_epoch_end()

    def validate_embeddings(
        self, x: Float[Tensor, "n d"], y: Tensor, weights: Float[Tensor, "n m"] | None = None
    ) -> dict[str, Tensor]:
        assert weights is not None  # noqa: S101  # as the samples are those of training
        predictions = self.unseen_predictions(x, weights)
        found = self.unseen_figures(predictions, y, weights.amax(1))
        if self.stage.patience is None or float(found["val_loss"]) < self.best_value:
            self.unseen = predictions
        return found

    @abstractmethod
    def unseen_figures(
        self, predictions: Float[Tensor, "n o"], y: Tensor, weights: Float[Tensor, " n"]
    ) -> dict[str, Tensor]:
        """Return what to log of predictions of samples that were not seen, ``val_loss`` among it."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["stage"]["unseen"] = self.unseen

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.unseen = checkpoint["stage"]["unseen"]
        super().on_load_checkpoint(checkpoint)

    def unseen_predictions(self, x: Float[Tensor, "n d"], weights: Float[Tensor, "n m"]) -> Float[Tensor, "n o"]:
        """Return the mean prediction, standardised, of the members in which samples have a weight above 0."""
        predictions = self.head.by_member(x)
        unseen = (weights > 0).T.to(predictions.dtype)[:, :, None]
        return (predictions * unseen).sum(0) / unseen.sum(0)


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
        self, predictions: Float[Tensor, "n o"], y: Int[Tensor, " n"], weights: Float[Tensor, " n"]
    ) -> dict[str, Tensor]:
        predicted = predictions.argmax(1)
        losses = nll_loss(predictions.clamp(min=LEAST).log(), y, reduction="none")
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
        return (self.as_labels(y).double() - self.head.target_mean) / self.head.target_scale

    def sample_losses(self, outputs: Float[Tensor, "m n o"], y: Float[Tensor, "n 1"]) -> Float[Tensor, "m n"]:
        return (outputs - self.standardised_labels(y).to(outputs.dtype)).square()[:, :, 0]

    def unseen_figures(
        self, predictions: Float[Tensor, "n o"], y: Float[Tensor, "n 1"], weights: Float[Tensor, " n"]
    ) -> dict[str, Tensor]:
        errors = (predictions - self.standardised_labels(y))[:, 0]
        return {
            "val_loss": weighted_mean(errors.square(), weights),
            "val_mae": weighted_mean(errors.abs() * self.head.target_scale, weights),
        }
