"""The parts of every training: its time limit, early stop, history, progress and checkpoints."""

import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor
from tqdm import tqdm

from ordinate.functional.global_batch import all_processes, from_first, largest
from ordinate.option_group import Settings
from ordinate.training.callback import Callback
from ordinate.training.checkpoints import CHECKPOINT, write_checkpoint
from ordinate.training.time_budget import TrainingEnd

if TYPE_CHECKING:
    from ordinate.training.loop import Loop


class StageLimit(Callback):
    """End each stage in time.

    A stage has its share of the time that is left when it starts, by its epochs and those of the stages that follow.
    The history says of an epoch that time ended what share of its batches ``passed``.

    Args:
        end: When the training has to end; None for no limit.
    """

    def __init__(self, end: TrainingEnd | None) -> None:
        self.end = end
        self.window: tuple[float, float] | None = None  # Start and end of the stage on the clock.

    def on_start(self, loop: "Loop") -> None:
        if self.window is None:  # The checkpoint may be of a training without a limit.
            self.on_stage_start(loop)

    def on_stage_start(self, loop: "Loop") -> None:
        if self.end is not None:
            method, start = loop.method, self.end.now
            share = method.stage.epochs / sum(stage.epochs for stage in method.stages[method.stage_index :])
            self.window = (start, start + share * max(self.end.least, self.end.until - start))

    def progress(self, loop: "Loop") -> float:
        """Return the share of the stage's time that has passed, by the clock of the process that is farthest."""
        if self.end is None or self.window is None:
            return 0.0
        start, stop = self.window
        progress = 1.0
        if stop > start:
            progress = min(1.0, max(0.0, (self.end.now - start) / (stop - start)))
        return largest(progress, all_processes(), loop.device)

    def on_epoch_end(self, loop: "Loop") -> None:
        if self.progress(loop) >= 1 and (not loop.stage_is_over or loop.passed < 1):
            loop.logs["passed"] = loop.passed
            loop.stage_is_over = loop.method.hurried = True

    def state_dict(self) -> Settings:
        return {"window": self.window}

    def load_state_dict(self, state: Settings) -> None:
        self.window = state["window"]


