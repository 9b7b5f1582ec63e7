"""Runs executed by worker processes of this machine, or of a Ray cluster, until all of them have a result."""

import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from ordinate.errors import OrdinateError
from ordinate_papers.tables.outcomes import Execute, Outcome, Workers, perform
from ordinate_papers.tables.ray_workers import RayWorkers
from ordinate_papers.tables.results import Progress, Result, ResultsDatabase, name_processes
from ordinate_papers.tables.run import Run

LOOK_SECONDS = 1.0  # between two looks at what other processes have finished or left
BEAT_SECONDS = 20.0
ENDING_SECONDS = 5.0  # that a worker has to end itself


def complete(
    runs: Iterable[Run],
    execute: str | Execute,
    database: ResultsDatabase,
    folder: str | Path,
    jobs: int | None = None,
    ray: str | None = None,
    progress: bool = True,
    threads: int = 1,
    gpus: float = 0.0,
) -> dict[Run, Result]:
    """Execute the runs that have no result yet, and return the results of all.

    A run that another process works on is waited for. A run that raises has failed, with its traceback; one whose
    worker dies is started again, three times. Killed or interrupted at any moment, the next call continues.

    Args:
        runs: those wanted.
        execute: ``execute(run, state_folder)`` returns metrics by name: a function of a module, or its name as
            "package.module:function". What it keeps in the state folder is there again if it is killed; the folder
            goes when the run is done.
        database: of the results.
        folder: of the state folders, each named by its run's key; on a cluster, one that all machines share.
        jobs: worker processes; None: as many as there are cores for.
        ray: instead of processes of this machine, a Ray cluster: its address, "auto" for the one this machine is in,
            "local" for one that is started here.
        progress: whether to say how far it is.
        threads: of each worker, and CPUs of each run on a cluster.
        gpus: of each run on a cluster.
    """
    runs = list(dict.fromkeys(runs))
    function = _resolve(execute)
    for name, value in (("jobs", jobs), ("threads", threads)):
        if value is not None and (type(value) is not int or value < 1):
            raise OrdinateError(name, repr(value), "a whole number of at least 1")
    folder = Path(folder)
    database.add(runs)
    for run, result in database.results(runs).items():
        if result.state == "done":  # killed between the result and this
            shutil.rmtree(folder / run.key, ignore_errors=True)
    if database.progress(runs).unfinished:
        workers: Workers
        if ray is None:
            from joblib import cpu_count

            workers = LocalWorkers(function, folder, jobs or max(1, cpu_count() // threads), threads)
        else:
            workers = RayWorkers(ray, function, folder, jobs, threads, gpus)
        with closing(_Report(len(runs), workers.slots, progress)) as report:
            _work_off(runs, database, folder, workers, report)
    return database.results(runs)


def _work_off(runs: list[Run], database: ResultsDatabase, folder: Path, workers: Workers, report: "_Report") -> None:
    ended: list[Outcome] = []
    beaten = time.monotonic()
    try:
        while (now := database.progress(runs)).unfinished:
            report.show(now, ended)
            for worker in islice(workers.ready(), now.waiting):
                run = database.claim(worker, runs)
                if run is not None:  # else another process was faster
                    workers.start(worker, run)
            ended = workers.outcomes(LOOK_SECONDS)
            for outcome in ended:
                _keep(outcome, database, folder)
            if time.monotonic() - beaten > BEAT_SECONDS:
                database.beat(workers.names())
                beaten = time.monotonic()
            database.release_dead()
        report.show(now, ended)
    finally:
        names = workers.names()
        workers.close()
        for name in names:
            database.release(name)


def _keep(outcome: Outcome, database: ResultsDatabase, folder: Path) -> None:
    if outcome.death is not None:
        database.lose(outcome.run, outcome.worker, outcome.death)
    elif outcome.metrics is None:
        database.fail(outcome.run, outcome.error or "", outcome.seconds, outcome.host)
    else:
        database.finish(outcome.run, outcome.metrics, outcome.seconds or 0.0, outcome.host)
        shutil.rmtree(folder / outcome.run.key, ignore_errors=True)


def _resolve(execute: str | Execute) -> Execute:
    """The function; an error if another process could not import it by its name."""
    name = execute if isinstance(execute, str) else f"{execute.__module__}:{execute.__qualname__}"
    module, _, function = name.partition(":")
    try:
        found = getattr(import_module(module), function, None)
    except (ImportError, ValueError) as error:
        raise OrdinateError("execute", repr(name), f"'package.module:function': {error}") from error
    if not callable(found):
        raise OrdinateError("execute", repr(name), "'package.module:function', which can be imported")
    return found


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    run: Run | None = None


class LocalWorkers:
    """Processes of this machine, each started for its first run and kept; they end when this process does."""

    def __init__(self, execute: Execute, folder: Path, slots: int, threads: int) -> None:
        self.slots = slots
        self._work = (execute, folder)
        self._threads = threads
        self._workers: dict[str, _Worker] = {}

    def ready(self) -> Iterator[str]:
        yield from [name for name, worker in self._workers.items() if worker.run is None]
        while len(self._workers) < self.slots:
            yield self._spawn()

    def _spawn(self) -> str:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, *self._work))
        with _environment("OMP_NUM_THREADS", str(self._threads)):  # NumPy and PyTorch read it when they are imported
            process.start()
        theirs.close()
        name = name_processes(os.getpid(), process.pid or 0)  # while this process lives, its runs are its to take back
        self._workers[name] = _Worker(process, ours)
        return name

    def start(self, worker: str, run: Run) -> None:
        self._workers[worker].run = run
        with suppress(OSError):  # it is dead, which its outcome says
            self._workers[worker].connection.send((run, worker))

    def outcomes(self, seconds: float) -> list[Outcome]:
        workers = list(self._workers.items())
        wait([sign for _, worker in workers for sign in (worker.connection, worker.process.sentinel)], seconds)
        outcomes = []
        for name, worker in workers:
            lives = worker.process.is_alive()  # asked first: what it sent before its end is there to be read
            with suppress(EOFError, OSError):
                if worker.connection.poll():
                    outcomes.append(worker.connection.recv())
                    worker.run = None
            if not lives:
                if worker.run is not None:
                    outcomes.append(Outcome(worker.run, name, death=_how_it_ended(worker.process.exitcode or 0)))
                worker.connection.close()
                del self._workers[name]
        return outcomes

    def names(self) -> list[str]:
        return list(self._workers)

    def close(self) -> None:
        for worker in self._workers.values():
            worker.connection.close()  # by which one that waits for a run ends itself, and leaves no semaphore behind
            if worker.run is not None:
                worker.process.kill()
        for worker in self._workers.values():
            worker.process.join(ENDING_SECONDS)
            worker.process.kill()
            worker.process.join()


def _serve(connection: Connection, execute: Execute, folder: Path) -> None:
    """Execute what comes through the connection, one run after the other, as long as the parent lives."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to every process; the parent ends this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError):
        while True:
            run, worker = connection.recv()
            connection.send(perform(execute, run, folder, worker))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _how_it_ended(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


class _Report:
    """How far the runs are: one line that is renewed on a terminal, elsewhere one line per finished run."""

    def __init__(self, total: int, slots: int, shown: bool) -> None:
        self._total, self._slots = total, slots
        self._bar = None
        if shown and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, bar_format="{n_fmt}/{total_fmt} runs |{bar}| {desc}")
        self._lines = shown and self._bar is None

    def show(self, progress: Progress, ended: list[Outcome]) -> None:
        finished = progress.done + progress.failed
        rest = f"{progress.failed} failed"
        if progress.seconds_left:
            end = datetime.now().astimezone() + timedelta(seconds=progress.seconds_left / self._slots)
            rest += f", ends {end:%a %H:%M}"
        if self._bar is not None:
            self._bar.n = finished
            self._bar.set_description_str(rest)
        if self._lines:
            for outcome in ended:
                print(f"{finished}/{self._total} runs, {rest}; {outcome}", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
