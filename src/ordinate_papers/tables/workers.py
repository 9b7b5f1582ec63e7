"""Runs executed by worker processes until each of them has a result."""

import os
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor
from functools import cache, partial
from pathlib import Path

from filelock import FileLock
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from ordinate.errors import OrdinateError
from ordinate_papers.tables.results import Metrics, Result, ResultsFile
from ordinate_papers.tables.run import Run

Execute = Callable[[Run, Path], Metrics]


def complete(
    runs: Iterable[Run],
    execute: Execute,
    results: ResultsFile,
    *,
    jobs: int | None = None,
    retry_failed: bool = False,
    progress: bool = True,
) -> dict[Run, Result]:
    """Execute the runs that have no result yet, and return the results of all.

    A run that raises an error has failed. When a worker process dies, the runs that were in work start again, one
    after the other; the run whose worker dies then has failed too. A call that was killed can be made again: it
    starts the runs that were not finished.

    Args:
        runs: Runs whose results are wanted.
        execute: Function that returns the metrics of a run. It is given the run and a folder; files there are kept
            until the run is done, so that a training can resume from its checkpoints.
        results: File of the results.
        jobs: Number of worker processes, by default one per core. A single one is this process itself.
        retry_failed: Whether runs that failed are executed again.
        progress: Whether finished runs are reported on the standard error stream.
    """
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise OrdinateError("jobs", repr(jobs), "a whole number of at least 1")
    runs = list(dict.fromkeys(runs))
    for run, result in results.read(runs).items():
        if result.state == "done":
            _clear(results.state_folder(run))  # The worker may have been killed before it did so.
        if result.state == "failed" and retry_failed:
            results.append(run, Result())
    waiting = _waiting(runs, results)
    if waiting:
        work = partial(perform, execute=execute, results=results, starter=os.getpid(), progress=progress)
        # With a verbosity of 11 or more, joblib reports every finished task.
        parallel = Parallel(n_jobs=jobs or -1, backend="loky", batch_size=1, verbose=11 * progress)
        _work_off(waiting, work, results, parallel)
    return results.read(runs)


def _waiting(runs: Iterable[Run], results: ResultsFile) -> list[Run]:
    return [run for run, result in results.read(runs).items() if result.state == "waiting"]


def _work_off(waiting: list[Run], work: Callable[[Run], None], results: ResultsFile, parallel: Parallel) -> None:
    try:
        parallel(delayed(work)(run) for run in waiting)
    except BrokenExecutor as error:  # A worker process died.
        if len(waiting) == 1:
            cause = " ".join(str(error).split())
            results.append(waiting[0], Result.failed(f"its worker process died: {cause}"))
            return
        rest = _waiting(waiting, results)
        suspects = [run for run in rest if results.state_folder(run).exists()]
        if not suspects:
            raise  # The workers died before any run started.
        _work_off([run for run in rest if run not in suspects], work, results, parallel)
        for run in suspects:
            _work_off([run], work, results, parallel)


def perform(run: Run, execute: Execute, results: ResultsFile, starter: int, progress: bool) -> None:
    """Execute a run in this process with one thread, and keep its result.

    Args:
        run: Run to execute.
        execute: Function that returns its metrics.
        results: File of the results.
        starter: Identifier of the process that started this one as a worker.
        progress: Whether the end of the run is reported on the standard error stream.
    """
    _end_with(starter)
    folder = results.state_folder(run)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if results.read([run])[run].state != "done":  # Another command may have finished it before the lock was free.
            result = _measure(run, execute, folder)
            results.append(run, result)
            if progress:
                sys.stderr.write(f"{run.label}: {result.summary}\n")  # One write, as all processes share the stream.
        if results.read([run])[run].state == "done":
            _clear(folder)


def _measure(run: Run, execute: Execute, folder: Path) -> Result:
    started = time.perf_counter()
    try:
        with threadpool_limits(1):
            metrics = execute(run, folder)
        return Result.done(metrics, time.perf_counter() - started)
    except (Exception, SystemExit):
        return Result.failed(traceback.format_exc(), time.perf_counter() - started)


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_suffix(".lock").unlink(missing_ok=True)


@cache
def _end_with(starter: int) -> None:
    """End this worker when the process that started it is killed, so that no run goes on without its command."""

    def watch() -> None:
        while os.getppid() == starter:
            time.sleep(1.0)
        os._exit(1)

    if starter != os.getpid():  # A single worker is the process itself.
        threading.Thread(target=watch, daemon=True).start()
