"""Commands train on what describes samples: columns that number the rows are left out, named, and may be kept."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main

N = 200
INDEX = "Unnamed: 0"
LEFT_OUT = "left out: column 'Unnamed: 0' is an index that was saved without a name; --keep 'Unnamed: 0' keeps it"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A table sorted by its label, of which the features say little and the row number all, with and without it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame["grade"] = np.repeat(np.arange(5), N // 5)
    frame.to_csv("indexed.csv")
    frame.to_csv("plain.csv", index=False)
    frame.reset_index().rename(columns={"index": INDEX}).to_parquet("indexed.parquet")
    return tmp_path


def accuracy(data, out, *options, epochs="2"):
    arguments = f"fit {data} --target grade --method cloc --out {out} --no-report --quiet --epochs {epochs}".split()
    assert main([*arguments, *options]) == 0
    return json.loads(Path(out, "metrics.json").read_text())["accuracy"]


def columns(model):
    return list(ordinate.load(model).feature_names_in_)


@pytest.mark.parametrize("data", ["indexed.csv", "indexed.parquet"])
def test_the_index_of_a_table_is_left_out_and_named(data, capsys):
    assert accuracy(data, "model") == accuracy("plain.csv", "plain") < 0.5
    assert LEFT_OUT in capsys.readouterr().out.splitlines()
    assert columns("model") == ["a", "b", "c"]


def test_it_is_trained_on_where_it_is_kept(capsys):
    assert accuracy("indexed.csv", "model", "--keep", INDEX, epochs="30") > 0.6
    assert "left out" not in capsys.readouterr().out
    assert columns("model") == [INDEX, "a", "b", "c"]


def test_a_model_without_it_takes_tables_with_it_and_without(capsys):
    accuracy("indexed.csv", "model")
    predicted = []
    for data in ("indexed.csv", "plain.csv", "indexed.parquet"):
        capsys.readouterr()
        assert main(["predict", "model", data]) == 0
        predicted.append(pd.read_csv(io.StringIO(capsys.readouterr().out)))
    assert main(["report", "model", "indexed.csv", "--out", "page.html"]) == 0
    assert predicted[0].equals(predicted[1])
    assert predicted[0].equals(predicted[2])


def test_rows_are_written_with_the_column_that_identifies_them_or_their_numbers(capsys):
    frame = pd.read_csv("plain.csv").assign(patient=[f"p{k:03d}" for k in range(N)], code="007")
    frame.drop(columns="code").to_csv("patients.csv", index=False)
    frame.iloc[150:].drop(columns="grade").to_csv("new.csv", index=False)
    accuracy("patients.csv", "model")

    def written(*command):
        capsys.readouterr()
        assert main(command) == 0
        return pd.read_csv(io.StringIO(capsys.readouterr().out), dtype={"code": str})

    found = written("predict", "model", "new.csv", "--keep-columns", "code", "a")
    assert list(found)[:4] == ["patient", "code", "a", "prediction"]
    assert found[["patient", "code"]].equals(frame[["patient", "code"]].iloc[150:].reset_index(drop=True))
    assert written("predict", "model", "plain.csv")["row"].tolist() == list(range(N))
    assert main(["search", "model", "new.csv", "--among", "patients.csv", "--k", "1", "--out", "near.csv"]) == 0
    near = pd.read_csv("near.csv")
    assert near["query"].tolist() == near["neighbour"].tolist() == frame["patient"].iloc[150:].tolist()
    suspects = written("suspects", "patients.csv", "--target", "grade", "--folds", "2", "--epochs", "1", "--quiet")
    assert suspects["patient"].tolist() == frame["patient"].iloc[suspects["row"]].tolist()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("codes", "did you mean 'code'?"),
        ("prediction", "--keep-columns: got 'prediction', a column of the predictions"),
    ],
)
def test_columns_that_cannot_be_kept_are_named(name, message, capsys):
    pd.read_csv("plain.csv").assign(code=1, prediction=2).to_csv("new.csv", index=False)
    accuracy("plain.csv", "model")
    assert main(["predict", "model", "new.csv", "--keep-columns", name]) == 2
    assert message in capsys.readouterr().err


def test_suspects_are_judged_without_it_and_the_note_stays_out_of_the_csv(capsys):
    arguments = ["suspects", "indexed.csv", "--target", "grade", "--folds", "2", "--epochs", "2", "--quiet"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == [LEFT_OUT]
    assert main([*arguments[:1], "plain.csv", *arguments[2:]]) == 0
    assert capsys.readouterr().out == out
    assert main([*arguments, "--keep", INDEX]) == 0
    kept = capsys.readouterr()
    assert kept.err == ""
    assert kept.out != out


def test_a_table_of_nothing_else_is_an_error(capsys):
    pd.read_csv("indexed.csv")[[INDEX, "grade"]].to_csv("bare.csv", index=False)
    assert main(["fit", "bare.csv", "--target", "grade"]) == 2
    assert "no column except the target describes the rows: 'Unnamed: 0' is an index" in capsys.readouterr().err
    pd.DataFrame({"image": [f"{row}.png" for row in range(40)], "grade": 20 * [0, 1]}).to_csv("images.csv", index=False)
    assert main(["fit", "images.csv", "--target", "grade"]) == 2
    assert "images.csv: none of its images is there, such as 0.png, below " in capsys.readouterr().err


def test_texts_that_are_asked_for_stay_however_different_they_are(capsys):
    from ordinate.commands.fit.read import read
    from ordinate.commands.fit_options import FitOptions

    pd.DataFrame({"text": [f"note {row}" for row in range(12)], "grade": np.arange(12) % 2}).to_csv("t.csv")
    assert list(read(FitOptions("t.csv", target="grade", text=["text"])).X.columns) == ["text"]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("column", "note"),
    [
        (np.arange(5)[::-1].repeat(N // 5), "note: column 'more' determines the label exactly"),
        (3 * np.arange(N) + 11, "note: column 'more' rises or falls from row to row, as the label does"),
    ],
    ids=["label", "order"],
)
def test_what_may_tell_the_label_is_named_and_trained_on(column, note, capsys):
    pd.read_csv("plain.csv").assign(more=column).to_csv("more.csv", index=False)
    accuracy("more.csv", "model")
    assert any(line.startswith(note) for line in capsys.readouterr().out.splitlines())
    assert "more" in columns("model")
