"""The training loop of a blend's networks. It imports no Lightning, which would take longer than many a training."""

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from ordinate.data.loader import Loader, RestOfEpoch
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.training_batches import ArrayBatches
from ordinate.methods.members import Members
from ordinate.training.checkpoints import CHECKPOINT, read_checkpoint
from ordinate.training.machine import quick_to_find_no_gpu, single_thread_if_small
from ordinate.training.optimization import Optimization, undecayed_parameters
from ordinate.training.time_budget import training_end

CHECKPOINT_SECONDS = 2.0  # Fewer between two checkpoints would cost more than the work that a kill loses.
STATE = (
    "run", "stage_index", "stage_start", "epoch", "steps", "best_value", "best_epoch", "best_weights", "best_epochs",
    "history", "window", "finished", "sizes",
)  # fmt: skip


class FoldBatches(ArrayBatches):
    """Samples with the weight of each in each member, 0 in those that do not see its fold.

    Args:
        x: Samples (n, f).
        y: Labels (n,) or (n, 1).
        weights: Weights (n,); None for equal ones.
        fold: Fold (n,) of every sample.
        members: Number of members, each of which does not see the fold of its number, modulo the folds.
    """

    def __init__(self, x: Any, y: Tensor, weights: Tensor | None, fold: NDArray[np.int64], members: int) -> None:
        super().__init__(x, y, weights)
        folds = int(fold.max()) + 1
        self.fold = torch.from_numpy(fold)
        self.unseen_fold = torch.arange(members) % folds
        self.all_see_all = False

    def labels_of(self, rows: Tensor) -> list[Tensor]:
        is_seen = (self.fold[rows][:, None] != self.unseen_fold).float()
        if self.all_see_all:
            is_seen = torch.ones_like(is_seen)
        return [self.y[rows], is_seen if self.weights is None else is_seen * self.weights[rows][:, None].float()]


class UnseenSamples:
    """Samples arranged by fold, so that each member predicts those of its own fold and no others.

    Args:
        x: Samples (n, f).
        fold: Fold (n,) of each.
        unseen_fold: Fold (m,) that each member does not see.
        at_once: Largest number of rows that pass all members at a time.
    """

    def __init__(self, x: Tensor, fold: Tensor, unseen_fold: Tensor, at_once: int = 512) -> None:
        rows = [torch.nonzero(fold == number).ravel() for number in unseen_fold.tolist()]
        most = max(map(len, rows))
        padded = [torch.cat([of_one, of_one.new_zeros(most - len(of_one))]) for of_one in rows]
        self.rows = torch.stack(padded)
        self.is_real = torch.stack([torch.arange(most) < len(of_one) for of_one in rows])
        self.parts = [x[part] for part in self.rows.split(at_once, dim=1)]
        self.size = len(x)

    def predict(self, members: Members) -> Float[Tensor, "n o"]:
        """Return the mean prediction of the members that have not seen a sample."""
        with torch.no_grad():
            predicted = torch.cat([members.predictions(part) for part in self.parts], dim=1).cpu()
        rows, values = self.rows[self.is_real], predicted[self.is_real]
        total = values.new_zeros(self.size, values.shape[1]).index_add_(0, rows, values)
        count = values.new_zeros(self.size).index_add_(0, rows, torch.ones_like(values[:, 0]))
        return total / count[:, None]


@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """What runs a training, in addition to its stages.

    Args:
        device: Device of the networks.
        folder: Folder of the checkpoint; None keeps none.
        run: Description of everything that determines the run.
        progress: Whether a progress bar is shown.
        loggers: Lightning loggers.
        gradient_clip_val: Largest norm of the gradient; None does not clip.
    """

    device: torch.device
    folder: Path | None = None
    run: str = ""
    progress: bool = False
    loggers: Sequence[Any] = ()
    gradient_clip_val: float | None = None


