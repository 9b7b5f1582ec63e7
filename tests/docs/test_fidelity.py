"""The pages on fidelity are what their script makes, rows have reasons, recipes and tables have the declared values."""

import importlib.util
import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from ordinate import Head, ImageOptions, SeriesOptions, TextOptions, Training, VolumeOptions
from ordinate.estimators.registry import model, models
from ordinate_papers.datasets.catalogue import SETS, dataset
from ordinate_papers.tables.budgets import Budget
from ordinate_papers.tables.catalogue import CATALOGUE
from ordinate_papers.tables.models import build, task_of
from ordinate_papers.tables.table import mismatch
from ordinate_papers.tables.variants import VARIANTS

SCRIPT = Path(__file__).parents[2] / "docs" / "fidelity" / "make.py"
specification = importlib.util.spec_from_file_location("fidelity", SCRIPT)
fidelity = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fidelity)

KINDS = {"images": ImageOptions, "series": SeriesOptions, "text": TextOptions, "volumes": VolumeOptions}
NUMBERED = {"cloc": (8, 9), "supcr": (14, 5), "supremix": (16, 5), "otd": (5, 13)}  # tables and figures in the papers
KEYS = {"what", "source", "here", "number", "model", "is", "sets", "models", "except", "checked", *fidelity.REASONS}
KEYS_OF_CODE = {"what", "theirs", "here", "measured", "effect", "also"}
LISTS = ("steps", "settings", "baselines", "elsewhere")
CHECKED = [
    pytest.param(paper, entry, id=f"{paper}-{entry['what'][:40]}")
    for paper in fidelity.PAPERS
    for kind in LISTS
    for entry in fidelity.declared(paper)[kind]
    if "is" in entry
]


def test_the_committed_pages_are_what_the_script_makes():
    for path, text in fidelity.pages().items():
        assert path.read_text("utf-8") == text, "python docs/fidelity/make.py writes them anew"


@pytest.mark.parametrize("paper", fidelity.PAPERS)
def test_every_entry_says_where_it_is_or_why_not(paper):
    for entry in (entry for kind in LISTS for entry in fidelity.declared(paper)[kind]):
        assert set(entry) <= KEYS, entry
        reasons = [entry[kind] for kind in fidelity.REASONS if kind in entry]
        assert len(reasons) <= 1, entry
        assert all(len(reason) > 10 for reason in reasons), entry
        assert {"here", "is", "model", "missing"} & set(entry), entry
        assert reasons or {"is", "number", "checked"} & set(entry), entry
        checked = entry.get("checked", "read")
        assert checked == "read" or (SCRIPT.parents[2] / checked).exists(), entry
        assert "source" in entry or "number" in entry, entry
        assert set(entry.get("except", ())) <= set(CATALOGUE), entry
        assert set(entry.get("sets", ())) <= set(SETS), entry
        assert {*entry.get("models", ()), *([entry["model"]] if "model" in entry else [])} <= set(models()), entry


def test_the_three_papers_with_public_code_have_its_differences():
    of_code = [paper for paper in fidelity.PAPERS if "code" in fidelity.declared(paper)]
    assert of_code == ["cloc", "supcr", "supremix"]
    for paper in of_code:
        assert "`ordinate_papers.published." in fidelity.declared(paper)["published"]
        assert "## Differences from the authors' code" in fidelity.pages()[SCRIPT.parent / f"{paper}.md"]


@pytest.mark.parametrize("paper", ["cloc", "supcr", "supremix"])
def test_every_difference_from_the_code_has_a_measured_effect_or_a_reason_why_there_is_none(paper):
    measured = fidelity.effects()[paper]
    for entry in fidelity.declared(paper)["code"]:
        assert {"what", "theirs", "here"} <= set(entry) <= {"what", "theirs", "here", "measured", "effect", "also"}, (
            entry
        )
        assert all(len(entry[kind]) >= 3 for kind in ("what", "theirs", "here")), entry
        assert ("measured" in entry) != ("effect" in entry), entry
        assert entry.get("measured", True), entry
        assert len(entry.get("effect", "long enough")) > 10, entry
        arms = [*entry.get("measured", ()), *entry.get("also", ())]
        assert set(arms) <= set(measured), entry
        shown = fidelity.effect_of(paper, entry)
        assert all(f"{measured[arm]['change']:+.3f} ± {measured[arm]['interval']:.3f}" in shown for arm in arms), entry


@pytest.mark.parametrize("paper", ["cloc", "supcr", "supremix"])
def test_every_measured_effect_is_of_at_least_three_seeds_and_on_the_page(paper):
    entries = fidelity.declared(paper)["code"]
    shown = {arm for entry in entries for kind in ("measured", "also") for arm in entry.get(kind, ())}
    assert shown == set(fidelity.effects()[paper])
    assert all(effect["seeds"] >= 3 for effect in fidelity.effects()[paper].values())


@pytest.mark.parametrize("paper", fidelity.PAPERS)
def test_every_numbered_table_and_figure_has_its_row(paper):
    tables, figures = NUMBERED[paper]
    wanted = {*(f"Table {n + 1}" for n in range(tables)), *(f"Fig. {n + 1}" for n in range(figures))}
    rows = Counter(name for entry in fidelity.numbered(paper) for name in fidelity.places(entry.source))
    assert set(rows) >= wanted
    assert max(rows.values()) == 1, "the catalogue has what the list has too: take it out of the list"


