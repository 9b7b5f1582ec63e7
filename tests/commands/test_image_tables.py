"""Tables of paths of images, next to the images or with absolute paths, are read as images by every command."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main
from ordinate.data.labels_file import lists_images
from ordinate.errors import OrdinateError
from tests.data import pictures

RANKS = np.arange(60) % 3
NAMES = [f"scans/{i:02}.png" for i in range(60)]
TABLE = pd.DataFrame({"Image Index": NAMES, "grade": RANKS, "subject": [f"s{i // 3}" for i in range(60)]})
QUICK = ["--method", "cloc", "--encoder", "test_resnet", "--epochs", "3", "--no-report", "--quiet"]

pytestmark = pytest.mark.usefixtures("unpainted")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pictures.write(Path("knees"), pictures.draw(RANKS), NAMES)


def write(form):
    """Write the table in one of the forms in which people have it, and return its path."""
    if form == "labels.csv":
        TABLE.rename(columns={"Image Index": "path"}).to_csv("knees/labels.csv", index=False)
        return "knees"
    if form == "parquet":
        TABLE.assign(**{"Image Index": [f"./knees/{name}" for name in NAMES]}).to_parquet("train.parquet")
        return "train.parquet"
    if form == "workbook":
        TABLE.to_excel("knees/train.xlsx", index=False)
        return "knees/train.xlsx"
    if form == "backslashes":
        TABLE.assign(**{"Image Index": [name.replace("/", "\\") for name in NAMES]}).to_csv("knees/t.csv", index=False)
        return "knees/t.csv"
    if form == "absolute":
        TABLE.assign(**{"Image Index": [str(Path("knees", name).absolute()) for name in NAMES]}).to_csv("elsewhere.csv")
        return "elsewhere.csv"
    TABLE.to_csv("knees/train.csv", index=False, sep=";")
    return "knees/train.csv"


@pytest.mark.parametrize("form", ["semicolons", "parquet", "workbook", "backslashes", "absolute"])
def test_a_table_of_images_gives_the_model_and_figures_of_a_labels_csv(form, capsys):
    data, usual = write(form), write("labels.csv")
    for path, out in ((data, "model"), (usual, "usual")):
        assert main(["fit", path, "--target", "grade", "--out", out, *QUICK]) == 0
        assert "60 samples of 16 x 16 pixels" in capsys.readouterr().out
        assert main(["predict", out, path, "--out", f"{out}.csv"]) == 0
        assert main(["evaluate", out, path, "--target", "grade", "--out", f"{out}-metrics.csv"]) == 0
        assert "12 samples, on which no model was trained" in capsys.readouterr().out
    columns = ["prediction", "probability_0", "probability_1", "probability_2"]
    pd.testing.assert_frame_equal(pd.read_csv("model.csv")[columns], pd.read_csv("usual.csv")[columns])
    values = [pd.read_csv(f"{out}-metrics.csv")["value"] for out in ("model", "usual")]
    pd.testing.assert_series_equal(*values)


def test_a_data_frame_of_images_trains_on_them_as_its_file_does():
    usual = ordinate.fit(write("labels.csv"), "grade", method="cloc", encoder="test_resnet", epochs=3, verbose=0)
    paths = "knees/" + TABLE["Image Index"]
    table = TABLE.assign(**{"Image Index": paths})
    model = ordinate.fit(table, "grade", method="cloc", encoder="test_resnet", epochs=3, verbose=0)
    np.testing.assert_array_equal(model.predict_proba(paths), usual.predict_proba(paths))
    assert model.similar(paths[:2], k=3)[1].shape == (2, 3)
    np.testing.assert_array_equal(model.predict(table), usual.predict(paths))
    assert model.explain(table[:1]).shape == (1, 16, 16)
    assert model.evaluate(table) == usual.evaluate(paths, RANKS)


def test_the_groups_of_images_are_known_when_these_are_measured(capsys):
    assert main(["fit", write("semicolons"), "--target", "grade", "--group", "subject", "--out", "model", *QUICK]) == 0
    TABLE.assign(subject=TABLE["subject"].where(RANKS > 0, "new"))[::-1].to_csv("knees/new.csv", index=False)
    TABLE[::-1].drop(columns="subject").to_csv("knees/without.csv", index=False)
    capsys.readouterr()
    assert main(["evaluate", "model", "knees/new.csv"]) == 0
    said = capsys.readouterr().out
    trained = set(TABLE["subject"].iloc[json.loads(Path("model/split.json").read_text())["train"]])
    known = int((TABLE["subject"].isin(trained) & (RANKS > 0)).sum())
    assert f"{known} of 60 rows are of a 'subject' that the model was trained on" in said
    assert "95% intervals by 'subject'" in said
    assert main(["evaluate", "model", "knees/without.csv"]) == 0
    assert "subject" not in capsys.readouterr().out


def test_columns_of_the_table_are_kept_next_to_the_predictions_of_its_images(capsys):
    assert main(["fit", write("labels.csv"), "--target", "grade", "--out", "model", *QUICK]) == 0
    twice = TABLE.assign(code=[f"{i:03}" for i in range(60)], path=TABLE["Image Index"])[::-1]
    twice = pd.concat([twice, twice.assign(code="again")])
    twice.loc[7, ["Image Index", "path"]] = "scans/gone.png"
    twice.to_csv("knees/new.csv", index=False)
    Path("knees/scans/31.png").write_bytes(b"no image")
    arguments = ["predict", "model", "knees/new.csv", "--skip-unreadable", "--keep-columns", "code", "path"]
    assert main([*arguments, "--out", "predicted.csv"]) == 0
    expected = twice.drop(index=[7, 31])
    found = pd.read_csv("predicted.csv", dtype={"code": str})
    assert list(found)[:3] == ["path", "code", "prediction"]
    assert found[["code", "path"]].values.tolist() == expected[["code", "path"]].values.tolist()
    assert main([*arguments, "ages"]) == 2
    assert "knees/new.csv: no column 'ages'; it has" in capsys.readouterr().err
    assert main(["predict", "model", "knees/scans", "--keep-columns", "code"]) == 2
    assert "knees/scans holds no table" in capsys.readouterr().err


def test_images_may_be_named_without_their_endings(capsys):
    names = [name.removesuffix(".png") for name in NAMES]
    TABLE.assign(**{"Image Index": names}).to_csv("knees/kaggle.csv", index=False)
    assert main(["fit", "knees/kaggle.csv", "--target", "grade", "--out", "model", *QUICK]) == 0
    assert "60 samples of 16 x 16 pixels" in capsys.readouterr().out
    assert main(["predict", "model", "knees/kaggle.csv", "--out", "of_kaggle.csv"]) == 0
    assert pd.read_csv("of_kaggle.csv")["path"].tolist() == [f"knees/{name}" for name in NAMES]
    TABLE.assign(**{"Image Index": [f"s{name}" for name in names]}).to_csv("knees/none.csv", index=False)
    assert not lists_images("knees/none.csv")


def test_models_that_see_images_of_other_sizes_are_compared(capsys):
    data = write("labels.csv")
    for size in (12, 16):
        assert main(["fit", data, "--target", "grade", "--out", f"x{size}", "--image-size", str(size), *QUICK]) == 0
    capsys.readouterr()
    assert main(["evaluate", "x12", "x16", data]) == 0
    assert "MAE, x16 minus x12: " in capsys.readouterr().out


def test_explain_shows_the_images_that_were_held_out(capsys):
    assert main(["fit", write("labels.csv"), "--target", "grade", "--out", "model", *QUICK]) == 0
    held_out = json.loads(Path("model/split.json").read_text())["test"][:3]
    assert main(["explain", "model", "--images", "3", "--out", "maps"]) == 0
    expected = [f"{place}_{Path(NAMES[row]).stem}.png" for place, row in enumerate(held_out)]
    assert sorted(path.name for path in Path("maps").iterdir()) == expected


def test_an_option_for_columns_reads_the_other_columns_of_the_table_instead():
    table = TABLE.assign(age=RANKS + np.random.default_rng(0).normal(size=60))
    table.to_csv("knees/train.csv", index=False)
    arguments = ["fit", "knees/train.csv", "--target", "grade", "--method", "cloc", "--epochs", "3", "--quiet"]
    assert main([*arguments, "--drop", "subject", "--no-report", "--out", "model"]) == 0
    assert ordinate.load("model").feature_names_in_.tolist() == ["age"]
    assert main(["predict", "model", "knees/train.csv", "--out", "of_ages.csv"]) == 0
    assert main(["evaluate", "model", "knees/train.csv"]) == 0
    assert main(["report", "model", "knees/train.csv", "--out", "report.html"]) == 0


def test_images_that_are_not_there_are_named_unless_they_may_be_left_out(capsys):
    Path("knees/scans/07.png").unlink()
    data = write("semicolons")
    assert main(["fit", data, "--target", "grade", "--out", "model", *QUICK]) == 2
    assert "scans/07.png" in capsys.readouterr().err
    assert main(["fit", data, "--target", "grade", "--out", "model", "--skip-unreadable", *QUICK]) == 0
    assert "left out: scans/07.png: no such file" in capsys.readouterr().out


def test_every_command_that_offers_to_leave_out_images_does_so(capsys):
    data = write("semicolons")
    assert main(["fit", data, "--target", "grade", "--out", "model", *QUICK]) == 0
    Path("knees/scans/07.png").write_bytes(b"")
    Path("knees/scans/08.png").unlink()
    capsys.readouterr()
    for command in (["predict", "model"], ["evaluate", "model"], ["report", "model"], ["suspects"]):
        arguments = [*command, data, "--out", f"{command[0]}.{'html' if command[0] == 'report' else 'csv'}"]
        if command == ["suspects"]:
            arguments += ["--target", "grade", "--epochs", "2", "--folds", "2", "--quiet"]
        assert main(arguments) == 2
        assert "--skip-unreadable leaves them out" in capsys.readouterr().err
        assert main([*arguments, "--skip-unreadable"]) == 0
        said = "".join(capsys.readouterr())
        assert "scans/07.png" in said
        assert "scans/08.png" in said
    model = ordinate.load("model")
    with pytest.raises(OrdinateError, match=r"scans/08.png$"):
        model.evaluate(data)


@pytest.mark.parametrize("names", [NAMES, ["gone.png"] * 60], ids=["different", "the same"])
def test_images_none_of_which_is_there_do_not_become_a_table_of_the_other_columns(names, capsys):
    table = TABLE.assign(age=np.random.default_rng(0).normal(size=60), **{"Image Index": names})
    table.to_csv("moved.csv", index=False)
    assert main(["fit", "moved.csv", "--target", "grade", "--out", "model", *QUICK]) == 2
    said = capsys.readouterr().err
    assert "moved.csv: none of its images is there, such as" in said
    assert "--drop 'Image Index' trains on the other columns instead" in said
    with pytest.raises(OrdinateError, match=r"^data: none of its images is there"):
        ordinate.fit(table, "grade", verbose=0)
    assert not Path("model").exists()


def test_images_of_a_data_frame_that_are_not_there_are_left_out_where_that_is_asked_for(capsys):
    table = TABLE.assign(**{"Image Index": ["gone.png", *("knees/" + TABLE["Image Index"])[1:]]})
    options = {"method": "cloc", "encoder": "test_resnet", "epochs": 3, "verbose": 0}
    with pytest.raises(OrdinateError, match=r"^data: 1 of its images is not there: .*gone.png; --skip-unreadable"):
        ordinate.fit(table, "grade", **options)
    model = ordinate.fit(table, "grade", skip_unreadable=True, **options)
    assert model.predict(table[1:]).shape == (59,)


@pytest.mark.parametrize("shape", [(3, 8, 8), (8, 8, 3)])
def test_a_list_of_pictures_is_told_how_to_become_an_array(shape):
    with pytest.raises(OrdinateError, match=r"got a list of pictures, expected paths of images, or one array"):
        ordinate.CLOCClassifier().fit([np.zeros(shape, np.uint8)] * 9, np.arange(9) % 3)


@pytest.mark.parametrize("name", ["empty.csv", "empty.parquet"])
def test_a_table_without_rows_lists_no_images(name):
    table = TABLE[:0]
    table.to_csv(name, index=False) if name.endswith("csv") else table.to_parquet(name)
    assert not lists_images(name)


def test_long_text_in_a_table_names_no_file():
    pd.DataFrame({"note": ["x" * 5000, "a\0b"] * 30, "grade": RANKS}).to_csv("notes.csv", index=False)
    assert not lists_images("notes.csv")
    names = [name.removesuffix(".png") for name in NAMES]
    TABLE.assign(**{"Image Index": names}).assign(note="x" * 5000)[["note", "Image Index", "grade"]].to_csv(
        "knees/t.csv"
    )
    assert lists_images("knees/t.csv")