def train_members(
    members: Members, data: FoldBatches, batches: ShuffledBatches, measured: tuple[Tensor, Tensor], options: LoopOptions
) -> list[dict[str, float]]:
    """Train members and return what was logged, one dictionary per epoch.

    In the first stage the mean of the weights over about the last tenth of the steps is validated, on the fold that
    each member does not see, and the best mean is kept; in the second all members continue from it on all samples.
    With a ``folder`` the state is kept there every few seconds, also within an epoch, and a run that finds one
    continues from it to the same weights on CPU, bit for bit. Within
    :func:`~ordinate.training.time_budget.training_until` it ends in time.

    Args:
        members: Trained in place.
        data: Samples, with the fold of each.
        batches: Sampler of batches.
        measured: Rows (m,) of the samples that are validated, and the samples (m, f).
        options: What runs the training.
    """
    members.to(options.device).float().train()
    with quick_to_find_no_gpu(), single_thread_if_small(members, data.x, batches.batch_size):
        return _Training(members, data, batches, measured, options).run_all()


class AdamW:
    """AdamW over parameters in one loop of PyTorch; its own class imports a compiler, which takes two seconds.

    Args:
        parameters: Parameters to train.
        undecayed: Those of them without weight decay.
        optimization: Weight decay and learning rate.
    """

    def __init__(
        self, parameters: Sequence[nn.Parameter], undecayed: Sequence[nn.Parameter], optimization: Optimization
    ) -> None:
        kept = {id(parameter) for parameter in undecayed}
        self.learning_rate = optimization.learning_rate
        self.groups: list[tuple[float, list[nn.Parameter]]] = [
            (optimization.weight_decay, [each for each in parameters if id(each) not in kept]),
            (0.0, [each for each in parameters if id(each) in kept]),
        ]
        self.state = [
            [[torch.zeros_like(each) for each in group], [torch.zeros_like(each) for each in group],
             [torch.zeros((), device=each.device) for each in group]]
            for _, group in self.groups
        ]  # fmt: skip

    def load(self, state: list[list[list[Tensor]]]) -> None:
        """Copy the state of another, which may lie on another device."""
        for own, other in zip(self.state, state, strict=True):
            for own_tensors, tensors in zip(own, other, strict=True):
                for own_tensor, tensor in zip(own_tensors, tensors, strict=True):
                    own_tensor.copy_(tensor)

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for _, group in self.groups:
            for parameter in group:
                parameter.grad = None

    def step(self) -> None:
        """Move the parameters against their gradients."""
        for (decay, group), (means, squares, steps) in zip(self.groups, self.state, strict=True):
            if not group:
                continue
            torch._foreach_add_(steps, 1)
            gradients = [cast(Tensor, each.grad) for each in group]
            torch._fused_adamw_(
                [each.detach() for each in group], gradients, means, squares, [], steps,
                lr=self.learning_rate, beta1=0.9, beta2=0.999, weight_decay=decay, eps=1e-8, amsgrad=False,
                maximize=False,
            )  # fmt: skip


