"""Runs of the leaderboards: splits, what models see, and figures against scikit-learn's."""

import os
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_absolute_error, root_mean_squared_error

from ordinate.errors import OrdinateError
from ordinate_papers.leaderboards import contenders, sets
from ordinate_papers.leaderboards.aeon_process import Regressor
from ordinate_papers.leaderboards.boards import BOARDS
from ordinate_papers.leaderboards.contenders import Contender, contender, unavailable
from ordinate_papers.leaderboards.execute import execute
from ordinate_papers.tables.run import Run

HERE = [(of.name, name) for of in BOARDS.values() for name in of.sets if sets.unavailable(name) is None]


@pytest.mark.parametrize(("board", "name"), HERE)
def test_every_split_parts_the_samples_and_is_drawn_again_the_same(board, name):
    X, y, train, test = sets.load(name, 1)
    assert sorted([*train, *test]) == list(range(len(y))) == list(range(len(X)))
    assert (sets.load(name, 1)[3] == test).all()
    if BOARDS[board].task == "ranks":
        assert sorted(set(y)) == list(range(y.max() + 1))
    if name not in ("floodmodeling1", "covid3month"):  # which have one split
        assert set(sets.load(name, 0)[3]) != set(test)
    if isinstance(X, pd.DataFrame):
        assert not any(isinstance(kind, pd.CategoricalDtype) for kind in X.dtypes)


def test_sets_that_are_not_here_say_where_they_go(monkeypatch, tmp_path):
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path))
    assert "bostonHousing" in sets.unavailable("boston")
    assert "https://" in sets.unavailable("boston")
    assert "not in $ORDINATE_DATA" in sets.unavailable("car")
    monkeypatch.delenv("ORDINATE_DATA")
    assert sets.unavailable("yacht") == "yacht: ORDINATE_DATA is not set"
    assert sets.unavailable("esl") is None


def test_figures_of_ranks_are_those_of_scikit_learn():
    run = Run("swd", "LogisticAT", "tabular-ordinal", seed=2)
    X, y, train, test = sets.load("swd", 2)
    seen, unseen = X.iloc[train], X.iloc[test]
    mean, deviation = seen.mean(), seen.std(ddof=0)
    model = contender("tabular-ordinal", "LogisticAT").build["ranks"]("swd", 2)
    predicted = model.fit(((seen - mean) / deviation).to_numpy(), y[train]).predict((unseen - mean) / deviation)
    figures = execute(run, None)
    assert figures["mae"] == pytest.approx(mean_absolute_error(y[test], predicted), abs=1e-9)
    assert figures["accuracy"] == pytest.approx(accuracy_score(y[test], predicted))
    assert figures["qwk"] == pytest.approx(cohen_kappa_score(y[test], predicted, weights="quadratic"))
    assert 0 < figures["rps"] < figures["mae"]


def test_a_rank_that_the_training_part_lacks_has_no_probability(monkeypatch):
    """The columns of probabilities are those of the classes that a model has seen."""
    monkeypatch.setattr(
        "ordinate_papers.leaderboards.execute.contender",
        lambda *_: Contender({"ranks": lambda *_: LogisticRegression()}),
    )
    X = np.linspace(-1, 1, 40)[:, None]
    y = np.where(X[:, 0] > 0, 2, 0)
    y[-1] = 1
    rows = np.arange(40)
    monkeypatch.setattr(
        "ordinate_papers.leaderboards.execute.load", lambda *_: (pd.DataFrame({"x": X[:, 0]}), y, rows[:-1], rows[-1:])
    )
    assert execute(Run("set", "model", "tabular-ordinal"), None)["rps"] == pytest.approx(1, abs=0.1)


def test_figures_of_targets_are_those_of_scikit_learn():
    _, y, train, test = sets.load("diabetes", 0)
    figures = execute(Run("diabetes", "ridge", "tabular-regression"), None)
    assert figures["rmse"] < root_mean_squared_error(y[test], np.full(len(test), y[train].mean()))
    assert figures["mae"] < figures["rmse"]


def test_models_of_packages_that_are_missing_say_so(monkeypatch):
    monkeypatch.setattr(contenders, "find_spec", lambda _: None)
    assert unavailable("tabular-ordinal", "XGBoost") == (
        "XGBoost: needs xgboost, which pip install 'ordinate[leaderboards]' adds"
    )
    assert unavailable("tabular-ordinal", "random forest") is None
    monkeypatch.delenv(contenders.AEON, raising=False)
    assert "--aeon" in unavailable("series", "Rocket")


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.name)
def test_every_model_of_a_leaderboard_is_built_for_its_task(board, monkeypatch):
    monkeypatch.setenv(contenders.AEON, sys.executable)
    for name in board.models:
        if unavailable(board.name, name) is None:
            made = contender(board.name, name).build[board.task]("floodmodeling1", 3)
            assert hasattr(made, "fit")
            assert getattr(made, "random_state", 3) == 3, name


def test_aeons_regressors_run_in_another_interpreter(tmp_path):
    """With a package of its name in the place of aeon, whose regressors return the mean of what they were fitted on."""
    package = tmp_path / "aeon" / "regression"
    package.mkdir(parents=True)
    regressor = "class _R:\n    def __init__(self, **_): pass\n    def fit(self, X, y):\n        self.y = y\n"
    regressor += "        return self\n    def predict(self, X):\n        return [self.y.mean()] * len(X)\n"
    names = {
        "convolution_based": ("MiniRocketRegressor", "MultiRocketRegressor", "RocketRegressor"),
        "distance_based": ("KNeighborsTimeSeriesRegressor",),
        "interval_based": ("DrCIFRegressor",),
    }
    for module, classes in names.items():
        (package / f"{module}.py").write_text(regressor + "".join(f"{name} = _R\n" for name in classes))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    model = Regressor("Rocket", 0, str(python)).fit(np.zeros((3, 1, 4)), np.array([1.0, 2.0, 6.0]))
    assert model.predict(np.zeros((2, 1, 4))).tolist() == [3.0, 3.0]
    assert model.seconds >= 0


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for the interpreter")
def test_an_interpreter_that_fails_says_why(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named aeon' >&2\nexit 1\n")
    python.chmod(0o755)
    model = Regressor("Rocket", 0, str(python)).fit(np.zeros((3, 1, 4)), np.zeros(3))
    with pytest.raises(OrdinateError, match="No module named aeon"):
        model.predict(np.zeros((2, 1, 4)))
