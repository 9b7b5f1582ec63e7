"""Leaderboards: splits, measures against scikit-learn's, means, ranks, and the pages."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_absolute_error, root_mean_squared_error

import leaderboard
import leaderboard_page
from leaderboard import build, execute, load, missing, plan
from leaderboard_page import BOARDS, Page, read_runs
from ordinate_papers.tables.run import Run
from tests.benchmarks.conftest import BENCHMARKS
from tests.command_line import ONE_THREAD

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


def test_sets_that_are_not_here_say_where_they_go(monkeypatch, tmp_path):
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path))
    assert "bostonHousing" in missing("boston")
    assert "https://" in missing("boston")
    assert "not in $ORDINATE_DATA" in missing("car")
    monkeypatch.setattr(leaderboard, "find_spec", lambda _: None)
    assert missing("XGBoost") == "XGBoost: needs xgboost"
    assert missing("esl") == "esl: needs skordinal"
    assert missing("random forest") is missing("diabetes") is None


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


def test_a_rank_that_the_training_part_lacks_has_no_probability(monkeypatch):
    """The columns of probabilities are those of the classes that a model has seen."""
    X = np.linspace(-1, 1, 40)
    y = np.where(X > 0, 2, 0)
    y[-1] = 1
    rows = np.arange(40)
    monkeypatch.setattr(leaderboard, "build", lambda *_: LogisticRegression())
    monkeypatch.setattr(leaderboard, "load", lambda *_: (pd.DataFrame({"x": X}), y, rows[:-1], rows[-1:]))
    assert execute(Run("set", "model", "tabular-ordinal"), None)["rps"] == pytest.approx(1, abs=0.1)


def test_measures_of_targets_are_better_than_those_of_the_mean():
    _, y, train, test = load("diabetes", 0)
    found = execute(Run("diabetes", "ridge", "tabular-regression"), None)
    assert found["rmse"] < root_mean_squared_error(y[test], np.full(len(test), y[train].mean()))
    assert found["mae"] < found["rmse"]


@pytest.mark.parametrize("board", BOARDS)
def test_every_model_of_a_leaderboard_is_built_for_its_task(board):
    for name in BOARDS[board].models:
        if missing(name) is None:
            made = build(board, name, "floodmodeling1", 3)
            assert hasattr(made, "fit")
            assert getattr(made, "random_state", 3) == 3, name


def test_the_runs_of_a_set_are_as_many_as_its_splits():
    runs = plan("tabular-ordinal", ["esl"], ["LogisticAT"], None)
    assert [run.seed for run in runs] == list(range(30))
    assert "skordinal" in runs[0].facts
    assert len(plan("tabular-ordinal", ["esl"], ["LogisticAT"], 3)) == 3


def test_the_script_makes_every_run_once(tmp_path):
    command = [sys.executable, BENCHMARKS / "leaderboard.py", "tabular-regression", "--sets", "diabetes", "--jobs", "1"]
    for splits, done in (("1", "2 of 2 runs are done"), ("2", "4 of 4 runs are done")):
        options = ["--models", "ridge", "gradient boosting", "--splits", splits]
        ended = subprocess.run(
            [*command, *options], cwd=tmp_path, env=ONE_THREAD, capture_output=True, text=True, check=True
        )
        assert done in ended.stdout
    assert ended.stderr.count("seed 1: ") == 2
    assert "seed 0: " not in ended.stderr
    files = sorted(path.name for path in (tmp_path / "leaderboards").iterdir())
    assert files == [f"tabular-regression.{suffix}" for suffix in ("csv", "md", "png", "txt")]
    runs = read_runs(tmp_path / "leaderboards" / "tabular-regression.csv")
    assert list(zip(runs["model"], runs["split"], strict=True)) == [
        ("gradient boosting", 0), ("gradient boosting", 1), ("ridge", 0), ("ridge", 1),
    ]  # fmt: skip
    assert (tmp_path / "leaderboards" / "tabular-regression.txt").read_text() in ended.stdout


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


def test_a_higher_accuracy_is_a_lower_rank(page):
    assert page.rankings()["accuracy"].ranks == {"x": 1.5, "y": 1.75, "z": 2.75}


def test_wins_are_counted_on_the_sets_that_both_have(page):
    assert page.wins("y", "mae") == "2 / 0 / 1"
    assert page.wins("z", "mae") == "1 / 1 / 0"
    assert page.wins("y", "accuracy") == "1 / 1 / 1"


def test_the_best_model_of_a_set_comes_first_with_its_splits(page):
    header, rows = page.set_lines("b")
    assert header == ["model", "splits", "MAE", "accuracy", "seconds"]
    assert [row[0] for row in rows] == ["y", "x", "z"]
    assert rows[0] == ["y", "2", "0.1000", "0.9000", "1.5"]


def test_small_errors_have_digits_that_tell_them_apart(page):
    page.means.loc[("b", "y"), "mae"] = 0.00123
    assert page.set_lines("b")[1][0] == ["y", "2", "0.00123", "0.9000", "1.5"]


def test_ranks_say_how_often_the_first_model_is_ahead(page):
    header, rows = page.rank_lines()
    assert header == ["model", "MAE", "accuracy", "x ahead / level / behind"]
    assert {row[0]: row[-1] for row in rows} == {"x": "", "y": "2 / 0 / 1", "z": "1 / 1 / 0"}


def test_the_page_has_a_heading_per_set_and_names_the_sets_of_the_ranks(page):
    text = page.as_markdown(level=3)
    assert text.startswith("### Ranks\n")
    assert [line for line in text.splitlines() if line.startswith("####")] == [
        "#### Mean ranks", "#### a", "#### b", "#### c",
    ]  # fmt: skip
    assert "MAE and accuracy over a, b. Two models differ" in text


def test_the_file_of_runs_holds_every_digit(page, tmp_path):
    page.write(tmp_path)
    assert Page("small", read_runs(tmp_path / "small.csv")).means.equals(page.means)


def test_published_means_are_of_known_sets_and_measures():
    published = pd.read_csv(leaderboard_page.PUBLISHED).groupby("board")
    assert set(published.groups) == {"tabular-ordinal", "tabular-regression"}
    for name, rows in published:
        assert set(rows["set"]) <= set(BOARDS[name].sets)
        assert set(rows["measure"]) <= set(BOARDS[name].measures)


def test_published_means_have_no_splits():
    runs = read_runs(BENCHMARKS / "results" / "leaderboards" / "tabular-ordinal.csv")
    rows = {row[0]: row for row in Page("tabular-ordinal", runs[runs["set"] == "car"]).set_lines("car")[1]}
    assert rows["EBANO (published)"][:3] == ["EBANO (published)", "", "0.00100"]
    assert rows["blend"][1] == "30"
