"""The time of ``ordinate fit``: how much there is, what it is left for, and the end of training by a limit."""

import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from ordinate.counts import counted
from ordinate.errors import are_arguments_typed, argument
from ordinate.torchrun import broadcast_from_rank_zero, is_first_process
from ordinate.training.time_budget import TimeBudget, TrainingEnd

SPENT = "spent.json"  # The file of the time spent in the folder of a run.


@dataclass(frozen=True)
class RunLimit:
    """The time of a command.

    Args:
        budget: Time that may be spent; None without a limit.
        start: Seconds that were spent on starting, or a few if they are fewer.
        after: Seconds for predictions after the training.
        started: Time of ``time.monotonic`` at which the command started.
        most_reserved: Largest share of the limit that is kept for what follows the training.
    """

    budget: TimeBudget | None
    start: float = 3.0
    after: float = 0.0
    started: float = field(default_factory=time.monotonic)
    most_reserved: float = 0.4

    @classmethod
    def of(cls, minutes: float | None, folder: Path, started: float) -> Self:
        """Return the time of a command that started at a time of ``time.monotonic``, or of one that it continues."""
        return cls(None, max(cls.start, time.monotonic() - started), started=started).within(minutes, folder)

    def within(self, minutes: float | None, folder: Path) -> Self:
        """Return the same with a limit, of which a run that was stopped has spent a part; None for no limit."""
        if minutes is None:
            return self
        budget = TimeBudget(60 * minutes, start=self.started)
        if is_first_process():  # All processes use its clock.
            budget.continue_from(folder / SPENT)
        return replace(self, budget=budget)

    def keep_in(self, folder: Path) -> None:
        """Write the time spent to a folder from now on, so that a run that was stopped continues with it."""
        if self.budget is not None and is_first_process():
            self.budget.keep_in(folder / SPENT)

    @property
    def for_metrics(self) -> float:
        """Seconds that metrics of held-out samples take, relative to the start."""
        return 0.5 * self.start

    @property
    def for_report(self) -> float:
        """Seconds that a report takes, relative to the start, which shows how busy the machine is."""
        return 0.8 * self.start

    @property
    def reserve(self) -> float:
        """Seconds for what follows the training: metrics and report."""
        if self.budget is None:
            return 0.0
        return min(self.for_metrics + self.for_report, self.most_reserved * self.budget.seconds)

    @property
    def after_training(self) -> float:
        """Seconds from the end of the training to that of the command."""
        return self.for_metrics + self.for_report + self.after

    @property
    def until(self) -> float:
        """Seconds spent when training has to end."""
        if self.budget is None:
            return math.inf
        after = min(self.after, self.most_reserved * self.budget.seconds)
        return self.budget.seconds - self.reserve - after

    @property
    def left_to_train(self) -> float:
        """Seconds until training has to end."""
        return math.inf if self.budget is None else self.until - self.budget.spent

    def share(self, runs: int, least: float = 0.04) -> TrainingEnd | None:
        """Return the end of the next of so many training runs, all of which share the time; None without a limit.

        One that starts too late still has the ``least`` share of the limit.
        """
        if self.budget is None:
            return None
        seconds = broadcast_from_rank_zero(lambda: self.left_to_train / runs)
        return TrainingEnd(self.budget, self.budget.spent + seconds, least * self.budget.seconds)

    @property
    def for_plan(self) -> float | None:
        """Seconds of the limit that a plan may fill, whatever the machine has done so far; None without a limit."""
        if self.budget is None:
            return None
        return max(0.5 * self.budget.seconds, 0.85 * self.budget.seconds - 25)

    def has_time_for(self, seconds: float) -> bool:
        """Return whether so many seconds are left."""
        return self.budget is None or self.budget.left > seconds

    def projections(self, samples: int, seconds_per_sample: float = 0.02) -> tuple[str, ...]:
        """Return the projections that a report of so many samples has time for; t-SNE takes long."""
        from ordinate.report.page.projections import MOST_FOR_TSNE  # The report takes long to import.

        seconds = seconds_per_sample * min(samples, MOST_FOR_TSNE)
        if self.has_time_for(seconds + self.for_report):
            return ("pca", "tsne")
        return ("pca",)

    @property
    def for_importance(self) -> float:
        """Seconds that the importance of columns may take: a tenth of what the command took, or a few."""
        seconds = max(3.0, 0.1 * (time.monotonic() - self.started))
        if self.budget is None:
            return seconds
        return min(seconds, self.budget.left - self.for_report)


def time_limit_argument(minutes: float) -> str:
    """Return the argument that limits the time, which is given in minutes to the command and in seconds in Python."""
    return argument("time_limit", minutes if are_arguments_typed() else minutes * 60)


def as_text(seconds: float) -> str:
    """Return a time as text, in seconds or minutes.

    Example:
        >>> as_text(40.2), as_text(150), as_text(600)
        ('40 seconds', '2.5 minutes', '10 minutes')
    """
    return counted(max(1, round(seconds)), "second") if seconds < 100 else f"{round(seconds / 60, 1):g} minutes"
