"""Labels that are missing, that stand for missing ones, and ranks that no training row has."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from safetensors.torch import load_file

from ordinate.cli import main

FIT = ["--target", "grade", "--method", "otd", "--epochs", "1", "--no-report", "--quiet", "--out", "model"]
FRAME = pd.DataFrame({"a": np.random.default_rng(0).normal(size=40), "grade": np.tile([0.0, 1, 2, 3], 10)})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("write", [pd.DataFrame.to_csv, pd.DataFrame.to_parquet])
def test_rows_without_a_label_are_left_out(write, capsys):
    data = f"data.{write.__name__.removeprefix('to_')}"
    write(FRAME.assign(grade=FRAME["grade"].where(np.arange(40) > 4)), data, index=False)
    assert main(["fit", data, *FIT]) == 0
    assert "left out: 5 of 40 rows, which have no label\n35 samples" in capsys.readouterr().out
    held_out = json.loads(Path("model", "metrics.json").read_text())["test_samples"]
    assert main(["report", "model", data, "--out", "report.html"]) == 0
    assert f"report on {held_out} samples" in capsys.readouterr().out


def test_rows_are_those_of_the_file_after_some_were_left_out(capsys):
    some = FRAME.assign(grade=FRAME["grade"].where(np.arange(40) % 7 != 2), a=np.arange(40.0) % 20)
    some["side"] = np.where(np.arange(40) < 30, "train", "test")
    some.to_csv("data.csv", index=False)
    assert main(["fit", "data.csv", "--split", "side", *FIT]) == 0
    said = capsys.readouterr().out
    split = json.loads(Path("model", "split.json").read_text())
    assert sorted(split["train"] + split["test"]) == some.index[some["grade"].notna()].tolist()
    held_out = load_file("model/held_out.safetensors")["labels"]
    assert held_out.tolist() == some.loc[split["test"], "grade"].tolist()
    copies = [tuple(map(int, pair)) for pair in re.findall(r"row (\d+) = row (\d+)", said)]
    assert copies
    for copy, original in copies:
        features = some.drop(columns=["grade", "side"])
        assert features.loc[copy].equals(features.loc[original])
        assert (copy in split["test"], original in split["train"]) == (True, True)
    options = ["--target", "grade", "--drop", "side", "--folds", "2", "--epochs", "2", "--quiet"]
    suspects = ["suspects", "data.csv", *options]
    assert main([*suspects, "--out", "suspects.csv"]) == 0
    found = pd.read_csv("suspects.csv")
    assert found["label"].tolist() == some.loc[found["row"], "grade"].tolist()
    capsys.readouterr()
    assert main(["report", "model", "data.csv", "--suspects", "suspects.csv", "--out", "report.html"]) == 0
    page = Path("report.html").read_text()
    doubted = found[found["row"].isin(split["test"]) & (found["label"] != found["suggested"])]
    assert all(f"row {row}" in page for row in doubted["row"][:3])


def test_rows_of_images_are_those_of_the_labels_file(capsys):
    grades = pd.Series(np.tile([0.0, 1, 2, 3], 10)).mask(np.arange(40) % 13 == 5)
    Path("images").mkdir()
    for row in range(40):
        Image.fromarray(np.full((8, 8), 6 * row, np.uint8)).save(f"images/{row:02}.png")
    for broken in (7, 25):
        Path(f"images/{broken:02}.png").write_bytes(b"no image")
    pd.DataFrame({"path": [f"{row:02}.png" for row in range(40)], "grade": grades}).to_csv("images/labels.csv")
    assert main(["fit", "images", *FIT, "--skip-unreadable", "--encoder", "test_resnet", "--image-size", "8"]) == 0
    split = json.loads(Path("model", "split.json").read_text())
    assert sorted(split["train"] + split["test"]) == sorted(set(grades.dropna().index) - {7, 25})


def test_a_file_without_any_label_is_an_error(capsys):
    FRAME.assign(grade=np.nan).to_csv("data.csv", index=False)
    assert main(["fit", "data.csv", *FIT]) == 2
    assert "no row has a label in 'grade'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("columns", "options", "note"),
    [
        (
            {"grade": FRAME["grade"].replace(3, -9)},
            [],
            "note: the label holds -9 in 10 rows, far from its other",
        ),
        ({"a": FRAME["a"].where(FRAME.index > 0, 999)}, [], "note: column 'a' holds 999 in 1 row, far from its other"),
        (
            {"a": FRAME["a"].where(FRAME.index != 7, 4321.0), "grade": FRAME["grade"].where(FRAME.index > 2)},
            [],
            "note: column 'a' holds 4321 in row 7, far from its other values, ",
        ),
        ({}, ["--order", "0,1,2,3,4"], "note: no training sample has the rank 4, so"),
        (
            {"part": np.where(FRAME["grade"] == 3, "test", "train")},
            ["--split", "part"],
            "training sample has the rank 3,",
        ),
    ],
)
def test_notes_on_labels_and_sentinels(columns, options, note, capsys):
    FRAME.assign(**columns).to_csv("data.csv", index=False)
    main(["fit", "data.csv", *FIT, *options])
    assert note in capsys.readouterr().out


def test_plain_labels_and_features_need_no_note(capsys):
    FRAME.to_csv("data.csv", index=False)
    assert main(["fit", "data.csv", *FIT]) == 0
    assert "note: the label" not in (said := capsys.readouterr().out)
    assert "far from" not in said
    assert "no training sample" not in said


@pytest.mark.parametrize(("feature", "is_one"), [(np.zeros(40), True), (FRAME["grade"], False)])
def test_a_model_that_predicts_one_rank_for_all_samples_is_named(feature, is_one, capsys):
    FRAME.assign(a=feature).to_csv("data.csv", index=False)
    fit = [*FIT[:5], "20" if not is_one else "1", "--quiet", "--out", "model"]
    assert main(["fit", "data.csv", *fit]) == 0
    printed = re.findall(r"note: the model predicts ([0-3]) for all 8 held-out samples\n", capsys.readouterr().out)
    page = Path("model", "report.html").read_text()
    assert len(printed) == is_one
    assert ("One rank for all samples" in page) == is_one
