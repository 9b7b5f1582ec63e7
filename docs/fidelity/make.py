"""The page docs/fidelity.md and one page per paper: how Ordinate implements each part of the four papers.

``python docs/fidelity/make.py`` generates them from the catalogue of tables, the data sets, the recipes, and one list
per paper in this folder. ``tests/docs/test_fidelity.py`` compares the lists with the code.

A list has entries of ``steps`` (of the method), ``settings`` (of training), ``baselines`` (by ``model``) and
``elsewhere`` (the numbered tables and figures that are not in the catalogue). Each entry gives its subject (``what``),
the place in the paper (``source``) and the place in the code (``here``). If the code deviates, the reason is one of
``differs``, ``missing`` and ``open`` (the paper does not specify it; the text gives the choice). Otherwise ``checked``
names the test, or is "read" if code and text were compared by reading. ``is`` gives the values of estimator parameters
that recipes and tables must have, restricted to the data sets ``sets`` or the models ``models`` where given.

Entries of ``code`` are the differences between the authors' code, which ``published`` names, and Ordinate: the way of
the code is ``theirs``. Either ``measured`` names arms of ``benchmarks/published_loops.py``, from whose effects the page
takes its figures, or ``effect`` gives the reason why there is none to measure. Arms in ``also`` follow either.
"""

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ordinate.estimators.recipes import Recipe, read_recipe, recipe_names
from ordinate_papers.datasets.catalogue import SETS, DataSet
from ordinate_papers.tables.catalogue import CATALOGUE
from ordinate_papers.tables.table import Table

HERE = Path(__file__).parent
PAGE = HERE.parent / "fidelity.md"
CLAIMS = HERE.parent / "claims" / "claims.toml"
PAPERS = ("cloc", "supcr", "supremix", "otd")
REASONS = ("differs", "missing", "open")  # An entry has at most one.
RESULTS = HERE.parents[1] / "benchmarks" / "results" / "tables"
EFFECTS = HERE.parents[1] / "benchmarks" / "results" / "published_loops_summary.json"
NOT_CHECKED = "not checked"
NOTHING = "nothing to run"
AT_HAND = ("koa", "busi", "fingers", "airfoil", "stsb_dir", "car", "nursery", "hayes_roth", "balance_scale")
RUN_IN_FULL = {
    "supremix-5": "run with the paper's network and, as far as it gives them, its settings; SupCon in bins of 0.001 dB "
    "([in those of Table 12](../claims.md))",
    "otd-2": "run on all four tables, with the network, epochs and splits given above; on Nursery Thresh-Eucl has two "
    "of three seeds, Ord-LMNN one",
}
SMALL_RUNS = {  # The keys are folders of results, some with a paper or a table.
    "adam": "small networks, few epochs by Adam",
    "adam/cloc": "KOA at 30 x 50, not equalised, a small network without ImageNet weights, 20 epochs by Adam",
    "adam/cloc-3": "RetinaMNIST at 28 x 28, a small network without ImageNet weights, 20 epochs by Adam",
    "adam/otd": "BUSI at 96 x 96 with EfficientNet-Lite0 from ImageNet, 16 epochs; Fingers at 64 x 64 with "
    "augmentation and a small network, 2 epochs; one learning rate for all networks",
    "adam/otd-5": "BUSI at 96 x 96 with EfficientNet-Lite0 from ImageNet, the time of a few epochs",
    "retinamnist": "RetinaMNIST instead of the paper's sets, a small network, 20 epochs by AdamW, losses as in `fit`",
    "airfoil": "airfoil instead of the paper's sets, a network of 3 x 256, 400 epochs by AdamW, then 1,000 of the head",
    "floodmodeling1": "FloodModeling1 instead of the paper's sets, a small network, 100 epochs by AdamW, batches of 64",
    "": "small networks, few epochs by AdamW",
}
HEAD = """\
---
description: "How closely Ordinate follows the four papers: steps, settings, data sets, baselines, tables and figures."
---

# Fidelity to the papers

Does Ordinate implement what the papers describe? The table counts the steps, settings, data sets and baselines of each
paper: those in which Ordinate follows the paper (*as the paper*), deviates from it for a stated reason (*differs*), or
does not implement it (*missing*). In the *open* rows, the paper does not specify something or contradicts itself;
*not checked* are data sets that are not at hand. A paper's page has one row for each item, and one for each table and
figure.

| paper | rows | as the paper | differs | missing | open | not checked |
|---|---|---|---|---|---|---|
{counts}

Each row gives the place in the paper, the place in the code, and one of these states:

- *as the paper*: the code agrees with the paper. The test named in the row checks this, or the code was compared with
  the text line by line. The settings are those of the recipes (files with all settings of a paper for one data set);
  a test compares the recipes with this list.
- *differs* or *missing*, with the reason.
- *open*, with the choice made here.
- *not checked*: a data set whose reader follows the description of its owner, and has never read the owner's files.

Rows on tables and figures say whether the experiment was run, and in which setting. `ordinate table NAME` runs it,
by default with three seeds; `--seeds 5` makes the five folds, blocks or seeds of the papers. The counts above do not
include these rows.

The defaults of `fit` differ from the recipes where other settings gave better results; see [](measured.md).

`docs/fidelity/make.py` generates these pages from the recipes, the catalogue of tables and the lists in its folder.

```{{toctree}}
:hidden:
{pages}
```
"""
HEAD_OF_PAPER = """\
---
description: "How closely Ordinate follows {title}: steps, settings, data sets, baselines, tables and figures."
---

# Fidelity to {title}

{reference}

[](../fidelity.md) explains the states in the last column.
"""