class EarlyStop(Callback):
    """End a stage that no longer improves, and go back to its best weights."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.best_value = float("inf")
        self.best_epoch = -1
        self.best_weights: dict[str, Tensor] = {}

    def on_stage_start(self, loop: "Loop") -> None:
        self._forget()

    def on_epoch_end(self, loop: "Loop") -> None:
        method, start = loop.method, loop.method.stage_start
        if method.epochs_to_wait(0) is None:
            return
        value = loop.logs.get(method.monitor, loop.logs["train_loss"])
        # All processes follow the first, whose device may round differently.
        value, is_best = from_first((value, method.is_best(value, self.best_value)), all_processes())
        self.best_value = min(self.best_value, value)
        epoch = method.current_epoch - 1
        if is_best:
            self.best_epoch = epoch
            self.best_weights = method.weights_to_keep()
        best = max(self.best_epoch, start - 1)
        if epoch - best >= (method.epochs_to_wait(best + 1 - start) or 0):
            loop.stage_is_over = True

    def on_stage_end(self, loop: "Loop") -> None:
        method, last = loop.method, loop.method.current_epoch - 1
        if self.best_weights:
            method.load_state_dict(self.best_weights)
            last = self.best_epoch
        method.best_epochs.append(last + 1 - method.stage_start)
        self._forget()

    def state_dict(self) -> Settings:
        return dict(vars(self))

    def load_state_dict(self, state: Settings) -> None:
        vars(self).update(state)


class History(Callback):
    """Keep what every epoch logged."""

    def on_epoch_end(self, loop: "Loop") -> None:
        loop.method.history.append(loop.logs)


class Progress(Callback):
    """Show a bar over all epochs, with the stage, the losses and the expected end."""

    def on_start(self, loop: "Loop") -> None:
        done = loop.method.current_epoch
        hidden = not loop.is_first
        seconds = 0.1 if sys.stderr.isatty() else 10.0  # Every update is a line in a file.
        self.pace = Pace(loop)
        self.bar = tqdm(
            total=loop.method.epochs,
            initial=done,
            unit="epoch",
            dynamic_ncols=True,
            mininterval=seconds,
            disable=hidden,
        )

    def on_epoch_end(self, loop: "Loop") -> None:
        logs = loop.logs
        self.bar.total = loop.method.current_epoch + self.pace.epochs_left(loop)
        shown = [name for name in ("train_loss", "val_loss", "val_accuracy", "val_mae") if name in logs]
        self.bar.set_description(loop.method.stage.name, refresh=False)
        self.bar.set_postfix({name: f"{logs[name]:.3g}" for name in shown}, refresh=False)
        self.bar.update(loop.method.current_epoch - self.bar.n)

    def on_end(self, loop: "Loop") -> None:
        self.bar.total = self.bar.n  # Of a training that ended early, too.
        self.bar.close()


class Announcement(Callback):
    """Say once when a training without a progress bar will end, if it takes longer than some seconds.

    Args:
        seconds: Seconds after which it is said.
    """

    def __init__(self, seconds: float = 10.0) -> None:
        self.seconds = seconds
        self.is_said = False

    def on_start(self, loop: "Loop") -> None:
        self.pace = Pace(loop)

    def on_epoch_end(self, loop: "Loop") -> None:
        if self.is_said or not loop.is_first or self.pace.seconds < self.seconds:
            return
        self.is_said = True
        left = self.pace.epochs_left(loop) * self.pace.per_epoch(loop)
        logging.getLogger("ordinate").warning(
            "training: %d epochs took %.0f s, and the rest takes at most about %.0f s (verbose=1 shows a progress bar)",
            loop.method.current_epoch - self.pace.first, self.pace.seconds, left,
        )  # fmt: skip


class Pace:
    """How long the epochs of a training take, and how many of them are left, by their number and by the time limit."""

    def __init__(self, loop: "Loop") -> None:
        self.first = loop.method.current_epoch
        self.started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def per_epoch(self, loop: "Loop") -> float:
        """Return the mean seconds of an epoch."""
        return self.seconds / max(1, loop.method.current_epoch - self.first)

    def epochs_left(self, loop: "Loop") -> int:
        """Return the number of epochs that follow, at most; none after the last."""
        left = loop.method.epochs - loop.method.current_epoch
        end = loop.limit.end
        if end is None or left <= 0:
            return max(0, left)
        return min(left, max(0, round((end.until - end.now) / max(1e-9, self.per_epoch(loop)))))


class Checkpoint(Callback):
    """Keep the state in a file after every epoch, and within an epoch every so many seconds.

    It is the last callback, so that it keeps the state of the others.

    Args:
        folder: Folder of the file.
        seconds: Time between two checkpoints.
        every_epoch: Whether to write it after every epoch, however short.
    """

    def __init__(self, folder: Path, seconds: float, *, every_epoch: bool = True) -> None:
        self.folder = folder
        self.seconds = seconds
        self.every_epoch = every_epoch

    def on_start(self, loop: "Loop") -> None:
        self.written = time.monotonic()

    def on_batch_end(self, loop: "Loop") -> None:
        if loop.is_between_steps and loop.method.step < loop.method.n_batches:
            self._write_if_due(loop)

    def on_epoch_end(self, loop: "Loop") -> None:
        if self.every_epoch:
            self._write(loop)
        else:
            self._write_if_due(loop)

    def on_end(self, loop: "Loop") -> None:
        if loop.finished:
            self._write(loop)

    def _write_if_due(self, loop: "Loop") -> None:
        due = float(time.monotonic() - self.written >= self.seconds)
        if largest(due, all_processes(), loop.device):
            self._write(loop)

    def _write(self, loop: "Loop") -> None:
        write_checkpoint(self.folder / CHECKPOINT, loop.state(), is_writer=loop.is_first)
        self.written = time.monotonic()
