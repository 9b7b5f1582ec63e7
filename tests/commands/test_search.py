"""``ordinate search``: the nearest of a data set, as a table or csv, on tables, series and images."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate import ImageOptions
from ordinate.cli import main
from ordinate.commands.search import search
from ordinate.errors import OrdinateError
from ordinate.metrics import nearest_neighbours
from tests.data import pictures
from tests.estimators.examples import draw_frame, draw_series, otd, ranks_of, supcr


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def model():
    """A model of knees.csv, beside new.csv."""
    frame, target = draw_frame()
    model = otd().fit(frame, ranks_of(target))
    model.save("model")
    frame.assign(grade=ranks_of(target), note="kept out").to_csv("knees.csv", index=False)
    draw_frame(5, seed=1)[0].to_csv("new.csv", index=False)
    return model


def test_the_nearest_rows_and_their_labels_are_written_as_csv(model, folder, capsys):
    search("model", "new.csv", "knees.csv", "grade", 4, "found.csv")
    assert capsys.readouterr().out == "4 neighbours of 5 queries: found.csv\n"
    found = pd.read_csv("found.csv")
    assert list(found.columns) == ["query", "place", "neighbour", "label", "similarity"]
    assert found["query"].tolist() == np.repeat(range(5), 4).tolist()
    assert found["place"].tolist() == [1, 2, 3, 4] * 5
    known, new = (model.transform(pd.read_csv(name)[model.feature_names_in_]) for name in ("knees.csv", "new.csv"))
    rows = nearest_neighbours(new, known, 4)
    assert found["neighbour"].tolist() == rows.ravel().tolist()
    assert found["label"].tolist() == pd.read_csv("knees.csv")["grade"].to_numpy()[rows].ravel().tolist()
    cosines = [
        a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, row in zip(new, rows, strict=True) for b in known[row]
    ]
    np.testing.assert_allclose(found["similarity"], cosines, rtol=1e-5)
    assert {path.name for path in folder.iterdir()} == {"model", "knees.csv", "new.csv", "found.csv"}


def test_a_table_is_printed_and_labels_are_left_out_where_no_column_is_named(model, capsys):
    search("model", "knees.csv", "knees.csv", None, 2, None)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["query", "place", "neighbour", "similarity"]
    assert len(lines) == 2 + 2 * 48
    assert [line[2:] for line in lines[2::2]] == [[str(row), "1.0000"] for row in range(48)]


def test_labels_are_those_of_the_column_that_the_model_was_trained_on(folder, capsys):
    ranks = np.arange(24) % 3
    names = [f"{place:02}.png" for place in range(24)]
    pictures.write(folder / "scans", pictures.draw(ranks), names)
    pd.DataFrame({"path": names, "grade": ranks, "eye": "left"}).to_csv("scans/labels.csv", index=False)
    arguments = "--target grade --method otd --encoder test_resnet --epochs 1 --no-report --quiet --out scans-model"
    assert main(["fit", "scans", *arguments.split()]) == 0
    search("scans-model", "scans", "scans", None, 2, "found.csv")
    assert pd.read_csv("found.csv")["label"].tolist()[::2] == ranks.tolist()
    pd.DataFrame({"path": names, "eye": "left"}).to_csv("scans/labels.csv", index=False)
    search("scans-model", "scans", "scans", None, 2, "unlabelled.csv")
    assert "label" not in pd.read_csv("unlabelled.csv")


def test_a_missing_label_stays_empty(model, capsys):
    frame = pd.read_csv("knees.csv").astype({"grade": object})
    frame.loc[[3, 40], "grade"] = None
    frame.to_csv("some.csv", index=False)
    search("model", "some.csv", "some.csv", "grade", 1, "found.csv")
    assert pd.read_csv("found.csv")["label"].isna().to_numpy().nonzero()[0].tolist() == [3, 40]
    capsys.readouterr()
    search("model", "some.csv", "some.csv", "grade", 1, None)
    cells = [len(line.split()) for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row for row, count in enumerate(cells) if count == 4] == [3, 40]  # The others have a label as well.


def test_images_go_by_their_paths_with_the_ranks_of_their_folders(folder):
    ranks = np.arange(24) % 3
    drawn = pictures.draw(ranks)
    images = ImageOptions(augmentation="none", workers=0)
    otd(encoder="test_resnet", data=images, epochs=1).fit(drawn, ranks).save("model")
    pictures.write(Path("knees"), drawn, [f"{rank}/{i:02}.png" for i, rank in enumerate(ranks)])
    pictures.write(Path("new"), drawn[[5, 7]], ["a.png", "b.png"])
    search("model", "new", "knees", None, 3, "found.csv")
    found = pd.read_csv("found.csv")
    assert found["query"].tolist() == ["new/a.png"] * 3 + ["new/b.png"] * 3
    assert found["neighbour"][::3].tolist() == ["knees/2/05.png", "knees/1/07.png"]
    assert [int(path.split("/")[1]) for path in found["neighbour"]] == found["label"].tolist()

    search("model", "knees", "new", None, 1, "unlabelled.csv")
    assert list(pd.read_csv("unlabelled.csv").columns) == ["query", "place", "neighbour", "similarity"]
    with pytest.raises(OrdinateError, match=r"new: expected a labels.csv, or a folder of images per rank"):
        search("model", "knees", "new", "age", 1, "other.csv")


def test_series_are_searched(capsys):
    X, target = draw_series()
    supcr(epochs=(1, 1)).fit(X, target).save("model")
    np.savez("series.npz", X=X, target=target)
    search("model", "series.npz", "series.npz", "target", 1, None)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [line[2] for line in lines] == [str(row) for row in range(32)]
    np.testing.assert_allclose([float(line[3]) for line in lines], target)


WRONG = {
    "too many": (("model", "new.csv", "knees.csv", None, 49, None), "k: got 49, expected a whole number from 1 to 48"),
    "no such label": (("model", "new.csv", "knees.csv", "grad", 1, None), "no column 'grad'; did you mean 'grade'"),
    "other columns": (("model", "other.csv", "knees.csv", None, 1, None), "other.csv: lacks the columns number"),
    "no such data": (("model", "new.csv", "knee.csv", None, 1, None), "knee.csv: no such file; did you mean knees.csv"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_searched_is_named(arguments, message, model, folder):
    pd.DataFrame({"other": [1.0]}).to_csv("other.csv", index=False)
    before = {path.name for path in folder.iterdir()}
    with pytest.raises(OrdinateError, match=message):
        search(*arguments)
    assert {path.name for path in folder.iterdir()} == before


def test_a_page_shows_images_with_their_predictions_and_neighbours_with_their_labels(folder, capsys):
    ranks = np.arange(24) % 3
    drawn = pictures.draw(ranks)
    images = ImageOptions(augmentation="none", workers=0)
    fitted = otd(encoder="test_resnet", data=images, epochs=1).fit(drawn, ranks)
    fitted.save("model")
    pictures.write(Path("knees"), drawn, [f"{rank}/{i:02}.png" for i, rank in enumerate(ranks)])
    pictures.write(Path("new"), drawn[[5, 7]], ["a.png", "b<i>.png"])
    search("model", "new", "knees", None, 3, "found.html")
    assert capsys.readouterr().out == "2 queries with 3 neighbours each: found.html\n"
    page = Path("found.html").read_text()
    assert page.count("data:image/webp;base64,") == 2 + 2 * 3
    predicted = fitted.predict(drawn[[5, 7]])
    places = [
        page.index(f"predicted {label}</b>new/{name}")
        for label, name in zip(predicted, ["a.png", "b&lt;i&gt;.png"], strict=True)
    ]
    near = [
        re.search(rf"label {rank}, similarity [\d.e-]+</b>knees/{name}", page)
        for rank, name in ((2, "2/05.png"), (1, "1/07.png"))
    ]
    assert places[0] < near[0].start() < places[1] < near[1].start()
    assert "<i>" not in page


def test_a_page_is_for_images(model):
    with pytest.raises(OrdinateError, match=r"out: found.html would show pictures, expected a csv or parquet file"):
        search("model", "new.csv", "knees.csv", "grade", 4, "found.html")
