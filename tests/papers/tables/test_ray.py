"""The same over a Ray cluster, here of one machine."""

import sys
from collections import Counter

import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.tables.results import ResultsDatabase
from ordinate_papers.tables.workers import complete
from tests.papers.tables.examples import execute, make_runs, read_log


@pytest.fixture
def database(tmp_path):
    with ResultsDatabase(tmp_path / "results.db") as database:
        yield database


def complete_on(address, runs, database, **options):
    return complete(runs, execute, database, database.path.parent / "state", ray=address, progress=False, **options)


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ordinate[cluster]'")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_runs_are_executed_once_each_and_errors_and_deaths_stay_with_their_run(cluster, database, tmp_path):
    steps, failing = make_runs(8), make_runs(2, "raises")
    lives, dies = make_runs(1, "dies", times=1) + make_runs(1, "dies", times=9)
    results = complete_on("auto", [*steps, *failing, lives, dies], database)
    assert [results[run].metrics for run in steps] == [{"mae": i / 3, "steps": [i, 3]} for i in range(8)]
    starts = Counter(key for key, _ in read_log(tmp_path, "start"))
    assert {starts[run.key] for run in [*steps, *failing]} == {1}
    for run in failing:
        assert results[run].error.endswith(f"RuntimeError: seed {run.seed} is not to be had\n")
    assert (results[lives].metrics, starts[lives.key]) == ({"deaths": 1}, 2)
    assert (results[dies].state, starts[dies.key]) == ("failed", 4)
    assert results[dies].error.startswith("its worker died 4 times, the last time as Ray says: ")
    again = complete_on("auto", steps, database)
    assert again == {run: results[run] for run in steps}
    assert cluster.is_initialized()  # it is not ours to end


@pytest.mark.thorough
def test_threads_are_the_cpus_and_threads_of_a_run(cluster, database):
    (result,) = complete_on("auto", make_runs(1, "threads"), database, threads=2).values()
    assert result.metrics == {"torch": 2}


@pytest.mark.parametrize("options", [{"gpus": 1.0}, {"threads": 3}])
def test_a_run_that_the_cluster_has_no_room_for_is_an_error(cluster, database, options):
    with pytest.raises(OrdinateError, match=r"^ray: got a cluster with .*, expected . CPUs and .* GPUs"):
        complete_on("auto", make_runs(1), database, **options)


@pytest.mark.thorough
def test_a_cluster_can_be_started_for_one_call(database):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ordinate[cluster]'")
    ray.shutdown()
    results = complete_on("local", make_runs(3), database, jobs=2)
    assert Counter(result.state for result in results.values()) == {"done": 3}
    assert not ray.is_initialized()


def test_without_ray_the_error_says_what_to_install(database, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OrdinateError, match=r'^ray: .*pip install "ordinate\[cluster\]"'):
        complete_on("local", make_runs(1), database)
