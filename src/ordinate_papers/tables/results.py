"""The results of runs in one SQLite file, which many processes of a machine share."""

import json
import socket
import sqlite3
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Self

from ordinate.data.paths import reading
from ordinate.errors import OrdinateError
from ordinate_papers.tables.run import Run

APPLICATION, FORMAT = 0x4F524454, 1  # "ORDT" in the header of the file
LOCK_SECONDS = 60.0  # to wait for another process that writes
SILENCE = 120.0  # seconds without a heartbeat, after which a worker that cannot be looked up counts as dead
SECOND_CHANCES = 3  # for a run whose worker died
PROCESSES = Path("/proc")

SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    worker TEXT, claimed_at REAL, heartbeat REAL, deaths INTEGER NOT NULL DEFAULT 0,
    metrics TEXT, seconds REAL, error TEXT, finished_at TEXT, host TEXT
);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
COMMIT;
"""
ADD = """
INSERT OR IGNORE INTO runs (key, run, kind)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?)
"""
# of waiting runs the one that is expected to take longest, so that no core idles while another finishes the table;
# before them those of which nothing is known
CLAIM = """
UPDATE runs SET state = 'running', worker = :worker, claimed_at = :now, heartbeat = :now WHERE number = (
    SELECT number FROM runs
    LEFT JOIN (SELECT kind, avg(seconds) AS expected FROM runs WHERE state = 'done' GROUP BY kind) USING (kind)
    WHERE state = 'waiting' AND (:keys IS NULL OR key IN (SELECT value FROM json_each(:keys)))
    ORDER BY expected DESC NULLS FIRST, number LIMIT 1
) RETURNING run
"""
END = """
UPDATE runs SET state = ?, metrics = ?, seconds = ?, error = ?, finished_at = ?, host = ?, worker = NULL
WHERE key = ? AND state != 'done'
"""
LOSE = """
UPDATE runs SET worker = NULL, deaths = deaths + 1,
    state = iif(deaths < :chances, 'waiting', 'failed'),
    error = iif(deaths < :chances, NULL, 'its worker died ' || (deaths + 1) || ' times, the last time ' || :reason),
    finished_at = iif(deaths < :chances, NULL, :now)
