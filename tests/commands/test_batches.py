"""``ordinate predict``, ``transform`` and ``search`` in batches: what they say does not depend on the batches."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import ordinate
from ordinate import ImageOptions
from ordinate.cli import main
from ordinate.data.modality import Reader
from ordinate.model.model import Model
from tests.data import pictures
from tests.estimators.examples import draw_frame, otd, ranks_of, supcr

ROWS = 48


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    frame, target = draw_frame(ROWS)
    otd().fit(frame, ranks_of(target)).save(folder / "ranks")
    supcr(epochs=(1, 1)).fit(frame, target).save(folder / "numbers")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, target = draw_frame(ROWS, seed=1)
    frame = frame.assign(note="kept out", grade=ranks_of(target))
    frame.to_csv("new.csv", index=False)
    frame.to_csv("new.tsv.gz", index=False, sep="\t")
    frame.to_parquet("new.parquet", row_group_size=11)
    Path("parts").mkdir()
    for place in range(3):
        frame.iloc[16 * place : 16 * place + 16].to_parquet(f"parts/{place}.parquet")
    return tmp_path


def run(*arguments):
    assert main([str(argument) for argument in arguments]) == 0


@pytest.fixture
def in_batches(monkeypatch):
    """Read 7 samples at a time from here on, and return how many each batch had."""
    sizes = []
    read = Model.read
    monkeypatch.setattr(Model, "read", lambda self, X: sizes.append(len(X)) or read(self, X))
    return lambda: monkeypatch.setattr(Reader, "read_at_once", 7) or sizes


@pytest.mark.parametrize("data", ["new.csv", "new.tsv.gz", "new.parquet", "parts"])
@pytest.mark.parametrize("model", ["ranks", "numbers"])
def test_predictions_are_those_of_one_batch(models, folder, in_batches, capsys, data, model):
    run("predict", models / model, data, "--out", "one.csv")
    sizes = in_batches()
    sizes.clear()
    run("predict", models / model, data, "--out", "many.csv")
    assert sizes == [7] * 6 + [6]
    assert Path("many.csv").read_bytes() == Path("one.csv").read_bytes()
    capsys.readouterr()
    run("predict", models / model, data)
    assert capsys.readouterr().out == Path("one.csv").read_text()


def test_predictions_are_written_as_parquet(models, folder, in_batches):
    run("predict", models / "numbers", "new.csv", "--out", "one.csv")
    in_batches()
    run("predict", models / "numbers", "new.csv", "--out", "many.parquet")
    assert_frame_equal(pd.read_parquet("many.parquet"), pd.read_csv("one.csv"), rtol=1e-5)


@pytest.mark.filterwarnings("default:rows outside what training had seen")
def test_batches_keep_the_order_and_warn_once(models, folder, in_batches, capsys):
    pd.read_csv("new.csv").assign(text="violet").to_csv("unseen.csv", index=False)
    run("predict", models / "ranks", "unseen.csv", "--out", "one.csv")
    warned = capsys.readouterr().err
    in_batches()
    run("predict", models / "ranks", "unseen.csv", "--out", "many.csv")
    assert Path("many.csv").read_bytes() == Path("one.csv").read_bytes()
    rows = len(pd.read_csv("new.csv"))
    assert f"violet not seen in training, treated as missing ({rows:,} of {rows:,} rows)" in warned
    assert capsys.readouterr().err == warned  # said once, not by every batch


def test_an_error_in_a_later_batch_says_where_and_leaves_no_file(models, folder, in_batches, capsys):
    frame = pd.read_csv("new.csv").astype({"number": object})
    frame.loc[29:33, "number"] = "many"
    frame.to_csv("wrong.csv", index=False)
    before = sorted(folder.rglob("*"))
    in_batches()
    assert main(["predict", str(models / "ranks"), "wrong.csv", "--out", "a.csv"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("ordinate: column 'number': got 'many' in 5 of 7 rows, expected numbers, as in training")
    assert error.endswith("in samples 28 to 34, counted from 0\n")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["a.npy", "a.csv", "a.parquet"])
def test_embeddings_are_those_of_transform(models, folder, in_batches, capsys, name):
    in_batches()
    run("transform", models / "ranks", "new.parquet", "--out", name)
    assert capsys.readouterr().out == f"48 embeddings of 8 dimensions: {name}\n"
    model = ordinate.load(models / "ranks")
    expected = model.transform(pd.read_parquet("new.parquet")[model.feature_names_in_])
    if name == "a.npy":
        np.testing.assert_allclose(np.load(name), expected, rtol=1e-12)
        return
    written = pd.read_csv(name) if name == "a.csv" else pd.read_parquet(name)
    assert list(written.columns) == ["row", *(f"embedding_{place}" for place in range(8))]
    assert written.pop("row").tolist() == list(range(48))
    np.testing.assert_allclose(written, expected, rtol=1e-5 if name == "a.csv" else 1e-12, atol=1e-9)


@pytest.mark.parametrize("data", ["new.csv", "parts"])
def test_a_search_finds_what_one_batch_would_hold(models, folder, in_batches, data):
    pd.concat([pd.read_parquet("new.parquet")[:9]] * 2).to_csv("query.csv", index=False)  # equal queries
    arguments = ["search", models / "ranks", "query.csv", "--among", data, "--target", "grade", "--k", 12]
    run(*arguments, "--out", "one.csv")
    in_batches()
    run(*arguments, "--out", "many.csv")
    assert Path("many.csv").read_bytes() == Path("one.csv").read_bytes()
    assert len(pd.read_csv("one.csv")) == 18 * 12


def test_equally_near_samples_of_several_batches_come_in_their_order(models, folder, in_batches):
    pd.concat([pd.read_parquet("new.parquet")[:4]] * 6).to_csv("repeated.csv", index=False)
    in_batches()
    run("search", models / "numbers", "repeated.csv", "--among", "repeated.csv", "--k", 5, "--out", "found.csv")
    found = pd.read_csv("found.csv").pivot(index="query", columns="place", values="neighbour")
    assert found.loc[:3].to_numpy().tolist() == [[row + 4 * time for time in range(5)] for row in range(4)]


def test_images_are_read_by_their_paths(folder, in_batches, monkeypatch):
    ranks = np.arange(18) % 3
    drawn = pictures.draw(ranks)
    images = ImageOptions(augmentation="none", workers=0)
    otd(encoder="test_resnet", data=images, epochs=1).fit(drawn, ranks).save("model")
    pictures.write(Path("knees"), drawn, [f"{rank}/{i:02}.png" for i, rank in enumerate(ranks)])
    run("predict", "model", "knees", "--out", "one.csv")
    sizes = in_batches()
    sizes.clear()
    monkeypatch.setattr("ordinate.data.decoded.PixelReader.read_at_once", 7)
    run("predict", "model", "knees", "--out", "many.csv")
    assert sizes == [7, 7, 4]
    assert Path("many.csv").read_bytes() == Path("one.csv").read_bytes()
    run("transform", "model", "knees", "--out", "embeddings.csv")
    paths = pd.read_csv("one.csv")["path"].tolist()
    assert pd.read_csv("embeddings.csv")["path"].tolist() == paths
    run("search", "model", "knees", "--among", "knees", "--k", 1, "--out", "found.csv")
    assert pd.read_csv("found.csv")[["query", "neighbour"]].to_numpy().T.tolist() == [paths, paths]


def test_batches_go_to_any_method_in_python(models, folder, in_batches):
    in_batches()
    model = ordinate.load(models / "ranks")
    batches = model.read_batches("new.csv")
    assert len(batches) == ROWS
    whole = pd.read_csv("new.csv")[model.feature_names_in_]
    for method in (model.predict, model.predict_proba, model.rank_probabilities, model.transform):
        np.testing.assert_allclose(np.concatenate([method(X) for X in batches]), method(whole), rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["transform", "MODEL", "new.csv", "--out", "new.csv"], "--out: new.csv is what the command reads"),
        (["transform", "MODEL", "other.csv", "--out", "a.npy"], "other.csv: lacks the columns number"),
    ],
)
def test_what_cannot_be_done_is_said_and_writes_nothing(models, folder, capsys, arguments, message):
    pd.DataFrame({"other": [1.0]}).to_csv("other.csv", index=False)
    before = sorted(folder.rglob("*"))
    assert main([argument.replace("MODEL", str(models / "ranks")) for argument in arguments]) == 2
    assert capsys.readouterr().err.startswith(f"ordinate: {message}")
    assert sorted(folder.rglob("*")) == before


def test_a_misspelt_column_is_named_with_the_one_that_is_meant(models, folder, capsys):
    names = list(ordinate.load(models / "ranks").feature_names_in_)
    table = pd.DataFrame(0.0, index=range(3), columns=[names[0].upper(), *names[1:]])
    table.to_csv("other.csv", index=False)
    assert main(["predict", str(models / "ranks"), "other.csv"]) == 2
    assert f"lacks the column {names[0]}, expected" in (said := capsys.readouterr().err)
    assert f"did you mean '{names[0].upper()}'?" in said
