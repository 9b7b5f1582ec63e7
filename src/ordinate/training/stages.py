"""Training in stages: each has its epochs, its learning rate schedule and its early stop."""

import copy
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import lightning.pytorch as lightning
import torch
from jaxtyping import Float
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler

from ordinate.checks import check_whole
from ordinate.encoders.network import network_parameters
from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, largest, summed, this_process_alone
from ordinate.functional.numerics import upcast_half
from ordinate.option_group import Settings
from ordinate.training.gradient_caching import embed_in_chunks
from ordinate.training.lightning_internals import (
    Means,
    continue_means,
    epoch_state,
    optimize_new_parameters,
    restore_epoch_state,
    running_mean,
)
from ordinate.training.optimization import Stage, undecayed_parameters
from ordinate.training.time_budget import TrainingEnd

__all__ = ["LearningRate", "Logs", "Stage", "StagedMethod", "Weights"]

Weights = Float[Tensor, " n"] | None  # Weights of the samples of a batch; None for equal ones.
Logs = dict[str, Tensor]  # Values to log, by name.

STATE = (  # Attributes that a checkpoint keeps.
    "stage_index", "stage_start", "best_value", "best_epoch", "best_weights", "best_epochs", "history", "finished",
    "run", "window", "hurried",
)  # fmt: skip


class LearningRate(LRScheduler):
    """The learning rate of the present step, which :class:`StagedMethod` sets, where Lightning's callbacks look."""

    def get_lr(self) -> list[float | Tensor]:
        return [group["lr"] for group in self.optimizer.param_groups]