CODE = """\
## Differences from the authors' code

The code is {published}. `benchmarks/published_loops.py` replaces one thing at a time by what Ordinate does, with the
same first weights. An effect is the change of the error of held-out samples with its 95% interval over {seeds} seeds,
above 0 if the error is larger with Ordinate's way; in brackets the mean errors with Ordinate's way and with the code's.
Where these differ only if another difference is there, both have it, and it is named. The runs are short and the data
small; they show what matters there, not what would change the papers' figures.

| what | in the authors' code | here | effect |
|---|---|---|---|
"""


class Entry(NamedTuple):
    """A row of the page."""

    what: str
    source: str
    here: str
    state: str


def declared(paper: str) -> dict[str, Any]:
    """Return the list of a paper."""
    return tomllib.loads((HERE / f"{paper}.toml").read_text("utf-8"))


def recipes_of(paper: str) -> list[Recipe]:
    """Return the recipes of a paper."""
    return [recipe for name in recipe_names() if (recipe := read_recipe(name)).method == paper]


def tables_of(paper: str) -> list[Table]:
    """Return the tables and figures of a paper in the catalogue."""
    return [table for name, table in CATALOGUE.items() if name.startswith(f"{paper}-")]


def data_of(paper: str) -> list[DataSet]:
    """Return the data sets that a paper uses."""
    title = declared(paper)["title"]
    return [data for data in SETS.values() if any(part.strip().startswith(title) for part in data.papers.split(";"))]


def pages() -> dict[Path, str]:
    """Return the text of each page: the overview, and one page per paper."""
    counts = "\n".join(_counts(paper) for paper in PAPERS)
    overview = HEAD.format(counts=counts, pages="\n".join(f"fidelity/{paper}" for paper in PAPERS))
    return {PAGE: overview, **{HERE / f"{paper}.md": _page(paper) for paper in PAPERS}}


def parts(paper: str) -> dict[str, list[Entry]]:
    """Return the rows of a paper's page by heading."""
    known = declared(paper)
    return {
        "Method": [_entry(one) for one in known["steps"]],
        "Training settings": [_entry(one) for one in known["settings"]],
        "Data sets": [_data(one, known["title"], paper) for one in data_of(paper)],
        "Baselines": [_entry(one) for one in known["baselines"]],
        "Tables and figures": numbered(paper),
    }


def _counts(paper: str) -> str:
    """Return the overview's row of a paper, which counts the states of all rows but tables and figures."""
    counted = {heading: rows for heading, rows in parts(paper).items() if heading != "Tables and figures"}
    states = [entry.state for rows in counted.values() for entry in rows]
    reasons = [sum(state.startswith(f"{reason}:") for state in states) for reason in (*REASONS, NOT_CHECKED)]
    cells = [len(states), len(states) - sum(reasons), *reasons]
    return f"| [{declared(paper)['title']}](fidelity/{paper}.md) | {' | '.join(map(str, cells))} |"


