"""docs/fidelity.md is what its script makes, its rows have reasons, recipes and tables have the declared values."""

import importlib.util
import json
from functools import cache
from pathlib import Path

import pytest

from ordinate.estimators.registry import model, models
from ordinate.papers.datasets.catalogue import SETS, dataset
from ordinate.papers.tables.budgets import Budget
from ordinate.papers.tables.models import build, task_of

SCRIPT = Path(__file__).parents[2] / "docs" / "fidelity" / "make.py"
specification = importlib.util.spec_from_file_location("fidelity", SCRIPT)
fidelity = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fidelity)

NUMBERED = {"cloc": (8, 9), "supcr": (14, 5), "supremix": (16, 5), "otd": (5, 13)}  # tables and figures in the papers
KEYS = {"what", "source", "here", "number", "model", "is", "sets", "models", *fidelity.REASONS}
ENTRIES = [
    pytest.param(paper, entry, id=f"{paper}-{kind}-{entry['what'][:40]}")
    for paper in fidelity.PAPERS
    for kind in ("steps", "settings", "baselines", "elsewhere")
    for entry in fidelity.declared(paper)[kind]
]
CHECKED = [one for one in ENTRIES if "is" in one.values[1]]


def test_the_committed_page_is_what_the_script_makes():
    assert fidelity.PAGE.read_text("utf-8") == fidelity.page(), "python docs/fidelity/make.py writes it anew"


@pytest.mark.parametrize(("paper", "entry"), ENTRIES)
def test_every_entry_says_where_it_is_or_why_not(paper, entry):
    assert set(entry) <= KEYS
    reasons = [entry[kind] for kind in fidelity.REASONS if kind in entry]
    assert len(reasons) <= 1
    assert all(len(reason) > 10 for reason in reasons)
    assert {"here", "is", "model", "missing"} & set(entry)
    assert "source" in entry or "number" in entry
    assert set(entry.get("sets", ())) <= set(SETS)
    assert {*entry.get("models", ()), *([entry["model"]] if "model" in entry else [])} <= set(models())


@pytest.mark.parametrize("paper", fidelity.PAPERS)
def test_every_numbered_table_and_figure_has_its_row(paper):
    tables, figures = NUMBERED[paper]
    wanted = {*(f"Table {n + 1}" for n in range(tables)), *(f"Fig. {n + 1}" for n in range(figures))}
    assert {entry.source for entry in fidelity.numbered(paper)} >= wanted
    in_the_catalogue = {table.source.partition(", ")[2] for table in fidelity.tables_of(paper)}
    stale = in_the_catalogue & {entry["number"] for entry in fidelity.declared(paper)["elsewhere"]}
    assert not stale, "the catalogue has them: take them out of the list"


@pytest.mark.parametrize("paper", fidelity.PAPERS)
def test_every_model_of_a_papers_tables_is_its_method_or_a_declared_baseline(paper):
    used = {run.model for run in runs_of(paper)} - {name for name in models() if name.startswith(paper)}
    declared = {entry["model"] for entry in fidelity.declared(paper)["baselines"] if "model" in entry}
    assert used <= declared
    beside = {name for cell in cells_of(paper) for name in cell.choice.conditions.get("beside", ())}
    assert declared <= used | beside, "no table has them"


def test_what_a_set_differs_by_is_said_of_a_paper_that_uses_it():
    titles = {fidelity.declared(paper)["title"] for paper in fidelity.PAPERS}
    for data in SETS.values():
        assert set(data.differs) <= titles
        assert all(paper in data.papers and len(reason) > 10 for paper, reason in data.differs.items())


def cells_of(paper):
    return [cell for table in fidelity.tables_of(paper) for cells in table.cells for cell in cells if cell.choice.model]


@cache
def runs_of(paper):
    """The runs of a paper's tables, one each of those that differ."""
    return list(dict.fromkeys(cell.run(0, quick=False) for cell in cells_of(paper) if not cell.choice.missing))


@cache
def settings_of(run):
    """The parameters that the estimator of a run is made with."""
    given = dict(dict(run.settings).get("model", {}))
    spent = Budget(**dict(run.facts)["budget"])
    return build(run.model, task_of(run.model, dataset(run.dataset).task), budget=spent, **given).get_params(deep=False)


def concerned(entry, dataset, name):
    return dataset in entry.get("sets", [dataset]) and name in entry.get("models", [name])


def values_of(settings, names):
    """The values of some parameters, of options such as ``images`` those that are named; JSON has no tuples."""
    found = {}
    for name, wanted in names.items():
        value = settings.get(name)
        found[name] = {key: getattr(value, key) for key in wanted} if isinstance(wanted, dict) else value
    return json.loads(json.dumps(found))


@pytest.mark.parametrize(("paper", "entry"), CHECKED)
def test_recipes_and_tables_have_the_values_that_are_declared(paper, entry):
    wanted, held = entry["is"], 0
    for recipe in fidelity.recipes_of(paper):
        if recipe.dataset in SETS and concerned(entry, recipe.dataset, recipe.method):
            assert values_of(recipe.build().get_params(deep=False), wanted) == wanted, recipe.name
            held += 1
    given = set(wanted)
    for run in runs_of(paper):
        own = set(dict(run.settings).get("model", {}))  # what a row or a column varies
        trained_on = dict(dict(run.settings).get("protocol", {})).get("source", run.dataset)
        if concerned(entry, trained_on, run.model) and model(run.model).embeds and not given & own:
            settings = settings_of(run)
            names = {name: value for name, value in wanted.items() if name in settings}
            assert values_of(settings, names) == names, run.label
            held += 1
    assert held, "no recipe and no table has it"
