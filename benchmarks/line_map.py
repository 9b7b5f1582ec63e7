"""Which tests execute which lines: the recording, and the plugin of pytest for it and for faults.py."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from multiprocessing import spawn
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
MEASURES, COPY, EVENTS = "FAULTS_MEASURES", "FAULTS_COPY", "FAULTS_EVENTS"  # what the plugin is told
COVERAGE = """[run]
branch = False
source = {source}
data_file = {data}
parallel = True
concurrency = thread, multiprocessing
context = ${{PYTEST_CURRENT_TEST-none}}
disable_warnings = no-data-collected, no-ctracer
"""
# "none|ID|run" in the process of pytest, "ID (call)" in those that a test starts
CONTEXT = re.compile(r"(?:none\|)?(?P<test>.+?)(?:\|| \()(?P<phase>setup|run|call|teardown)(?:\)(?:\|.*)?)?")
DURATION = re.compile(r"\s*([\d.]+)s (?:setup|call|teardown) +(.+)")
Lines = dict[str, dict[int, set[str]]]  # for each file and line the tests that execute it


def environment(root: Path, **others: str) -> dict[str, str]:
    """Return the environment in which pytest tests the code below ``root``."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return {"OMP_NUM_THREADS": "1", **known, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", **others}


def command_of_pytest(*arguments: str) -> list[str]:
    """Return the command that runs pytest with the plugin below."""
    plugins = ["-p", "no:cacheprovider", "-p", "benchmarks.line_map"]
    return [sys.executable, "-P", "-m", "pytest", "-q", *plugins, *arguments]


def record(folder: Path, arguments: list[str]) -> None:
    """Run the tests once and keep in ``folder`` the lines that each executes, the log, and the code."""
    folder = folder.resolve()
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    config, log = folder / "coverage.ini", folder / "tests.log"
    config.write_text(COVERAGE.format(source=ROOT / "src" / "ordinate", data=folder / "lines"))
    options = ["-rfE", "--durations=0", "--durations-min=0.05", "--cov", "--cov-context=test", "--cov-report="]
    command = command_of_pytest(*options, f"--cov-config={config}", *arguments)
    with log.open("w") as out:
        told = environment(ROOT, **{MEASURES: str(config)})
        code = subprocess.run(command, cwd=ROOT, env=told, stdout=out, stderr=out, check=False).returncode
    if code > 1:
        raise SystemExit(f"pytest did not run the tests, see {log}")
    print(log.read_text().rstrip().rpartition("\n")[2])


def read_lines(folder: Path, names: Iterable[str]) -> Lines:
    """Return which tests execute the lines of the files ``names``, by all coverage data below ``folder``.

    What is executed for a test's setup may be a fixture of its whole file: it counts for all tests of the file.
    """
    lines: Lines = {name: defaultdict(set) for name in names}
    every = list(_coverage_data(folder))
    tests: dict[str, set[str]] = defaultdict(set)
    for context in {context for data in every for context in data.measured_contexts()}:
        if match := CONTEXT.fullmatch(context):
            tests[_file(match["test"])].add(match["test"])

    @cache
    def tests_of(context: str) -> Collection[str]:
        match = CONTEXT.fullmatch(context)
        if match is None:
            return ()
        return tests[_file(match["test"])] if match["phase"] == "setup" else (match["test"],)

    for data in every:
        for measured in data.measured_files():
            name = "src/ordinate/" + Path(measured).as_posix().rpartition("/src/ordinate/")[2]
            for line, contexts in data.contexts_by_lineno(measured).items() if name in lines else ():
                lines[name][line].update(*map(tests_of, contexts))
    return lines


def _coverage_data(folder: Path) -> Iterator[CoverageData]:
    for file in filter(Path.is_file, folder.rglob("*")):
        with file.open("rb") as content:
            holds_data = content.read(15) == b"SQLite format 3"
        if holds_data:
            data = CoverageData(str(file))
            data.read()
            yield data


def read_durations(folder: Path) -> dict[str, float]:
    """Return the seconds of each test, as far as logs below ``folder`` name them."""
    durations: dict[str, float] = defaultdict(float)
    for log in folder.rglob("*.log"):
        for match in filter(None, map(DURATION.fullmatch, log.read_text(errors="replace").splitlines())):
            durations[match[2]] += float(match[1])
    return durations


def tests_at(name: str, text: str, line: int, lines: Lines, durations: dict[str, float]) -> tuple[list[str], bool]:
    """Return tests that may depend on a line, the likeliest first, and whether any executes it.

    Without one, and for lines that run when the module is imported, these are all that execute some line of the file.
    """
    executing = set[str]().union(*(lines[name].get(number, ()) for number in _statement(text, line)))
    path = PurePosixPath("tests", *PurePosixPath(name).parts[2:])
    mirrored = (name, str(path.with_name(f"test_{path.name}")), f"{path.parent.parent}/test_{path.parent.name}.py")
    tests = [test for test in executing or set().union(*lines[name].values()) if (ROOT / _file(test)).is_file()]
    tests.sort(key=lambda test: (_file(test) not in mirrored, durations.get(test, 0.0), test))
    return tests, bool(executing)


def _file(test: str) -> str:
    return test.partition("::")[0]


def _statement(text: str, line: int) -> range:
    """Lines of the statement at ``line`` without its body; all of the file, where it is not in a function."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    around = [node for node in nodes if node.lineno <= line <= (node.end_lineno or 0)]
    if not any(isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line for node in around):
        return range(1, text.count("\n") + 2)
    body = getattr(around[-1], "body", None)  # the innermost comes last
    return range(around[-1].lineno, body[0].lineno if body else (around[-1].end_lineno or 0) + 1)


# the plugin


def pytest_configure() -> None:
    """Have processes of multiprocessing know the test that starts them, those of a fork server too."""
    if MEASURES in os.environ:
        prepare = spawn.get_preparation_data
        spawn.get_preparation_data = lambda name: {"test": _CurrentTest(), **prepare(name)}


class _CurrentTest:
    def __reduce__(self) -> tuple[Any, ...]:
        return _name_test, (os.environ.get("PYTEST_CURRENT_TEST", "none"),)


def _name_test(test: str) -> None:
    os.environ["PYTEST_CURRENT_TEST"] = test


def pytest_sessionstart() -> None:
    """Stop where another code than the copy would be tested."""
    if COPY in os.environ:
        import ordinate

        if not Path(str(ordinate.__file__)).is_relative_to(os.environ[COPY]):
            pytest.exit(f"tests {ordinate.__file__}, not {os.environ[COPY]}", returncode=9)


def pytest_runtest_setup() -> None:
    """Measure the processes that tests start, and none that start before, such as pytest's own."""
    if MEASURES in os.environ:
        os.environ["COVERAGE_PROCESS_START"] = os.environ[MEASURES]


def pytest_runtest_logstart(nodeid: str) -> None:
    """Tell that a test starts."""
    _tell("start", nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell that a test failed."""
    if report.failed:
        _tell("failed", report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Tell that a file of tests cannot be imported."""
    if report.failed:
        _tell("failed", report.nodeid)


def _tell(event: str, nodeid: str) -> None:
    if EVENTS in os.environ:
        with Path(os.environ[EVENTS]).open("a") as file:
            file.write(json.dumps([event, nodeid]) + "\n")
