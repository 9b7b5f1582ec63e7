"""Settings are chosen on validation samples, for every seed by itself."""

import json
import os
import sqlite3

import pytest

from ordinate_papers.tables.catalogue import find
from ordinate_papers.tables.results import ResultsDatabase
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.table import Plan
from ordinate_papers.tables.tuning import METRIC, SPACE, space_of, tuned

needs_data = pytest.mark.skipif(
    "ORDINATE_DATA" not in os.environ, reason="ORDINATE_DATA does not say where the real data is"
)


def small_plan(row, seeds):
    """One row of OTD's Table 2 on Hayes-Roth."""
    table = find("otd-2").on(["hayes_roth"])
    [place] = [place for place, cell in enumerate(table.rows) if cell.name == row]
    return Plan({(0, 0): table.plan(seeds, quick=True).runs[place, 0]}, {})


def trials(path):
    """Seed, validation error and settings of every run of a database."""
    rows = sqlite3.connect(path).execute("SELECT run, metrics FROM runs").fetchall()
    runs = [(json.loads(run), json.loads(metrics)) for run, metrics in rows]
    return [(run["seed"], metrics[METRIC], run["settings"]["model"]) for run, metrics in runs]


@pytest.fixture
def database(tmp_path):
    with ResultsDatabase(tmp_path / "results.db") as opened:
        yield opened


@pytest.mark.thorough
@needs_data
def test_every_seed_gets_the_settings_that_validated_best_on_its_own_split(tmp_path, database):
    plan = small_plan("O-Net", seeds=2)
    chosen = tuned(plan, 2, database, tmp_path / "state", jobs=1, progress=False).runs[0, 0]
    for before, after in zip(plan.runs[0, 0], chosen, strict=True):
        assert (after.seed, after.protocol) == (before.seed, "plain")
        settings = dict(dict(after.settings)["model"])
        assert all(low <= settings[name] <= high for name, (low, high) in SPACE.items())
        tried = [trial for trial in trials(tmp_path / "results.db") if trial[0] == after.seed]
        assert len(tried) == 2
        assert settings == min(tried, key=lambda trial: trial[1])[2]


@needs_data
def test_a_model_that_is_not_trained_is_left_as_it_is(tmp_path, database):
    plan = small_plan("Real-Eucl", seeds=1)
    assert tuned(plan, 2, database, tmp_path / "state", jobs=1, progress=False).runs == plan.runs


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
