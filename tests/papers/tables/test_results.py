"""The results database: who takes which run, what is kept, and what a death leaves."""

import os
import sqlite3
import subprocess
import time
from contextlib import closing

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.tables import results
from ordinate_papers.tables.results import ResultsDatabase, name_processes
from ordinate_papers.tables.run import Run
from tests import processes
from tests.papers.tables.examples import make_runs

RUNS = make_runs(5)


@pytest.fixture
def database(tmp_path):
    with ResultsDatabase(tmp_path / "results.db") as database:
        yield database


def states(database, runs=RUNS):
    return [result.state for result in database.results(runs).values()]


# claiming


def test_runs_are_claimed_once_each_in_the_order_they_were_added(database):
    database.add(RUNS)
    assert [database.claim("me") for _ in range(6)] == [*RUNS, None]
    assert states(database) == ["running"] * 5


def test_a_run_added_again_stays_as_it_is(database):
    database.add([*RUNS, RUNS[0]])
    database.finish(database.claim("me"), {"mae": 1.0}, 1.0)
    database.claim("me")
    database.add(RUNS)
    assert states(database) == ["done", "running", "waiting", "waiting", "waiting"]


def test_only_the_runs_asked_for_are_claimed(database):
    database.add(RUNS)
    assert [database.claim("me", RUNS[3:]) for _ in range(3)] == [RUNS[3], RUNS[4], None]


def test_what_is_expected_to_take_longest_comes_first_and_before_it_what_nothing_is_known_of(database):
    short, long, unknown = (make_runs(3, model) for model in ("short", "long", "unknown"))
    database.add([*short, *long, *unknown[:2]])
    database.finish(short[0], {}, 1.0)
    database.finish(long[0], {}, 60.0)
    order = [database.claim("me") for _ in range(6)]
    assert order == [*unknown[:2], *long[1:], *short[1:]]


def claim_all(path, output):
    with ResultsDatabase(path) as database:
        database.add(make_runs(80))  # all of them at once: the file is made, and filled, by whoever is first
        claimed = []
        while run := database.claim("worker"):
            claimed.append(run.key)
        output.write_text("\n".join(claimed))


def test_four_processes_never_take_the_same_run(tmp_path):
    workers = [processes.start(claim_all, tmp_path / "results.db", tmp_path / f"{rank}.txt") for rank in range(4)]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    taken = [(tmp_path / f"{rank}.txt").read_text().split() for rank in range(4)]
    assert sorted(key for keys in taken for key in keys) == sorted(run.key for run in make_runs(80))


# ends


def test_a_finished_run_keeps_its_metrics_and_is_never_run_again(database):
    database.add(RUNS[:1])
    run = database.claim("me")
    database.finish(run, {"mae": 1, "per_rank": np.array([0.5, 2.0]), "curve": [[1, 2], [None, 4]]}, 2.5, "far")
    database.fail(run, "too late", 3.0)
    database.finish(run, {"mae": 7.0}, 3.0)
    database.release("me")
    database.retry_failed()
    database.add(RUNS[:1])
    assert database.claim("me") is None
    result = database.results([run])[run]
    assert result.state == "done"
    assert result.metrics == {"mae": 1.0, "per_rank": [0.5, 2.0], "curve": [[1.0, 2.0], [None, 4.0]]}
    assert (result.seconds, result.error, result.host) == (2.5, None, "far")
    assert result.finished_at.endswith("+00:00")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [0.1, float("nan")], np.float32("nan"), "low", None, {}])
def test_metrics_that_are_not_finite_numbers_are_a_failure(database, value):
    database.add(RUNS[:1])
    database.finish(RUNS[0], {"mae": value}, 1.0)
    result = database.results(RUNS[:1])[RUNS[0]]
    assert (result.state, result.metrics) == ("failed", {})
    assert "'mae', expected finite numbers" in result.error


def test_a_failed_run_keeps_its_error_and_waits_again_when_asked(database):
    database.add(RUNS[:2])
    database.fail(database.claim("me"), "Traceback: all of it", 0.5)
    assert database.claim("me") == RUNS[1]
    result = database.results(RUNS)[RUNS[0]]
    assert (result.state, result.error, result.seconds) == ("failed", "Traceback: all of it", 0.5)
    database.retry_failed(RUNS[1:])
    assert database.claim("me") is None
    database.retry_failed()
    assert database.claim("me") == RUNS[0]
    assert database.results(RUNS)[RUNS[0]].error is None


def test_runs_that_were_never_added_wait_and_results_come_in_the_order_asked(database):
    database.add(RUNS[:1])
    database.finish(RUNS[0], {"mae": 1.0}, 1.0)
    asked = [RUNS[3], RUNS[0]]
    assert list(database.results(asked)) == asked
    assert states(database, asked) == ["waiting", "done"]


