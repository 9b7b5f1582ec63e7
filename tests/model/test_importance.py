"""Importance of columns: against scikit-learn's permutation importance, and by the command."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance

from ordinate import CLOCClassifier, SupCRRegressor, Training, load
from ordinate.cli import main
from ordinate.errors import OrdinateError
from ordinate.model.importance import column_importance

pytestmark = pytest.mark.usefixtures("unpainted")
RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(160, 3)), columns=["strong", "weak", "noise"])
X["constant"], X["site"] = 1.0, RANDOM.choice(["north", "south"], 160)
TARGET = 2 * X["strong"] + X["weak"] + 0.1 * RANDOM.normal(size=160)
RANKS = np.digitize(TARGET, [-1, 1])


@pytest.mark.parametrize("kind", [CLOCClassifier, SupCRRegressor])
def test_importance_is_the_rise_of_the_error(kind):
    y = RANKS if kind is CLOCClassifier else TARGET
    model = kind(epochs=(10, 10), training=Training(learning_rate=0.01), random_state=0).fit(X[:80], y[:80])
    found = column_importance(model.fitted, X[80:], y[80:], repeats=30).set_index("column")
    theirs = permutation_importance(
        model, X[80:], y[80:], scoring="neg_mean_absolute_error", n_repeats=30, random_state=1
    )
    assert found.index[0] == "strong"
    for name, mean, deviation in zip(X, theirs.importances_mean, theirs.importances_std, strict=True):
        assert found.loc[name, "importance"] == pytest.approx(mean, abs=4 * deviation / np.sqrt(30) + 1e-9)
    assert found.loc["constant"].abs().max() < 1e-12
    assert (found["low"] <= found["importance"]).all()
    assert (found["importance"] <= found["high"]).all()
    assert found.loc["strong", "low"] > found.loc["noise", "high"]


def test_a_wrong_argument_is_an_error():
    model = CLOCClassifier(epochs=(2, 2), random_state=0).fit(X[:60], RANKS[:60])
    with pytest.raises(OrdinateError, match="X: got ndarray, expected a table with named columns"):
        column_importance(model.fitted, X[["strong"]].to_numpy(), RANKS)
    with pytest.raises(OrdinateError, match="X: got 1 sample, expected at least 2"):
        column_importance(model.fitted, X[:1], RANKS[:1])
    with pytest.raises(OrdinateError, match="repeats: got 0"):
        column_importance(model.fitted, X, RANKS, repeats=0)


def test_the_command_measures_held_out_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X.assign(grade=RANKS).to_csv("table.csv", index=False)
    fit = ["fit", "table.csv", "--target", "grade", "--method", "cloc", "--epochs", "10", "--quiet", "--out", "model"]
    assert main(fit) == 0
    capsys.readouterr()
    assert 'id="columns"' in (page := Path("model/report.html").read_text())
    assert "ordinate fit table.csv --target grade --method cloc --epochs 10 --out model</pre>" in page
    assert main(["explain", "model", "table.csv", "--out", "importance.csv"]) == 0
    out = capsys.readouterr().out
    held_out = json.loads(Path("model/split.json").read_text())["test"]
    assert f"on {len(held_out)} samples, with" in out
    assert pd.read_csv("importance.csv")["column"].iloc[0] == "strong"
    assert out.index("strong") < out.index("noise")
    capsys.readouterr()
    assert main(["explain", "model", "table.csv", "--row", "3", "0", "--out", "rows.csv"]) == 0
    out, found = capsys.readouterr().out, pd.read_csv("rows.csv")
    assert found["row"].tolist() == [3, 0]
    model = load("model")
    expected = model.rank_probabilities(X.iloc[[3, 0]]) @ np.arange(3)
    np.testing.assert_allclose(found.drop(columns="row").sum(axis=1), expected, rtol=1e-6)
    assert f"row 3: predicts {model.predict(X[3:4])[0]}. The mean predicted rank, from 0, for 100 training rows" in out
    assert main(["explain", "model", "table.csv", "--row", "3", "--row", "0"]) == 0
    assert capsys.readouterr().out == out
    assert main(["explain", "model", "table.csv", "--row", "160"]) == 2
    assert capsys.readouterr().err == "ordinate: --row: got '160', expected a row of table.csv, from 0 to 159\n"
    assert main(["explain", "model", "table.csv", "--row", "-1"]) == 2


@pytest.mark.parametrize("form", ["{:03}", "P{:03}", "{}"], ids=["digits", "text", "numbers"])
def test_a_row_is_asked_for_by_its_number_or_its_identifier(form, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = X.assign(grade=RANKS, patient=[form.format(700 + row) for row in range(len(X))])
    table.to_csv("table.csv", index=False)
    fit = "fit table.csv --target grade --method cloc --epochs 1 --no-report --quiet --out model"
    assert main(fit.split()) == 0
    name = form.format(703)
    for asked in (name, "3"):
        capsys.readouterr()
        assert main(["explain", "model", "table.csv", "--row", asked, "--out", f"{asked}.csv"]) == 0
        assert f"row 3, {name}: predicts " in capsys.readouterr().out
    pd.testing.assert_frame_equal(pd.read_csv(f"{name}.csv"), pd.read_csv("3.csv"))
    assert main(["explain", "model", "table.csv", "--row", form.format(1703)]) == 2
    said = capsys.readouterr().err  # No other patient is suggested.
    expected = "a row of table.csv, from 0 to 159, or what the column 'patient' has for it"
    assert said == f"ordinate: --row: got {form.format(1703)!r}, expected {expected}\n"
    table.assign(patient=name).to_csv("same.csv", index=False)
    assert main(["explain", "model", "same.csv", "--row", name]) == 2
    assert "expected its number, as 160 rows of same.csv have this name" in capsys.readouterr().err


def test_the_command_reads_parquet(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X.assign(grade=RANKS).to_parquet("table.parquet")
    fit = "fit table.parquet --target grade --method cloc --epochs 1 --no-report --quiet --out model"
    assert main(fit.split()) == 0
    assert main(["explain", "model", "table.parquet", "--repeats", "2"]) == 0
    assert "strong" in capsys.readouterr().out
