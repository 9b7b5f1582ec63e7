"""One line for whatever a user can mend."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ordinate.cli import main
from tests.command_line import QUICK, draw, fit_model, one_line, write_table


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(folder):
    return write_table(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fit_model(tmp_path_factory.mktemp("fitted"))


def csv_of(frame, name="data.csv"):
    return lambda: frame.to_csv(name, index=False)


def npz_of(**arrays):
    return lambda: np.savez("data.npz", **arrays)


def bytes_of(content, name="data.csv"):
    return lambda: Path(name).write_bytes(content)


GOOD = draw().drop(columns=["word", "target"])
TWO_RANKS = np.arange(12) % 2
FILE_ERRORS = {
    "no such file": ("data.csv", list, "data.csv: no such file"),
    "a file of a like name": ("data.csv", csv_of(GOOD, "date.csv"), "data.csv: no such file; did you mean date.csv?"),
    "another kind of file": ("data.doc", csv_of(GOOD, "data.doc"), "data.doc: its ending names no known format"),
    "an empty file": ("data.csv", bytes_of(b""), "data.csv: is empty, expected a table with a header and samples"),
    "six dimensions": ("data.npz", npz_of(X=np.zeros((12, 1, 3, 4, 4, 4)), grade=TWO_RANKS), "data.npz: "),
    "bright images": (
        "data.npz",
        npz_of(X=np.full((12, 3, 4, 4), 7.5), grade=TWO_RANKS),
        "data.npz: got float64 from 7.5",
    ),
    "a vector": ("data.npz", npz_of(X=np.zeros(12), grade=TWO_RANKS), "data.npz: "),
    "infinity": ("data.npz", npz_of(X=np.full((12, 2), np.inf), grade=TWO_RANKS), "data.npz: "),
    "text": ("data.npz", npz_of(X=np.full((12, 2), "a"), grade=TWO_RANKS), "data.npz: "),
}
TABLE_ERRORS = {
    "no such column": (
        GOOD.rename(columns={"grade": "grades"}),
        "",
        "data.csv: no column 'grade'; did you mean 'grades'?",
    ),
    "no other column": (
        GOOD[["grade"]],
        "",
        "data.csv: no column is left in addition to the target, expected at least one",
    ),
    "no column to drop": (GOOD, "--drop id", "data.csv: no column 'id'; it has"),
    "text without an order": (
        GOOD.assign(grade=draw()["word"]),
        "",
        "column 'grade': holds text without an order: 'high', 'low', 'mid'; give their order, lowest first, with "
        "--order low,mid,high",
    ),
    "no labels at all": (GOOD.assign(grade=np.nan), "", "data.csv: no row has a label in 'grade'"),
    "two rows": (GOOD[:2], "", "data.csv: holds 2 rows, expected at least 10"),
    "one class": (GOOD.assign(grade=1), "", "column 'grade': every row has the one value"),
    "a constant target": (GOOD.assign(grade=1.5), "--task continuous", "column 'grade': every row has the one value"),
    "a rank a row": (GOOD[:12].assign(grade=np.r_[:12]), "", "--test-fraction: leaves 12 rows to train and 0"),
    "infinity in a column to keep": (GOOD.assign(number=np.inf), "--keep number", "column 'number': got infinity"),
    "infinity in all columns": (
        GOOD[["grade"]].assign(number=np.inf),
        "",
        "data.csv: no column except the target describes the rows: 'number' (infinity)",
    ),
    "identifiers": (
        pd.concat([GOOD] * 3).assign(id=[f"p{i}" for i in range(144)]),
        "--keep id",
        "column 'id': got text with",
    ),
    "a method for another label": (
        GOOD,
        "--method supcr",
        "--method: supcr is not for ranks, expected --task continuous, or one of cloc, otd, ",
    ),
    "a method that there is not": (GOOD, "--method svm", "--method: got 'svm', expected auto, cloc, otd, "),
    "a margin for another method": (GOOD, "--method otd --margin 0,1=0.5", "--margin: is for CLOC"),
    "no epochs": (GOOD, "--epochs 0", "--epochs: got 0, expected a whole number of at least 1"),
    "no share to test on": (GOOD, "--test-fraction 1.5", "--test-fraction: got 1.5"),
    "a negative seed": (GOOD, "--seed -1", "--seed: got -1"),
    "a seed too large": (GOOD, "--seed 4294967296", "--seed: got 4294967296"),
    "this folder as output": (GOOD, "--out .", "--out: . already holds something"),
    "a file as output": (GOOD, "--out data.csv", "--out: data.csv already holds something"),
    "an output inside a file": (GOOD, "--out data.csv/model", "--out: data.csv/model cannot be written"),
}


def assert_refused(arguments, message, folder, capsys):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(["fit", "--target", "grade", *QUICK, *arguments]) == 2
    assert one_line(capsys.readouterr().err).startswith(f"ordinate: {message}")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert not any(path.is_dir() for path in folder.iterdir())


@pytest.mark.parametrize(("name", "write", "message"), FILE_ERRORS.values(), ids=FILE_ERRORS)
def test_a_file_that_cannot_be_used_is_one_line_and_leaves_nothing(name, write, message, folder, capsys):
    write()
    assert_refused([name], message, folder, capsys)


@pytest.mark.parametrize(("frame", "options", "message"), TABLE_ERRORS.values(), ids=TABLE_ERRORS)
def test_a_table_or_an_option_that_cannot_be_used_is_one_line_and_leaves_nothing(
    frame, options, message, folder, capsys
):
    frame.to_csv("data.csv", index=False)
    assert_refused(["data.csv", *options.split()], message, folder, capsys)


def test_a_gpu_that_is_not_there(table, folder, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["fit", table, "--target", "grade", "--set", "training.accelerator=gpu", *QUICK]) == 2
    assert "accelerator: got 'gpu', and this machine has no GPU" in one_line(capsys.readouterr().err)
    assert [path.name for path in folder.iterdir()] == [table]


def test_an_output_that_holds_something_is_left_alone(table, folder, capsys):
    (folder / "mine").mkdir()
    (folder / "mine" / "note.txt").write_text("kept")
    assert main(["fit", table, "--target", "grade", "--out", "mine", *QUICK]) == 2
    line = one_line(capsys.readouterr().err)
    expected = "expected a new or empty folder; mine-2 is free"
    assert line == f"ordinate: --out: mine already holds something, {expected}"
    assert sorted(path.name for path in folder.rglob("*")) == ["mine", "note.txt", table]


def test_a_folder_above_the_output_is_not_left_behind(table, folder, capsys):
    assert main(["fit", table, "--target", "grade", "--out", "a/b/model", "--test-fraction", "0.01"]) == 2
    assert one_line(capsys.readouterr().err).startswith("ordinate: --test-fraction: leaves")
    assert [path.name for path in folder.iterdir()] == [table]


PREDICT_ERRORS = {
    "no such model": ("absent new.csv", "model: there is no folder absent"),
    "no such file": ("MODEL absent.csv", "absent.csv: no such file"),
    "columns that lack": ("MODEL narrow.csv", "narrow.csv: lacks the columns other, noise"),
    "text for numbers": ("MODEL text.csv", "column 'number': got 'many' in 10 of 10 rows, expected numbers"),
    "infinity": ("MODEL infinity.csv", "column 'number': got infinity"),
    "series for a table": ("MODEL series.npz", "series.npz: holds no table, expected one with the columns"),
    "an array of another width": ("MODEL array.npz", "array.npz: holds no table, expected one with the columns"),
    "no folder to write to": ("MODEL new.csv --out a/b.csv", "--out: a/b.csv cannot be written: No such"),
}


@pytest.mark.parametrize(("arguments", "message"), PREDICT_ERRORS.values(), ids=PREDICT_ERRORS)
def test_an_error_of_predict_is_one_line_and_writes_nothing(arguments, message, model, folder, capsys):
    frame = draw(10)
    frame.to_csv("new.csv", index=False)
    frame.drop(columns=["other", "noise"]).to_csv("narrow.csv", index=False)
    frame.assign(number="many").to_csv("text.csv", index=False)
    frame.assign(number=-np.inf).to_csv("infinity.csv", index=False)
    np.savez("series.npz", X=np.zeros((3, 2, 9)))
    np.savez("array.npz", X=np.zeros((3, 4)))
    before = sorted(folder.rglob("*"))
    assert main(["predict", *arguments.replace("MODEL", str(model)).split()]) == 2
    out, err = capsys.readouterr()
    assert one_line(err).startswith(f"ordinate: {message}")
    assert out == ""
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fitt"], "COMMAND: got 'fitt', expected one of example, fit,"),
        (["fitt"], "did you mean 'fit'?"),
        (["--versio"], "--versio: no such option; did you mean --version?"),
        (["fit", "data.csv", "--targt=a"], "--targt: no such option; did you mean --target?"),
        (["search", "model", "--targe", "a"], "--targe: no such option; did you mean --target?"),
        (["table", "cloc-1", "--metho", "cloc"], "--metho: no such option"),
        (["fit", "data.csv", "--logger", "tensorbord"], "--logger: got 'tensorbord', expected one of csv,"),
        (["predict", "model"], "the following arguments are required: data"),
        (["fit", "data.csv", "--target", "a", "--epochs", "many"], "--epochs: got 'many', expected a whole number"),
    ],
)
def test_a_wrong_command_is_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    line = one_line(capsys.readouterr().err)
    assert line.startswith("ordinate: ")
    assert message in line


def test_the_command_alone_lists_the_commands_in_two_groups(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    _, of_data, of_papers = re.split(r"commands for (?:your data|the papers):\n", printed)
    assert "\n  fit         train" in of_data
    assert of_papers.startswith("  datasets    ")
