"""``ordinate report``: saved models, data in files, rows that were held out, and what is wrong."""

import hashlib
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main
from ordinate.commands.report import report
from ordinate.errors import OrdinateError
from tests.data import pictures
from tests.estimators.examples import cloc, draw_table, otd, ranks_of, supcr

X, TARGET = draw_table(48)
RANKS = ranks_of(TARGET)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
NAMES = np.array(["mild", "moderate", "severe"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ordinate.report.page.page.project", lambda embeddings, _: quick(embeddings))
    FRAME.assign(grade=RANKS, level=TARGET, name=NAMES[RANKS], patient=range(48)).to_csv("data.csv", index=False)
    return tmp_path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    cloc().fit(FRAME, RANKS).save(path)
    return path


def quick(embeddings):
    from ordinate.report.page.projections import project

    return project(embeddings, ("pca",))


def write_split(folder, model, first):
    """Note that a model was trained on the rows up to ``first``."""
    split = {"data": hashlib.sha256((folder / "data.csv").read_bytes()).hexdigest()}
    split |= {"train": list(range(first)), "test": list(range(first, 48))}
    (folder / model / "split.json").write_text(json.dumps(split))


def data_of(path):
    text = path.read_text()
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))


@pytest.mark.parametrize("rows", ["[0, 99]", "[-1]", "[1e999]", "[99999999999999999999]", '["a"]', "null", "[[0]"])
def test_rows_of_a_split_that_are_none_are_damage(saved, folder, rows):
    shutil.copytree(saved, "model")
    write_split(folder, "model", 30)
    path = folder / "model" / "split.json"
    path.write_text(re.sub(r'"test": \[.*?\]', f'"test": {rows}', path.read_text()))
    with pytest.raises(OrdinateError, match=r"model: .*split\.json is damaged"):
        report("model", "data.csv", "grade", "report.html")


def test_a_model_of_a_table_is_reported_on_and_columns_it_does_not_know_are_left_out(saved, folder, capsys):
    shutil.copytree(saved, "model")
    report("model", "data.csv", "grade", "report.html")
    assert "report on 48 samples: report.html" in capsys.readouterr().out
    assert data_of(folder / "report.html")["true"] == RANKS.tolist()
    assert "ordinate report model data.csv --target grade --out report.html" in (folder / "report.html").read_text()


def test_labels_that_are_text_keep_the_order_of_the_model(folder):
    otd(class_order=NAMES.tolist()).fit(FRAME, NAMES[RANKS]).save("model")
    report("model", "data.csv", "name", "report.html")
    assert data_of(folder / "report.html")["ranks"] == NAMES.tolist()


def test_targets_are_reported_on(folder):
    supcr().fit(FRAME, TARGET).save("model")
    report("model", "data.csv", "level", "report.html")
    np.testing.assert_allclose(data_of(folder / "report.html")["true"], TARGET, rtol=1e-12)


def test_rows_that_the_model_was_trained_on_are_not_measured(folder):
    cloc().fit(FRAME[:30], RANKS[:30]).save("model")
    write_split(folder, "model", 30)
    report("model", "data.csv", "grade", "report.html")
    data = data_of(folder / "report.html")
    assert data["true"] == RANKS[30:].tolist()
    assert data["names"][0] == "row 30"
    assert "It may have seen these samples" not in (folder / "report.html").read_text()
    (folder / "model" / "split.json").write_text("{}")
    with pytest.raises(OrdinateError, match=r"model: model/split.json is damaged"):
        report("model", "data.csv", "grade", "report.html")


def test_rows_have_the_names_that_identify_them_and_intervals_are_those_of_predict(folder, capsys):
    X, target = draw_table(240)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(grade=ranks_of(target))
    table.insert(0, "patient", [f"P{row:03}" for row in range(240)])
    table[:160].to_csv("seen.csv", index=False)
    table[160:].to_csv("new.csv", index=False)
    main(["fit", "seen.csv", "--target", "grade", "--method", "otd", "--epochs", "4", "--out", "model"])
    page = (folder / "model" / "report.html").read_text()
    held_out = json.loads((folder / "model" / "split.json").read_text())["test"]
    assert data_of(folder / "model" / "report.html")["names"] == [f"row {row}, P{row:03}" for row in held_out]
    assert "calibrate" not in page  # There are too few of them for halves.
    main(["report", "model", "new.csv", "--out", "report.html"])
    assert data_of(folder / "report.html")["names"][:2] == ["row 0, P160", "row 1, P161"]
    main(["predict", "model", "new.csv", "--coverage", "0.9", "--out", "grades.csv"])
    found = pd.read_csv("grades.csv")
    inside = (found["lower"] <= table["grade"][160:].to_numpy()) & (table["grade"][160:].to_numpy() <= found["upper"])
    page = (folder / "report.html").read_text()
    assert "which other held-out samples calibrate" in page
    assert re.search(rf">0.9</th><td[^>]*>{inside.mean():.3g}</td>", page)
    ordinate.load("model").report("python.html")
    assert data_of(folder / "python.html")["names"] == [f"row {row}, P{row:03}" for row in held_out]


def test_images_with_a_split_are_measured_on_its_test_part(folder):
    ranks = np.arange(40) % 2
    names = [f"{i:02}.png" for i in range(40)]
    pictures.write(folder / "scans", pictures.draw(ranks), names)
    split = ["train"] * 24 + ["test"] * 16
    pd.DataFrame({"path": names, "grade": ranks, "split": split}).to_csv("scans/labels.csv", index=False)
    otd(encoder="test_resnet", epochs=1).fit(pictures.draw(ranks)[:24], ranks[:24]).save("model")
    report("model", "scans", "grade", "report.html")
    data = data_of(folder / "report.html")
    assert (len(data["true"]), data["shown"]["kind"]) == (16, "pictures")
    assert data["names"][0].endswith("24.png")


@pytest.mark.parametrize(
    ("data", "target", "out", "message"),
    [
        ("data.csv", None, "r.html", "target: got none, expected the column of the label"),
        ("data.csv", "grad", "r.html", r"data.csv: no column 'grad'; did you mean 'grade'\?"),
        (
            "data.csv",
            "name",
            "r.html",
            "column 'name': holds 'mild', 'moderate', 'severe', expected the ranks of the model: 0, 1, 2",
        ),
        ("data.csv", "grade", "no/r.html", "out: no/r.html cannot be written: No such folder as no"),
        ("data.csv", "grade", "model", "out: model is a folder, expected a file"),
        ("dat.csv", "grade", "r.html", "dat.csv: no such file; did you mean data.csv"),
    ],
)
def test_what_is_wrong_is_one_line_and_leaves_nothing(saved, folder, data, target, out, message):
    shutil.copytree(saved, "model")
    with pytest.raises(OrdinateError, match=message):
        report("model", data, target, out)
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "model"]
