"""A model is kept whatever happens to the report and the pictures that are drawn of it."""

import json
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


@pytest.mark.parametrize(
    ("what", "name"), [("report", "commands.fit.write.write_report"), ("pictures", "report.pictures.draw")]
)
def test_what_cannot_be_drawn_is_named_and_the_model_is_there(monkeypatch, capsys, what, name):
    monkeypatch.setattr(f"ordinate.{name}", fails)
    assert main(RUN) == 0
    assert f"note: the {what} could not be drawn: ValueError: no room" in capsys.readouterr().out
    ordinate.load("model")
    assert Path("model/report.html").exists() == (what == "pictures")
    assert Path("model/embedding.png").exists() == (what == "report")


def test_a_process_that_ends_there_ends_there_twice_at_most(monkeypatch, capsys):
    def ends(*_, **__):
        raise SystemExit(139)  # as a crash of the interpreter, which nothing here can catch

    with monkeypatch.context() as patch:
        patch.setattr("ordinate.commands.fit.write.write_report", ends)
        for _ in range(2):
            with pytest.raises(SystemExit):
                main(RUN)
            assert not Path("model").exists()
        assert main(RUN) == 0
    assert "no report and no pictures, as an earlier run was killed while drawing them" in capsys.readouterr().out
    assert json.loads(Path("model/metrics.json").read_text())["method"] == "cloc"


@pytest.mark.thorough
def test_rows_that_are_all_alike_give_a_model_and_a_page():
    table = pd.DataFrame({"size": 1.5, "grade": np.arange(4500) % 3})
    table["shape"] = np.where(np.arange(4500) < 4490, 0.0, 1.0)
    table.to_csv("table.csv", index=False)
    assert main(RUN) == 0
    assert "<title>" in Path("model/report.html").read_text()
