"""Suspicious labels of a file: what is written, and what is refused before any training."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from ordinate import CLOCClassifier, SupCRRegressor
from ordinate.commands.suspects import suspects
from ordinate.errors import OrdinateError
from ordinate.estimators.label_errors import find_label_errors
from tests.estimators.examples import draw_table, ranks_of

QUICK = {"folds": 2, "epochs": 3, "quiet": True}


@pytest.fixture
def file(tmp_path):
    X, target = draw_table()
    words = np.array(["low", "mid", "high"])[ranks_of(target)]
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        rank=ranks_of(target), word=words, target=target, subject=np.repeat(np.arange(16), 3)
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def written(file, target, drop, **options):
    out = file.with_name("suspects.csv")
    suspects(str(file), target, drop=drop, out=str(out), **QUICK, **options)
    return pd.read_csv(out)


def assert_same(table, expected):
    """Equal to the six digits that are written."""
    pd.testing.assert_frame_equal(table, expected, check_dtype=False, rtol=1e-5)


def test_ranks_are_those_of_find_label_errors_with_cloc(file, capsys):
    frame = pd.read_csv(file)
    estimator = CLOCClassifier(epochs=(1, 2), random_state=0)
    expected = find_label_errors(estimator, frame[["a", "b", "c"]], frame["rank"], folds=2)
    assert_same(written(file, "rank", "word,target,subject"), expected)
    shown = capsys.readouterr().out
    assert "48 samples, worst first" in shown
    assert len(shown.splitlines()) == 2 + 10 + 2


def test_targets_are_those_of_find_label_errors_with_supcr(file):
    frame = pd.read_csv(file)
    estimator = SupCRRegressor(epochs=(3, 1), random_state=0)
    expected = find_label_errors(estimator, frame[["a", "b", "c"]], frame["target"], folds=2)
    assert_same(written(file, "target", "rank,word,subject"), expected)


def test_text_groups_and_seed_reach_the_models(file):
    frame = pd.read_csv(file)
    estimator = CLOCClassifier(epochs=(1, 2), random_state=7, class_order=["low", "mid", "high"])
    X, groups = frame[["a", "b", "c"]], frame["subject"].astype(str)
    expected = find_label_errors(estimator, X, frame["word"], folds=2, groups=groups)
    table = written(file, "word", "rank,target", order="low,mid,high", group="subject", seed=7)
    assert_same(table, expected)


def test_without_a_file_the_csv_is_printed(file, capsys):
    suspects(str(file), "rank", drop="word,target,subject", **QUICK)
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert_same(table, written(file, "rank", "word,target,subject"))


def test_images_are_named(tmp_path, capsys, monkeypatch):
    paths = [tmp_path / "images" / rank / f"{number}.png" for rank in ("0", "1") for number in range(2)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (12, 12)).save(path)
    found = pd.DataFrame({"row": [2, 0, 3, 1], "label": [1, 0, 1, 0], "suspicion": 0.0, "doubted": False})
    monkeypatch.setattr("ordinate.commands.suspects.find_label_errors", lambda *_, **__: found)
    suspects(str(tmp_path / "images"), None, **QUICK)
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert table["path"].tolist() == [str(paths[row]) for row in found["row"]]
    assert table.columns.tolist() == ["row", "path", "label", "suspicion", "doubted"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "rank", "folds": 1}, "--folds: got 1, expected at least 2"),
        ({"target": "rank", "epochs": 0}, "--epochs: got 0"),
        ({"target": "rank", "set": ["training.accelerator=abacus"]}, "--set training.accelerator: got 'abacus'"),
        ({"target": None}, "target: got none, expected the column of the label"),
        ({"target": "word"}, "column 'word': holds text without an order"),
        ({"target": "rank", "group": "clinic"}, "group: no column 'clinic'"),
    ],
)
def test_what_cannot_be_used_is_an_error_before_any_training(file, options, message, monkeypatch):
    monkeypatch.chdir(file.parent)
    monkeypatch.setattr("ordinate.commands.suspects.find_label_errors", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(OrdinateError, match=f"^{message}"):
        suspects("table.csv", **options)


def test_a_terminal_shows_the_worst_alone(file, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    suspects(str(file), "rank", drop="word,target,subject", **QUICK)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 10 + 2
    assert lines[0].split()[0] == "row"
    assert "--out FILE writes all of them" in lines[-1]
