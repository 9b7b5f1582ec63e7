"""Several columns as targets of ``ordinate fit``."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate.cli import main
from tests.command_line import one_line, read

QUICK = ["--epochs", "20", "--no-report", "--quiet", "--set", "embedding_dim=8"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.standard_normal((120, 3)), columns=["a", "b", "c"])
    frame["east"], frame["north"] = frame["a"] + frame["b"], 10 * frame["c"]
    frame["grade"] = np.digitize(frame["a"], [0])
    frame.to_csv("places.csv", index=False)
    return frame


def test_several_targets_are_predicted_in_a_column_each(table, capsys):
    assert main(["fit", "places.csv", "--target", "east", "north", "--drop", "grade", *QUICK]) == 0
    printed = capsys.readouterr().out
    (row,) = [line for line in printed.splitlines() if line.startswith("north ")]
    metrics = read("places-model/metrics.json")
    assert list(metrics["targets"]) == ["east", "north"]
    assert metrics["mae"] == pytest.approx(np.mean([each["mae"] for each in metrics["targets"].values()]))
    assert f"{metrics['targets']['north']['mae']:.4f}" in row
    assert metrics["targets"]["north"]["r2"] > 0.5

    arguments = ["predict", "places-model", "places.csv", "--coverage", "0.8", "--out", "predicted.csv"]
    assert main(arguments) == 0
    predicted = pd.read_csv("predicted.csv")
    columns = [f"{kind}_{name}" for kind in ("prediction", "lower", "upper") for name in ("east", "north")]
    assert list(predicted) == ["row", *columns]
    test = read("places-model/split.json")["test"]
    errors = (predicted["prediction_north"] - table["north"]).abs()[test]
    assert errors.mean() == pytest.approx(metrics["targets"]["north"]["mae"])


def test_the_run_file_trains_the_same_model_again(table, capsys):
    assert main(["fit", "--target", "east", "north", "places.csv", "--drop", "grade", *QUICK, "--epochs", "2"]) == 0
    assert main(["fit", "--config", "places-model/run.toml", "--no-report", "--quiet", "--out", "again"]) == 0
    assert read("again/metrics.json")["targets"] == read("places-model/metrics.json")["targets"]


WRONG = {
    "a method of one target": (["--method", "supremix"], "--target: got 2 columns for supremix, which supports one"),
    "the blend": (["--method", "blend"], "--target: got 2 columns for blend, which supports one target, expected one"),
    "ranks": (["--task", "ranks"], "--target: got 2 columns of ranks, expected one"),
    "an unknown column": (["south"], "no column"),
}


@pytest.mark.parametrize(("arguments", "expected"), WRONG.values(), ids=WRONG)
def test_wrong_targets_are_an_error_of_one_line(table, capsys, arguments, expected):
    assert main(["fit", "places.csv", "--quiet", "--target", "east", "north", *arguments]) == 2
    assert expected in one_line(capsys.readouterr().err)


def test_the_report_has_a_part_for_each_of_several_targets(table, capsys):
    assert main(["fit", "places.csv", "--target", "east", "north", "--epochs", "1", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "\neast, SupCR " in printed
    assert "\nnorth, linear model " in printed
    assert main(["report", "places-model", "places.csv"]) == 0
    for page in ("report.html", "places-model/report.html"):
        assert "<title>Predicting east, north</title>" in Path(page).read_text()
    capsys.readouterr()
    assert main(["explain", "places-model", "places.csv"]) == 0
    assert "rise of the MAE" in capsys.readouterr().out


def test_a_report_of_some_of_the_targets_is_refused(table, capsys):
    assert main(["fit", "places.csv", "--target", "east", "north", "--epochs", "1", "--no-report", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["report", "places-model", "places.csv", "--target", "east"]) == 2
    expected = "--target: got 'east', expected the 2 columns that the model was fitted to"
    assert expected in one_line(capsys.readouterr().err)


def test_several_targets_are_for_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("arrays.npz", X=np.zeros((20, 3)), y=np.arange(20.0), z=np.arange(20.0))
    assert main(["fit", "arrays.npz", "--target", "y", "z", "--quiet"]) == 2
    assert "arrays.npz holds no table, expected one; several are for tables" in one_line(capsys.readouterr().err)
