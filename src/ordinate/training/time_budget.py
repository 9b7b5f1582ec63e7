"""Wall time that a command may spend over all its runs, and training that ends in time."""

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from ordinate.checks import check_positive


class TimeBudget:
    """Seconds that may be spent; those of earlier runs of the same command count.

    Args:
        seconds: Limit in seconds.
        clock: Function that returns the time in seconds.
        start: Start of this run, on the clock; None for now.

    Example:
        >>> budget = TimeBudget(60, clock=lambda: 20.0, start=5.0)
        >>> budget.spent, budget.left
        (15.0, 45.0)
    """

    def __init__(
        self, seconds: float, *, clock: Callable[[], float] = time.monotonic, start: float | None = None
    ) -> None:
        self.seconds = check_positive(seconds, "seconds")
        self.clock = clock
        self.start = clock() if start is None else start
        self.record: Path | None = None
        self.kept = -math.inf

    def continue_from(self, record: Path) -> None:
        """Add the time that earlier runs wrote to the file ``record``."""
        if record.exists():
            self.start -= float(json.loads(record.read_text())["spent"])

    def keep_in(self, record: Path) -> None:
        """Write the time spent to the file ``record`` from now on."""
        self.record = record

    @property
    def spent(self) -> float:
        """Seconds, which are kept in the record once a second at most."""
        spent = self.clock() - self.start
        if self.record is not None and spent - self.kept >= 1 and self.record.parent.exists():
            self.kept = spent
            pending = self.record.with_suffix(f".{os.getpid()}.tmp")  # Several processes may train.
            pending.write_text(json.dumps({"spent": spent}))
            pending.replace(self.record)
        return spent

    @property
    def left(self) -> float:
        return self.seconds - self.spent


@dataclass(frozen=True)
class TrainingEnd:
    """When a training has to end.

    Args:
        budget: Budget whose clock is used.
        until: Seconds spent by the end.
        least: Seconds for a training that starts after its end, so that it learns something.
    """

    budget: TimeBudget
    until: float
    least: float = 0.0

    @property
    def now(self) -> float:
        return self.budget.spent


_END: ContextVar[TrainingEnd | None] = ContextVar("end", default=None)


@contextmanager
def training_until(end: TrainingEnd | None) -> Iterator[None]:
    """End training in this context by then: each run shortens its stages so that their schedules still end."""
    token = _END.set(end)
    try:
        yield
    finally:
        _END.reset(token)


def training_end() -> TrainingEnd | None:
    """Return when a training that starts now has to end, None for no limit."""
    return _END.get()
