"""A fault of faults.toml, and its trial in a copy of the checkout."""

import ast
import json
import os
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from line_map import COPY, EVENTS, ROOT, command_of_pytest, environment

CHUNK = 300  # tests of a run of pytest


@dataclass(frozen=True)
class Fault:
    """A change of one line."""

    id: str
    area: str
    find: str
    replace: str
    why: str

    def place(self, root: Path = ROOT) -> tuple[str, str, int]:
        """Return the module below ``root`` that holds the line, what is in it, and the line's number."""
        found = [(name, text) for name, text in _sources(root).items() if self.find in text]
        if len(found) != 1 or found[0][1].count(self.find) != 1:
            raise SystemExit(f"{self.id}: {self.find!r} occurs in {[name for name, _ in found]}, expected it once")
        name, text = found[0]
        return name, text, text[: text.index(self.find)].count("\n") + 1


@cache
def _sources(root: Path) -> dict[str, str]:
    files = sorted((root / "src" / "ordinate").rglob("*.py"))
    return {file.relative_to(root).as_posix(): file.read_text("utf-8") for file in files}


def read_faults() -> list[Fault]:
    """Return the faults of faults.toml, each known to change one line of code into another that compiles."""
    faults = [Fault(**fault) for fault in tomllib.loads((ROOT / "benchmarks" / "faults.toml").read_text())["fault"]]
    for fault in faults:
        text = fault.place()[1]
        same = ast.dump(ast.parse(text)) == ast.dump(ast.parse(text.replace(fault.find, fault.replace)))
        if same or "\n" in fault.find + fault.replace or [other.id for other in faults].count(fault.id) > 1:
            raise SystemExit(f"{fault.id}: expected an id of its own and a change of one line of code")
    return faults


def _of_one_file(test: str, failed: str) -> bool:
    """Whether one of them is the file of the other."""
    return test.startswith(failed) or failed.startswith(f"{test}::")


@dataclass
class Copy:
    """A copy of the checkout in which the tests are run."""

    root: Path
    known: dict[str, bool] = field(default_factory=dict)  # of tests that failed, whether they pass without a fault

    @property
    def events(self) -> Path:
        """Where the plugin of pytest tells what happens."""
        return self.root.with_suffix(".events")

    def heard(self, event: str) -> list[str]:
        """Return the tests of the last run that this happened to."""
        told = [json.loads(line) for line in self.events.read_text().splitlines()]
        return [test for what, test in told if what == event]

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Hold the fault for a while."""
        name, text, _ = fault.place()
        (self.root / name).write_text(text.replace(fault.find, fault.replace), "utf-8")
        try:
            yield
        finally:
            shutil.copy2(ROOT / name, self.root / name)

    def first_failure(self, tests: list[str], seconds: float) -> tuple[str | None, list[str]]:
        """Return the first test that fails, and those that were started; raise TimeoutExpired."""
        if not tests:
            return None, []
        arguments, log = self.root.with_suffix(".args"), self.root.with_suffix(".log")
        arguments.write_text("\n".join(tests))
        self.events.write_text("")
        told = environment(self.root, **{COPY: str(self.root), EVENTS: str(self.events)})
        with log.open("w") as out:
            process = subprocess.Popen(
                command_of_pytest("-x", f"@{arguments}"), cwd=self.root, env=told, stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # and the processes of its tests
                raise
        started, failed = self.heard("start"), self.heard("failed")
        gone = [line.rpartition(f"{self.root}/")[2] for line in log.read_text().splitlines() if "not found: " in line]
        if code == 4 and set(gone) & set(tests):  # tests of other code than that which is here
            return self.first_failure([test for test in tests if test not in gone], seconds)
        if code not in (0, 5) and not failed:
            if not started:
                raise RuntimeError(f"no test could be run: {log.read_text()[-2000:]}")
            failed = started[-1:]  # it ended the process
        return failed[0] if failed else None, started

    def passes(self, test: str, seconds: float) -> bool:
        """Whether a test passes, now that no fault is planted."""
        if test not in self.known:
            try:
                self.known[test] = self.first_failure([test], seconds)[0] is None
            except subprocess.TimeoutExpired:
                self.known[test] = False
        return self.known[test]

    def outcome(self, fault: Fault, tests: list[str], executes: bool, limit: float) -> dict[str, Any]:
        """Run the tests with the fault, and say how it ended."""
        count, start, left = 0, time.monotonic(), tests

        def ended(how: str, test: str | None = None) -> dict[str, Any]:
            seconds = round(time.monotonic() - start)
            of = {"id": fault.id, "area": fault.area, "file": fault.place()[0], "outcome": how, "test": test}
            return {**of, "run": count, "selected": len(tests), "seconds": seconds, "executed": executes}

        while left:
            try:
                with self.planted(fault):
                    failed, started = self.first_failure(left[:CHUNK], limit - (time.monotonic() - start))
            except subprocess.TimeoutExpired:
                count += len(self.heard("start"))
                return ended("time limit", next(reversed(self.heard("start")), None))
            count += len(started)
            if failed is None:
                left = left[CHUNK:]
                continue
            test = failed if failed in left else next(test for test in left if _of_one_file(test, failed))
            found = ended("caught", failed)
            if self.passes(failed, limit):
                return found
            left = [other for other in left if other not in (*started, test)]
        return ended("survived" if executes else "no test executes it")
