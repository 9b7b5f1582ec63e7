"""The command line: from a file to a model folder, and from this to predictions."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main
from ordinate.data.splits import split_rows
from tests.command_line import draw, fit_model, read, write_table
from tests.estimators.examples import draw_series, ranks_of

FILES = {
    "config.json", "weights.safetensors", "metrics.json", "history.json", "held_out.json", "held_out.safetensors",
    "split.json", "report.html", "run.toml", "MODEL_CARD.md",
}  # fmt: skip
QUICK = ["--epochs", "4", "--quiet"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(folder):
    return write_table(folder)


def assert_is_model(path, method, samples, files=FILES):
    assert {file.name for file in Path(path).iterdir()} == files
    metrics = read(f"{path}/metrics.json")
    assert metrics["method"] == method
    assert metrics["training_samples"] + metrics["test_samples"] == samples
    assert len(read(f"{path}/history.json")) > 0


@pytest.mark.parametrize("method", ["cloc", "otd"])
def test_fit_on_a_csv_of_ranks_leaves_a_model_with_its_metrics_and_report(method, table, folder, capsys):
    assert main(["fit", table, "--target", "grade", "--method", method, *QUICK]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert {path.name for path in folder.iterdir()} == {table, "ranks-model"}
    assert_is_model("ranks-model", method, 48)
    metrics = read("ranks-model/metrics.json")
    assert "48 samples of 7 columns, 3 ranks, 0 < 1 < 2; 39 to train, 9 held out" in out
    compared = [line.split() for line in out[out.index("9 held-out samples  ") :].splitlines()]
    assert compared[2][:2] == [method.upper(), f"{metrics['accuracy']:.3f}"]
    assert [compared[3][:2], compared[6][:2]] == [["always", "0,"], ["random", "forest"]]
    assert f"verdict: {metrics['accuracy']:.0%} right, off by {metrics['mae']:.2f} grades on average; " in out
    assert out.endswith("report: ranks-model/report.html\nnext: ordinate predict ranks-model NEW.csv\n")
    assert type(ordinate.load("ranks-model")).__name__.lower() == f"{method}classifier"


def test_fit_on_a_parquet_of_a_continuous_target(folder, capsys):
    draw().drop(columns=["word", "grade"]).to_parquet(folder / "data.parquet")
    arguments = ["fit", "data.parquet", "--target", "target", "--method", "supremix", "--out", "new/model"]
    assert main([*arguments, *QUICK]) == 0
    assert capsys.readouterr().err == ""
    assert_is_model("new/model", "supremix", 48)
    assert [path.name for path in (folder / "new").iterdir()] == ["model"]


def test_fit_on_an_npz_of_series_chooses_a_method_and_predicts(folder, capsys):
    X, target = draw_series()
    np.savez(folder / "series.npz", X=X, target=target)
    assert main(["fit", "series.npz", "--target", "target", "--epochs", "1", "--no-report", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    method = read("series-model/metrics.json")["method"]
    assert method in {"supcr", "supremix"}
    assert "trying supcr\ntrying supremix\nvalidation MAE: supcr" in out
    assert_is_model("series-model", method, 32, FILES - {"report.html"})
    np.savez(folder / "new.npz", X=X[:5])
    assert main(["predict", "series-model", "new.npz"]) == 0
    predictions = pd.read_csv(io.StringIO(capsys.readouterr().out))["prediction"]
    np.testing.assert_allclose(predictions, ordinate.load("series-model").predict(X[:5]), rtol=1e-5)


@pytest.mark.typical("data.csv.gz")
@pytest.mark.parametrize("name", ["data.csv.gz", "data.tsv"])
def test_fit_reads_other_tables(name, folder, capsys):
    draw().drop(columns=["word", "grade"]).to_csv(folder / name, index=False, sep="\t" if "tsv" in name else ",")
    assert main(["fit", name, "--target", "target", "--method", "supcr", "--no-report", *QUICK]) == 0
    assert capsys.readouterr().err == ""
    assert read("data-model/metrics.json")["method"] == "supcr"


def test_what_was_measured_is_what_the_saved_model_does_on_the_rows_held_out(table, folder):
    assert main(["fit", table, "--target", "grade", "--method", "cloc", "--no-report", *QUICK]) == 0
    frame = pd.read_csv(folder / table)
    model = ordinate.load("ranks-model")
    metrics = read("ranks-model/metrics.json")
    _, test = split_rows(frame["grade"].to_numpy(), 0.2, 0, stratify=True)
    held_out = frame.iloc[test]
    assert model.score(held_out.drop(columns="grade"), held_out["grade"]) == pytest.approx(metrics["accuracy"])
    assert model.margins_.tolist() == pytest.approx(metrics["margins"], abs=1e-6)


def test_text_with_an_order_and_a_fixed_margin(folder, capsys):
    draw().drop(columns=["grade", "target"]).to_csv(folder / "words.csv", index=False)
    arguments = ["fit", "words.csv", "--target", "word", "--order", "low,mid,high", "--margin", "low,mid=0.8"]
    assert main([*arguments, "--no-report", *QUICK]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "accuracy" in out
    model = ordinate.load("words-model")
    assert model.ordered_classes_.tolist() == ["low", "mid", "high"]
    assert model.margins_[0] == pytest.approx(0.8, abs=1e-7)
    assert_is_model("words-model", "cloc", 48, FILES - {"report.html"})


@pytest.mark.parametrize("ranks", ["--,-,0,+,++", "-2,-1,0,1,2"])
def test_ranks_that_begin_with_a_minus_sign_are_typed_as_others(ranks, folder, capsys):
    names = np.array(ranks.split(","))
    frame = draw(100)
    frame["grade"] = names[ranks_of(frame["target"], 5)]
    frame.drop(columns=["word", "target"]).to_csv("signs.csv", index=False)
    arguments = ["signs.csv", "--target", "grade", "--order", ranks, "--epochs", "2", "--quiet"]
    first, second, third, *_ = names
    margins = ["--margin", f"{first},{second}=0.8", "--margin", f"{second},{third}=0.4"]
    assert main(["fit", *arguments, *margins, "--method", "cloc", "--no-report"]) == 0
    model = ordinate.load("signs-model")
    assert [str(rank) for rank in model.ordered_classes_] == names.tolist()
    assert model.margins_[:2].tolist() == pytest.approx([0.8, 0.4])
    assert main(["predict", "signs-model", "signs.csv", "--out", "predicted.csv"]) == 0
    predicted = pd.read_csv("predicted.csv", dtype=str, keep_default_na=False)
    expected = model.predict(pd.read_csv("signs.csv").drop(columns="grade"))
    assert predicted["prediction"].tolist() == [str(rank) for rank in expected]
    assert predicted.columns[2:].tolist() == [f"probability_{rank}" for rank in names]
    assert main(["report", "signs-model", "signs.csv"]) == 0
    assert main(["suspects", *arguments, "--folds", "2", "--out", "suspects.csv"]) == 0
    assert set(pd.read_csv("suspects.csv", dtype=str)["label"]) == set(names)
    capsys.readouterr()


def test_an_ordered_category_of_parquet_brings_its_order(folder):
    frame = draw().drop(columns=["grade", "target"])
    frame["word"] = pd.Categorical(frame["word"], ["low", "mid", "high"], ordered=True)
    frame.to_parquet(folder / "words.parquet")
    assert main(["fit", "words.parquet", "--target", "word", "--method", "otd", "--no-report", *QUICK]) == 0
    assert ordinate.load("words-model").ordered_classes_.tolist() == ["low", "mid", "high"]


def test_columns_are_dropped_and_codes_are_categories(folder, capsys):
    frame = draw().drop(columns=["word", "target"])
    frame["id"] = [f"patient {i}" for i in range(48)]
    frame["postcode"] = np.random.default_rng(0).choice([94103, 94110, 94122], 48)
    frame.to_csv(folder / "data.csv", index=False)
    arguments = ["--drop", "id", "--categorical", "postcode", "--method", "otd"]
    assert main(["fit", "data.csv", "--target", "grade", *arguments, "--no-report", *QUICK]) == 0
    model = ordinate.load("data-model")
    assert "id" not in model.feature_names_in_
    (column,) = (column for column in model.reader_.columns if column.name == "postcode")
    assert column.categories == ("94103", "94110", "94122")
    assert main(["predict", "data-model", "data.csv"]) == 0
    assert capsys.readouterr().err == ""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fit_model(tmp_path_factory.mktemp("fitted"))


def test_predict_prints_a_line_a_row(model, folder, capsys):
    frame = draw(10)
    frame[frame.columns[::-1]].to_csv(folder / "new.csv", index=False)  # in another order, with columns to ignore
    assert main(["predict", str(model), "new.csv"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    printed = pd.read_csv(io.StringIO(out))
    assert list(printed.columns) == ["row", "prediction", "probability_0", "probability_1", "probability_2"]
    loaded = ordinate.load(model)
    X = pd.read_csv("new.csv")[list(loaded.feature_names_in_)]
    assert (printed["prediction"] == loaded.predict(X)).all()
    np.testing.assert_allclose(printed.filter(like="probability"), loaded.predict_proba(X), rtol=0, atol=1e-5)


def test_predict_writes_a_file_and_no_file_twice(model, folder, capsys):
    draw(10).to_csv(folder / "new.csv", index=False)
    assert main(["predict", str(model), "new.csv", "--out", "predictions.csv"]) == 0
    first, *notes = capsys.readouterr().out.splitlines()  # how many differ from the mode varies with the processor
    assert first == "10 predictions: predictions.csv"
    assert all(note.startswith("note: ") for note in notes)
    written = (folder / "predictions.csv").read_text()
    assert main(["predict", str(model), "new.csv"]) == 0
    assert capsys.readouterr().out == written
    assert main(["predict", str(model), "new.csv", "--out", "predictions.csv"]) == 2
    assert (
        capsys.readouterr().err
        == "ordinate: --out: predictions.csv exists, expected a new file; --overwrite writes over it\n"
    )
    assert (folder / "predictions.csv").read_text() == written
    assert {path.name for path in folder.iterdir()} == {"new.csv", "predictions.csv"}


def test_predict_quotes_classes_that_hold_commas(folder, capsys):
    draw().assign(word=lambda frame: frame["word"] + ", say").to_csv(folder / "a.csv", index=False)
    frame = pd.read_csv("a.csv").drop(columns=["grade", "target"])
    frame["word"] = pd.Categorical(frame["word"], ["low, say", "mid, say", "high, say"], ordered=True)
    frame.to_parquet("words.parquet")
    assert main(["fit", "words.parquet", "--target", "word", "--method", "otd", "--no-report", *QUICK]) == 0
    capsys.readouterr()
    assert main(["predict", "words-model", "words.parquet"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["prediction"] for row in rows} <= {"low, say", "mid, say", "high, say"}
