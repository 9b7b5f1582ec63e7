"""No command writes over what it reads, over a file that it was not told to, or over what is no file."""

import os
from pathlib import Path

import pandas as pd
import pytest

from ordinate.cli import main
from ordinate.commands.table_file import check_new, write_table
from ordinate.errors import OrdinateError
from tests.command_line import fit_model


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A model's folder, data, and results of before."""
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    for name in ("model/metrics.json", "model/report.html", "data.csv", "old.csv", "page.html"):
        Path(name).write_text(name)
    return tmp_path


@pytest.mark.parametrize("out", ["data.csv", "./model/../data.csv", "model/metrics.json"])
def test_what_is_read_is_never_written_over(files, out):
    with pytest.raises(OrdinateError, match="the command reads, expected another file"):
        check_new(out, ["model", "data.csv"], overwrite=True)


def test_nor_under_another_name(files):
    os.link("data.csv", "linked.csv")
    Path("shown.csv").symlink_to("data.csv")
    for name in ("linked.csv", "shown.csv"):
        with pytest.raises(OrdinateError, match="the command reads, expected another file"):
            check_new(name, ["data.csv"], overwrite=True)


def test_a_file_that_is_there_is_written_over_if_that_is_said(files):
    for name in ("old.csv", "page.html", "model/report.html"):
        with pytest.raises(OrdinateError, match="exists, expected a new file; --overwrite writes over it"):
            check_new(name, ["model", "data.csv"])
        check_new(name, ["model", "data.csv"], overwrite=True)
    check_new("new.csv", ["model", "data.csv"])
    check_new(None)


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("model", "is a folder"),
        ("nowhere/new.csv", "No such folder as nowhere"),
        ("/dev/null", "is no regular file"),
        ("pipe", "is no regular file"),
        ("x" * 300, "File name too long"),
        ("x" * 250, "File name too long"),
        ("a\0b", "without a null character"),
    ],
)
def test_a_place_where_no_file_can_be_is_an_error(files, out, said):
    os.mkfifo("pipe")
    with pytest.raises(OrdinateError, match=said):
        check_new(out, overwrite=True)


@pytest.mark.parametrize("command", [
    ["predict", "model", "data.csv"], ["report", "model", "data.csv"],
    ["evaluate", "model", "model", "data.csv"],
    ["suspects", "data.csv", "--target", "grade"], ["search", "model", "data.csv", "--among", "data.csv"],
])  # fmt: skip
def test_every_command_with_a_file_to_write_refuses_before_it_reads(files, capsys, command):
    before = {path: path.read_text() for path in files.rglob("*.*")}
    for out, options in (("data.csv", ["--overwrite"]), ("old.csv", [])):
        assert main([*command, "--out", out, *options]) == 2
        assert capsys.readouterr().err.startswith(f"ordinate: --out: {out} ")
    assert {path: path.read_text() for path in files.rglob("*.*")} == before


def test_no_number_in_a_csv_is_minus_zero(tmp_path):
    write_table([pd.DataFrame({"score": [-0.0, -0.5, 1 / 3]})], str(tmp_path / "scores.csv"))
    assert (tmp_path / "scores.csv").read_text() == "score\n0\n-0.5\n0.333333333333\n"


def test_a_dash_is_standard_output_for_tables_and_all_else_goes_to_standard_error(tmp_path, monkeypatch, capsys):
    model = fit_model(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = {
        "predict": ["predict", str(model), "ranks.csv"],
        "transform": ["transform", str(model), "ranks.csv"],
        "evaluate": ["evaluate", str(model), "ranks.csv"],
        "explain": ["explain", str(model), "ranks.csv", "--repeats", "1"],
        "row": ["explain", str(model), "ranks.csv", "--row", "3"],
        "search": ["search", str(model), "ranks.csv", "--among", "ranks.csv"],
    }
    capsys.readouterr()
    for name, command in commands.items():
        assert main([*command, "--out", f"{name}.csv"]) == 0
        capsys.readouterr()
        assert main([*command, "--out", "-"]) == 0
        assert capsys.readouterr().out == Path(f"{name}.csv").read_text(), name
    assert not Path("-").exists()