class StagedMethod(lightning.LightningModule, ABC):
    """A method that trains in stages within one ``Trainer.fit``.

    Where training stands is part of the checkpoint, in the middle of an epoch too, and the learning rate follows from
    it alone: a run that is killed and resumed ends where it would have. ``max_epochs`` of the Trainer is
    :attr:`epochs`. Optimization is Lightning's automatic one, with an optimizer per stage, over the parameters that the
    stage trains; the others require no gradient meanwhile.

    In several processes it trains as in one on the joined batches, whose samples the samplers of :mod:`ordinate.data`
    share out. Every process validates on all validation data.

    ``load_from_checkpoint`` has the numbers and names that the method was made with; networks, an optimization and
    other objects are given to it again: ``CLOC.load_from_checkpoint(path, encoder=encoder)``.

    Args:
        stages: Stages of the training.
        chunk_size: Number of samples that pass the encoder at a time in training, None for the whole batch; see
            :func:`~ordinate.training.gradient_caching.embed_in_chunks`.

    The ``patience`` of a method ends its last stage after so many epochs without a lower validation loss (training loss
    where there is no validation data), and goes back to the best weights; None trains all epochs and keeps the last.

    Subclasses give the loss of a batch in :meth:`batch_loss`, which sees labels as :meth:`as_labels` returns them, so
    that those of a data loader may be (n,) or (n, 1), of any dtype; they may end a stage of their own accord in
    :meth:`stage_is_complete`, act on its start in :meth:`begin_stage` and :meth:`on_first_batch`, and log what
    validation embeddings show in :meth:`validate_embeddings`. What each epoch logged is kept in ``history``, and in
    ``best_epochs`` how many epochs of each stage that has ended led to the weights that it left.

    A batch is ``(x, y)``, or ``(x, y, weights)`` with a weight (n,) above 0 for each sample, of mean 1 over the
    training samples. The weights then are a further argument of the two methods.

    With an ``end``, a stage has its share of the time that is left when it starts. Its progress, which the learning
    rate follows, is that of its epochs or that of its time, whichever is farther, and it ends with either. The history
    says of an epoch that time ended what share of its batches ``passed``.

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
    shared_in_epoch: ClassVar[tuple[str, ...]] = ("logged", "step")  # The function epoch_state saves these attributes.

    def __init__(self, stages: tuple[Stage, ...], chunk_size: int | None = None) -> None:
        super().__init__()
        with warnings.catch_warnings():  # Lightning warns of networks, which are removed below.
            warnings.filterwarnings("ignore", r"Attribute .* is an instance of `nn\.Module`")
            self.save_hyperparameters(ignore=["encoder", "head", "stages"], logger=False)
        plain = (int, float, str, tuple, list, dict, type(None))  # A checkpoint holds these without code.
        for name, value in list(self.hparams.items()):
            if not isinstance(value, plain):
                del self.hparams[name]
        for stage in stages:
            if stage.epochs < 1:
                raise OrdinateError("epochs", f"{stage.epochs} for the stage {stage.name!r}", "at least 1")
        if chunk_size is not None:
            check_whole(chunk_size, "chunk_size")
        self.stages = stages
        self.chunk_size = chunk_size
        self.trainable: dict[str, bool] = {}  # Whether each parameter was trainable before the first stage.
        self._start_over()
        self.validation_outputs: list[tuple[Tensor, ...]] = []
        self.run = ""
        self.end: TrainingEnd | None = None
        self.logged: set[str] = set()
        self.step = 0  # Step within the epoch.
        self.interrupted: Settings | None = None  # State of an epoch that is resumed in its middle.
        self.means: Means = {}

    def _start_over(self) -> None:
        self.stage_index = 0
        self.stage_start = 0
        self._forget_best()
        self.best_epochs: list[int] = []
        self.history: list[dict[str, float]] = []
        self.finished = False
        self.window: tuple[float, float] | None = None  # Start and end of the stage on the clock.
        self.passed = 1.0  # Share of the epoch's batches that are done.
        self.hurried = False  # Whether the learning rate ever followed the time.

    def _forget_best(self) -> None:
        self.best_value = float("inf")
        self.best_epoch = -1
        self.best_weights: dict[str, Tensor] = {}

    @property
    def stage(self) -> Stage:
        """The stage that training is in."""
        return self.stages[self.stage_index]

    @property
    def monitor(self) -> str:
        """The logged value that ``patience`` monitors; the training loss where validation does not log it."""
        return "val_loss"

    @property
    def epochs(self) -> int:
        """Most epochs of all stages together."""
        return sum(stage.epochs for stage in self.stages)

    def forward(self, x: Tensor) -> Float[Tensor, "n d"]:
        """Return embeddings."""
        return self.encoder(x)

    def embed(self, x: Tensor) -> Float[Tensor, "n d"]:
        """Return embeddings of a training batch, whose samples pass the encoder ``chunk_size`` at a time."""
        return self(x) if self.chunk_size is None else embed_in_chunks(self.encoder, x, self.chunk_size)

    # What a method defines

    def parameters_of_stage(self, index: int) -> list[torch.nn.Parameter]:
        """The parameters that a stage trains."""
        return list(self.parameters())

    def as_labels(self, y: Tensor) -> Tensor:
        """Return the labels of a batch in the shape and dtype that the method computes with.

        Raises:
            OrdinateError: labels of a shape that would broadcast to something else.
        """
        return y

    @abstractmethod
    def batch_loss(self, x: Tensor, y: Tensor, weights: Weights = None) -> Tensor:
        """The loss of a training batch in the present stage; ``weights`` are those of its samples."""

    def validate_embeddings(self, x: Tensor, y: Tensor, weights: Weights = None) -> Logs:
        """What to log of the whole validation set, given the outputs of ``forward`` and the labels."""
        return {}

    def stage_is_complete(self) -> bool:
        """Whether the present stage may end before its last epoch."""
        return False

    def begin_stage(self) -> None:
        """Act on the start of a stage."""

    def on_first_batch(self, x: Tensor, y: Tensor) -> None:
        """Act on the first training batch of a stage, before its loss is computed."""

    # How it is trained

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        parameters, rate = self.parameters_of_stage(self.stage_index), self.encoder_learning_rate
        network = [] if rate is None else network_parameters(self.encoder)
        optimizer = self.stage.optimization.build(parameters, undecayed_parameters(self), network, rate)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": LearningRate(optimizer), "interval": "step"}}

    def setup(self, stage: str) -> None:
        if stage == "fit":  # A checkpoint is read after this and before the optimizer is made.
            self.trainable = self.trainable or {name: p.requires_grad for name, p in self.named_parameters()}
            self._start_over()
            self._require_gradients()

    def _require_gradients(self) -> None:
        """Let the parameters that the stage trains require gradients, and no others."""
        trained = {id(parameter) for parameter in self.parameters_of_stage(self.stage_index)}
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(self.trainable[name] and id(parameter) in trained)
        self.begin_stage()

    def log(self, name: str, *arguments: Any, **options: Any) -> None:
        self.logged.add(name)
        super().log(name, *arguments, **options)

    def log_mean(self, name: str, value: Tensor, samples: int) -> None:
        """Log the mean over the epoch of a value of a training batch, faster than ``log`` with its checks."""
        mean = None if self._trainer is None else running_mean(self._trainer, name, value.device)
        if mean is None:  # This is the first batch of the epoch.
            self.log(name, value, on_step=False, on_epoch=True, batch_size=samples)
        else:
            mean.update(value.detach(), samples)

    def on_train_start(self) -> None:
        interrupted, self.interrupted = self.interrupted, None
        if interrupted is not None and self.trainer.fit_loop.restarted_mid_epoch:
            self.on_train_epoch_start()  # Lightning does not call it then.
            self.means = restore_epoch_state(self, interrupted)
            self._set_learning_rate(self.step + 1)

    def on_train_epoch_start(self) -> None:
        self.logged.clear()
        self.means = {}
        self._set_learning_rate(0)

    def on_fit_start(self) -> None:
        if self.end is None or self.window is None:
            self._open_window()

    def on_fit_end(self) -> None:
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(self.trainable[name])
        self.trainable = {}

    def _open_window(self) -> None:
        """Give the stage its share of the time left, by the epochs of this one and those that follow."""
        self.window = None
        if self.end is not None:
            start = self.end.now
            share = self.stage.epochs / sum(stage.epochs for stage in self.stages[self.stage_index :])
            self.window = (start, start + share * max(self.end.least, self.end.until - start))

    @property
    def time_progress(self) -> float:
        """Share of the stage's time that has passed, by the clock of the process that is farthest; 0 without an end."""
        if self.end is None or self.window is None:
            return 0.0
        start, stop = self.window
        progress = 1.0
        if stop > start:
            progress = min(1.0, max(0.0, (self.end.now - start) / (stop - start)))
        return largest(progress, all_processes(), self.device)

    def _set_learning_rate(self, step: int) -> None:
        """Set the learning rate of a step of the present epoch, from 0."""
        # The middle of the step is used, so that the learning rate of a stage is 0 neither at its first step nor at its
        # last.
        count = self.trainer.num_training_batches  # It is infinite if the loader does not know.
        later, place = 0.0, 0.5
        if not math.isinf(count):
            later, place = step // count, (step % count + 0.5) / count
        epoch = self.current_epoch + later - self.stage_start + place
        progress = max(epoch / self.stage.epochs, self.time_progress)
        self.hurried = self.hurried or progress > epoch / self.stage.epochs
        for optimizer in self.trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group.get("share", 1.0) * self.stage.optimization.learning_rate_at(progress)

    def lr_scheduler_step(self, scheduler: LRScheduler, metric: object) -> None:
        self._set_learning_rate(self.step + 1)
        scheduler.step()

    def on_train_batch_start(self, batch: object, batch_idx: int) -> int | None:
        self.passed, self.step = 1.0, batch_idx
        # Every epoch has a step, so that it learns something and has something to log.
        if batch_idx == 0 or batch_idx % self.trainer.accumulate_grad_batches or self.time_progress < 1:
            return None
        self.passed = batch_idx / float(self.trainer.num_training_batches)
        return -1

    def training_step(self, batch: Sequence[Tensor], batch_idx: int) -> Tensor:
        x, y, *weights = batch
        y = self.as_labels(y)
        if self.current_epoch == self.stage_start and batch_idx == 0:
            self.on_first_batch(x, y)
        samples = self._samples_of_all(len(y))
        loss = self.batch_loss(x, y, *weights)
        self.log_mean("train_loss", loss, samples)
        if self.means:
            continue_means(self.trainer, self.means)
            self.means = {}
        return loss

    def _samples_of_all(self, samples: int) -> int:
        """Return the sum of a number over the processes; a single one does not wait for its GPU."""
        group = all_processes()
        return samples if group is None else int(summed(torch.tensor(samples, device=self.device), group))

    def validation_step(self, batch: Sequence[Tensor], batch_idx: int) -> None:
        x, y, *weights = batch
        # Losses and heads do not run under autocast here.
        self.validation_outputs.append((upcast_half(self(x)), self.as_labels(y), *weights))

    def on_validation_epoch_start(self) -> None:
        self.validation_outputs.clear()  # A validation may have been interrupted.

    def on_validation_epoch_end(self) -> None:
        outputs, labels, *weights = map(torch.cat, zip(*self.validation_outputs, strict=True))
        self.validation_outputs.clear()
        if not self.trainer.sanity_checking:
            with this_process_alone():
                self.log_dict(self.validate_embeddings(outputs, labels, *weights), batch_size=len(labels))

    def on_train_epoch_end(self) -> None:
        self.log("stage", float(self.stage_index))
        lasted = self.current_epoch + 1 - self.stage_start
        complete = lasted >= self.stage.epochs or self.stage_is_complete()
        cut = self.time_progress >= 1 and (not complete or self.passed < 1)
        complete = complete or cut
        if self.stage.patience is not None:
            value = float(self.trainer.callback_metrics.get(self.monitor, self.trainer.callback_metrics["train_loss"]))
            # The value is the same in every process.
            value, is_best = self.trainer.strategy.broadcast((value, self.is_best(value)))
            self.best_value = min(self.best_value, value)
            if is_best:
                self.best_epoch = self.current_epoch
                self.best_weights = {name: copy.deepcopy(value) for name, value in self.state_dict().items()}
            complete = complete or (
                self.current_epoch - max(self.best_epoch, self.stage_start - 1) >= self.stage.patience
            )
        # Lightning's callback_metrics also keeps what only earlier epochs logged.
        metrics = {name: float(v) for name, v in self.trainer.callback_metrics.items() if name in self.logged}
        if cut:
            metrics["passed"] = self.passed
        self.history.append({"epoch": float(self.current_epoch), **metrics})
        if complete:
            self._end_stage()

    def is_best(self, value: float) -> bool:
        """Return whether an epoch with this value of ``monitor`` is the best of its stage so far."""
        return value < self.best_value

    def end_training(self) -> None:
        """End the training in the present stage, with its best weights."""
        self._keep_best()
        self.finished = True

    def _keep_best(self) -> None:
        """End the present stage with its best weights, or with the last where none are better."""
        last = self.current_epoch
        if self.best_weights:
            self.load_state_dict(self.best_weights)
            last = self.best_epoch
        self.best_epochs.append(last + 1 - self.stage_start)
        self._forget_best()

    def on_train_end(self) -> None:
        if not self.finished:  # A callback, or the Trainer's own limit, has ended it.
            self.end_training()

    def _end_stage(self) -> None:
        if self.stage_index + 1 == len(self.stages):
            self.end_training()
            self.trainer.should_stop = True
            return
        self._keep_best()
        self.stage_index += 1
        self.stage_start = self.current_epoch + 1
        self._open_window()
        self._require_gradients()
        optimize_new_parameters(self.trainer, self)

    def on_save_checkpoint(self, checkpoint: Settings) -> None:
        kept = {name: getattr(self, name) for name in STATE}
        checkpoint["stage"] = {**kept, "epoch": epoch_state(self)}

    def on_load_checkpoint(self, checkpoint: Settings) -> None:
        stage = checkpoint["stage"]
        for name in STATE:
            setattr(self, name, stage[name])
        if self.trainable:
            self.interrupted = stage["epoch"]
            self._require_gradients()
