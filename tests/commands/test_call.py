"""``ordinate.fit``: what the command trains, in Python."""

import json

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main
from ordinate.errors import OrdinateError
from ordinate.metrics import mae

RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(RANDOM.normal(size=(120, 2)), columns=["size", "age"])
NAMES = np.array(["mild", "moderate", "severe"])
TABLE["site"] = pd.Categorical(RANDOM.choice(["north", "south"], 120))
TABLE["grade"] = NAMES[np.digitize(TABLE["size"], [-0.5, 0.5])]
QUICK = {"method": "cloc", "epochs": 3, "order": NAMES.tolist()}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ordinate.report.page.page.write_report", lambda *_, **__: None)
    return tmp_path


def test_it_is_the_model_of_the_command(folder, capsys):
    TABLE.to_parquet("data.parquet", index=False)
    command = (
        "fit data.parquet --target grade --method cloc --epochs 3 --order mild,moderate,severe --no-report --quiet"
    )
    assert main(command.split()) == 0
    said = capsys.readouterr().out
    model = ordinate.fit(TABLE, "grade", **QUICK)
    shown = capsys.readouterr().out
    new = TABLE.drop(columns="grade")
    expected = ordinate.load("data-model").predict_proba(new)
    np.testing.assert_array_equal(model.predict_proba(new), expected)
    metrics = [line for line in said.splitlines() if "accuracy" in line or "error" in line]
    assert all(line in shown for line in metrics)
    assert "data-model" not in shown
    assert sorted(path.name for path in folder.iterdir()) == ["data-model", "data.parquet"]


def test_its_intervals_are_calibrated_and_it_knows_its_target(capsys):
    model = ordinate.fit(TABLE, target="grade", verbose=0, **QUICK)
    assert capsys.readouterr().out == ""
    lower, upper = model.predict_interval(TABLE[["size", "age", "site"]], 0.7)
    assert set(lower) | set(upper) <= set(NAMES)
    found = model.evaluate(TABLE)
    predicted = model.predict(TABLE[["size", "age", "site"]])
    places = {name: place for place, name in enumerate(NAMES)}
    assert found["mae"] == mae([places[name] for name in TABLE["grade"]], [places[name] for name in predicted])
    np.testing.assert_array_equal(model.predict(TABLE), predicted)
    assert list(model.explain(TABLE[:1], TABLE).columns) == ["baseline", "size", "age", "site"]
    with pytest.raises(OrdinateError, match="X: no column 'grade'"):
        model.evaluate(TABLE.drop(columns="grade"))


def test_a_folder_keeps_the_model_and_its_metrics(folder):
    model = ordinate.fit(TABLE, "grade", out="kept", verbose=0, time_limit=60, **QUICK)
    metrics = json.loads((folder / "kept" / "metrics.json").read_text())
    assert metrics["method"] == "cloc"
    again = ordinate.load("kept")
    new = TABLE.drop(columns="grade")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again.predict_interval(new, 0.7), model.predict_interval(new, 0.7))


def test_settings_and_groups_of_settings_are_those_of_the_command():
    model = ordinate.fit(TABLE, "grade", verbose=0, mmnp_weight=0.5, training={"learning_rate": 0.01}, **QUICK)
    assert model.mmnp_weight == 0.5
    assert model.training.learning_rate == 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "grad"}, "data: no column 'grad'; did you mean 'grade'"),
        ({"target": "grade"}, "column 'grade': holds text without an order"),
        ({"target": "grade", "epochs": "3"}, "epochs: got '3', expected int"),
        ({"target": "grade", "task": "rank"}, "task: got 'rank', expected one of auto, ranks, continuous"),
        ({"target": "grade", "temprature": 1.0}, "there is no setting 'temprature'"),
        ({"data": TABLE["size"], "target": "grade"}, "data: got Series, expected a pandas DataFrame, or the path"),
        ({"data": "no.csv", "target": "grade"}, "no.csv: no such file"),
    ],
)
def test_what_cannot_be_used_is_named(folder, arguments, message):
    with pytest.raises(OrdinateError, match=message):
        ordinate.fit(**{"data": TABLE, "verbose": 0, **arguments})
    assert list(folder.iterdir()) == []


def test_it_takes_the_table_that_it_was_fitted_to_with_what_was_left_out(folder, monkeypatch):
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    table = TABLE.assign(patient=[f"P{row:03}" for row in range(120)])
    model = ordinate.fit(table, "grade", **QUICK, verbose=0)
    assert "patient" not in model.feature_names_in_
    new, own = table[:5], TABLE.drop(columns="grade")[:5]
    np.testing.assert_array_equal(model.predict_proba(new[new.columns[::-1]]), model.predict_proba(own))
    np.testing.assert_array_equal(model.predict_interval(new)[0], model.predict_interval(own)[0])
    np.testing.assert_array_equal(model.similar(new, table, k=3)[1], model.similar(own, TABLE, k=3)[1])
    pd.testing.assert_frame_equal(model.explain(new[:1], table), model.explain(own[:1], TABLE.drop(columns="grade")))
    assert model.evaluate(table)["mae"] == model.evaluate(TABLE)["mae"]
    assert model.report("page.html", table, training=(table, table["grade"])).exists()
    with pytest.raises(OrdinateError, match="age"):
        model.predict(new.drop(columns="age"))
