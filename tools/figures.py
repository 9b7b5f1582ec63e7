"""Compare the tables of README and of the pages of measurements with what benchmarks/results holds.

    python tools/figures.py [--all]

A table of a page in docs/measured is looked up in the results that its section cites before it: a link to a file of
results, or the command that writes one. Results give their own numbers, and the mean and deviation of every number over
the records that agree in any of their fields of text; a cell "mean ± deviation" has to be both of one group. A number
of a summary (README, docs/measured.md) has to be on one of those pages. All are rounded as the table shows them.

Rows of papers and of other publications have no results here, and are left out. What is not found is listed; ``--all``
lists what is found, too. Found does not mean right, as the row and the column are not compared: the last line says
which share of wrong last digits is noticed.
"""

import argparse
import bisect
import csv
import itertools
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, pstdev, stdev
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "measured").glob("*.md"))
SUMMARIES = (ROOT / "README.md", ROOT / "docs" / "measured.md")
RESULTS = ROOT / "benchmarks" / "results"
CITED = re.compile(r"benchmarks/(?:results/)?([\w/-]+?)\.(?:json|csv|md|py)|`(ordinate table[^`]*)`")
NUMBER = re.compile(r"(?<![\w.,^⁻-])\d[\d,]*(?:\.\d+)?(?![\w⁰¹²³⁴-⁹]|\.\d)")
PUBLISHED = re.compile(r"^\W*(paper|best published|.*\(published)")
SCALES = (1.0, 100.0, 1000.0, 1e-3, 1 / 60)  # Shares in percent, small units, milliseconds, minutes.


@dataclass(frozen=True)
class Cell:
    """One number of a table, and the deviation after its ±."""

    table: str
    row: str
    text: str
    deviation: str | None


def cells(path: Path) -> Iterator[tuple[Cell, set[str]]]:
    """Give the numbers of a page's tables, each with the results that its section has cited before it."""
    heading, cited, columns = "", set[str](), 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading, cited = line.strip("# "), set()
        if not line.startswith("|"):
            columns = 0
            cited = cited | {found for match in CITED.finditer(line) for found in results_of(match)}
            continue
        columns += 1
        if columns < 3 or PUBLISHED.match(line.split("|")[1].strip()):  # The header and the line below it come first.
            continue
        row, *values = (each.strip() for each in line.replace("\\|", " ").strip("|").split("|"))
        for value in values:
            plain = re.sub(r"\(.*?\)|10[⁻⁰¹²³⁴-⁹]+|\d+ of \d+", "", value.replace("*", ""))
            for part in re.split(r"→|/(?!\d)|(?<!\d)/|;|: |, (?=\d)", plain):
                numbers = NUMBER.findall(part)
                if "±" in part and len(numbers) == 2:
                    yield Cell(heading, row, *numbers), cited
                else:
                    yield from ((Cell(heading, row, number, None), cited) for number in numbers)


def results_of(match: re.Match[str]) -> list[str]:
    """Return the names of the results that a citation means."""
    if match[1]:
        return [match[1]]
    words = match[2].split()
    sets = [words[place + 1] for place, word in enumerate(words) if word == "--dataset"]
    return [f"tables/{'/'.join([*sets[:1], *words[2:3]])}"]


@cache
def derived(name: str) -> tuple[tuple[float, tuple[float, ...]], ...]:
    """Return the numbers that a file of results gives, in order, and means with their deviations."""
    path, runs = RESULTS / f"{name}.json", RESULTS / f"{name}.jsonl"
    if runs.is_file():
        content: Any = [_run(json.loads(line)) for line in runs.read_text(encoding="utf-8").splitlines()]
    elif not path.is_file():
        table = RESULTS / f"{name}.csv"
        if not table.is_file():
            return ()
        with table.open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        if lines and "ours" in lines[0]:
            given = [line for line in lines if line["ours"]]
            return tuple(sorted((float(line["ours"]), (float(line["deviation"] or 0),)) for line in given))
        content = [{name: _value(cell) for name, cell in line.items() if name != "split"} for line in lines]
    else:
        content = json.loads(path.read_text(encoding="utf-8"))
    return tuple(sorted(set(_numbers(content)) | set(_groups(content))))


