"""``ordinate fit``, ``predict`` and ``report`` on series: .ts files, folders of matrices, EEG."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main
from ordinate.commands.fit.command import fit
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.predict import predict
from ordinate.commands.report import report
from ordinate.data.series.options import SeriesOptions
from ordinate.data.ts_files import read_ts
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.tuab import read_tuab
from tests.papers.datasets import recordings

QUICK = {"method": "supcr", "epochs": 1, "quiet": True, "no_report": True}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def draw(lengths):
    rng = np.random.default_rng(0)
    return [rng.normal(place / 10, 1, size=(2, length)) for place, length in enumerate(lengths)]


def write_ts(path, lengths):
    rows = [
        ":".join([*(",".join(map(str, channel)) for channel in one), str(place / 7)])
        for place, one in enumerate(draw(lengths))
    ]
    header = "@dimensions 2\n@equalLength false\n@missing false\n@targetLabel true\n@data\n"
    Path(path).write_text(header + "\n".join(rows) + "\n")


def write_matrices(split=None):
    Path("brains").mkdir()
    for place, matrix in enumerate(draw(range(12, 36))):
        np.save(f"brains/{place:02}.npy", matrix)
    table = pd.DataFrame({"path": [f"{place:02}.npy" for place in range(24)], "age": np.linspace(20, 80, 24)})
    if split is not None:
        table["split"] = split
    table.to_csv("brains/labels.csv", index=False)


def predictions(model, data):
    predict(model, data, coverage=None, costs=None, out="predicted.csv")
    return pd.read_csv("predicted.csv")["prediction"]


def test_the_classes_of_a_ts_file_are_ranks(capsys):
    rows = [f"{','.join(map(str, channels[0]))}:{place % 3 + 1}" for place, channels in enumerate(draw([12] * 30))]
    Path("grades.ts").write_text("@classLabel true 1 2 3\n@data\n" + "\n".join(rows) + "\n")
    fit(FitOptions("grades.ts", **QUICK | {"method": "otd"}))
    assert "3 ranks, 1 < 2 < 3;" in capsys.readouterr().out
    assert set(predictions("grades-model", "grades.ts")) <= {1, 2, 3}


def test_a_ts_file_needs_no_target_and_its_model_predicts_another(capsys):
    write_ts("floods_TRAIN.ts", range(10, 40))
    write_ts("floods_TEST.ts", [50, 5, 20])
    fit(FitOptions("floods_TRAIN.ts", set=["data.crop=8"], **QUICK))
    shown = capsys.readouterr().out
    assert "30 samples of shape (2, 39), a continuous target from 0 to 4.14286; 24 to train, 6 held out" in shown
    assert "note: series: of " in shown
    model = ordinate.load("floods_TRAIN-model")
    assert model.data == SeriesOptions(crop=8)
    expected = model.predict(read_ts("floods_TEST.ts")[0])
    np.testing.assert_allclose(predictions("floods_TRAIN-model", "floods_TEST.ts"), expected, rtol=1e-5)
    report("floods_TRAIN-model", "floods_TRAIN.ts", target=None, suspects=None, out="report.html")
    assert "6 samples" in Path("report.html").read_text()


def test_a_folder_of_matrices_keeps_its_split(capsys):
    write_matrices(split=["train"] * 18 + ["test"] * 6)
    fit(FitOptions("brains", encoder="resnet1d24", **QUICK))
    assert "24 samples of shape (2, 35), a continuous target from 20 to 80; 18 to train, 6 held out" in (
        capsys.readouterr().out
    )
    assert json.loads(Path("brains-model/split.json").read_text())["test"] == list(range(18, 24))
    expected = ordinate.load("brains-model").predict(draw(range(12, 36)))
    np.testing.assert_allclose(predictions("brains-model", "brains"), expected, rtol=1e-5)


def test_a_recipe_of_series_is_for_series_alone():
    write_matrices()
    fit(FitOptions("brains", recipe="supcr-tuab", quick=True, set=["data.crop=10"], **QUICK))
    model = ordinate.load("brains-model")
    assert (model.encoder, model.batch_size, model.data) == ("resnet1d", 32, SeriesOptions(crop=10))
    with pytest.raises(OrdinateError, match="--recipe: cloc-koa is for images, and brains holds "):
        fit(FitOptions("brains", recipe="cloc-koa", quiet=True))


def test_eeg_keeps_the_split_of_subjects(capsys, monkeypatch):
    monkeypatch.setenv("ORDINATE_DATA", str(Path("data").resolve()))
    recordings.plant(Path("data/tuab"))
    monkeypatch.setitem(read_tuab.__kwdefaults__, "start", 1.0)  # they last 3 s
    fit(FitOptions("tuab", task="continuous", set=["data.crop=100"], **QUICK))
    shown = capsys.readouterr().out
    assert "20 samples of shape (21, 400), a continuous target from 20 to 39; 18 to train, 2 held out" in shown


def test_unreadable_files_are_named_before_training_and_left_out_if_asked(capsys):
    write_matrices()
    Path("brains/03.npy").write_bytes(b"no array")
    with pytest.raises(OrdinateError, match=r"1 of 24 files cannot be read: brains/03.npy: .*; --skip-unreadable"):
        fit(FitOptions("brains", **QUICK))
    assert main(["fit", "brains", "--quiet"]) == 2
    assert capsys.readouterr().err.endswith("; --skip-unreadable leaves them out\n")
    Path("brains/05.npy").unlink()
    assert main(["fit", "brains", "--quiet"]) == 2
    assert "1 of its files is not there: 05.npy; --skip-unreadable leaves them out\n" in capsys.readouterr().err
    fit(FitOptions("brains", skip_unreadable=True, **QUICK))
    shown = capsys.readouterr().out
    assert "left out: brains/03.npy" in shown
    assert "left out: 05.npy: no such file" in shown
    assert "22 samples" in shown


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("brains", {"image_size": "8"}, "--image-size: is for images, and brains holds series"),
        ("brains", {"target": "years"}, "no column 'years'"),
        ("brains", {"set": ["data.crop=0"]}, "--set data.crop: got 0"),
        ("tuab", {"target": "sex"}, "--target: tuab is a data set with its own label and split"),
        ("set.ts", {"target": "depth"}, "set.ts: holds no array 'depth'"),
        ("knees.csv", {"target": "grade", "set": ["data.crop=5"]}, "--set data.crop: is for .*series.* holds a table"),
    ],
)
def test_options_that_do_not_fit_are_errors(data, options, message):
    if data == "brains":
        write_matrices()
    write_ts("set.ts", [5] * 12)
    pd.DataFrame({"grade": np.arange(12.0), "x": np.linspace(0, 1, 12)}).to_csv("knees.csv", index=False)
    with pytest.raises(OrdinateError, match=message):
        fit(FitOptions(data, **options, **QUICK))
