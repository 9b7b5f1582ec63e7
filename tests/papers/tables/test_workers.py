"""Every run is executed once and its result kept, whatever is killed, and whenever."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch

from ordinate_papers.tables.results import ResultsFile
from ordinate_papers.tables.workers import complete
from tests.papers.tables import examples
from tests.papers.tables.examples import execute, make_runs, read_log


@pytest.fixture
def results(tmp_path):
    return ResultsFile(tmp_path / "results.jsonl")


def complete_here(runs, results, **options):
    return complete(runs, execute, results, **{"jobs": 2, "progress": False} | options)


@contextmanager
def completing(folder, count, sleep):
    """A process, leader of a group of its own, that completes runs in two workers; killed at the end if it lives."""
    script = f"from {examples.__name__} import complete_in; complete_in({str(folder)!r}, {count}, {sleep})"
    process = subprocess.Popen(
        [sys.executable, "-c", script], start_new_session=True, stderr=subprocess.PIPE, text=True
    )
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


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def counted(results):
    return Counter(result.state for result in results.values())


def starts(folder):
    return Counter(key for key, _ in read_log(folder, "start"))


# what is executed


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_run_is_executed_once_and_those_that_are_done_not_again(results, tmp_path, jobs):
    runs = make_runs(8)
    first = complete_here(runs[:5], results, jobs=jobs)
    found = complete_here([*runs, runs[0]], results, jobs=jobs)
    assert [result.metrics for result in found.values()] == [{"mae": i / 3, "steps": [i, 3]} for i in range(8)]
    assert {run: found[run] for run in runs[:5]} == first
    assert starts(tmp_path) == {run.key: 1 for run in runs}
    assert list((tmp_path / "results.jsonl-state").iterdir()) == []


def test_a_run_has_one_thread(results):
    (run,) = make_runs(1, "threads")
    torch.set_num_threads(2)
    assert torch.get_num_threads() == 2  # PyTorch applies the number on first use.
    try:
        assert complete_here([run], results, jobs=1)[run].metrics == {"torch": 1}
    finally:
        torch.set_num_threads(1)


# what fails


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_run_keeps_its_traceback_and_does_not_stop_the_others(results, jobs):
    failing = [*make_runs(3, "raises"), *make_runs(1, "exits"), *make_runs(1, "not a number")]
    found = complete_here([*failing, *make_runs(5)], results, jobs=jobs)
    assert counted(found) == {"failed": 5, "done": 5}
    errors = [found[run].error for run in failing]
    for seed in range(3):
        assert errors[seed].startswith("Traceback (most recent call last):")
        assert "in raises" in errors[seed]
        assert errors[seed].endswith(f"RuntimeError: seed {seed} is not to be had\n")
    assert "SystemExit: 3" in errors[3]
    assert "metrics: got nan as 'mae'" in errors[4]


def test_failed_runs_are_executed_again_only_when_asked(results, tmp_path):
    runs = [*make_runs(1, "raises"), *make_runs(1)]
    complete_here(runs, results)
    assert counted(complete_here(runs, results)) == {"failed": 1, "done": 1}
    assert starts(tmp_path) == {run.key: 1 for run in runs}
    complete_here(runs, results, retry_failed=True)
    assert starts(tmp_path) == {runs[0].key: 2, runs[1].key: 1}


def test_a_run_whose_worker_is_killed_goes_on_in_its_state_folder(results, tmp_path):
    lives, dies = make_runs(1, "dies", times=1) + make_runs(1, "dies", times=9)
    found = complete_here([lives, dies, *make_runs(4)], results)
    assert found[lives].metrics == {"deaths": 1}
    assert found[dies].state == "failed"
    assert found[dies].summary.startswith("its worker process died: ")
    assert counted(found) == {"done": 5, "failed": 1}
    assert results.state_folder(dies).is_dir()  # It is there for another try.
    assert not results.state_folder(lives).exists()


# what is killed and interrupted


@pytest.mark.thorough
def test_ten_kills_at_random_moments_end_with_the_results_of_a_call_without(results, tmp_path):
    draw, runs, sleep = random.Random(0), make_runs(60, sleep=0.02), 0.02
    kept = []
    for kill in range(10):
        lines = len(read_log(tmp_path, "start"))
        with completing(tmp_path, 60, sleep) as process:
            if kill % 5:  # else maybe before any worker is there
                started = lines + draw.randrange(1, 7)
                wait_until(lambda started=started: len(read_log(tmp_path, "start")) >= started or process.poll() == 0)
            time.sleep(draw.uniform(0, 0.1))
        done = {run: result for run, result in results.read(runs).items() if result.state == "done"}
        kept.append((done, len(read_log(tmp_path, "start"))))
    assert 3 < len(kept[5][0]) < len(kept[-1][0])  # they struck runs
    found = complete_here(runs, results)
    (tmp_path / "quiet").mkdir()
    undisturbed = complete_here(runs, ResultsFile(tmp_path / "quiet" / "results.jsonl"))
    assert [result.metrics for result in found.values()] == [result.metrics for result in undisturbed.values()]
    assert counted(found) == {"done": 60}
    started = [key for key, _ in read_log(tmp_path, "start")]
    assert len(started) > 60
    for done, lines in kept:
        assert {run: found[run] for run in done} == done
        assert not {run.key for run in done} & set(started[lines:])
    assert list((tmp_path / "results.jsonl-state").iterdir()) == []


def test_two_calls_at_once_execute_every_run_once(results, tmp_path):
    with completing(tmp_path, 12, 0.05) as one, completing(tmp_path, 12, 0.05) as other:
        assert (one.wait(60), other.wait(60)) == (0, 0)
    assert counted(results.read(make_runs(12, sleep=0.05))) == {"done": 12}
    assert set(starts(tmp_path).values()) == {1}


def test_workers_end_when_the_process_that_started_them_is_killed(results, tmp_path):
    with completing(tmp_path, 4, 60) as process:
        wait_until(lambda: len(read_log(tmp_path, "start")) == 2)
        workers = [pid for _, pid in read_log(tmp_path, "start")]
        assert all(map(is_alive, workers))
        process.kill()
        wait_until(lambda: not any(map(is_alive, workers)), 10)


def test_ctrl_c_ends_the_workers_at_once(results, tmp_path):
    with completing(tmp_path, 4, 60) as process:
        wait_until(lambda: len(read_log(tmp_path, "start")) == 2)
        workers = [pid for _, pid in read_log(tmp_path, "start")]
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(10) == -signal.SIGINT
        wait_until(lambda: not any(map(is_alive, workers)), 5)
    assert counted(results.read(make_runs(4, sleep=60.0))) == {"waiting": 4}


# progress and state folders
