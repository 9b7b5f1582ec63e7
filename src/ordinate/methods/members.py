"""Networks of a table that are trained as one, each without a fold of the samples, which it is validated on."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, nll_loss

from ordinate.encoders.blend_head import BlendHead
from ordinate.encoders.members import BlendEncoder
from ordinate.functional.inputs import check_ranks, check_targets
from ordinate.functional.numerics import to_accumulation_dtype, weighted_mean
from ordinate.methods.unseen_folds import FoldBatches, UnseenSamples
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Batch, Logs, Stage, StagedMethod


class Members(StagedMethod):
    """Networks of a blend, which are trained on the same batches.

    In the first stage the mean of the weights over about the last eighth of the steps is validated, on the fold that
    each member does not see, and the best mean is kept; in the second all members continue from it on all samples.

    Args:
        encoder: Encoder of the members, (n, f) to (n, members * d).
        head: Module from these embeddings to predictions.
        epochs, patience, optimization: Options of the first stage. A ``patience`` of ``"auto"`` waits for as many
            epochs as led to the best, but no fewer than hold 50 steps, and than 5 or as many as hold 150 steps; and for
            at most 40 or as many as hold 400 steps.
        refit: Epochs of the second stage, in which all members see all samples, as a share of those up to the best of
            the first; 0 for no second one.
        chunk_size: Number of rows whose loss is computed at a time, which takes less memory.

    Attributes:
        unseen: (n, C) or (n, 1), what members that had not seen a sample predicted of it in the best epoch of the first
            stage.
    """

    shared_state = ("average", "averaged_steps", "unseen")
    unseen: Tensor | None

    def __init__(
        self,
        encoder: BlendEncoder,
        head: BlendHead,
        *,
        epochs: int = 400,
        patience: int | str | None = "auto",
        refit: float = 0.2,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adamw", weight_decay=0.1, schedule="constant", warmup=0.0),
    ) -> None:
        stages = [Stage("members", epochs, optimization)]
        if refit:
            falling = replace(optimization, schedule="cosine", warmup=0.0)
            stages.append(Stage("all samples", math.ceil(refit * epochs), falling))
        super().__init__(tuple(stages), chunk_size or 256)
        self.patience = patience
        self.refit = refit
        self.encoder: BlendEncoder = encoder
        self.head = head
        self.average: list[Tensor] = []  # Of the weights.
        self.averaged_steps = 0
        self.unseen = None

    def validate_on(self, data: FoldBatches, rows: Tensor, x: Float[Tensor, "m f"]) -> None:
        """Validate on some rows of the training samples, whose samples are ``x``."""
        self.data = data
        self.validated = UnseenSamples(x, data.fold[rows], data.unseen_fold)
        self.labels = self.as_labels(data.y[rows])
        self.weights = None if data.weights is None else data.weights[rows]
        self.predicted: Tensor | None = None

    def forget_samples(self) -> None:
        """Forget the samples to validate on, once training has ended."""
        del self.data, self.validated, self.labels, self.weights, self.predicted
        self.average = []

    # Training.

    def begin_stage(self) -> None:
        is_second = self.stage_index == 1
        if is_second:
            epochs = math.ceil(self.refit * self.best_epochs[0])
            self.stages = (self.stages[0], replace(self.stages[1], epochs=epochs))
        self.data.all_see_all = is_second
        self.average = [parameter.detach().clone() for parameter in self.parameters()]
        self.averaged_steps = 0

    def forward(self, x: Float[Tensor, "*m n f"]) -> Float[Tensor, "m n o"]:
        """Return the logits of each member, or its standardised targets, of the same samples or of its own."""
        outputs: Tensor = self.head.members(self.encoder.members.by_member(x))
        return outputs

    def parts(self, batch: Batch) -> Iterator[tuple[Batch, Tensor | float]]:
        x, y, weights = batch
        total, size = weights.sum(), self.chunk_size or len(x)
        for part in zip(x.split(size), y.split(size), weights.split(size), strict=True):
            share = part[2].sum() / total
            if share > 0:  # Samples of weight 0 have no loss.
                yield part, share

    def batch_loss(
        self, x: Float[Tensor, "n f"], y: Tensor, weights: Float[Tensor, "n m"] | None = None
    ) -> Float[Tensor, ""]:
        """Return the mean loss over members and samples, counted by the weight of each sample in each member."""
        x = x.to(self.average[0].dtype)
        losses = self.sample_losses(self(x), self.as_labels(y))
        if weights is None:
            return losses.mean()
        counted = weights.to(losses.dtype).T  # The sum is positive, because some members see every sample.
        return (losses * counted).sum() / counted.sum()

    def after_step(self, tail: int = 8) -> None:
        """Update the mean of the weights, in which those of the last eighth of the steps or so count."""
        if self.stage_index == 0:
            self.averaged_steps += 1
            newest = min(1.0, (tail + 1) / (self.averaged_steps + tail))
            with torch.no_grad():
                torch._foreach_lerp_(self._average_here(), [*self.parameters()], newest)

    # Validation.

    def validate(self, batches: Iterable[Batch]) -> Logs:
        if self.stage_index == 1:
            return {}
        with self._averaged():
            self.predicted = self.validated.mean_prediction(lambda x: self.predictions(x.to(self.device)))
        return self.unseen_figures(self.predicted, self.labels, self.weights)

    def epochs_to_wait(self, best: int) -> float | None:
        if self.stage_index == 1:
            return None
        if self.patience is None:
            return math.inf
        if self.patience != "auto":
            return int(self.patience)
        fewest = max(self._epochs_of(50), min(5, self._epochs_of(150)))
        return min(max(40, self._epochs_of(400)), max(fewest, best))

    def _epochs_of(self, steps: int) -> int:
        """Return the number of epochs that hold so many steps."""
        return math.ceil(steps / self.n_batches)

    def is_best(self, value: float, best: float) -> bool:
        is_best = value < best or self.patience is None
        if is_best:
            self.unseen = self.predicted
        return is_best

    def weights_to_keep(self) -> dict[str, Tensor]:
        with self._averaged():
            return super().weights_to_keep()

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Let the weights be their mean for a while."""
        own = [parameter.data for parameter in self.parameters()]
        self._set_weights(self._average_here())
        try:
            yield
        finally:
            self._set_weights(own)

    def _average_here(self) -> list[Tensor]:
        """Return the mean of the weights, which a checkpoint brings to the CPU, on the device of the weights."""
        device = self.device
        self.average = [mean.to(device) for mean in self.average]
        return self.average

    def _set_weights(self, weights: list[Tensor]) -> None:
        for parameter, value in zip(self.parameters(), weights, strict=True):
            parameter.data = value

    # What differs between ranks and targets.

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
