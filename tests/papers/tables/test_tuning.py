"""Settings are chosen on validation samples, for every seed by itself."""

import json
import os
import sqlite3

import pytest

from ordinate.papers.tables.catalogue import find
from ordinate.papers.tables.results import ResultsDatabase
from ordinate.papers.tables.table import Plan
from ordinate.papers.tables.tuning import METRIC, SPACE, tuned

pytestmark = pytest.mark.skipif(
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


def test_a_model_that_is_not_trained_is_left_as_it_is(tmp_path, database):
    plan = small_plan("Real-Eucl", seeds=1)
    assert tuned(plan, 2, database, tmp_path / "state", jobs=1, progress=False).runs == plan.runs
