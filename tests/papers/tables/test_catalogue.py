"""That every table of the papers is there, and that what its cells name exists."""

import json
import re
from dataclasses import replace

import pytest

from ordinate.encoders.volume import ResNet3d18
from ordinate.estimators import registry as models
from ordinate_papers.datasets import reading
from ordinate_papers.datasets.catalogue import TABLE_SETS, dataset
from ordinate_papers.datasets.tuab import read_tuab
from ordinate_papers.tables.budgets import Budget
from ordinate_papers.tables.catalogue import CATALOGUE, find
from ordinate_papers.tables.execute import PROTOCOLS, execute
from ordinate_papers.tables.metric_names import METRICS
from ordinate_papers.tables.models import build, task_of
from ordinate_papers.tables.run import Run
from tests.papers.datasets import trees

NUMBERED = {
    *(f"cloc-{number}" for number in range(1, 9)),
    *(f"supcr-{number}" for number in range(1, 15)),
    *(f"supremix-{number}" for number in range(1, 17)),
    *("otd-1", "otd-2", "otd-5"),
}
UNNUMBERED = {"cloc-margins"}
CURVES = {"cloc-fig4", "supcr-fig3", "supcr-fig4", "supremix-fig4", "supremix-fig5", "otd-fig4", "otd-fig13"}
PICTURES = {"cloc-fig5", "cloc-fig9", "supcr-fig1", "supremix-fig2", "supremix-fig3", "otd-fig5", "otd-fig9"}
SUMS = {  # of the figures with a point, added up in the papers' texts; gains and deviations left out
    "cloc-1": 57.1239, "cloc-2": 14.0856, "cloc-3": 13.4842, "cloc-4": 29.6193, "cloc-5": 13.838, "cloc-6": 9.01,
    "cloc-7": 13.72, "cloc-8": 3.5128, "cloc-margins": 2.14,
    "supcr-1": 102.409, "supcr-2": 113.32, "supcr-3": 88.646, "supcr-4": 53.695, "supcr-5": 78.377, "supcr-6": 150.91,
    "supcr-7": 68.62, "supcr-8": 28.905, "supcr-9": 34.138, "supcr-10": 53.486, "supcr-11": 271.92, "supcr-12": 21.3,
    "supcr-13": 25.32, "supcr-14": 368.21,
    "supremix-1": 456.17, "supremix-2": 9.876, "supremix-3": 301.82, "supremix-4": 75.797, "supremix-5": 196.66,
    "supremix-6": 432.69, "supremix-7": 276.92, "supremix-8": 74.95, "supremix-9": 571.88, "supremix-10": 41.19,
    "supremix-11": 198.29, "supremix-14": 101.24, "supremix-15": 84.26, "supremix-16": 56.24,
    "otd-1": 19.62, "otd-2": 664.1, "otd-5": 96.484,
}  # fmt: skip
CELLS = [
    pytest.param(cell, id=f"{name}-{row}-{column}")
    for name, table in CATALOGUE.items()
    for row, cells in enumerate(table.cells)
    for column, cell in enumerate(cells)
]
CHOICES = [param.values[0].choice for param in CELLS]


def test_every_numbered_table_and_every_curve_is_there():
    assert set(CATALOGUE) == NUMBERED | UNNUMBERED | CURVES | PICTURES


def test_every_row_has_a_figure_or_none_for_every_column():
    for table in CATALOGUE.values():
        for row in table.rows:
            assert len(row.paper) in (0, len(table.columns)), (table.name, row.name)
            assert len(row.deviations) in (0, len(table.columns)), (table.name, row.name)


def test_what_the_cells_name_exists():
    for choice in CHOICES:
        if choice.model is None:
            assert choice.missing
            continue
        assert choice.model in models.models()
        assert choice.dataset in TABLE_SETS
        assert (choice.protocol or "plain") in PROTOCOLS
        assert re.sub(r"(\[\d+\])*$", "", choice.metric) in METRICS
        assert set(choice.conditions.get("beside", ())) <= set(models.models())
        assert choice.conditions.get("source", "agedb_dir") in TABLE_SETS


def test_every_model_suits_the_labels_that_it_meets():
    for choice in CHOICES:
        if choice.model is not None:
            assert task_of(choice.model, dataset(choice.dataset).task) is not None