def test_a_run_whose_worker_dies_is_taken_up_three_times(database):
    database.add(RUNS[:1])
    for _ in range(4):
        assert database.claim("me") == RUNS[0]
        database.lose(RUNS[0], "another worker", "by SIGSEGV")  # whose run it no longer is
        assert states(database, RUNS[:1]) == ["running"]
        database.lose(RUNS[0], "me", "by SIGKILL")
    assert database.claim("me") is None
    result = database.results(RUNS)[RUNS[0]]
    assert (result.state, result.error) == ("failed", "its worker died 4 times, the last time by SIGKILL")
    database.retry_failed()
    assert database.claim("me") == RUNS[0]


# workers that are no more


def claim_and_wait(path, ready):
    with ResultsDatabase(path) as database:
        database.claim(name_processes(os.getpid()))
        ready.touch()
        time.sleep(60)


@pytest.fixture
def worker_with_a_run(database, tmp_path):
    database.add(RUNS[:1])
    worker = processes.start(claim_and_wait, database.path, tmp_path / "ready")
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    yield worker
    worker.kill()
    worker.join()


def test_the_run_of_a_process_that_lives_stays_with_it(database, worker_with_a_run, monkeypatch):
    monkeypatch.setattr(results, "SILENCE", 0.0)  # it sends no heartbeats, and needs none
    database.release_dead()
    assert states(database, RUNS[:1]) == ["running"]


def test_the_run_of_a_process_that_died_is_free_again(database, worker_with_a_run):
    worker_with_a_run.kill()
    worker_with_a_run.join()
    database.release_dead()
    assert states(database, RUNS[:1]) == ["waiting"]


def test_a_process_that_its_parent_has_not_collected_is_dead(database):
    process = subprocess.Popen(["sleep", "60"])
    database.add(RUNS[:1])
    database.claim(name_processes(process.pid))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    database.release_dead()
    assert states(database, RUNS[:1]) == ["waiting"]
    process.wait()


def test_a_process_with_the_number_of_a_dead_one_is_not_taken_for_it(database):
    database.add(RUNS[:2])
    own = name_processes(os.getpid())
    database.claim(own)
    database.claim(own[:-1] + str((int(own[-1]) + 1) % 10))  # started at another time
    database.release_dead()
    assert states(database, RUNS[:2]) == ["running", "waiting"]


def test_a_run_stays_while_one_of_the_processes_it_belongs_to_lives(database):
    dead = processes.start(time.sleep, 60)
    name = name_processes(os.getpid(), dead.pid)
    dead.kill()
    dead.join()
    database.add(RUNS[:1])
    database.claim(name)
    database.release_dead()
    assert states(database, RUNS[:1]) == ["running"]


def test_a_worker_elsewhere_lives_as_long_as_it_sends_heartbeats(database, monkeypatch):
    database.add(RUNS[:2])
    database.claim("elsewhere 1:1")
    database.claim("silent 1:1")
    later = time.time() + 2 * results.SILENCE
    monkeypatch.setattr(time, "time", lambda: later)
    database.beat(["elsewhere 1:1"])
    database.release_dead()
    assert states(database, RUNS[:2]) == ["running", "waiting"]


# progress


def test_progress_counts_runs_and_adds_up_the_median_seconds_of_like_ones(database):
    other = make_runs(2, "other")
    database.add([*RUNS, *other])
    assert database.progress(RUNS) == results.Progress(5, 0, 0, 0, None)
    for run, seconds in zip(RUNS, [10.0, 20.0, 90.0], strict=False):
        database.finish(run, {}, seconds)
    database.fail(other[0], "no")
    assert database.progress([*RUNS, *other]) == results.Progress(3, 0, 3, 1, 60.0)  # nothing is known of other: 20
    database.claim("me", RUNS)
    left = database.progress(RUNS)
    assert (left.waiting, left.running) == (1, 1)
    assert left.seconds_left == pytest.approx(40.0, abs=0.5)


# files that are no database of results


def test_a_database_of_another_format_is_refused(tmp_path):
    path = tmp_path / "results.db"
    ResultsDatabase(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(OrdinateError, match=r"^database: .*results\.db of format 2, expected 1"):
        ResultsDatabase(path)


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE runs (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(OrdinateError, match=r"^database: got .*other\.db of another program"):
        ResultsDatabase(path)
    assert path.read_bytes() == before


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "text").write_text("mae,rmse\n1,2\n" * 100)
    for path in (tmp_path / "text", tmp_path, tmp_path / "text" / "results.db"):
        with pytest.raises(OrdinateError, match=r"^database: .* cannot be used"):
            ResultsDatabase(path)


def test_one_that_is_damaged_is_named_when_it_is_used(database):
    runs = [Run("airfoil", "supcr", seed=number) for number in range(60)]
    database.add(runs)
    database.close()
    content = bytearray(database.path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    database.path.write_bytes(content)
    with ResultsDatabase(database.path) as damaged:
        for use in (lambda: damaged.results(runs), lambda: damaged.claim("me"), lambda: damaged.progress(runs)):
            with pytest.raises(OrdinateError, match=r"^database: .* cannot be used"):
                use()


def test_a_run_of_unusual_names_comes_back_as_it_was(database):
    run = Run("Größe, 'quoted'", "a\nb", settings={"ü": "\u2028", "q": '"'})
    database.add([run])
    assert database.claim("me") == run
