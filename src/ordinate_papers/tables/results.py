"""The results of runs: a file with one JSON line per finished run, to which several processes append."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock

from ordinate.data.paths import reading
from ordinate.errors import OrdinateError
from ordinate_papers.tables.run import Run

Metrics = dict[str, Any]  # Numbers and lists of numbers by name.


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Args:
        state: "waiting" for a run that is not finished, "done", or "failed".
        metrics: Numbers and lists of numbers by name; empty unless the run is done.
        seconds: Duration of the run.
        error: Traceback of a run that failed.
        finished_at: Time of the end in UTC, in the format of ISO 8601.
    """

    state: Literal["waiting", "done", "failed"] = "waiting"
    metrics: Metrics = field(default_factory=dict)
    seconds: float | None = None
    error: str | None = None
    finished_at: str | None = None

    @property
    def summary(self) -> str:
        """The last line of the error, or the seconds of a run that is done."""
        if self.error is not None:
            return self.error.strip().splitlines()[-1]
        return f"{self.seconds or 0:.1f} s"

    @classmethod
    def done(cls, metrics: Metrics, seconds: float) -> "Result":
        """Return the result of a run that is done now.

        Raises:
            OrdinateError: A metric is neither a finite number nor a list of them.
        """
        return cls("done", _plain_metrics(metrics), seconds, None, _now())

    @classmethod
    def failed(cls, error: str, seconds: float | None = None) -> "Result":
        """Return the result of a run that failed now."""
        return cls("failed", {}, seconds, error, _now())


class ResultsFile:
    """A file of results. A process that is killed while it appends leaves a torn last line, which is ignored.

    Args:
        path: Path of the file, which the first result creates.

    Example:
        >>> import tempfile
        >>> run = Run("airfoil", "supcr")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results = ResultsFile(f"{folder}/results.jsonl")
        ...     results.append(run, Result.done({"mae": 1.5}, seconds=2.0))
        ...     results.read([run])[run].metrics
        {'mae': 1.5}
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def state_folder(self, run: Run) -> Path:
        """Return the folder in which a run that is not finished keeps its state."""
        return self.path.with_name(f"{self.path.name}-state") / run.key

    def append(self, run: Run, result: Result) -> None:
        """Append the result of a run, which replaces earlier results of it."""
        line = json.dumps({"key": run.key, "run": json.loads(run.to_json()), **asdict(result)})
        with self._named():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock"), self.path.open("a+b") as file:
                file.truncate(self.path.read_bytes().rfind(b"\n") + 1)  # A torn line is not completed by this one.
                file.write(f"{line}\n".encode())

    def read(self, runs: Iterable[Run]) -> dict[Run, Result]:
        """Return the results of runs, in their order; "waiting" for a run that has none.

        Raises:
            OrdinateError: The file is not a file of results.
        """
        with self._named():
            known = dict(self._lines())
        return {run: known.get(run.key, Result()) for run in runs}

    def _lines(self) -> Iterator[tuple[str, Result]]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    values = json.loads(line)
                    del values["run"]
                    yield values.pop("key"), Result(**values)

    def _named(self) -> AbstractContextManager[None]:
        return reading("results", f"{self.path} cannot be used as a file of results")


def _plain_metrics(metrics: Metrics) -> Metrics:
    """Return metrics as floats and lists of floats, with None where a list has no value."""
    if not isinstance(metrics, Mapping):
        raise OrdinateError("metrics", type(metrics).__name__, "numbers by name")
    return {str(name): _plain(name, value) for name, value in metrics.items()}


def _plain(name: str, value: object) -> object:
    if hasattr(value, "tolist"):  # Arrays, tensors and their numbers have it.
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [None if item is None else _plain(name, item) for item in value]
    if isinstance(value, float | int) and isfinite(value):
        return float(value)
    raise OrdinateError("metrics", f"{value!r} as {name!r}", "finite numbers and lists of them")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