WHERE key = :key AND state = 'running' AND worker = :worker
"""
RETRY = """
UPDATE runs SET state = 'waiting', deaths = 0, error = NULL, seconds = NULL, finished_at = NULL, host = NULL
WHERE state = 'failed' AND (:keys IS NULL OR key IN (SELECT value FROM json_each(:keys)))
"""
RESULTS = """
SELECT key, state, metrics, seconds, error, finished_at, host FROM runs WHERE key IN (SELECT value FROM json_each(?))
"""
PROGRESS = "SELECT kind, state, seconds, claimed_at FROM runs WHERE key IN (SELECT value FROM json_each(?))"

State = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True)
class Result:
    """What is known of a run.

    Args:
        state: "waiting", "running", "done" or "failed".
        metrics: of a run that is done, by name, floats and lists of them; else empty.
        seconds: it took, to its end or its failure.
        error: of a run that failed, with its traceback.
        finished_at: in UTC, as ISO 8601 writes it.
        host: the machine that it ran on.
    """

    state: State
    metrics: dict[str, Any]
    seconds: float | None = None
    error: str | None = None
    finished_at: str | None = None
    host: str | None = None


@dataclass(frozen=True)
class Progress:
    """How many runs are in which state, and the seconds of work left, None where no run is done yet."""

    waiting: int
    running: int
    done: int
    failed: int
    seconds_left: float | None

    @property
    def unfinished(self) -> int:
        return self.waiting + self.running


class ResultsDatabase:
    """Runs, who works on them, and what came out.

    Every change is one transaction: a process killed at any moment leaves no half of one.

    Args:
        path: of the file, made where there is none; on a disk of this machine.

    Example:
        >>> import tempfile
        >>> run = Run("airfoil", "supcr")
        >>> with tempfile.TemporaryDirectory() as folder, ResultsDatabase(f"{folder}/results.db") as database:
        ...     database.add([run])
        ...     claimed = database.claim("me")
        ...     database.finish(claimed, {"mae": 1.5}, seconds=2.0)
        ...     database.claim("me"), database.results([run])[run].metrics
        (None, {'mae': 1.5})
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._reading():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=LOCK_SECONDS, isolation_level=None)
            with ExitStack() as unless_open:
                unless_open.callback(self.close)
                self._open()
                unless_open.pop_all()

    def _open(self) -> None:
        if self._header("schema_version") == 0:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.executescript(SCHEMA)
        if self._header("application_id") != APPLICATION:
            raise OrdinateError("database", f"{self.path} of another program", "a database of results")
        if (found := self._header("user_version")) != FORMAT:
            raise OrdinateError("database", f"{self.path} of format {found}", FORMAT, "use another file")

    def _header(self, name: str) -> int:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]

    def _reading(self) -> AbstractContextManager[None]:
        return reading("database", f"{self.path} cannot be used as a database of results")

    def _execute(self, statement: str, values: Any) -> list[Any]:
        """Return the rows of a statement."""
        with self._reading():
            return self._connection.execute(statement, values).fetchall()

    def add(self, runs: Iterable[Run]) -> None:
        """Make runs known, to wait for a worker; those that are known already stay as they are."""
        rows = [(run.key, run.to_json(), run.kind) for run in runs]
        self._execute(ADD, (json.dumps(rows),))

    def claim(self, worker: str, among: Iterable[Run] | None = None) -> Run | None:
        """Take a waiting run, which no other worker can take then; None if there is none.

        Args:
            worker: from :func:`name_processes`, or a name that sends heartbeats.
            among: only one of these.
        """
        values = {"worker": worker, "now": time.time(), "keys": None if among is None else _keys(among)}
        rows = self._execute(CLAIM, values)
        with self._reading():
            return Run.from_json(rows[0][0]) if rows else None

    def finish(self, run: Run, metrics: Mapping[str, Any], seconds: float, host: str | None = None) -> None:
        """Keep the metrics of a run: finite numbers, or lists of them. Anything else is a failure of the run."""
        try:
            plain = plain_metrics(metrics)
        except OrdinateError as error:
            self.fail(run, str(error), seconds, host)
        else:
            self._end(run, "done", json.dumps(plain), seconds, None, host)

    def fail(self, run: Run, error: str, seconds: float | None = None, host: str | None = None) -> None:
        """Keep why a run failed."""
        self._end(run, "failed", None, seconds, error, host)

    def _end(self, run: Run, state: State, metrics: str | None, seconds: float | None, error: str | None,
             host: str | None) -> None:  # fmt: skip
        values = (state, metrics, seconds, error, _now(), host or socket.gethostname(), run.key)
        self._execute(END, values)

    def lose(self, run: Run, worker: str, reason: str) -> None:
        """Take back a run whose worker died of it: it waits again, three times, and has failed then."""
        values = {"key": run.key, "worker": worker, "reason": reason, "now": _now(), "chances": SECOND_CHANCES}
        self._execute(LOSE, values)

    def release(self, worker: str) -> None:
        """Let the runs of a worker that stops wait for another."""
        self._execute(
            "UPDATE runs SET state = 'waiting', worker = NULL WHERE state = 'running' AND worker = ?", (worker,)
        )

    def release_dead(self) -> None:
        """Let the runs wait again whose worker is no more.

        Processes of this machine are looked up; where that cannot be, a worker is dead after two minutes of silence.
        """
        running = "SELECT DISTINCT worker, heartbeat FROM runs WHERE state = 'running'"
        for worker, heartbeat in self._execute(running, ()):
            if not _lives(worker, heartbeat):
                self.release(worker)

    def beat(self, workers: Iterable[str]) -> None:
        """Say that workers live."""
        self._execute(
            "UPDATE runs SET heartbeat = ? WHERE state = 'running' AND worker IN (SELECT value FROM json_each(?))",
            (time.time(), json.dumps(list(workers))),
        )

    def retry_failed(self, among: Iterable[Run] | None = None) -> None:
        """Let failed runs wait again: all of them, or only these."""
        self._execute(RETRY, {"keys": None if among is None else _keys(among)})

    def results(self, runs: Iterable[Run]) -> dict[Run, Result]:
        """Return what is known of each run, in their order; of one that was never added, that it waits."""
        runs = list(runs)
        rows = self._execute(RESULTS, (_keys(runs),))
        with self._reading():
            known = {key: Result(state, json.loads(metrics or "{}"), *rest) for key, state, metrics, *rest in rows}
        return {run: known.get(run.key, Result("waiting", {})) for run in runs}

    def progress(self, runs: Iterable[Run]) -> Progress:
        """Return how far these runs are, and the work left: the median seconds of like runs, summed."""
        rows = self._execute(PROGRESS, (_keys(runs),))
        states = Counter(state for _, state, *_ in rows)
        took: dict[str, list[float]] = {}
        for kind, state, seconds, _ in rows:
            if state == "done":
                took.setdefault(kind, []).append(seconds)
        left = None
        if took:
            expected = {kind: statistics.median(values) for kind, values in took.items()}
            unknown, now = statistics.median(expected.values()), time.time()
            left = sum(
                max(0.0, expected.get(kind, unknown) - (now - claimed_at if state == "running" else 0.0))
                for kind, state, _, claimed_at in rows
                if state in ("waiting", "running")
            )
        return Progress(states["waiting"], states["running"], states["done"], states["failed"], left)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _keys(runs: Iterable[Run]) -> str:
    return json.dumps([run.key for run in runs])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def plain_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics as floats and lists of floats, None where a list has no value; anything else is an error."""
    if not isinstance(metrics, Mapping):
        raise OrdinateError("metrics", type(metrics).__name__, "numbers by name")
    return {str(name): _plain(name, value) for name, value in metrics.items()}


def _plain(name: str, value: Any) -> Any:
    if hasattr(value, "tolist"):  # of an array, a tensor, or one number of such
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [None if item is None else _plain(name, item) for item in value]
    if isinstance(value, float | int) and isfinite(value):
        return float(value)
    raise OrdinateError("metrics", f"{value!r} as {name!r}", "finite numbers and lists of them")


def name_processes(*pids: int) -> str:
    """Return a name of these processes of this machine that no others will ever have."""
    return " ".join([_place(), *(f"{pid}:{_started(pid)}" for pid in pids)])


def _lives(worker: str, heartbeat: float) -> bool:
    place, *processes = worker.split()
    if processes and place == _place() and PROCESSES.exists():
        return any(_started(int(pid)) == started for pid, started in (process.split(":") for process in processes))
    return time.time() - heartbeat < SILENCE


def _place() -> str:
    """The table of processes that this one is in: of a machine since it was last started, or of a container."""
    if not PROCESSES.exists():
        return socket.gethostname()
    boot = (PROCESSES / "sys/kernel/random/boot_id").read_text().strip()
    return f"{socket.gethostname()}/{boot}/{(PROCESSES / 'self/ns/pid').readlink()}"


def _started(pid: int) -> str:
    """When a process was started, in ticks since the machine was; empty if it has ended or cannot be looked up."""
    try:
        state, *rest = (PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else rest[18]
