"""The pictures of a table: which are drawn, of which runs, and how their files are named."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from ordinate.data.images.files import ImageFiles
from ordinate_papers.datasets import reading
from ordinate_papers.datasets.reading import Split
from ordinate_papers.tables.catalogue import CATALOGUE
from ordinate_papers.tables.metric_names import SHARES
from ordinate_papers.tables.pictures import PICTURES, draw, write
from ordinate_papers.tables.rendering import FilledTable
from ordinate_papers.tables.results import Result
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.table import Column, Curve, Row, RunPlan, Table
from tests.papers.tables.test_rendering import RESULTS, RUNS


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_a_curve_is_drawn_with_a_panel_a_group(tmp_path):
    rows = (Row("l1", (1.0, 2.0), model="l1", group="one"), Row("l1", model="l1", group="two"))
    columns = (Column("10", metric="mae"), Column("20", metric="r2"))
    table = Table("t", "", "", columns, rows, dataset="airfoil", curve=Curve("samples", "MAE", (10, 20)))
    plan = RunPlan({(row, column): RUNS[0, 0] for row in range(2) for column in range(2)}, {})
    filled = FilledTable(table, plan, RESULTS)
    ((_, figure),) = draw(filled)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["one", "two"]
    assert [path.name for path in write(filled, tmp_path)] == ["t.txt", "t.md", "t.csv", "t.png"]


def test_every_picture_of_the_catalogue_has_what_draws_it():
    assert {table.picture for table in CATALOGUE.values()} - {""} == set(PICTURES)


def fill(picture, *metrics, groups=("",)):
    """A table of a row for each metrics, all of whose runs are done."""
    rows = tuple(Row(f"row {i}", model="otd", group=groups[i % len(groups)]) for i in range(len(metrics)))
    table = Table("t", "", "", (Column("c", metric="order"),), rows, dataset="busi", picture=picture)
    runs = [Run("busi", "otd", settings={"row": i}) for i in range(len(rows))]
    done = {run: Result("done", each) for run, each in zip(runs, metrics, strict=True)}
    return FilledTable(table, RunPlan({(i, 0): [run] for i, run in enumerate(runs)}, {}), done)


def test_logits_have_a_panel_for_every_share_of_the_epochs():
    counts = [[1, 3]] * len(SHARES)
    metrics = {"positive_counts": counts, "hard_negative_counts": counts, "logit_edges": [-1, 0, 1]}
    ((_, figure),) = draw(fill("logits", metrics))
    assert len(figure.axes) == len(SHARES)
    assert figure.axes[0].patches[0].get_data().values.tolist() == [0.25, 0.75]


def test_cosines_have_a_file_for_every_data_set_and_a_panel_for_every_network(tmp_path):
    metrics = {"cosine_distances": [[0.0, 1.5], [1.5, 0.0]], "cosine_ranks": [0, 2]}
    filled = fill("cosines", metrics, metrics, metrics, groups=("BUSI", "Fingers"))
    drawn = dict(draw(filled))
    assert [axes.get_title("left") for axes in drawn["BUSI"].axes[:2]] == ["row 0", "row 2"]
    assert drawn["Fingers"].axes[0].images[0].get_array().tolist() == metrics["cosine_distances"]
    assert [path.name for path in write(filled, tmp_path)][3:] == ["t-BUSI.png", "t-Fingers.png"]


def test_a_search_among_what_is_no_image_has_no_picture():
    filled = fill("searches", {"queries": [0.0], "neighbours": [[1.0]]})
    run = replace(next(iter(filled.results)), dataset="car")
    moved = replace(filled, plan=RunPlan({(0, 0): [run]}, {}), results={run: next(iter(filled.results.values()))})
    assert not list(draw(moved))


def test_a_search_shows_the_query_and_its_neighbours_from_the_files(tmp_path, monkeypatch):
    """Images of one grey each, by which they are recognised."""
    paths = []
    for grey in range(0, 240, 20):
        paths.append(str(tmp_path / f"{grey}.png"))
        Image.fromarray(np.full((8, 8), grey, np.uint8)).save(paths[-1])
    y = np.arange(12) % 2
    split = Split(np.arange(8), np.arange(0), np.arange(8, 12))
    monkeypatch.setattr(reading, "load", lambda name, seed, **options: (ImageFiles(paths), y, split))
    metrics = {"queries": [0.0, 1.0], "neighbours": [[0.0, 1.0, 2.0], [3.0, 5.0, 7.0]]}
    ((name, figure),) = draw(fill("searches", metrics, groups=("BUSI",)))
    assert name == "BUSI row 0"
    greys = [int(axes.images[0].get_array().flat[0]) for axes in figure.axes]
    assert greys == [160, 0, 20, 40, 180, 60, 100, 140]
    assert [axes.get_xlabel() for axes in figure.axes] == list("00101111")