def test_every_cell_says_which_figure_is_better_or_is_none_to_compare():
    for name, table in CATALOGUE.items():
        if name not in ("supremix-12", "supremix-13", "cloc-margins"):
            assert all(cell.better for cells in table.cells for cell in cells), name


@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_is_a_run_whose_models_accept_its_settings(quick, monkeypatch):
    monkeypatch.setattr(reading, "unavailable", lambda name: None)
    built = set()
    for param in CELLS:
        cell = param.values[0]
        if cell.choice.model is None:
            continue
        run = cell.run(0, quick=quick)
        assert Run(**json.loads(run.to_json())) == run
        if cell.impossible:
            continue
        for name in {run.model, *cell.choice.conditions.get("beside", ())}:
            task = task_of(name, dataset(run.dataset).task)
            given = run.facts["budget"]
            no_file = {"text": {}} if given.get("text") else {}  # of word vectors
            settings = run.settings.get("model", {}) if name == run.model else {}
            key = json.dumps([name, task, given, settings], sort_keys=True, default=repr)
            if key in built:
                continue
            built.add(key)
            model = build(name, task, budget=Budget(**{**given, **no_file}), num_classes=3, **settings)
            getattr(model, "_check_parameters", dict)()


def test_of_supremix_every_set_has_the_temperature_and_the_batch_size_of_table_13():
    """SupReMix's rows, and SupCon's as far as the set has its own table; SupCR keeps those of its own paper."""
    hyper = {cell.column.name: cell.paper for cell in find("supremix-13").cells[0]}
    sizes = {cell.column.name: cell.paper for cell in find("supremix-13").cells[-1]}
    sets = {"IMDB-WIKI": "imdb_wiki_dir", "AgeDB-DIR": "agedb_dir", "STS-B-DIR": "stsb_dir",
            "UK Biobank": "uk_biobank", "HCP-Aging": "hcp_aging", "UCI-airfoil": "airfoil"}  # fmt: skip
    expected = {sets[name]: (hyper[name], sizes[name]) for name in sets}
    checked = set()
    for name, table in CATALOGUE.items():
        if not name.startswith("supremix-"):
            continue
        for cell in (cell for cells in table.cells for cell in cells):
            if cell.choice.model not in ("supremix_l1", "supcon"):
                continue
            run = cell.run(0, quick=False)
            settings, budget = run.settings.get("model", {}), run.facts["budget"]
            source = cell.choice.conditions.get("source", run.dataset)
            temperature, batch_size = expected[source]
            assert settings["temperature"] == temperature, (name, cell.row.name)
            if name != "supremix-14":  # which varies it
                assert settings.get("batch_size", budget["batch_size"]) == batch_size, (name, cell.row.name)
            checked.add((source, run.model))
    assert {(data, "supremix_l1") for data in expected} <= checked


def test_a_curve_has_a_place_for_every_column():
    curves = {name: table for name, table in CATALOGUE.items() if table.curve is not None}
    assert set(curves) == CURVES
    for table in curves.values():
        assert len(table.curve.places) == len(table.columns)
        assert list(table.curve.places) == sorted(table.curve.places)


def test_a_table_without_data_says_so(monkeypatch):
    monkeypatch.delenv("ORDINATE_DATA", raising=False)
    plan = find("otd-1").plan(5)
    assert plan.runs == {}
    assert set(plan.reasons.values()) == {
        f"{name}: ORDINATE_DATA is not set" for name in ("busi", "fingers", "fgnet", "adience")
    }


@pytest.mark.parametrize(
    ("name", "plant", "count"),
    [
        ("supremix-2", trees.plant_pairs, 4), ("supcr-14", trees.plant_recordings, 1),
        ("supremix-4", trees.plant_volumes, 4), ("supremix-6", trees.plant_matrices, 3),
    ],
)  # fmt: skip
def test_text_signals_and_volumes_train_in_the_layout_of_the_real_data(name, plant, count, tmp_path, monkeypatch):
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path))
    monkeypatch.setitem(read_tuab.__kwdefaults__, "start", 1.0)  # the recordings last 3 s
    monkeypatch.setitem(ResNet3d18.__init__.__kwdefaults__, "widths", (4, 4, 8, 8))
    plant(tmp_path)
    table = find(name)
    plan = table.plan(1, quick=True)
    assert len(plan.all_runs) == count
    small = {"epochs": 1, "phase_one": 1, "head_epochs": 1, "embedding_dim": 4}
    measured = {}
    for run in plan.all_runs:
        spent = {**run.facts["budget"], **small}
        if "series" in spent:
            spent |= {"series": {"crop": 8}, "encoder": "small_resnet1d"}
        if "volumes" in spent:
            spent |= {"volumes": {"size": 8, "spacing": 2.0, "workers": 0}}
        measured[run] = execute(replace(run, facts={"budget": spent}), tmp_path / "state" / run.key)
    for (row, column), (run,) in plan.runs.items():
        assert table.cells[row][column].value(measured[run]) is not None


