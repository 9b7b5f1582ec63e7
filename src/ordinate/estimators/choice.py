"""Choosing one of several models by its error on validation samples, within a time limit."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ordinate.errors import OrdinateError
from ordinate.functional.inputs import check_positive
from ordinate.methods.training import watched

KEPT_EVERY = 1.0  # seconds between two writes of the time spent


@dataclass
class Choice:
    """What was chosen, and what is known of the others.

    Args:
        errors: validation error of the candidates that were tried to the end.
        seconds: that their trials took.
        untried: candidates that there was no time for.
        chosen: the one with the lowest error, or the first candidate where none could be tried.
    """

    errors: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)
    chosen: str | None = None


def choose_within(
    candidates: Sequence[str],
    trial: Callable[[str], float],
    seconds: float,
    *,
    growth: float = 1.0,
    record: Path | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Choice:
    """Try candidates in their order and choose the one with the lowest error, so that its training still fits.

    The limit holds the trials and the training of the chosen model on all samples, which is taken to last as long as
    its trial times ``growth``. A trial is stopped once it could only end too late for that, or too late for the
    training of the best so far. Where no trial can be finished, the first candidate is chosen, whose training may then
    pass the limit.

    Args:
        candidates: names, each once.
        trial: trains a candidate on a part of the training samples and returns its error on others.
        seconds: wall time.
        growth: training samples over those of a trial.
        record: file that keeps what is known; a choice that was stopped continues from it, time spent included.
        clock: gives the time in seconds.

    Example:
        >>> choose_within(["cloc", "otd"], {"cloc": 0.4, "otd": 0.3}.__getitem__, seconds=60).chosen
        'otd'
    """
    if not candidates:
        raise OrdinateError("candidates: got none, takes at least one name")
    watch = _Watch(check_positive(seconds, "seconds"), growth, record, clock)
    choice = watch.choice
    for name in () if choice.chosen else candidates:
        if name in choice.errors or name in choice.untried:
            continue
        watch.begin(name)
        try:
            with watched(watch.check):
                watch.check()
                error = trial(name)
            watch.end(name, error)
        except _OutOfTime:
            choice.untried.append(name)
        watch.keep()
    choice.chosen = choice.chosen or min(choice.errors, key=choice.errors.__getitem__, default=candidates[0])
    watch.keep()
    return choice


class _OutOfTime(Exception):  # noqa: N818  # no error: how a trial ends that has no time left
    pass


class _Watch:
    """The time spent, over all runs, and when the trial that is under way has to end."""

    def __init__(self, limit: float, growth: float, record: Path | None, clock: Callable[[], float]) -> None:
        self.limit = limit
        self.growth = growth
        self.record = record
        self.clock = clock
        self.choice = Choice()
        self.began: dict[str, float] = {}
        spent = 0.0
        if record is not None and record.exists():
            state = json.loads(record.read_text())
            self.choice, self.began, spent = Choice(**state["choice"]), state["began"], state["spent"]
        self.start = clock() - spent
        self.kept = clock()

    @property
    def spent(self) -> float:
        return self.clock() - self.start

    def begin(self, name: str) -> None:
        """Set when the trial has to end: it and the training after it take 1 + growth times as long as the trial."""
        began = self.began.setdefault(name, self.spent)
        self.until = (self.limit + self.growth * began) / (1 + self.growth)
        if self.choice.errors:
            best = min(self.choice.errors, key=self.choice.errors.__getitem__)
            self.until = min(self.until, self.limit - self.growth * self.choice.seconds[best])

    def check(self) -> None:
        """Raise where the trial has no time left."""
        if self.clock() - self.kept > KEPT_EVERY:
            self.keep()
        if self.spent > self.until:
            raise _OutOfTime

    def end(self, name: str, error: float) -> None:
        """Note a finished trial, if it was not finished too late while there is another."""
        if self.choice.errors:
            self.check()
        self.choice.errors[name] = error
        self.choice.seconds[name] = self.spent - self.began[name]

    def keep(self) -> None:
        self.kept = self.clock()
        if self.record is None:
            return
        self.record.parent.mkdir(parents=True, exist_ok=True)
        pending = self.record.with_suffix(".tmp")
        pending.write_text(json.dumps({"choice": asdict(self.choice), "began": self.began, "spent": self.spent}))
        pending.replace(self.record)