@pytest.mark.parametrize("paper", fidelity.PAPERS)
def test_every_model_of_a_papers_tables_is_its_method_or_a_declared_baseline(paper):
    runs = [run for _, run in runs_of(paper)]
    beside = {name for run in runs for name in run.settings.get("protocol", {}).get("beside", ())}
    used = ({run.model for run in runs} | beside) - {name for name in models() if name.startswith(paper)}
    declared = {entry["model"] for entry in fidelity.declared(paper)["baselines"] if "model" in entry}
    assert used == declared


def test_what_a_set_differs_by_is_said_of_a_paper_that_uses_it():
    titles = {fidelity.declared(paper)["title"] for paper in fidelity.PAPERS}
    for data in SETS.values():
        assert set(data.differs) <= titles
        assert all(paper in data.papers and len(reason) > 10 for paper, reason in data.differs.items())


@pytest.mark.parametrize("paper", fidelity.PAPERS)
def test_what_a_paper_leaves_open_of_a_set_is_one_reason_on_a_set_of_its_own(paper):
    of_paper = {data.name for data in fidelity.data_of(paper)}
    title = fidelity.declared(paper)["title"]
    for name, reasons in fidelity.declared(paper).get("data", {}).items():
        assert name in of_paper
        assert title not in SETS[name].differs
        assert len(reasons) == 1
        assert set(reasons) <= set(fidelity.REASONS)


@pytest.mark.parametrize(
    ("source", "places"),
    [
        ("Table 1", ["Table 1"]), ("Tables 1, 3, 4", ["Table 1", "Table 3", "Table 4"]),
        ("Figs. 5 to 8", ["Fig. 5", "Fig. 6", "Fig. 7", "Fig. 8"]), ("Tables 1 to 2", ["Table 1", "Table 2"]),
        ("Section 4.5, Fig. 5", ["Section 4.5", "Fig. 5"]), ("Fig. 1, Theorem 3", ["Fig. 1"]), ("eq. 2", []),
    ],
)  # fmt: skip
def test_the_places_of_a_source(source, places):
    assert fidelity.places(source) == places


@cache
def runs_of(paper):
    """The runs of a paper's tables: (name of the table, run)."""
    cells = [(table.name, cell) for table in fidelity.tables_of(paper) for cells in table.cells for cell in cells]
    return list(dict.fromkeys((name, cell.run(0, quick=False)) for name, cell in cells if is_run(cell)))


def is_run(cell):
    choice = cell.choice
    return choice.model is not None and not choice.missing and not mismatch(choice.model, choice.dataset, choice)


@cache
def settings_of(run):
    """The parameters that the estimator of a run is made with, and of tables and recipes alike ``None`` as "none"."""
    given = {name: value for name, value in run.settings.get("model", {}).items() if name not in VARIANTS}
    spent = Budget(**run.facts["budget"])
    task = task_of(run.model, dataset(run.dataset).task)
    return flat(build(run.model, task, budget=spent, **given))


def flat(estimator):
    """The parameters of an estimator, those of its groups among them and the options of its data by their kind."""
    found = estimator.get_params(deep=False)
    found |= vars(found.pop("training", Training()))
    head = found.get("head")
    if isinstance(head, Head):
        found |= {"head": head.kind, "head_loss": head.loss}
    elif "loss" in found:
        found["head_loss"] = found["loss"]
    data = found.pop("data", None)
    return found | {kind: data for kind, options in KINDS.items() if isinstance(data, options)}


def values_of(settings, names):
    """The values of some parameters, of options such as ``images`` those that are named, as TOML has them."""
    found = {}
    for name, wanted in names.items():
        value = settings[name]
        found[name] = {key: getattr(value, key) for key in wanted} if isinstance(wanted, dict) else value
    return json.loads(json.dumps(found).replace("null", '"none"'))


def concerned(entry, table, name, data):
    """Whether an entry is about a model on a data set."""
    return (
        data in entry.get("sets", [data])
        and name in entry.get("models", [name])
        and table not in entry.get("except", [])
    )


@pytest.mark.parametrize(("paper", "entry"), CHECKED)
def test_recipes_and_tables_have_the_values_that_are_declared(paper, entry):
    wanted, held = entry["is"], []
    for recipe in fidelity.recipes_of(paper):
        settings = flat(recipe.build())
        if concerned(entry, "", recipe.method, recipe.dataset) and set(wanted) <= set(settings):
            assert values_of(settings, wanted) == wanted, recipe.name
            held.append(recipe.name)
    for table, run in runs_of(paper):
        trained_on = run.settings.get("protocol", {}).get("source", run.dataset)
        if model(run.model).embeds and concerned(entry, table, run.model, trained_on):
            settings = settings_of(run)
            names = {name: value for name, value in wanted.items() if name in settings}
            assert values_of(settings, names) == names, f"{table}: {run.label}"
            held += [table] * bool(names)
    assert held, "no recipe and no table has it"