def _page(paper: str) -> str:
    known = declared(paper)
    lines = [HEAD_OF_PAPER.format(title=known["title"], reference=known["reference"])]
    for heading, entries in parts(paper).items():
        lines += [f"## {heading}\n", "| in the paper | where | here | state |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in entry)} |" for entry in entries]
        lines.append("")
    if "code" in known:
        lines.append(_code(paper))
    return "\n".join(lines).rstrip("\n") + "\n"


def _code(paper: str) -> str:
    """Return the section on the differences from the authors' code."""
    known = declared(paper)
    seeds = {effect["seeds"] for effect in effects()[paper].values()}
    head = CODE.format(published=known["published"], seeds=" or ".join(map(str, sorted(seeds))))
    rows = [[one["what"], one["theirs"], one["here"], effect_of(paper, one)] for one in known["code"]]
    return head + "\n".join(f"| {' | '.join(row)} |" for row in rows)


def effect_of(paper: str, one: dict[str, Any]) -> str:
    """Return the effect of a difference: the reason why there is none, or the errors of its arms, or both."""
    arms = [*one.get("measured", ()), *one.get("also", ())]
    measured = [_measured(paper, arm) for arm in arms]
    if len(arms) > 1 or "also" in one:
        measured = [f"{arm}: {effect}" for arm, effect in zip(arms, measured, strict=True)]
    return "; ".join(filter(None, [one.get("effect"), *measured]))


def _measured(paper: str, arm: str) -> str:
    effect = effects()[paper][arm]
    errors = f"{effect['error']:.3f} and {effect['reference']:.3f}"
    if effect["compared_with"] in effects()[paper]:
        errors += f", both with {effect['compared_with']}"
    shares = [effect["share"], effect["reference_share"]]
    if None not in shares:
        errors += f"; contrastive loss over cross-entropy {' and '.join(f'{share:.3g}' for share in shares)}"
    return f"{effect['change']:+.3f} ± {effect['interval']:.3f} ({errors})"