def _run(result: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics of a run with the fields that runs are grouped by; other results stay as they are."""
    if "run" not in result:
        return result
    run = result["run"]
    names = {name: run[name] for name in ("dataset", "model", "protocol")}
    budget = run["facts"]["budget"]
    names |= {"encoder": budget["encoder"], "epochs": str(budget["epochs"])}
    return {**names, "settings": json.dumps(run["settings"], sort_keys=True), **(result["metrics"] or {})}


def _value(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _numbers(node: Any) -> Iterator[tuple[float, tuple[float, ...]]]:
    if isinstance(node, bool) or node is None or isinstance(node, str):
        return
    if isinstance(node, int | float):
        yield float(node), ()
        return
    for each in node.values() if isinstance(node, dict) else node:
        yield from _numbers(each)
    if isinstance(node, list) and len(node) > 1 and all(type(each) in (int, float) for each in node):
        yield fmean(node), (pstdev(node), stdev(node))


def _groups(node: Any) -> Iterator[tuple[float, tuple[float, ...]]]:
    """Give the mean and the deviations of every number of records, grouped by any of their text fields."""
    if isinstance(node, dict):
        for each in node.values():
            yield from _groups(each)
    if not isinstance(node, list) or not all(isinstance(record, dict) for record in node):
        return
    flat = [part for record in node for part in _flat(record)]
    for each in (value for record in flat for value in record.values() if isinstance(value, list)):
        yield from _groups(each)
    names = sorted(
        {name for record in flat for name, value in record.items() if isinstance(value, str)} | _levels(flat)
    )
    for count in range(min(len(names), 4) + 1):
        for chosen in itertools.combinations(names, count):
            groups = defaultdict[tuple[Any, ...], dict[str, list[float]]](lambda: defaultdict(list))
            for record in flat:
                group = groups[tuple(record.get(name) for name in chosen)]
                for name, value in record.items():
                    if isinstance(value, int | float) and not isinstance(value, bool) and name != "seed":
                        group[name].append(float(value))
            for values in (each for group in groups.values() for each in group.values() if len(each) > 1):
                yield fmean(values), (pstdev(values), stdev(values))


def _flat(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a record with the fields of records within it next to its own; a list of records makes as many of it."""
    plain = {name: value for name, value in record.items() if not isinstance(value, dict)}
    for name, value in record.items():
        if isinstance(value, dict):
            plain |= {f"{name}.{inner}": each for part in _flat(value) for inner, each in part.items()}
    lists = [name for name, value in plain.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if not lists:
        return [plain]
    own = {name: value for name, value in plain.items() if name not in lists}
    return [own | {f"{name}.{inner}": each for inner, each in part.items()} for name in lists for part in plain[name]]


def _levels(records: list[dict[str, Any]]) -> set[str]:
    """Return the fields whose few numbers are settings, such as a promised coverage."""
    values = defaultdict[str, list[float]](list)
    for record in records:
        for name, value in record.items():
            if type(value) in (int, float) and name != "seed":
                values[name].append(value)
    return {name for name, given in values.items() if len(set(given)) <= 8 and len(given) >= 10 * len(set(given))}


def found(cell: Cell, known: tuple[tuple[float, tuple[float, ...]], ...]) -> bool:
    """Return whether a number, with its deviation, follows from results."""
    value, half = float(cell.text.replace(",", "")), half_step(cell.text)
    for scale in SCALES:
        low = bisect.bisect_left(known, ((value - half) / scale - 1e-12,))
        for mean, deviations in itertools.islice(known, low, None):
            if mean * scale > value + half * (1 + 1e-9):
                break
            if cell.deviation is None:
                return True
            wanted, space = float(cell.deviation), half_step(cell.deviation) * (1 + 1e-9)
            if any(abs(deviation * scale - wanted) <= space for deviation in deviations):
                return True
    return False


def half_step(text: str) -> float:
    """Return half of the last digit's unit."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


def changed(cell: Cell) -> Iterator[Cell]:
    """Give the cell with a wrong last digit."""
    places = len(cell.text.partition(".")[2])
    for step in (-3, -2, -1, 1, 2, 3):
        value = float(cell.text.replace(",", "")) + step * 10.0**-places
        if value >= 0:
            yield Cell(cell.table, cell.row, f"{value:.{places}f}", cell.deviation)


def check() -> tuple[list[Cell], list[Cell], list[Cell], float]:
    """Return the cells found, those not found, those that cite no results, and the share of wrong digits noticed."""
    right, wrong, uncited, noticed = list[Cell](), list[Cell](), list[Cell](), list[bool]()
    for cell, cited in itertools.chain.from_iterable(map(cells, PAGES)):
        known = tuple(sorted(itertools.chain.from_iterable(map(derived, cited))))
        if not known:
            uncited.append(cell)
            continue
        (right if found(cell, known) else wrong).append(cell)
        noticed += [not found(other, known) for other in changed(cell)]
    stated = [number for page in PAGES for number in NUMBER.findall(page.read_text(encoding="utf-8"))]
    known = tuple(sorted((float(number.replace(",", "")), ()) for number in stated))
    for cell, _ in itertools.chain.from_iterable(map(cells, SUMMARIES)):
        alone = Cell(cell.table, cell.row, cell.text, None)
        (right if found(alone, known) else wrong).append(cell)
    return right, wrong, uncited, fmean(noticed)


def main() -> int:
    """Print what was compared; return 1 where a number is not found."""
    parser = argparse.ArgumentParser(description="Compare the tables of README and docs/measured with the results.")
    parser.add_argument("--all", action="store_true", help="list what is found, too")
    given = parser.parse_args()
    right, wrong, uncited, noticed = check()
    for title, listed in (("found", right if given.all else []), ("not found", wrong), ("no results cited", uncited)):
        for cell in listed:
            number = cell.text if cell.deviation is None else f"{cell.text} ± {cell.deviation}"
            print(f"{title}: {number} ({cell.table}, {cell.row})")
    counts = f"{len(right)} numbers found, {len(wrong)} not, {len(uncited)} without results"
    print(f"{counts}; wrong last digits noticed: {noticed:.0%}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
