"""Runs are executed by worker processes once each, whatever is killed, and whenever."""

import io
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.tables.results import ResultsDatabase, _started
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.workers import complete
from tests.papers.tables import examples
from tests.papers.tables.examples import execute, make_runs, read_log


@pytest.fixture
def database(tmp_path):
    with ResultsDatabase(tmp_path / "results.db") as database:
        yield database


def complete_here(runs, database, **options):
    """With the log in the folder of the database."""
    return complete(runs, execute, database, database.path.parent / "state", **{"jobs": 2, "progress": False} | options)


@contextmanager
def completing(folder, count, sleep):
    """A process, leader of a group of its own, that completes runs in two workers; killed at the end if it lives."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.papers.tables.examples", str(folder), str(count), str(sleep)],
        start_new_session=True, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):  # all of the group have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def counted(results):
    return Counter(result.state for result in results.values())


# what is executed


def test_every_run_is_executed_once_and_those_that_are_done_not_again(database, tmp_path):
    runs = make_runs(8)
    first = complete_here(runs[:5], database)
    results = complete_here([*runs, runs[0]], database)
    assert [result.metrics for result in results.values()] == [{"mae": i / 3, "steps": [i, 3]} for i in range(8)]
    assert {run: results[run] for run in runs[:5]} == first
    assert Counter(key for key, _ in read_log(tmp_path, "start")) == {run.key: 1 for run in runs}
    assert list((tmp_path / "state").iterdir()) == []


def test_runs_that_were_not_asked_for_wait(database, tmp_path):
    others = make_runs(3, "raises")
    database.add(others)
    complete_here(make_runs(2), database)
    assert counted(database.results(others)) == {"waiting": 3}


def test_workers_are_kept_for_the_runs_that_follow(database):
    pids = [result.metrics["pid"] for result in complete_here(make_runs(12, "process"), database).values()]
    assert os.getpid() not in pids
    assert len(set(pids)) <= 2


LOCKED = """
import sys
from tests.papers.tables.examples import execute, make_runs
from ordinate_papers.tables.results import ResultsDatabase
from ordinate_papers.tables.workers import complete

if __name__ == "__main__":
    with ResultsDatabase(f"{sys.argv[1]}/results.db") as database:
        complete(make_runs(2, "locks"), execute, database, f"{sys.argv[1]}/state", jobs=1, progress=False)
