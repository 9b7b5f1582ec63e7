"""``ordinate fit --stream`` on a parquet table: what it reads, the model, its report, and what cannot stream."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate import ParquetTable
from ordinate.cli import main
from ordinate.commands import samples
from ordinate.data.tables import parquet_table, row_columns
from tests.command_line import QUICK, draw, read

pytestmark = pytest.mark.usefixtures("unpainted")
FRAME = draw().drop(columns=["word", "grade"]).assign(row=np.arange(48))
FIT = ["fit", "data.parquet", "--target", "target", "--method", "supcr", *QUICK]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_parquet("data.parquet", row_group_size=10)


def test_it_is_the_model_of_a_table_that_streams_and_only_its_label_is_read_whole(monkeypatch, capsys):
    whole, read_parquet = [], pd.read_parquet
    with monkeypatch.context() as patched:
        patched.setattr(samples, "_digest_of_files", lambda _: pytest.fail("read the files"))
        patched.setattr(row_columns, "LEARNED_FROM", 24)
        patched.setattr(
            pd, "read_parquet", lambda path, columns: whole.extend(columns) or read_parquet(path, columns=columns)
        )
        assert main([*FIT, "--stream", "--out", "model"]) == 0
    assert whole == ["target"]
    out = capsys.readouterr().out
    assert "left out: column 'row' is named as an identifier" in out
    assert "rows are decoded as they are needed" in out
    assert "--stream" in read("model/metrics.json")["command"]
    assert "stream = true" in Path("model/run.toml").read_text()
    model = ordinate.load("model")
    X = ParquetTable("data.parquet", drop=["target", "row"])
    assert model.predict(X).tobytes() == model.predict(X.to_pandas()).tobytes()


def test_a_report_of_it_knows_the_rows_that_it_was_not_trained_on(capsys, tmp_path, monkeypatch):
    assert main([*FIT, "--stream", "--out", "model"]) == 0
    held_out = len(read("model/split.json")["test"])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    report = ["report", "../model", "../data.parquet", "--out", "report.html"]
    capsys.readouterr()
    assert main(report) == 0
    assert f"on {held_out} " in capsys.readouterr().out
    os.utime("../data.parquet", (1, 1))  # other files, for all that is known
    assert main([*report, "--overwrite"]) == 0
    assert "on 48 " in capsys.readouterr().out


def test_large_tables_stream_by_themselves(monkeypatch, capsys):
    monkeypatch.setattr(parquet_table, "STREAMED_FROM", FRAME.size // 2)
    monkeypatch.setattr(samples, "_digest_of_files", lambda _: pytest.fail("read the files"))
    assert main([*FIT, "--out", "model"]) == 0
    assert "rows are decoded as they are needed" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_other_files_of_tables_do_not_stream(ending, capsys):
    FRAME.to_csv("data.csv", index=False)
    np.savez("data.npz", X=np.zeros((48, 1)), target=FRAME["target"])
    assert main(["fit", f"data.{ending}", "--target", "target", "--stream", *QUICK]) == 2
    assert capsys.readouterr().err == (
        f"ordinate: --stream: is for parquet files, images and volumes, and data.{ending} is in another format\n"
    )
