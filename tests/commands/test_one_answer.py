"""A row has one explanation and one number, and a warning is given once, whichever command says it."""

import io
import json
import re
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordinate
from ordinate.cli import main

pytestmark = pytest.mark.filterwarnings("always:rows outside what training had seen")
RANDOM = np.random.default_rng(0)
FAR = 37  # The row whose size lies far outside all others.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with labels that are missing, new rows, and a model with its report."""
    folder = tmp_path_factory.mktemp("one-answer")
    table = pd.DataFrame(RANDOM.normal(size=(200, 3)), columns=["size", "age", "pain"]).round(3)
    table["grade"] = np.digitize(table["pain"] + table["age"], [-0.7, 0.7]) + 3.0
    table["side"] = np.where(np.arange(200) % 5 == FAR % 5, "test", "train")
    table.loc[[2, 11, 30], "grade"] = np.nan
    new = table.dropna()[:40].drop(columns="side")
    table.loc[FAR, "size"] = 4000.0
    table.to_csv(folder / "table.csv", index=False)
    new.assign(size=new["size"] + 5000).to_csv(folder / "new.csv", index=False)
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(said):
        patch.chdir(folder)
        fit = "fit table.csv --target grade --split side --method blend --epochs 5 --quiet --out model"
        assert main(fit.split()) == 0
    (folder / "fit.txt").write_text("\n".join(warnings_in(said.getvalue())))
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def warnings_in(text):
    return [line for line in text.splitlines() if "outside what training had seen" in line]


def explained(text):
    """The baseline and contributions by column that the command prints."""
    baseline = float(re.search(r"is (-?[\d.]+); the columns", text)[1])
    parts = re.findall(r"^(\w+) +\S+ +([+-][\d.]+)$", text, re.MULTILINE)
    return {"baseline": baseline, **{name: float(part) for name, part in parts}}


def test_a_row_has_the_same_explanation_everywhere(capsys):
    page = Path("model/report.html").read_text()
    reasons = json.loads(re.search(r'"reasons":(\{.*?\}\})', page)[1])
    test = json.loads(Path("model/split.json").read_text())["test"]
    model, table = ordinate.load("model"), pd.read_csv("table.csv")
    shown = list(reasons)[:3]
    rows = [test[int(place)] for place in shown]
    in_python = model.explain(table.loc[rows])
    for row, place in zip(rows, shown, strict=True):
        capsys.readouterr()
        assert main(["explain", "model", "table.csv", "--row", str(row)]) == 0
        alone = explained(capsys.readouterr().out)
        assert main(["explain", "model", "table.csv", "--row", str(row), "4"]) == 0
        among = explained(capsys.readouterr().out.split("\n\nrow 4:")[0])
        assert alone == among
        assert alone == pytest.approx(in_python.loc[row].to_dict(), abs=1e-3)
        in_page = {"baseline": reasons[place]["baseline"], **dict(reasons[place]["parts"])}
        assert in_page == pytest.approx(alone, abs=6e-3)
    labelled = table.iloc[[row for row in range(200) if row not in test]].dropna()
    probabilities = model.rank_probabilities(labelled[["size", "age", "pain"]])
    assert in_python["baseline"].iloc[0] == pytest.approx((probabilities @ [3, 4, 5]).mean(), abs=0.2)


COMMANDS = ["evaluate model {}", "report model {} --out page.html --overwrite", "explain model {}"]


@pytest.mark.parametrize("command", [*COMMANDS, "predict model {} --out new-predictions.csv --overwrite"])
def test_a_command_warns_once_of_a_row_by_its_number_in_the_file(command, capsys):
    assert main(command.format("table.csv").split()) == 0
    (said,) = warnings_in(capsys.readouterr().err)
    assert f"the first is row {FAR})" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_warns_once_of_rows_that_all_lie_outside(command, capsys):
    assert main(command.format("new.csv").split()) == 0
    out, err = capsys.readouterr()
    (said,) = warnings_in(err)
    assert "(40 of 40 rows" in said
    assert "left out" not in out


def test_questions_in_python_warn_once_of_the_rows_they_are_asked(recwarn):
    model, table = ordinate.load("model"), pd.read_csv("table.csv").drop(columns=["grade", "side"])
    model.similar(table[:3])
    model.explain(table[:3])
    model.explain(table[FAR - 1 : FAR + 1])
    assert not recwarn.list
    for ask in (lambda: model.evaluate("table.csv"), lambda: model.report("page.html"), lambda: model.predict(table)):
        recwarn.clear()
        ask()
        (said,) = (str(each.message) for each in recwarn if "rows outside" in str(each.message))
        assert f"the first is row {FAR})" in said


def test_fit_notes_a_value_far_outside_and_does_not_warn():
    assert not Path("fit.txt").read_text()
    page = Path("model/report.html").read_text()
    assert f"<b>A value may be an error</b>Column &#39;size&#39; holds 4000 in row {FAR}, far from" in page
