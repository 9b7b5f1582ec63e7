"""A search chooses on validation data, and its trials are runs that are kept."""

import multiprocessing
import random
import sys
import time
from functools import partial
from itertools import product

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.tables.results import ResultsDatabase
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.search import search
from tests.papers.tables.examples import execute, read_log

RANGES = {"learning_rate": (1e-4, 10.0), "weight_decay": (1e-7, 1e-1)}
RATES, DECAYS = [0.01, 0.05, 0.1, 0.5, 1.0], [1e-6, 1e-5, 1e-4, 1e-3]


def make_run(settings, **others):
    return Run("none", "bowl", settings={**settings, **others})


@pytest.fixture
def database(tmp_path):
    with ResultsDatabase(tmp_path / "results.db") as database:
        yield database


def search_here(database, space=RANGES, *arguments, make_run=make_run, **options):
    given = {"metric": "validation_mae", "execute": execute, "database": database, "jobs": 1, "progress": False}
    return search(make_run, space, *arguments, folder=database.path.parent / "state", **given | options)


def needs_optuna():
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'ordinate[tune]'")


# the grid


def test_a_grid_tries_every_combination_and_takes_the_best_on_validation_data(database):
    found = search_here(database, {"learning_rate": RATES, "weight_decay": DECAYS}, grid=True)
    assert [tuple(trial.settings.values()) for trial in found.trials] == list(product(RATES, DECAYS))
    assert found.best.settings == {"learning_rate": 0.05, "weight_decay": 1e-4}  # by hand; test data would say 1.0
    assert found.best.value == pytest.approx(np.log10(0.05 / 0.03) ** 2, abs=1e-12)
    assert found.best.run == make_run(found.best.settings)


def test_a_search_can_maximize(database):
    found = search_here(database, {"learning_rate": RATES, "weight_decay": DECAYS}, grid=True, maximize=True)
    assert found.best.settings == {"learning_rate": 1.0, "weight_decay": 1e-6}


def test_trials_that_fail_are_left_out(database):
    make = partial(make_run, diverges=0.04)
    found = search_here(database, {"learning_rate": RATES, "weight_decay": [1e-4]}, grid=True, make_run=make)
    assert [trial.value is None for trial in found.trials] == [False, True, True, True, True]
    assert found.best.settings["learning_rate"] == 0.01


def test_a_search_whose_trials_all_fail_says_why(database):
    make = partial(make_run, diverges=0.0)
    with pytest.raises(OrdinateError, match=r"(?s)^space: every trial failed, .*metrics: got nan"):
        search_here(database, {"learning_rate": RATES, "weight_decay": [1e-4]}, grid=True, make_run=make)


# the Bayesian search


def test_a_bayesian_search_comes_nearer_than_as_many_random_trials(database):
    needs_optuna()
    found = search_here(database, RANGES, 40, together=4)
    assert all(1e-4 <= trial.settings["learning_rate"] <= 10.0 for trial in found.trials)
    draw = np.random.default_rng(0).uniform(size=(2000, 40, 2))
    rate, decay = -4 + 5 * draw[..., 0], -7 + 6 * draw[..., 1]
    random_best = ((rate - np.log10(0.03)) ** 2 + (decay + 4) ** 2).min(axis=1)
    assert found.best.value < np.quantile(random_best, 0.2)


def test_the_trials_follow_from_the_seed_and_are_not_executed_again(database, tmp_path):
    needs_optuna()
    first = search_here(database, RANGES, 12, together=4)
    assert len(read_log(tmp_path, "start")) == 12
    assert search_here(database, RANGES, 12, together=4) == first
    assert search_here(database, RANGES, 16, together=4).trials[:12] == first.trials
    assert len(read_log(tmp_path, "start")) == 16
    assert search_here(database, RANGES, 4, together=4, seed=1).trials != first.trials[:4]


def search_slowly(folder):
    with ResultsDatabase(folder / "results.db") as database:
        return search_here(database, RANGES, 12, together=4, jobs=2, make_run=partial(make_run, sleep=0.1))


@pytest.mark.thorough
def test_a_search_that_is_killed_goes_on_to_the_same_end(tmp_path):
    needs_optuna()
    draw, started = random.Random(0), []
    for _ in range(3):
        process = multiprocessing.get_context("spawn").Process(target=search_slowly, args=(tmp_path,))
        process.start()
        before, end = len(read_log(tmp_path, "start")), time.monotonic() + 60
        while len(read_log(tmp_path, "start")) < before + 2 and process.is_alive():
            assert time.monotonic() < end
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 0.2))
        process.kill()
        process.join()
        started.append(len(read_log(tmp_path, "start")))
    assert started[-1] > 4
    (tmp_path / "quiet").mkdir()
    assert search_slowly(tmp_path) == search_slowly(tmp_path / "quiet")


def test_failed_trials_do_not_stop_a_bayesian_search(database):
    needs_optuna()
    found = search_here(database, RANGES, 12, together=4, make_run=partial(make_run, diverges=0.05))
    assert {trial.value is None for trial in found.trials} == {True, False}
    assert found.best.settings["learning_rate"] <= 0.05


def test_lists_are_choices_of_a_bayesian_search(database):
    needs_optuna()
    found = search_here(database, {"learning_rate": [0.1, 0.03], "weight_decay": (1e-5, 1e-3)}, 8, together=4)
    assert {trial.settings["learning_rate"] for trial in found.trials} == {0.1, 0.03}


def test_without_optuna_the_error_says_what_to_install(database, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(OrdinateError, match=r'^search: .*pip install "ordinate\[tune\]"'):
        search_here(database, RANGES, 2)


# what is refused


@pytest.mark.parametrize(
    ("argument", "space", "options"),
    [
        ("metric", RANGES, {"trials": 2, "metric": "mae"}),
        ("metric", {"learning_rate": [0.1], "weight_decay": [0.1]}, {"grid": True, "metric": "validation_rmse"}),
        ("space", {"learning_rate": (0.0, 1.0)}, {"trials": 2}),
        ("space", {"learning_rate": (1.0, 0.1)}, {"trials": 2}),
        ("space", {"learning_rate": (0.1, 1.0)}, {"grid": True}),
        ("space", {"learning_rate": []}, {"trials": 2}),
        ("space", {"learning_rate": 0.1}, {"trials": 2}),
        ("trials", RANGES, {}),
        ("trials", RANGES, {"trials": 0}),
        ("trials", {"learning_rate": RATES}, {"grid": True, "trials": 3}),
        ("together", RANGES, {"trials": 2, "together": 0}),
    ],
)
def test_what_makes_no_search_is_refused_by_name(argument, space, options, database):
    with pytest.raises(OrdinateError, match=f"^{argument}: got "):
        search_here(database, space, **options)
