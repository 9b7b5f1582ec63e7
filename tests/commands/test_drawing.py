"""A model is kept whatever happens to its report."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main

RUN = ["fit", "table.csv", "--target", "grade", "--method", "cloc", "--epochs", "2", "--out", "model", "--quiet"]


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grade = np.arange(60) % 3
    table = pd.DataFrame({"size": grade + np.random.default_rng(0).normal(size=60), "grade": grade})
    table.to_csv("table.csv", index=False)


def fails(*_, **__):
    raise ValueError("no room")


def test_a_report_that_cannot_be_written_leaves_a_note_and_the_model(monkeypatch, capsys):
    monkeypatch.setattr("ordinate.report.page.page.write_report", fails)
    assert main(RUN) == 0
    assert "note: the report could not be written: ValueError: no room" in capsys.readouterr().out
    ordinate.load("model")
    assert not Path("model/report.html").exists()


def test_without_bokeh_there_is_a_model_and_a_note(monkeypatch, capsys):
    def absent(module):
        raise ModuleNotFoundError("No module named 'bokeh'", name="bokeh")

    monkeypatch.setattr("ordinate.optional.import_module", absent)
    assert main(RUN) == 0
    assert re.search(r'report\.html: requires bokeh .*: pip install "ordinate\[report\]"', capsys.readouterr().out)
    ordinate.load("model")


def test_a_report_is_left_out_where_it_is_not_wanted(capsys):
    assert main([*RUN, "--no-report"]) == 0
    assert "model and metrics: model" in capsys.readouterr().out
    assert not Path("model/report.html").exists()
    assert "no-report" not in json.loads(Path("model/metrics.json").read_text())["command"]


def test_a_process_that_ends_there_ends_there_twice_at_most(monkeypatch, capsys):
    def ends(*_, **__):
        raise SystemExit(139)  # as a crash of the interpreter, which nothing here can catch

    with monkeypatch.context() as patch:
        patch.setattr("ordinate.report.page.page.write_report", ends)
        for _ in range(2):
            with pytest.raises(SystemExit):
                main(RUN)
            assert not Path("model").exists()
        assert main(RUN) == 0
    assert "no report, as an earlier run was killed while writing it" in capsys.readouterr().out
    assert json.loads(Path("model/metrics.json").read_text())["method"] == "cloc"


@pytest.mark.thorough
def test_rows_that_are_all_alike_give_a_model_and_a_page():
    table = pd.DataFrame({"size": 1.5, "grade": np.arange(4500) % 3})
    table["shape"] = np.where(np.arange(4500) < 4490, 0.0, 1.0)
    table.to_csv("table.csv", index=False)
    assert main(RUN) == 0
    assert "<title>" in Path("model/report.html").read_text()
