"""A filled table as text, Markdown and CSV."""

import csv
import io

import pytest

from ordinate_papers.tables.rendering import FilledTable, as_csv, as_text
from ordinate_papers.tables.results import Result
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.table import Column, Row, RunPlan, Table

TABLE = Table(
    "paper-1",
    "Two models",
    "Paper, Table 1",
    (Column("error", 100, metric="mae"), Column("R2", metric="r2")),
    (
        Row("first", (3.1, 0.81), (0.4, None), model="l1"),
        Row("second", (2.0, None), model="mse"),
        Row("third", (1.5, 0.9), missing="not in this release"),
    ),
    dataset="airfoil",
)
RUNS = {
    (0, 0): [Run("airfoil", "l1", seed=seed) for seed in (0, 1)],
    (1, 0): [Run("airfoil", "mse", seed=seed) for seed in (0, 1)],
}
PLAN = RunPlan(
    {**RUNS, (0, 1): RUNS[0, 0], (1, 1): RUNS[1, 0]}, {(2, 0): "not in this release", (2, 1): "not in this release"}
)
RESULTS = {
    RUNS[0, 0][0]: Result("done", {"mae": 0.02, "r2": 0.5}),
    RUNS[0, 0][1]: Result("done", {"mae": 0.04, "r2": 0.7}),
    RUNS[1, 0][0]: Result("failed", {}, error="Traceback\nValueError: too small"),
    RUNS[1, 0][1]: Result("waiting", {}),
}
FILLED = FilledTable(TABLE, PLAN, RESULTS)


def test_ours_is_the_mean_and_its_deviation_over_seeds_in_the_papers_unit():
    one = FILLED.cells[0][0]
    assert (one.ours, one.deviation) == (pytest.approx(3.0), pytest.approx(1.0))
    assert one.difference == pytest.approx(-0.1)


def test_text_has_the_paper_ours_and_the_difference():
    lines = as_text(FILLED).splitlines()
    assert lines[0] == "paper-1: Two models"
    row = next(line for line in lines if line.startswith("first"))
    assert row.split() == [
        "first",
        "3.1",
        "±",
        "0.4",
        "3.0",
        "±",
        "1.0",
        "(2)",
        "-0.1",
        "0.81",
        "0.60",
        "±",
        "0.10",
        "(2)",
        "-0.21",
    ]
    assert "error↓ paper" in as_text(FILLED)
    assert "R2↑ paper" in as_text(FILLED)


def test_cells_without_a_result_say_why():
    text = as_text(FILLED)
    assert "[1] 1 of 2 runs failed: ValueError: too small" in text
    assert "[2] not in this release" in text
    assert "[3]" not in text


def test_csv_has_a_line_a_cell_with_every_digit():
    lines = list(csv.DictReader(io.StringIO(as_csv(FILLED))))
    assert len(lines) == 6
    assert float(lines[0]["ours"]) == pytest.approx(3.0)
    assert (lines[0]["paper"], lines[0]["paper_deviation"], lines[0]["seeds"]) == ("3.1", "0.4", "2")
    assert (lines[3]["paper"], lines[3]["ours"], lines[3]["reason"][:15]) == ("", "", "1 of 2 runs fai")


def test_items_of_lists_are_read_and_those_past_the_end_are_missing():
    column = Column("second", metric="curve[1]")
    cell = Table("t", "", "", (column,), (Row("row"),)).cells[0][0]
    assert cell.value({"curve": [1.0, 2.0]}) == 2.0
    assert cell.value({"curve": [1.0]}) is None
    assert cell.value({"curve": [1.0, None]}) is None


def test_a_wide_table_comes_in_blocks():
    columns = tuple(Column(f"a column {number}", metric="mae") for number in range(12))
    table = Table("t", "", "", columns, (Row("first", (1.0,) * 12, model="l1"),), dataset="airfoil")
    plan = RunPlan({(0, place): RUNS[0, 0] for place in range(12)}, {})
    lines = as_text(FilledTable(table, plan, RESULTS)).splitlines()
    assert max(map(len, lines)) <= 150
    assert sum(line.startswith("first") for line in lines) > 1
