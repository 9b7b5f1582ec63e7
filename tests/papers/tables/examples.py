"""Runs that do next to nothing, and what executes them, for worker processes to import."""

import os
import signal
import sys
import time
from math import log10
from pathlib import Path

from ordinate_papers.tables.results import ResultsDatabase
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.workers import complete

STEPS = 3
KEPT = []


def make_runs(count, model="steps", **settings):
    return [Run("none", model, settings=settings, seed=seed) for seed in range(count)]


def execute(run, state):
    """Do what the model says; the log beside the state folders tells which run was started where, and ended."""
    log, settings = state.parent.with_name("log"), dict(run.settings)
    note(log, "start", run)
    return MODELS[run.model](run, settings, state / "steps", log)


def steps(run, settings, path, log):
    """Small steps, which the state folder remembers."""
    while (taken := count(path)) < STEPS:
        time.sleep(settings.get("sleep", 0.01))
        append(path, "+")
    note(log, "end", run)
    return {"mae": run.seed / STEPS, "steps": [run.seed, taken]}


def dies(run, settings, path, log):
    if count(path) < settings["times"]:
        append(path, "+")
        os.kill(os.getpid(), signal.SIGKILL)
    return {"deaths": count(path)}


def raises(run, settings, path, log):
    raise RuntimeError(f"seed {run.seed} is not to be had")


def locks(run, settings, path, log):
    """A lock that lives as long as the process, as the progress bar of a training has one."""
    import multiprocessing

    KEPT.append(multiprocessing.RLock())
    return {"mae": 0.0}


def threads(run, settings, path, log):
    import torch

    return {"torch": torch.get_num_threads()}


def bowl(run, settings, path, log):
    """Lowest, 0, at a learning rate of 0.03 and a weight decay of 1e-4, on validation data; elsewhere on test data."""
    rate, decay = settings["learning_rate"], settings["weight_decay"]
    if rate > settings.get("diverges", 10):
        return {"validation_mae": float("nan")}
    time.sleep(settings.get("sleep", 0))
    return {"validation_mae": log10(rate / 0.03) ** 2 + log10(decay / 1e-4) ** 2, "mae": -rate}


MODELS = {
    "bowl": bowl,
    "steps": steps,
    "dies": dies,
    "raises": raises,
    "threads": threads,
    "locks": locks,
    "exits": lambda *_: sys.exit(3),
    "not a number": lambda *_: {"mae": float("nan")},
    "process": lambda *_: {"pid": os.getpid()},
}


def count(path):
    return len(path.read_text()) if path.exists() else 0


def note(log, event, run):
    append(log, f"{event} {run.key} {os.getpid()}\n")


def append(path, text):
    with path.open("a") as file:  # so little is written in one piece
        file.write(text)


def read_log(folder, event):
    """The runs (keys) and the processes of an event, in the order of time."""
    log = folder / "log"
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [(key, int(pid)) for name, key, pid in lines if name == event]


def open_and_complete(folder, count, sleep):
    with ResultsDatabase(Path(folder) / "results.db") as database:
        complete(make_runs(int(count), sleep=float(sleep)), execute, database, Path(folder) / "state", jobs=2)


if __name__ == "__main__":
    open_and_complete(*sys.argv[1:])
