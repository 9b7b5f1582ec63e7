"""One trial of an attack: its outcome, and whether that is one of those that are allowed."""

import io
import logging
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ordinate.cli import main
from ordinate.commands.endings import UNUSABLE
from ordinate.errors import OrdinateError

Outcome = tuple[str, str]  # one of HELD or BROKEN, and what was said
HELD = ("read", "finite", "refused", "whole")
BROKEN = (
    "misread", "not finite", "ran code", "half-written", "left over", "traceback", "unnamed", "memory", "hang", "crash",
)  # fmt: skip
MEMORY = 3 * 2**30  # bytes that a trial may ask for


@dataclass(frozen=True)
class Trial:
    """What was tried, and what came of it."""

    number: int
    what: str
    outcome: str
    said: str

    @property
    def held(self) -> bool:
        return self.outcome in HELD


class Attack(Protocol):
    """One kind of attack; made once in every process that tries."""

    def draw(self, random: np.random.Generator) -> tuple[str, Callable[[], Outcome]]:
        """Return what is tried, and the trial."""


def refusal_of(error: Exception, *names: str) -> Outcome:
    """Return the outcome of an error: whether it is ours, in one line, and has one of the names."""
    causes = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__
    said = f"{type(error).__name__}: {error}"
    if any(isinstance(cause, MemoryError) for cause in causes) or "llocate" in said:
        return "memory", said
    if not isinstance(error, OrdinateError):
        return "traceback", said
    line = str(error)
    if "feature names should match" in line:  # in several lines, as scikit-learn's conformity suite asks for
        line = " ".join(line.split())
    if "\n" in line or not any(name in line for name in names):
        return "unnamed", line
    return "refused", line


def outcome_of_command(arguments: list[str], folder: Path) -> Outcome:
    """Run a command in this process and return its outcome: it ends with 0, or with 2 and one line."""
    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        code = main(arguments)
    lines = [line for line in said.getvalue().splitlines() if line.startswith("ordinate: ")]
    last = lines[-1] if lines else said.getvalue()
    if code == 0:
        return "read", ""
    if code != UNUSABLE or len(lines) != 1:
        return "traceback", f"exit code {code}: {last}"
    named = any(name in last for name in (str(folder), "target", "column"))
    return ("refused" if named else "unnamed"), last


def try_all(make: Callable[[], Attack], seed: int, numbers: range, limit: float) -> Iterator[Trial]:
    """Yield the trials of these numbers, which run in a process of its own, and in a new one after a hang or crash."""
    left = list(numbers)
    while left:
        mine, theirs = get_context("fork").Pipe()
        process = get_context("fork").Process(target=_serve, args=(make, seed, left, theirs))
        process.start()
        theirs.close()
        for trial in _received(mine, process, left[:], limit):
            left.remove(trial.number)
            yield trial
        process.join()


def _received(pipe: Connection, process: Any, numbers: list[int], limit: float) -> Iterator[Trial]:
    ready = pipe.recv()
    assert ready == "ready", ready
    for number in numbers:
        what = "?"
        try:
            what = pipe.recv()
            if not pipe.poll(limit):
                os.kill(process.pid, signal.SIGKILL)
                yield Trial(number, what, "hang", f"more than {limit:g} s")
                return
            yield Trial(number, what, *pipe.recv())
        except EOFError:
            process.join()
            yield Trial(number, what, "crash", f"the process ended with {process.exitcode}")
            return


def _serve(make: Callable[[], Attack], seed: int, numbers: list[int], pipe: Connection) -> None:
    logging.disable()
    attack = make()
    held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY, held + MEMORY))
    pipe.send("ready")
    for number in numbers:
        what, trial = attack.draw(np.random.default_rng([seed, number]))
        pipe.send(what)
        try:
            outcome = trial()
        except MemoryError as error:
            outcome = "memory", str(error)
        except Exception as error:
            outcome = "traceback", f"{type(error).__name__}: {error}"
        pipe.send(outcome)
