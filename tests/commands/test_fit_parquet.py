"""``ordinate fit`` on parquet: the model of the DataFrame, from a file or a folder, with every option of tables."""

import json
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pytest

from ordinate.commands.evaluate import evaluate
from ordinate.commands.fit.command import fit
from ordinate.commands.fit.read import read
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.predict import predict
from ordinate.commands.report import report
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.errors import OrdinateError
from tests.estimators.examples import draw_frame, ranks_of

QUICK = {"target": "price", "method": "supcr", "epochs": 1, "quiet": True, "no_report": True}
FRAME, PRICE = draw_frame(n=60)
SIDES = np.repeat(["train", "validation", "test"], [36, 8, 16])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.assign(price=PRICE, side=SIDES, subject=np.arange(60) // 3).to_parquet("homes.parquet")
    return tmp_path


def fitted(out, data="homes.parquet", **options):
    fit(FitOptions(data=str(data), out=out, **{**QUICK, **options}))
    record = json.loads(Path(out, "metrics.json").read_text())
    return Path(out, "weights.safetensors").read_bytes(), record, json.loads(Path(out, "split.json").read_text())


def fitted_on_a_frame(out, monkeypatch, **options):
    """The model of the same file, read whole by pandas."""
    with monkeypatch.context() as context:
        context.setattr("ordinate.data.tables.modality.holds_parquet", lambda _: False)
        return fitted(out, **options)


@pytest.mark.typical("plain", "group")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split": "side", "drop": "subject"},
        {"group": "subject", "drop": "side"},
        {"categorical": "whole,subject"},
        {"target": "whole", "task": "ranks", "method": "cloc", "data": "ranks.parquet"},
    ],
    ids=["plain", "split", "group", "codes", "ranks"],
)
def test_the_model_is_that_of_the_frame(monkeypatch, options):
    FRAME.assign(whole=ranks_of(PRICE)).to_parquet("ranks.parquet")
    assert fitted("a", **options) == fitted_on_a_frame("b", monkeypatch, **options)


def test_columns_are_read_when_they_are_asked_for():
    options = FitOptions(data="homes.parquet", **QUICK)
    X = read(options).X
    assert isinstance(X, ParquetTable)
    assert list(X.columns) == [*FRAME.columns, "side", "subject"]


def test_a_folder_gives_the_model_of_one_file(tmp_path):
    whole = pd.read_parquet("homes.parquet")
    (tmp_path / "parts").mkdir()
    for place in range(3):
        whole.iloc[20 * place : 20 * place + 20].to_parquet(f"parts/part-{place}.parquet")
    in_parts, in_one = fitted("a", "parts"), fitted("b")
    for metrics in (in_parts[1], in_one[1]):
        metrics.pop("command")  # which names the data
    assert in_parts[:2] == in_one[:2]
    data = in_parts[2].pop("data")
    assert data != in_one[2].pop("data")
    assert in_parts[2] == in_one[2]
    whole.iloc[20:40].sample(frac=1, random_state=0).to_parquet("parts/part-1.parquet")
    assert fitted("c", "parts")[2]["data"] != data


def test_texts_may_be_columns_of_it():
    samples = read(FitOptions(data="homes.parquet", text=["side"], **QUICK))
    assert samples.X["side"].tolist() == SIDES.tolist()


def test_its_model_predicts_and_reports(capsys):
    fitted("model")
    predict("model", "homes.parquet", coverage=None, costs=None, out="predicted.csv")
    assert len(pd.read_csv("predicted.csv")) == 60
    report("model", "homes.parquet", "price", "page.html")
    assert "report on 12 samples" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": None}, "target: got none, expected the column of the label"),
        ({"target": "prise"}, r"homes\.parquet: no column 'prise'; did you mean 'price'"),
        ({"drop": "nmber"}, r"homes\.parquet: no column 'nmber'; did you mean 'number'"),
        ({"categorical": "price"}, "categorical: price is the target or dropped"),
        ({"split": "sides"}, r"split: no column 'sides' in homes\.parquet"),
        ({"group": "sides"}, r"group: no column 'sides' in homes\.parquet"),
        (
            {"drop": ",".join([*FRAME.columns, "side"]), "group": "subject"},
            "no column is left in addition to the target",
        ),
        ({"image_size": "8"}, r"--image-size: is for images, and homes\.parquet holds a table"),
        ({"data": "homes.parqet"}, "no such file; did you mean homes.parquet"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_says_why(options, message):
    with pytest.raises(OrdinateError, match=message):
        fitted("a", **options)
    assert not Path("a").exists()


def write_classes(names, codes):
    """Write labels as Hugging Face datasets do: their places among the names of the classes."""
    classes = datasets.ClassLabel(names=names)
    features = datasets.Features({"size": datasets.Value("float64"), "grade": classes})
    datasets.Dataset.from_dict({"size": np.arange(len(codes)), "grade": codes}, features).to_parquet("classes.parquet")


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (["1", "10", "2", "9"], "1 < 2 < 9 < 10"),
        (["0", "1", "10", "2"], "0 < 1 < 2 < 10"),
        (["low", "mid", "high"], "low < mid < high"),
    ],
    ids=["numbers", "numbers from 0", "text"],
)
def test_classes_of_datasets_have_the_order_of_their_names(names, ranks, capsys):
    write_classes(names, np.tile(np.arange(len(names)), 12))
    fitted("m", data="classes.parquet", target="grade", method="cross_entropy")
    assert f" ranks, {ranks};" in capsys.readouterr().out
    evaluate(["m"], "classes.parquet", None, None)
    assert "verdict: " in capsys.readouterr().out


def test_classes_of_datasets_in_alphabetical_order_have_none():
    write_classes(["high", "low", "mid"], np.tile(np.arange(3), 12))
    with pytest.raises(OrdinateError, match="text without an order"):
        fitted("m", data="classes.parquet", target="grade", method="cross_entropy")


def test_minus_1_is_no_class_of_datasets(capsys):
    write_classes(["low", "mid", "high"], [-1, *np.tile(np.arange(3), 12)])
    fitted("m", data="classes.parquet", target="grade", method="cross_entropy")
    assert "left out: 1 of 37 rows, which have no label" in capsys.readouterr().out