class _Training:
    """Where a training stands, and its steps."""

    def __init__(
        self,
        members: Members,
        data: FoldBatches,
        batches: ShuffledBatches,
        measured: tuple[Tensor, Tensor],
        options: LoopOptions,
    ) -> None:
        self.members, self.data, self.batches, self.options = members, data, batches, options
        rows, x = measured
        self.labels = members.as_labels(data.y[rows])
        self.weights = None if data.weights is None else data.weights[rows]
        self.unseen_samples = UnseenSamples(x.float().to(options.device), data.fold[rows], data.unseen_fold)
        self.run, self.end = options.run, training_end()
        self.stage_index = self.stage_start = self.epoch = self.steps = 0
        self.best_value, self.best_epoch = float("inf"), -1
        self.best_weights: dict[str, Tensor] = {}
        self.best_epochs: list[int] = []
        self.history: list[dict[str, float]] = []
        self.window: tuple[float, float] | None = None
        self.finished = False
        self.losses: list[Tensor] = []  # Those of the epoch so far, and the sizes of its batches.
        self.sizes: list[int] = []
        self.kept = time.monotonic()

    def run_all(self) -> list[dict[str, float]]:
        """Train all stages, from the checkpoint if there is one."""
        folder = self.options.folder
        self._begin_stage()
        if folder is not None and (folder / CHECKPOINT).exists():
            self._restore(read_checkpoint(folder / CHECKPOINT, self.run))
        if self.window is None and not self.finished:
            self._open_window()
        total = sum(stage.epochs for stage in self.members.stages)
        with tqdm(total=total, unit="epoch", dynamic_ncols=True, disable=not self.options.progress) as bar:
            while not self.finished:
                self._train_epoch()
                bar.set_description(self.members.stages[int(self.history[-1]["stage"])].name, refresh=False)
                last = self.history[-1]
                shown = [name for name in ("train_loss", "val_loss", "val_accuracy", "val_mae") if name in last]
                bar.set_postfix({name: f"{last[name]:.3g}" for name in shown}, refresh=False)
                bar.update(self.epoch - bar.n)
                self._keep(now=self.finished)
        for logger in self.options.loggers:
            logger.finalize("success")
        return self.history

    # Stages.

    def _begin_stage(self) -> None:
        members = self.members
        if self.stage_index == 1:
            epochs = int(np.ceil(members.refit * self.best_epochs[0]))
            members.stages = (members.stages[0], replace(members.stages[1], epochs=epochs))
        self.stage = members.stages[self.stage_index]
        self.data.all_see_all = self.stage_index == 1
        self.parameters = members.parameters_of_stage(self.stage_index)
        self.optimizer = AdamW(self.parameters, undecayed_parameters(members), self.stage.optimization)
        self.mean = copy.deepcopy(members)
        self.means: list[Tensor] = list(self.mean.parameters())
        self.steps = 0  # Of the first stage, whose mean of the weights is validated.

    def _open_window(self) -> None:
        """Give the stage its share of the time left, by the epochs of this one and those that follow."""
        if self.end is None:
            return
        start = self.end.now
        share = self.stage.epochs / sum(stage.epochs for stage in self.members.stages[self.stage_index :])
        self.window = (start, start + share * max(self.end.least, self.end.until - start))

    def _end_stage(self) -> None:
        """Go back to the weights of the best epoch, and on to the next stage."""
        last = self.epoch
        if self.best_weights:
            self.members.load_state_dict(self.best_weights)
            last = self.best_epoch + 1
        self.best_epochs.append(last - self.stage_start)
        self.best_weights = {}
        self.stage_index += 1
        self.stage_start = self.epoch
        self.finished = self.stage_index == len(self.members.stages)
        if not self.finished:
            self._begin_stage()
            self._open_window()

    @property
    def _time_progress(self) -> float:
        """Share of the stage's time that has passed; 0 without an end."""
        if self.end is None or self.window is None:
            return 0.0
        start, stop = self.window
        return 1.0 if stop <= start else min(1.0, max(0.0, (self.end.now - start) / (stop - start)))

    # Epochs.

    def _train_epoch(self) -> None:
        passed = self._pass_batches()
        metrics = {"epoch": float(self.epoch), "stage": float(self.stage_index), "train_loss": self.train_loss}
        self.epoch += 1
        lasted = self.epoch - self.stage_start
        complete = lasted >= self.stage.epochs
        cut = self._time_progress >= 1 and (not complete or passed < 1)
        self.members.hurried = self.members.hurried or cut
        if self.stage_index == 0:
            metrics |= self._validate()
            complete = complete or self._has_waited()
        if cut:
            metrics["passed"] = passed
        self.history.append(metrics)
        for logger in self.options.loggers:
            logger.log_metrics(metrics, step=self.epoch)
        if complete or cut:
            self._end_stage()

    def _pass_batches(self) -> float:
        """Train on all batches of an epoch, or those that there is time for; return their share."""
        device, count = self.options.device, len(self.batches)
        self.batches.set_epoch(self.epoch)
        for step, (x, y, weights) in enumerate(self._read(), start=len(self.sizes)):
            if step > 0 and self._time_progress >= 1:
                break
            self._set_learning_rate((step + 0.5) / count)
            self.optimizer.zero_grad()
            loss = self._add_gradients(x.float().to(device), y.to(device), weights.to(device))
            if self.options.gradient_clip_val is not None:
                torch.nn.utils.clip_grad_norm_(self.parameters, self.options.gradient_clip_val)
            self.optimizer.step()
            if self.stage_index == 0:
                self._average()
            self.losses.append(loss)
            self.sizes.append(len(y))
            self._keep()
        self.train_loss = float(np.average(torch.stack(self.losses).cpu().numpy(), weights=self.sizes))
        passed = len(self.sizes) / count
        self.losses, self.sizes = [], []
        return passed

    def _add_gradients(self, x: Tensor, y: Tensor, weights: Tensor, at_once: int = 256) -> Tensor:
        """Return the loss of a batch, and add its gradients, of so many rows at once, which take less memory."""
        total = weights.sum()
        loss = torch.zeros((), dtype=x.dtype, device=x.device)
        for part in zip(x.split(at_once), y.split(at_once), weights.split(at_once), strict=True):
            share = part[2].sum() / total
            if share > 0:  # Samples of weight 0 have no loss.
                part_loss = self.members.batch_loss(*part) * share
                part_loss.backward()
                loss += part_loss.detach()
        return loss

    def _read(self) -> Any:
        """Return the rest of the epoch's batches, read by worker processes where samples are not in memory."""
        rest = RestOfEpoch(self.batches)
        rest.start = len(self.sizes)
        if self.data.workers == 0:
            return map(self.data.__getitem__, rest)
        return Loader(self.data, sampler=rest, batch_size=None, num_workers=self.data.workers)

    def _set_learning_rate(self, place: float) -> None:
        """Set the learning rate at a place of the epoch, from 0 to 1."""
        by_epochs = (self.epoch - self.stage_start + place) / self.stage.epochs
        rate_at = self.stage.optimization.learning_rate_at
        by_time = rate_at(self._time_progress)
        self.optimizer.learning_rate = rate_at(by_epochs)
        if by_time < self.optimizer.learning_rate:
            self.optimizer.learning_rate, self.members.hurried = by_time, True

    def _average(self, tail: int = 8) -> None:
        """Update the mean of the weights, in which those of the last eighth of the steps or so count."""
        self.steps += 1
        newest = min(1.0, (tail + 1) / (self.steps + tail))
        with torch.no_grad():
            torch._foreach_lerp_(self.means, [*self.parameters], newest)

    def _validate(self) -> dict[str, float]:
        predictions = self.unseen_samples.predict(self.mean)
        figures = self.members.unseen_figures(predictions, self.labels, self.weights)
        metrics = {name: float(value) for name, value in figures.items()}
        if metrics["val_loss"] < self.best_value or self.members.patience is None:
            self.best_value, self.best_epoch = metrics["val_loss"], self.epoch - 1
            self.best_weights = {name: value.clone() for name, value in self.mean.state_dict().items()}
            self.members.unseen = predictions
        return metrics

    def _has_waited(self, fewest_steps: int = 150, most_steps: int = 400, most_epochs: int = 40) -> bool:
        """Whether the loss has not fallen for as long as patience says; a chosen patience is within these bounds."""
        patience = self.members.patience
        if patience is None:
            return False
        if patience == "auto":
            fewest, most = (-(-steps // len(self.batches)) for steps in (fewest_steps, most_steps))
            patience = min(max(most, most_epochs), max(fewest, self.best_epoch + 1))
        return self.epoch - 1 - self.best_epoch >= int(patience)

    # Checkpoints.

    def _keep(self, *, now: bool = False) -> None:
        """Write the state if there is a folder for it, and the last one is some seconds old."""
        folder = self.options.folder
        if folder is None or not (now or time.monotonic() - self.kept >= CHECKPOINT_SECONDS):
            return
        state = {name: getattr(self, name) for name in STATE} | {
            "unseen": getattr(self.members, "unseen", None), "hurried": self.members.hurried,
        }  # fmt: skip
        pending = folder / f"{CHECKPOINT}.partial"
        checkpoint = {
            "stage": state, "state_dict": self.members.state_dict(), "mean": self.mean.state_dict(),
            "optimizer": self.optimizer.state, "losses": self.losses,
        }  # fmt: skip
        torch.save(checkpoint, pending)
        pending.replace(folder / CHECKPOINT)
        self.kept = time.monotonic()

    def _restore(self, checkpoint: dict[str, Any]) -> None:
        state = checkpoint["stage"]
        for name in STATE:
            setattr(self, name, state[name])
        self.members.unseen, self.members.hurried = state["unseen"], state["hurried"]
        self.members.load_state_dict(checkpoint["state_dict"])
        self.losses = [loss.to(self.options.device) for loss in checkpoint["losses"]]
        if not self.finished:
            steps = self.steps
            self._begin_stage()
            self.steps = steps
            self.mean.load_state_dict(checkpoint["mean"])
            self.optimizer.load(checkpoint["optimizer"])
