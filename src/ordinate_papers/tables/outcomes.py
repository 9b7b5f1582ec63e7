"""One run executed in one process, and what came of it."""

import socket
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ordinate_papers.tables.results import plain_metrics
from ordinate_papers.tables.run import Run

Execute = Callable[[Run, Path], Any]


@dataclass(frozen=True)
class Outcome:
    """What came of a run: metrics, or an error, or the reason why its worker died."""

    run: Run
    worker: str
    metrics: dict[str, Any] | None = None
    seconds: float | None = None
    error: str | None = None
    death: str | None = None
    host: str | None = None

    def __str__(self) -> str:
        if self.death is not None:
            return f"{self.run.label}: its worker died {self.death}"
        if self.error is not None:
            return f"{self.run.label}: {self.error.strip().splitlines()[-1]}"
        return f"{self.run.label}: {self.seconds:.1f} s"


class Workers(Protocol):
    """What executes runs."""

    slots: int

    def ready(self) -> Iterator[str]:
        """Yield the names of workers that have no run, as long as there are any."""

    def start(self, worker: str, run: Run) -> None:
        """Let this worker execute this run."""

    def outcomes(self, seconds: float) -> list[Outcome]:
        """Return what came of runs since the last call, after at most so many seconds."""

    def names(self) -> list[str]:
        """Return the names of all workers."""

    def close(self) -> None:
        """Stop every worker at once."""


def perform(execute: Execute, run: Run, folder: Path, worker: str) -> Outcome:
    """Execute a run in this process, whatever comes of it."""
    started = time.perf_counter()
    metrics, error = None, None
    try:
        state = folder / run.key
        state.mkdir(parents=True, exist_ok=True)
        metrics = plain_metrics(execute(run, state))
    except (Exception, SystemExit):
        error = traceback.format_exc()
    seconds = time.perf_counter() - started
    return Outcome(run, worker, metrics, seconds, error, host=socket.gethostname())
