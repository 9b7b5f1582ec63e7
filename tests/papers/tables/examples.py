"""Runs that do next to nothing, and what executes them, for worker processes to import."""

import os
import signal
import sys
import time
from math import log10

from ordinate_papers.tables.results import ResultsFile
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.workers import complete

STEPS = 3


def make_runs(count, model="steps", **settings):
    return [Run("none", model, settings=settings, seed=seed) for seed in range(count)]


def execute(run, state):
    """Do what the model says; the log next to the state folders tells which run was started where, and ended."""
    log, settings = state.parent.with_name("log"), run.settings
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


def threads(run, settings, path, log):
    import torch

    return {"torch": torch.get_num_threads()}


def bowl(run, settings, path, log):
    """A validation error that is lowest, 0, at a learning rate of 2e-3 and a weight decay of 0.1."""
    model, conditions = settings["model"], settings["data"]
    if model["learning_rate"] > conditions.get("diverges", 10):
        return {"validation_mae": float("nan")}
    time.sleep(conditions.get("sleep", 0))
    return {"validation_mae": log10(model["learning_rate"] / 2e-3) ** 2 + log10(model["weight_decay"] / 0.1) ** 2}


MODELS = {
    "otd": bowl,
    "steps": steps,
    "dies": dies,
    "raises": raises,
    "threads": threads,
    "exits": lambda *_: sys.exit(3),
    "not a number": lambda *_: {"mae": float("nan")},
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


def complete_in(folder, count, sleep):
    complete(make_runs(count, sleep=sleep), execute, ResultsFile(f"{folder}/results.jsonl"), jobs=2)
