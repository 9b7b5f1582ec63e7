"""Settings are chosen on validation samples, for every seed by itself, and the trials are runs that are kept."""

import json
import multiprocessing
import os
import time

import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.tables.catalogue import find
from ordinate_papers.tables.execute import execute
from ordinate_papers.tables.results import ResultsFile
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.table import RunPlan
from ordinate_papers.tables.tuning import SPACE, space_of, tuned
from tests.papers.tables import examples
from tests.papers.tables.examples import read_log

needs_data = pytest.mark.skipif(
    "ORDINATE_DATA" not in os.environ, reason="ORDINATE_DATA does not say where the real data is"
)


@pytest.fixture
def results(tmp_path):
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'ordinate[tune]'")
    return ResultsFile(tmp_path / "results.jsonl")


def bowls(*seeds, **conditions):
    """A plan of runs whose validation error is lowest at a learning rate of 2e-3 and a weight decay of 0.1."""
    runs = [Run("car", "otd", settings={"data": {"bowl": True, **conditions}}, seed=seed) for seed in seeds]
    return RunPlan({(0, 0): runs}, {})


def tuned_here(plan, trials, results, **options):
    return tuned(plan, trials, examples.execute, results, **{"jobs": 1, "progress": False} | options)


def chosen(plan):
    return [run.settings["model"] for run in plan.all_runs]


def trials_of(results):
    """Seed, validation error and settings of every run that is done."""
    lines = [json.loads(line) for line in results.path.read_text().splitlines()]
    done = [line for line in lines if line["state"] == "done"]
    return [(line["run"]["seed"], line["metrics"]["validation_mae"], line["run"]["settings"]["model"]) for line in done]


def test_every_run_gets_the_best_of_its_own_trials(results):
    plan = tuned_here(bowls(0, 1), 5, results)
    assert [run.seed for run in plan.all_runs] == [0, 1]
    for run, settings in zip(plan.all_runs, chosen(plan), strict=True):
        tried = [trial for trial in trials_of(results) if trial[0] == run.seed]
        assert len(tried) == 5
        assert all(low <= trial[2][name] <= high for name, (low, high) in SPACE.items() for trial in tried)
        assert settings == min(tried, key=lambda trial: trial[1])[2]
        assert run.protocol == "plain"


def test_the_trials_are_not_executed_again_and_more_of_them_add_to_those_that_are_there(results, tmp_path):
    first = tuned_here(bowls(0), 12, results)
    assert len(read_log(tmp_path, "start")) == 12
    assert tuned_here(bowls(0), 12, results).runs == first.runs
    assert len(read_log(tmp_path, "start")) == 12
    tuned_here(bowls(0), 16, results)
    assert len(read_log(tmp_path, "start")) == 16


def tune_slowly(folder):
    return tuned_here(bowls(0, 1, sleep=0.05), 12, ResultsFile(folder / "results.jsonl"))


@pytest.mark.thorough
def test_a_search_that_is_killed_goes_on_to_the_same_end(results, tmp_path):
    for kill in range(1, 4):
        process = multiprocessing.get_context("spawn").Process(target=tune_slowly, args=(tmp_path,))
        process.start()
        end = time.monotonic() + 60
        while len(read_log(tmp_path, "start")) < 5 * kill:
            assert time.monotonic() < end
            time.sleep(0.005)
        process.kill()
        process.join()
    assert len(trials_of(results)) < 24
    (tmp_path / "quiet").mkdir()
    assert tune_slowly(tmp_path).runs == tune_slowly(tmp_path / "quiet").runs


def test_failed_trials_are_left_out(results):
    (settings,) = chosen(tuned_here(bowls(0, diverges=1e-3), 12, results))
    assert len(trials_of(results)) < 12
    assert settings["learning_rate"] <= 1e-3


def test_a_search_whose_trials_all_fail_says_why(results):
    with pytest.raises(OrdinateError, match=r"^tune: every trial of otd on car, .* failed, .*metrics: got nan"):
        tuned_here(bowls(0, diverges=0.0), 3, results)


# tables of the papers


def small_plan(row, seeds):
    """One row of OTD's Table 2 on Hayes-Roth."""
    table = find("otd-2").on(["hayes_roth"])
    [place] = [place for place, cell in enumerate(table.rows) if cell.name == row]
    return RunPlan({(0, 0): table.plan(seeds, quick=True).runs[place, 0]}, {})


@pytest.mark.thorough
@needs_data
def test_every_seed_gets_the_settings_that_validated_best_on_its_own_split(results):
    plan = small_plan("O-Net", seeds=2)
    found = tuned(plan, 2, execute, results, jobs=1, progress=False).runs[0, 0]
    for before, after in zip(plan.runs[0, 0], found, strict=True):
        assert (after.seed, after.protocol) == (before.seed, "plain")
        settings = after.settings["model"]
        assert all(low <= settings[name] <= high for name, (low, high) in SPACE.items())
        tried = [trial for trial in trials_of(results) if trial[0] == after.seed]
        assert len(tried) == 2
        assert settings == min(tried, key=lambda trial: trial[1])[2]


def test_supcrs_tables_choose_from_its_grid():
    """SupCR, Appendix D, whose heads on frozen embeddings have learning rates of their own."""
    of_two = {row.name: find("supcr-1").cells[place][0].run(0, quick=False)
              for place, row in enumerate(find("supcr-1").rows[:2])}  # fmt: skip
    assert space_of(of_two["L1"]) == {
        "learning_rate": [0.01, 0.05, 0.1, 0.2, 0.5, 1.0], "weight_decay": [1e-6, 1e-5, 1e-4, 1e-3],
    }  # fmt: skip
    assert space_of(of_two["SupCR(L1)"])["head_learning_rate"] == [0.01, 0.05, 0.1, 0.2, 0.5, 1.0]
    assert space_of(find("otd-1").cells[0][0].run(0, quick=False)) == SPACE
    assert space_of(Run("car", "otd", "plain", {}, 0, {})) == SPACE
