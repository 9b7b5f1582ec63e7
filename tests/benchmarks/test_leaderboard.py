"""Leaderboards: splits, measures against scikit-learn's, means, ranks, and the pages."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_absolute_error

import leaderboard
import leaderboard_page
from leaderboard import build, execute, load, missing
from leaderboard_page import BOARDS, Page, read_runs
from ordinate_papers.tables.run import Run

HERE = [(board, name) for board in BOARDS for name in BOARDS[board].sets if missing(name) is None]


# data sets


@pytest.mark.parametrize(("board", "name"), HERE)
def test_every_split_parts_the_samples_and_is_drawn_again_the_same(board, name):
    X, y, train, test = load(name, 1)
    assert sorted([*train, *test]) == list(range(len(y))) == list(range(len(X)))
    assert (load(name, 1)[3] == test).all()
    if BOARDS[board].task == "ranks":
        assert sorted(set(y)) == list(range(y.max() + 1))
    if name not in ("floodmodeling1", "covid3month"):  # which have one split
        assert set(load(name, 0)[3]) != set(test)
    if isinstance(X, pd.DataFrame):
        assert not any(isinstance(kind, pd.CategoricalDtype) for kind in X.dtypes)


# runs


def test_measures_of_ranks_are_those_of_scikit_learn():
    X, y, train, test = load("swd", 2)
    seen, unseen = X.iloc[train], X.iloc[test]
    mean, deviation = seen.mean(), seen.std(ddof=0)
    model = build("tabular-ordinal", "LogisticAT", "swd", 2)
    predicted = model.fit(((seen - mean) / deviation).to_numpy(), y[train]).predict((unseen - mean) / deviation)
    found = execute(Run("swd", "LogisticAT", "tabular-ordinal", seed=2), None)
    assert found["mae"] == pytest.approx(mean_absolute_error(y[test], predicted), abs=1e-9)
    assert found["accuracy"] == pytest.approx(accuracy_score(y[test], predicted))
    assert found["qwk"] == pytest.approx(cohen_kappa_score(y[test], predicted, weights="quadratic"))
    assert 0 < found["rps"] < found["mae"]


@pytest.mark.parametrize("model", ["LogisticAT", "blend"])
def test_the_models_of_which_the_page_says_it_predict_the_median(model, monkeypatch):
    X, y, train, test = load("swd", 2)
    monkeypatch.setattr(leaderboard, "load", lambda *_: (X, y, train[:200], test))
    found = execute(Run("swd", model, "tabular-ordinal", seed=2), None)
    assert found["mae_median"] == pytest.approx(found["mae"], abs=1e-9)


def test_a_rank_that_the_training_part_lacks_has_no_probability(monkeypatch):
    """The columns of probabilities are those of the classes that a model has seen."""
    X = np.linspace(-1, 1, 40)
    y = np.where(X > 0, 2, 0)
    y[-1] = 1
    rows = np.arange(40)
    monkeypatch.setattr(leaderboard, "build", lambda *_: LogisticRegression())
    monkeypatch.setattr(leaderboard, "load", lambda *_: (pd.DataFrame({"x": X}), y, rows[:-1], rows[-1:]))
    assert execute(Run("set", "model", "tabular-ordinal"), None)["rps"] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("board", BOARDS)
def test_every_model_of_a_leaderboard_is_built_for_its_task(board):
    for name in BOARDS[board].models:
        if missing(name) is None:
            made = build(board, name, "floodmodeling1", 3)
            assert hasattr(made, "fit")
            assert getattr(made, "random_state", 3) == 3, name


def test_the_script_makes_every_run_once(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    command = ["leaderboard.py", "tabular-regression", "--sets", "diabetes", "--jobs", "1"]
    for splits, done in (("1", "2 of 2 runs are done"), ("2", "4 of 4 runs are done")):
        monkeypatch.setattr(sys, "argv", [*command, "--models", "ridge", "gradient boosting", "--splits", splits])
        leaderboard.main()
        out, err = capfd.readouterr()
        assert done in out
    assert err.count("seed 1: ") == 2
    assert "seed 0: " not in err
    files = sorted(path.name for path in (tmp_path / "leaderboards").iterdir())
    assert files == [f"tabular-regression.{suffix}" for suffix in ("csv", "md", "png", "txt")]
    runs = read_runs(tmp_path / "leaderboards" / "tabular-regression.csv")
    assert list(zip(runs["model"], runs["split"], strict=True)) == [
        ("gradient boosting", 0), ("gradient boosting", 1), ("ridge", 0), ("ridge", 1),
    ]  # fmt: skip
    assert (tmp_path / "leaderboards" / "tabular-regression.txt").read_text() in out


# pages

MEANS = {  # set: model: (mae, accuracy), of two splits one above and one below
    "a": {"x": (0.1, 0.9), "y": (0.2, 0.8), "z": (0.3, 0.8)},
    "b": {"x": (0.2, 0.7), "y": (0.1, 0.9), "z": (0.2, 0.5)},
    "c": {"x": (0.5, 0.6), "y": (0.6, 0.6)},
}


@pytest.fixture
def page(monkeypatch):
    board = leaderboard_page.Board("Ranks", "ranks", dict.fromkeys("abc", 2), ("x", "y", "z"), ("mae", "accuracy"), "")
    monkeypatch.setitem(BOARDS, "small", board)
    rows = [
        {"set": name, "model": model, "split": split, "mae": mae + shift, "accuracy": accuracy - shift,
         "seconds": 1.0 + split}
        for name, models in MEANS.items()
        for model, (mae, accuracy) in models.items()
        for split, shift in enumerate((0.0625, -0.0625))
    ]  # fmt: skip
    return Page("small", pd.DataFrame(rows))


def test_means_are_over_the_splits(page):
    assert page.means.loc["b", "y"].to_dict() == pytest.approx(
        {"mae": 0.1, "accuracy": 0.9, "seconds": 1.5, "splits": 2}
    )
    assert list(page.means.loc["c"].index) == ["x", "y"]


def test_ranks_are_over_the_sets_on_which_every_model_has_a_value(page):
    ranking = page.rankings()["mae"]
    assert ranking.sets == ["a", "b"]
    places = np.mean([rankdata([0.1, 0.2, 0.3]), rankdata([0.2, 0.1, 0.2])], axis=0)
    assert ranking.ranks == dict(zip("xyz", places.tolist(), strict=True))


def test_the_page_has_a_heading_per_set_and_names_the_sets_of_the_ranks(page):
    text = page.as_markdown(level=3)
    assert text.startswith("### Ranks\n")
    assert [line for line in text.splitlines() if line.startswith("####")] == [
        "#### Mean ranks", "#### a", "#### b", "#### c",
    ]  # fmt: skip
    assert "MAE and accuracy over a, b. Two models differ" in text
