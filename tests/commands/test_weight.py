"""``ordinate fit --weight COLUMN``: the column is no feature, and weighs training and what is measured."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.base import clone

import ordinate
from ordinate.cli import main
from ordinate.commands.split_file import SPLIT
from ordinate.errors import OrdinateError
from ordinate.metrics import rank_report
from tests.estimators.examples import draw_table, ranks_of

X, TARGET = draw_table(80)
WEIGHTS = np.random.default_rng(0).integers(0, 4, 80)
FAST = ["--method", "otd", "--epochs", "3", "--no-report", "--quiet"]


def table(folder, **columns):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(grade=ranks_of(TARGET), **columns)
    frame.to_csv(folder / "data.csv", index=False)
    return frame


def fit(folder, *options):
    main(["fit", str(folder / "data.csv"), "--target", "grade", "--out", str(folder / "model"), *FAST, *options])
    return ordinate.load(folder / "model"), json.loads((folder / "model" / "metrics.json").read_text())


def test_a_column_weighs_training_and_held_out_samples_and_is_no_feature(tmp_path, capsys):
    frame = table(tmp_path, weight=WEIGHTS)
    model, metrics = fit(tmp_path, "--weight", "weight")
    assert model.n_features_in_ == 3
    split = json.loads((tmp_path / "model" / SPLIT).read_text())
    train, test = split["train"], split["test"]
    assert sorted(train + test) == np.flatnonzero(WEIGHTS).tolist()
    held_out = frame.iloc[test]
    predicted = model.predict(held_out[["a", "b", "c"]])
    expected = rank_report(held_out["grade"], predicted, 3, sample_weight=held_out["weight"])
    assert metrics["weight"] == "weight"
    assert metrics["adjacent_error_rates"] == pytest.approx(expected.pop("adjacent_error_rates"))
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)
    assert "held-out samples, weighted by 'weight'" in capsys.readouterr().out
    again = clone(model)
    again.fit(frame.loc[train, ["a", "b", "c"]], frame.loc[train, "grade"], frame.loc[train, "weight"])
    assert (again.predict_proba(held_out[["a", "b", "c"]]) == model.predict_proba(held_out[["a", "b", "c"]])).all()


@pytest.mark.thorough
def test_images_have_their_weights_in_labels_csv(tmp_path):
    names = [f"{row}.png" for row in range(24)]
    for row, name in enumerate(names):
        Image.fromarray(np.full((48, 48), 10 * row, np.uint8)).save(tmp_path / name)
    rows = pd.DataFrame({"path": names, "label": np.arange(24) // 8, "importance": np.arange(24) % 3})
    rows.to_csv(tmp_path / "labels.csv", index=False)
    main(["fit", str(tmp_path), "--weight", "importance", "--encoder", "test_resnet", "--out", str(tmp_path / "model"),
          "--test-fraction", "0.3", *FAST])  # fmt: skip
    split = json.loads((tmp_path / "model" / SPLIT).read_text())
    assert all(row % 3 > 0 for row in split["train"] + split["test"])
    assert json.loads((tmp_path / "model" / "metrics.json").read_text())["weight"] == "importance"


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (-1 - WEIGHTS, ["--weight", "w"], r"--weight: column 'w': got -4, expected numbers of at least 0"),
        (np.where(WEIGHTS, np.nan, 1), ["--weight", "w"], "values in 'w' are missing, expected one value per row"),
        (np.where(WEIGHTS, np.inf, 1), ["--weight", "w"], "--weight: column 'w': got NaN or infinity, expected finite"),
        (["much"] * 80, ["--weight", "w"], "--weight: column 'w': got Series, expected"),
        (WEIGHTS, ["--weight", "grade"], "--weight: got 'grade', which --target has already, expected another"),
        (WEIGHTS, ["--weight", "weigth"], "weight: no column 'weigth'"),
        (WEIGHTS, ["--weight", "w", "--method", "gol"], "--weight: is not for gol: its losses are of pairs"),
    ],
)
def test_weights_that_cannot_be_are_refused(values, options, message, tmp_path, capsys):
    table(tmp_path, w=values)
    with pytest.raises((OrdinateError, SystemExit)):
        fit(tmp_path, *options)
    assert message in capsys.readouterr().err
