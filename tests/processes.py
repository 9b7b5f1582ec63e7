"""Real processes that a test can kill, forked from one that has imported everything, so that they start at once."""

import multiprocessing
import os
import signal
import sys

import torch

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["ordinate.commands.fit", "ordinate.commands.predict", "tests.estimators.examples"])


def start(target, *args):
    """Run ``target(*args)`` in a process of its own and return the process."""
    process = _context.Process(target=_run, args=(target, args), daemon=True)
    process.start()
    return process


def run(target, *args):
    """Run ``target(*args)`` in a process of its own and return its exit code."""
    process = start(target, *args)
    process.join()
    return process.exitcode


def kill_me():
    """End this process as ``kill -9`` and a power cut do."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_me_at_audit(event, accepts):
    """End this process as soon as Python is about to do ``event`` with arguments that ``accepts`` takes."""
    sys.addaudithook(lambda name, args: kill_me() if name == event and accepts(*args) else None)


def _run(target, args):
    torch.set_num_threads(1)
    target(*args)
