"""A method: a module, the stages in which it is trained, and its loss of a batch."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.checks import check_whole
from ordinate.encoders.network import network_parameters
from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, summed, this_process_alone
from ordinate.functional.numerics import upcast_half
from ordinate.training.gradient_caching import embed_in_chunks
from ordinate.training.optimization import MakesOptimizer, Optimizer, undecayed_parameters
from ordinate.training.stage import Stage

__all__ = ["Logs", "Stage", "StagedMethod", "Weights"]

Weights = Float[Tensor, " n"] | None  # Weights of the samples of a batch; None for equal ones.
Logs = dict[str, Tensor]  # Values to log, by name.
Batch = Sequence[Tensor]  # Samples and labels, and the weights of the samples if they have some.


class StagedMethod(nn.Module, ABC):
    """A method that is trained in stages, by :func:`~ordinate.methods.train` or another loop that calls its hooks.

    In several processes it trains as in one on the joined batches, whose samples the samplers of :mod:`ordinate.data`
    share out. Every process validates on all validation data.

    A subclass defines the loss of a batch in :meth:`batch_loss`, which gets labels as :meth:`as_labels` returns them,
    so that those of a batch may be (n,) or (n, 1), of any dtype. All other hooks may stay as they are:
    :meth:`parameters_of_stage`, :meth:`begin_stage`, :meth:`see_samples`, :meth:`begin_epoch`, :meth:`after_step`,
    :meth:`validate_embeddings`, :meth:`end_epoch`, :meth:`stage_is_complete` and :meth:`is_best`.

    A batch is ``(x, y)``, or ``(x, y, weights)`` with a weight (n,) above 0 for each sample, of mean 1 over the
    training samples. The weights are then a further argument of the two methods that get labels.

    Args:
        stages: Stages of the training.
        chunk_size: Number of samples that pass the encoder at a time in training, None for the whole batch; see
            :func:`~ordinate.training.gradient_caching.embed_in_chunks`.

    Attributes:
        stage_index, stage_start: The present stage and its first epoch, both from 0.
        current_epoch, step: The present epoch, and how many of its batches are done.
        n_batches: Batches per epoch.
        history: What each epoch logged.
        best_epochs: Number of epochs of each stage that has ended that led to the weights that it left.
        hurried: Whether a limit of time ever changed the learning rate or ended a stage.

    Example:
        >>> from ordinate.training.optimization import Optimization
        >>> class Regression(StagedMethod):
        ...     def __init__(self):
        ...         super().__init__((Stage("all", 5, Optimization()),))
        ...         self.encoder = torch.nn.Linear(3, 1)
        ...
        ...     def as_labels(self, y):
        ...         return y.reshape(-1, 1).float()
        ...
        ...     def batch_loss(self, x, y):
        ...         return (self(x) - y).square().mean()
        >>> method = Regression()
        >>> method.epochs, method.batch_loss(torch.ones(2, 3), torch.ones(2, 1)).shape
        (5, torch.Size([]))
    """

    encoder: nn.Module
    encoder_learning_rate: float | None = None  # Peak rate of the encoder's network; None for that of the stage.
    # Modules name attributes that training changes, for checkpoints: those that are the same in all processes in
    # shared_state, those of each process in own_state.
    shared_state: ClassVar[tuple[str, ...]] = ()
    own_state: ClassVar[tuple[str, ...]] = ("means",)

    def __init__(self, stages: tuple[Stage, ...], chunk_size: int | None = None) -> None:
        super().__init__()
        for stage in stages:
            if stage.epochs < 1:
                raise OrdinateError("epochs", f"{stage.epochs} for the stage {stage.name!r}", "at least 1")
        if chunk_size is not None:
            check_whole(chunk_size, "chunk_size")
        self.stages = stages
        self.chunk_size = chunk_size
        self.start_over()

    def start_over(self) -> None:
        """Forget where an earlier training stood; the weights stay."""
        self.stage_index = 0
        self.stage_start = 0
        self.current_epoch = 0
        self.step = 0
        self.n_batches = 1
        self.history: list[dict[str, float]] = []
        self.best_epochs: list[int] = []
        self.hurried = False
        self.means: dict[str, tuple[Tensor, int]] = {}

    @property
    def stage(self) -> Stage:
        """The stage that training is in."""
        return self.stages[self.stage_index]

    @property
    def epochs(self) -> int:
        """Largest number of epochs of all stages together."""
        return sum(stage.epochs for stage in self.stages)

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return next(self.parameters()).device

    def forward(self, x: Tensor) -> Float[Tensor, "n d"]:
        """Return embeddings."""
        return self.encoder(x)

    def embed(self, x: Tensor) -> Float[Tensor, "n d"]:
        """Return embeddings of a training batch, whose samples pass the encoder ``chunk_size`` at a time."""
        return self(x) if self.chunk_size is None else embed_in_chunks(self.encoder, x, self.chunk_size)

    def log_mean(self, name: str, value: Tensor, samples: int) -> None:
        """Log the mean over the epoch of a value of a training batch of so many samples."""
        value = upcast_half(value.detach()) * samples
        if name in self.means:
            total, count = self.means[name]
            value, samples = total.to(value.device) + value, count + samples
        self.means[name] = (value, samples)

    # What a method defines.

    def parameters_of_stage(self, index: int) -> list[nn.Parameter]:
        """Return the parameters that a stage trains; the others require no gradient meanwhile."""
        return list(self.parameters())

    def as_labels(self, y: Tensor) -> Tensor:
        """Return the labels of a batch in the shape and dtype that the method computes with.

        Raises:
            OrdinateError: labels of a shape that would broadcast to something else.
        """
        return y

    @abstractmethod
    def batch_loss(self, x: Tensor, y: Tensor, weights: Weights = None) -> Tensor:
        """Return the loss of a training batch in the present stage; ``weights`` are those of its samples."""

    def parts(self, batch: Batch) -> Iterable[tuple[Batch, Tensor | float]]:
        """Return the parts of a batch that are computed one after another, each with its share of the batch's loss."""
        return [(batch, 1.0)]

    def begin_stage(self) -> None:
        """Act on the start of a stage, and again where training continues within it."""

    def see_samples(self, batches: Iterable[Tensor]) -> None:
        """Act on all training samples, batch by batch and without views, before the first step of a stage."""

    def begin_epoch(self) -> None:
        """Act on the start of an epoch, and again where training continues within it."""

    def after_step(self) -> None:
        """Act on a step of the optimizer; ``step`` is the number of its last batch."""

    def validate(self, batches: Iterable[Batch]) -> Logs:
        """Return what to log of the validation batches; there are none without validation data."""
        return self.validate_outputs([self.validation_step(*batch) for batch in batches])

    def validation_step(self, x: Tensor, y: Tensor, *weights: Tensor) -> Batch:
        """Return the output, the labels and any weights of a validation batch."""
        return upcast_half(self(x)), self.as_labels(y), *weights

    def validate_outputs(self, outputs: Sequence[Batch]) -> Logs:
        """Return what to log of the outputs of all validation batches."""
        if not outputs:
            return {}
        # Losses and heads do not run in half precision here.
        with this_process_alone(), torch.autocast(self.device.type, enabled=False):
            return self.validate_embeddings(*map(torch.cat, zip(*outputs, strict=True)))

    def validate_embeddings(self, x: Tensor, y: Tensor, weights: Weights = None) -> Logs:
        """Return what to log of the whole validation set, given the outputs of ``forward`` and the labels."""
        return {}

    def stage_is_complete(self) -> bool:
        """Return whether the present stage may end after this epoch, before its last one."""
        return False

    def end_epoch(self) -> Logs:
        """Act on the end of an epoch, and return what else to log of it."""
        return {}

    # When a stage ends early.

    @property
    def monitor(self) -> str:
        """The logged value that ``patience`` monitors; the training loss where validation does not log it."""
        return "val_loss"

    def epochs_to_wait(self, best: int) -> float | None:
        """Return the epochs without a better ``monitor`` that end the stage, whose first ``best`` led to the best.

        None keeps the last weights instead of the best.
        """
        return self.stage.patience

    def is_best(self, value: float, best: float) -> bool:
        """Return whether an epoch with this value of ``monitor`` is the best of its stage so far."""
        return value < best

    def weights_to_keep(self) -> dict[str, Tensor]:
        """Return a copy of the weights that a best epoch leaves."""
        return {name: value.clone() for name, value in self.state_dict().items()}

    # What a loop calls.

    def enter_stage(self, trainable: set[str]) -> None:
        """Let the parameters of the present stage require gradients, as far as they are trainable, and no others."""
        trained = {id(parameter) for parameter in self.parameters_of_stage(self.stage_index)}
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(name in trainable and id(parameter) in trained)
        self.begin_stage()

    def build_optimizer(self, named: Mapping[str, MakesOptimizer] | None = None) -> Optimizer:
        """Return the optimizer of the present stage; ``named`` makes those that are given by name."""
        rate = self.encoder_learning_rate
        network = [] if rate is None else network_parameters(self.encoder)
        parameters = self.parameters_of_stage(self.stage_index)
        optimization = self.stage.optimization
        if named is not None and isinstance(optimization.optimizer, str):
            optimization = replace(optimization, optimizer=named[optimization.optimizer])
        return optimization.build(parameters, undecayed_parameters(self), network, rate)

    def training_step(self, x: Tensor, y: Tensor, *weights: Tensor) -> Tensor:
        """Return the loss of a training batch as it was read, and log it."""
        y = self.as_labels(y)
        loss = self.batch_loss(x, y, *weights)
        group = all_processes()
        samples = len(y)
        if group is not None:  # A single process does not wait for its GPU.
            samples = int(summed(torch.tensor(samples, device=self.device), group))
        self.log_mean("train_loss", loss, samples)
        return loss

    def close_epoch(self, validation: Logs) -> tuple[dict[str, float], bool]:
        """Return all that an epoch logged, with what its validation did, and whether its stage is complete."""
        logs: dict[str, float | Tensor] = {
            "epoch": self.current_epoch,
            "stage": self.stage_index,
            **{name: total / count for name, (total, count) in self.means.items()},
            **validation,
        }
        complete = self.current_epoch + 1 - self.stage_start >= self.stage.epochs or self.stage_is_complete()
        logs |= self.end_epoch()
        self.means = {}
        self.current_epoch += 1
        self.step = 0
        return {name: float(value) for name, value in logs.items()}, complete

    def set_learning_rate(self, optimizer: Optimizer, time_progress: float = 0.0) -> None:
        """Set the learning rate of the present step, by the epochs of the stage, or by its time if this would run out.

        By its time, the rate does not fall before half of it has passed, and is that of the end when all has: a slow
        start, or a busy moment, changes nothing in a stage whose epochs end in time.
        """
        # The middle of the step is used, so that the learning rate of a stage is 0 neither at its first step nor at its
        # last.
        by_epochs = (self.current_epoch - self.stage_start + (self.step + 0.5) / self.n_batches) / self.stage.epochs
        rate_at = self.stage.optimization.learning_rate_at
        rate = rate_at(max(by_epochs, 2 * time_progress - 1))
        self.hurried = self.hurried or rate != rate_at(by_epochs)
        for group in optimizer.param_groups:
            group["lr"] = group.get("share", 1.0) * rate
