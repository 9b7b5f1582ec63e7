"""The file of results: which lines count, what is kept, and what a kill leaves."""

import multiprocessing

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.tables.results import Result, ResultsFile
from tests.papers.tables.examples import make_runs

RUNS = make_runs(5)


@pytest.fixture
def results(tmp_path):
    return ResultsFile(tmp_path / "below" / "results.jsonl")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [0.1, float("nan")], np.float32("nan"), "low", None, {}])
def test_metrics_that_are_not_finite_numbers_are_refused(value):
    with pytest.raises(OrdinateError, match="'mae', expected finite numbers"):
        Result.done({"mae": value}, 1.0)


def test_a_failed_run_keeps_its_error(results):
    results.append(RUNS[0], Result.failed("Traceback: all of it\nValueError: no pair\n", 0.5))
    result = results.read(RUNS)[RUNS[0]]
    assert (result.state, result.error, result.seconds) == (
        "failed",
        "Traceback: all of it\nValueError: no pair\n",
        0.5,
    )
    assert result.summary == "ValueError: no pair"


def test_runs_without_a_result_wait_and_results_come_in_the_order_asked(results):
    assert results.read(RUNS) == dict.fromkeys(RUNS, Result())
    results.append(RUNS[0], Result.done({"mae": 1.0}, 1.0))
    known = results.read([RUNS[3], RUNS[0]])
    assert [(run, result.state) for run, result in known.items()] == [(RUNS[3], "waiting"), (RUNS[0], "done")]


def append_all(path, seeds):
    for seed in seeds:
        ResultsFile(path).append(make_runs(60)[seed], Result.done({"mae": seed, "long": [0.0] * 5000}, 1.0))


def test_processes_that_append_at_once_write_whole_lines(results):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=append_all, args=(results.path, range(part, 60, 3))) for part in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [result.metrics["mae"] for result in results.read(make_runs(60)).values()] == list(range(60))
    assert results.path.read_text().count("\n") == 60


@pytest.mark.parametrize("kept", [1, 20, -2, -1])
def test_a_torn_last_line_is_ignored_and_replaced(results, kept):
    results.append(RUNS[0], Result.done({"mae": 1.0}, 1.0))
    whole = results.path.read_bytes()
    results.append(RUNS[1], Result.done({"mae": 2.0}, 1.0))
    second = results.path.read_bytes()[len(whole) :]
    results.path.write_bytes(whole + second[:kept])
    assert [result.state for result in results.read(RUNS[:2]).values()] == ["done", "waiting"]
    results.append(RUNS[2], Result.done({"mae": 3.0}, 1.0))
    assert [result.state for result in results.read(RUNS[:3]).values()] == ["done", "waiting", "done"]