@cache
def effects() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the measured effects by paper and arm."""
    return json.loads(EFFECTS.read_text("utf-8"))


def _entry(one: dict[str, Any]) -> Entry:
    values = ", ".join(f"`{name} = {_value(value)}`" for name, value in one.get("is", {}).items())
    if values and "sets" in one:
        values += f" ({', '.join(one['sets'])})"
    model = f"`{one['model']}`" if "model" in one else ""
    here = "; ".join(filter(None, (model, values, one.get("here", ""))))
    reasons = [f"{kind}: {one[kind]}" for kind in REASONS if kind in one]
    return Entry(one["what"], one.get("source", ""), here, reasons[0] if reasons else _without_reason(one))


def _without_reason(one: dict[str, Any]) -> str:
    """Return the state of an entry that agrees with the paper; drawings have none."""
    if "number" in one:
        return NOTHING
    if "is" in one:
        return "as the paper: values of the recipes, tested"
    return "as the paper: compared line by line" if one["checked"] == "read" else f"as the paper: `{one['checked']}`"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(each)}" for name, each in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _data(data: DataSet, title: str, paper: str) -> Entry:
    used = next(part.strip() for part in data.papers.split(";") if part.strip().startswith(title))
    recipes = "".join(f", recipe `{one.name}`" for one in recipes_of(paper) if one.dataset == data.name)
    here = f"`ordinate datasets {data.name}`{recipes}; {data.split}"
    state = "as the paper: read from the owner's files"
    if data.name not in AT_HAND:
        state = f"{NOT_CHECKED}: the owner's files are not at hand"
    reasons = {"differs": data.differs[title]} if title in data.differs else {}
    reasons |= declared(paper).get("data", {}).get(data.name, {})
    for kind, reason in reasons.items():
        state = f"{kind}: {reason}" + ("" if data.name in AT_HAND else ". Not checked with the owner's files")
    return Entry(data.title, used.removeprefix(title).strip(), here, state)


def _run_state(table: Table) -> str:
    """Return in which settings a table has stored results."""
    if table.name in RUN_IN_FULL:
        return RUN_IN_FULL[table.name]
    paper, _, place = table.source.partition(", ")
    claimed = ""
    if _claimed() & {(paper, one) for one in places(place)}:
        claimed = "the [claims](../claims.md) compare some of its models, in the settings given there"
    folders = [folder for folder in SMALL_RUNS if (RESULTS / folder / f"{table.name}.md").exists()]
    if folders:
        small = []
        for folder in folders:
            names = (f"{folder}/{table.name}", f"{folder}/{paper.lower()}", folder)
            small.append(SMALL_RUNS[next(name for name in names if name in SMALL_RUNS)] + _extent(folder, table))
        return "; ".join(filter(None, [f"run in a small version: {'; '.join(small)}", claimed]))
    return f"not run as a whole: {claimed}" if claimed else "not run: the command is there"


def _extent(folder: str, table: Table) -> str:
    """Return how many seeds a stored table has, and which rows and data sets it lacks."""
    text = (RESULTS / folder / f"{table.name}.md").read_text("utf-8")
    stored = [row.name for row in table.rows if f"| {row.name} |" in text]
    seeds = sorted(set(map(int, re.findall(r"(?<=[\d)] )\((\d+)\)", text))))
    lacking = re.findall(r"^\[\d+\] (\w+): not in", text, re.MULTILINE)
    elsewhere = re.search(r"; here on (\w+)\*\*", text)
    extent = f", on {elsewhere[1]}" if elsewhere and elsewhere[1] != folder else ""
    extent += f", {seeds[-1]} seed{'s' if seeds[-1] > 1 else ''}" if seeds else ""
    if stored and len(stored) < len(table.rows):
        extent += f", only {' and '.join(stored)}"
    return extent + (f", without {', '.join(lacking)}" if lacking else "")


@cache
def _claimed() -> set[tuple[str, str]]:
    """Return (paper, table, figure or section) that a measured claim compares rows of."""
    measured = [claim for claim in tomllib.loads(CLAIMS.read_text("utf-8"))["claims"] if "runs" in claim]
    return {(claim["paper"].split()[0], place) for claim in measured for place in places(claim["source"])}


def places(source: str) -> list[str]:
    """Return what a source names: "Figs. 5 to 8" are four, "Tables 1, 3" two, "Section 4.5, Fig. 5" one of each."""
    found = []
    for kind, numbers in re.findall(r"(Table|Fig|Section)s?\.? ((?:[\d.]+(?:, | to )?)+)", source):
        name = "Fig." if kind == "Fig" else kind
        for part in filter(None, numbers.split(", ")):
            first, _, last = part.partition(" to ")
            several = range(int(first), int(last) + 1) if last else [first]
            found += [f"{name} {number}" for number in several]
    return found


def numbered(paper: str) -> list[Entry]:
    """Return the rows of a paper's numbered tables and figures, in its order."""
    found = [_table(table) for table in tables_of(paper)]
    found += [_entry(one)._replace(source=one["number"]) for one in declared(paper)["elsewhere"]]
    return sorted(found, key=lambda entry: _place(entry.source))


def _place(source: str) -> tuple[bool, int]:
    kind, _, number = source.partition(" ")
    digits = "".join(filter(str.isdigit, number.partition(" ")[0]))
    return kind.startswith("Fig"), int(digits or 0)


def _table(table: Table) -> Entry:
    cells = [cell for cells in table.cells for cell in cells]
    lacking: dict[str, list[str]] = {}
    for cell in cells:
        if cell.choice.missing:
            lacking.setdefault(cell.choice.missing, []).append(cell.row.name)
    here = f"`ordinate table {table.name}`" + (f". {table.note}" if table.note else "")
    if all(cell.choice.missing for cell in cells):  # A table of facts.
        return Entry(table.title, table.source.partition(", ")[2], here, NOTHING)
    state = _run_state(table)
    if lacking:
        rows = (f"{', '.join(dict.fromkeys(names))} ({reason})" for reason, names in lacking.items())
        state = f"{state}; missing: {'; '.join(rows)}"
    return Entry(table.title, table.source.partition(", ")[2], here, state)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
