"""The same over a Ray cluster, here of one machine."""

from collections import Counter

import pytest

from ordinate_papers.tables.results import ResultsFile
from ordinate_papers.tables.workers import complete
from tests.papers.tables.examples import execute, make_runs, read_log


@pytest.fixture
def results(tmp_path):
    return ResultsFile(tmp_path / "results.jsonl")


def complete_on(address, runs, results, **options):
    return complete(runs, execute, results, ray=address, progress=False, **options)


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ordinate[cluster]'")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_runs_are_executed_once_each_and_errors_and_deaths_stay_with_their_run(cluster, results, tmp_path):
    steps, failing = make_runs(8), make_runs(2, "raises")
    found = complete_on("auto", [*steps, *failing, *make_runs(1, "threads")], results)
    assert [found[run].metrics for run in steps] == [{"mae": i / 3, "steps": [i, 3]} for i in range(8)]
    starts = Counter(key for key, _ in read_log(tmp_path, "start"))
    assert {starts[run.key] for run in [*steps, *failing]} == {1}
    for run in failing:
        assert found[run].error.endswith(f"RuntimeError: seed {run.seed} is not to be had\n")
    assert found[make_runs(1, "threads")[0]].metrics == {"torch": 1}
    lives, dies = make_runs(1, "dies", times=1) + make_runs(1, "dies", times=9)
    found |= complete_on("auto", [lives, dies, *make_runs(2, sleep=0.02)], results)
    assert found[lives].metrics == {"deaths": 1}
    assert found[dies].summary.startswith("its worker process died: ")
    assert {found[run].state for run in make_runs(2, sleep=0.02)} == {"done"}
    again = complete_on("auto", steps, results)
    assert again == {run: found[run] for run in steps}
    assert cluster.is_initialized()  # it is not ours to end


@pytest.mark.thorough
def test_a_cluster_can_be_started_for_one_call(results):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ordinate[cluster]'")
    ray.shutdown()
    found = complete_on("local", make_runs(3), results, jobs=2)
    assert Counter(result.state for result in found.values()) == {"done": 3}
    assert not ray.is_initialized()