@pytest.mark.parametrize(
    ("name", "row", "column", "figure"),
    [
        ("cloc-1", "MWR", "IDRiD MAE", 0.6752),
        ("cloc-2", "Controlled, 2|3, 4|5", "C5 - C6", 0.0850),
        ("cloc-3", "CLOC (fixed)", "accuracy", 0.7087),
        ("cloc-4", "shared, phase 1", "KOA MAE", 0.4644),
        ("cloc-7", "ORCNN", "hours", 3.28),
        ("cloc-7", "CLOC, phase two", "hours", 0.54),
        ("cloc-margins", "Adience", "C3 - C4", 0.20),
        ("supcr-1", "SupCR(CORN)", "R2", 0.838),
        ("supcr-2", "OR", "MAE", 7.36),
        ("supcr-3", "SupCR(HUBER)", "Angular", 5.15),
        ("supcr-6", "SupCR(L1)", "Unseen", 13.08),
        ("supcr-11", "DINO", "MPIIFaceGaze k-NN", 12.50),
        ("supcr-14", "SupCR", "MPIIFaceGaze", 75.4),
        ("supremix-5", "SupReMix", "MSE", 39.70),
        ("supremix-7", "LDS + FDS", "GM few", 6.79),
        ("supremix-10", "gamma = 10", "MAE", 7.55),
        ("supremix-15", "SupReMix", "GM missing", 3.80),
        ("otd-2", "Ord-LMNN-RecBeta", "Balance", 6.4),
        ("otd-5", "Network training, an epoch", "N-Net2", 30.167),
    ],
)
def test_figures_are_the_papers(name, row, column, figure):
    cells = {(cell.row.name, cell.column.name): cell for cells in find(name).cells for cell in cells}
    assert cells[row, column].paper == figure


def test_the_figures_of_every_table_add_up_to_those_of_the_papers_text():
    sums = {
        name: round(sum(cell.paper for cells in table.cells for cell in cells if isinstance(cell.paper, float)), 4)
        for name, table in CATALOGUE.items()
    }
    assert {name: sums[name] for name in SUMS} == SUMS


def test_a_comparison_moves_to_other_data():
    moved = find("supcr-1").on(["airfoil", "retinamnist"])
    names = ["airfoil MAE", "airfoil R2", "retinamnist MAE", "retinamnist R2"]
    assert [column.name for column in moved.columns] == names
    assert len(moved.rows) == 14
    cells = [cell for cells in moved.cells for cell in cells]
    assert {cell.paper for cell in cells} == {None}
    assert all("bin_size" not in cell.run(0, quick=True).settings.get("model", {}) for cell in cells)


def test_data_sets_of_the_table_keep_their_columns_and_the_papers_figures():
    whole, part = find("otd-2"), find("otd-2").on(["hayes_roth", "car"])
    assert [column.dataset for column in part.columns] == ["car", "hayes_roth"]
    for cells, kept in zip(whole.cells, part.cells, strict=True):
        wanted = [cell for cell in cells if cell.choice.dataset in ("car", "hayes_roth")]
        assert [(cell.paper, cell.deviation) for cell in kept] == [(cell.paper, cell.deviation) for cell in wanted]
    assert part.cells[0][0].run(3, quick=False) == whole.cells[0][0].run(3, quick=False)


@pytest.mark.parametrize(
    ("name", "dataset", "row", "reason"),
    [
        ("supremix-2", "airfoil", "SimCSE", "simcse is for text, airfoil holds none"),
        ("supcr-11", "airfoil", "L1", "l1 is trained end to end, with its linear head alone"),
    ],
)
def test_a_model_that_a_data_set_is_not_for_says_so_before_it_runs(name, dataset, row, reason, monkeypatch):
    monkeypatch.setattr(reading, "unavailable", lambda name: None)
    moved = find(name).on([dataset])
    assert reason in {cell.impossible for cells in moved.cells for cell in cells if cell.row.name == row}