"""


def test_workers_leave_no_semaphores_behind(tmp_path):
    """Python's resource tracker would warn of them on the screen."""
    (tmp_path / "locked.py").write_text(LOCKED)
    command = [sys.executable, str(tmp_path / "locked.py"), str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    assert done.stderr == ""


def test_a_worker_has_the_threads_it_is_given_not_those_of_this_process(database, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    (result,) = complete_here(make_runs(1, "threads"), database, threads=1).values()
    assert result.metrics == {"torch": 1}
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_what_executes_can_be_named(database, tmp_path):
    results = complete(
        make_runs(1), "tests.papers.tables.examples:execute", database, tmp_path / "state", progress=False
    )
    assert counted(results) == {"done": 1}


@pytest.mark.parametrize(
    "wrong", ["tests.papers.tables", "tests.tables:execute", "os:path", "no.such:one", ":", lambda *_: 0]
)
def test_what_no_other_process_can_import_is_refused(wrong, database, tmp_path):
    with pytest.raises(OrdinateError, match=r"^execute: got .*expected 'package\.module:function'"):
        complete(make_runs(1), wrong, database, tmp_path)


@pytest.mark.parametrize("name", ["jobs", "threads"])
@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_numbers_of_workers_and_threads_are_checked(name, value, database):
    with pytest.raises(OrdinateError, match=f"^{name}: got {value}, expected a whole number of at least 1"):
        complete_here(make_runs(1), database, **{name: value})


# what fails


def test_a_failing_run_keeps_its_traceback_and_does_not_stop_the_others(database):
    failing = [*make_runs(3, "raises"), *make_runs(1, "exits"), *make_runs(1, "not a number")]
    results = complete_here([*failing, *make_runs(5)], database)
    assert counted(results) == {"failed": 5, "done": 5}
    errors = [results[run].error for run in failing]
    for seed in range(3):
        assert errors[seed].startswith("Traceback (most recent call last):")
        assert "in raises" in errors[seed]
        assert errors[seed].endswith(f"RuntimeError: seed {seed} is not to be had\n")
    assert "SystemExit: 3" in errors[3]
    assert "metrics: got nan as 'mae'" in errors[4]


def test_a_run_whose_worker_is_killed_goes_on_in_its_state_folder_three_times(database, tmp_path):
    lives, dies = make_runs(1, "dies", times=3) + make_runs(1, "dies", times=4)
    results = complete_here([lives, dies, *make_runs(4)], database)
    assert results[lives].metrics == {"deaths": 3}
    assert (results[dies].state, results[dies].error) == (
        "failed", "its worker died 4 times, the last time by SIGKILL"
    )  # fmt: skip
    assert counted(results) == {"done": 5, "failed": 1}
    assert Counter(key for key, _ in read_log(tmp_path, "start"))[lives.key] == 4
    assert [folder.name for folder in (tmp_path / "state").iterdir()] == [dies.key]  # kept to try again


# what is killed and interrupted


@pytest.mark.thorough
def test_twenty_kills_at_random_moments_end_with_the_results_of_a_call_without(database, tmp_path):
    draw, runs, sleep = random.Random(0), make_runs(60, sleep=0.02), 0.02
    kept = []
    for kill in range(20):
        lines = len(read_log(tmp_path, "start"))
        with completing(tmp_path, 60, sleep) as process:
            if kill % 5:  # else maybe before any worker is there
                started = lines + draw.randrange(1, 7)
                wait_until(lambda started=started: len(read_log(tmp_path, "start")) >= started or process.poll() == 0)
            time.sleep(draw.uniform(0, 0.1))
        done = {run: result for run, result in database.results(runs).items() if result.state == "done"}
        kept.append((done, len(read_log(tmp_path, "start"))))
    assert 10 < len(kept[10][0]) < len(kept[-1][0])  # they struck runs
    results = complete_here(runs, database)
    (tmp_path / "quiet").mkdir()
    with ResultsDatabase(tmp_path / "quiet" / "results.db") as quiet:
        undisturbed = complete_here(runs, quiet)
    assert [result.metrics for result in results.values()] == [result.metrics for result in undisturbed.values()]
    assert counted(results) == {"done": 60}
    starts = [key for key, _ in read_log(tmp_path, "start")]
    assert len(starts) > 60
    for done, lines in kept:
        assert {run: results[run] for run in done} == done
        assert not {run.key for run in done} & set(starts[lines:])
    assert list((tmp_path / "state").iterdir()) == []


def test_two_calls_at_once_share_the_runs(database, tmp_path):
    with completing(tmp_path, 30, 0.01) as one, completing(tmp_path, 30, 0.01) as other:
        assert (one.wait(60), other.wait(60)) == (0, 0)
    assert counted(database.results(make_runs(30, sleep=0.01))) == {"done": 30}
    assert Counter(Counter(key for key, _ in read_log(tmp_path, "start")).values()) == {1: 30}


def test_workers_end_when_the_process_that_started_them_is_killed_and_their_runs_are_free(database, tmp_path):
    with completing(tmp_path, 4, 60) as process:
        wait_until(lambda: len(read_log(tmp_path, "start")) == 2)
        database.release_dead()
        assert database.progress(make_runs(4, sleep=60.0)).running == 2
        process.kill()
        workers = [pid for _, pid in read_log(tmp_path, "start")]
        wait_until(lambda: not any(map(_started, workers)), 10)
        process.wait()
        database.release_dead()
        assert database.progress(make_runs(4, sleep=60.0)).waiting == 4


def test_ctrl_c_ends_the_workers_at_once_and_their_runs_wait(database, tmp_path):
    with completing(tmp_path, 4, 60) as process:
        wait_until(lambda: len(read_log(tmp_path, "start")) == 2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(10) == -signal.SIGINT
        assert [_started(pid) for _, pid in read_log(tmp_path, "start")] == ["", ""]
        assert database.progress(make_runs(4, sleep=60.0)).waiting == 4
        assert process.stderr.read().count("Traceback") == 1  # the workers are silent


# progress


def test_progress_is_a_line_a_finished_run(database, capsys):
    complete_here([*make_runs(2), *make_runs(1, "raises"), *make_runs(1, "dies", times=1)], database, progress=True)
    lines = sorted(line.partition("; ")[2] for line in capsys.readouterr().err.splitlines())
    assert [re.sub(r"\d\.\d s", "T s", line) for line in lines] == [
        "dies on none, times=1, seed 0: T s",
        "dies on none, times=1, seed 0: its worker died by SIGKILL",
        "raises on none, seed 0: RuntimeError: seed 0 is not to be had",
        "steps on none, seed 0: T s",
        "steps on none, seed 1: T s",
    ]


def test_progress_says_how_many_are_finished_and_when_all_will_be(database, capsys):
    complete_here(make_runs(3, sleep=0.2), database, jobs=1, progress=True)
    heads = [line.partition(";")[0] for line in capsys.readouterr().err.splitlines()]
    assert [re.sub(r"ends \w{3} \d\d:\d\d$", "ends T", head) for head in heads] == [
        "1/3 runs, 0 failed, ends T",
        "2/3 runs, 0 failed, ends T",
        "3/3 runs, 0 failed",
    ]


def test_progress_on_a_terminal_is_one_line_that_is_renewed(database, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    complete_here([*make_runs(2), *make_runs(1, "raises")], database, progress=True)
    shown = terminal.getvalue()
    assert shown.count("\n") == 1
    assert shown.rstrip().rpartition("\r")[2].startswith("3/3 runs |")
    assert "1 failed" in shown.rpartition("\r")[2]


def test_a_call_whose_runs_are_done_says_nothing_and_starts_nothing(database, capsys):
    run = Run("none", "steps")
    database.add([run])
    database.finish(run, {"mae": 1.0}, 1.0)
    assert complete_here([run], database, progress=True)[run].metrics == {"mae": 1.0}
    assert capsys.readouterr().err == ""


def test_the_state_folder_of_a_run_that_was_killed_just_after_its_end_is_cleared(database, tmp_path):
    (run,) = make_runs(1)
    (tmp_path / "state" / run.key).mkdir(parents=True)
    database.add([run])
    database.finish(run, {"mae": 1.0}, 1.0)
    complete_here([run], database)
    assert list((tmp_path / "state").iterdir()) == []


def test_a_state_folder_is_handed_back_as_it_was_left(database, tmp_path):
    (run,) = make_runs(1, sleep=0.001)
    (tmp_path / "state" / run.key).mkdir(parents=True)
    (tmp_path / "state" / run.key / "steps").write_text("+" * 7)
    assert complete_here([run], database)[run].metrics["steps"] == [0, 7]
    assert examples.STEPS < 7
