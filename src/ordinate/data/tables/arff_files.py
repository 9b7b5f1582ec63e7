"""Tables in ARFF, the format of Weka, whose nominal attributes list their values."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from ordinate.counts import counted
from ordinate.data.known_scales import known_order
from ordinate.data.paths import not_text
from ordinate.errors import OrdinateError

ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\s{]+)(?:\s+|(?=\{))(\S.*)$""", re.IGNORECASE
)
CELL = re.compile(r"""\s*('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,\t]*?)\s*(?:[,\t]|$)""")
NUMBERS = ("numeric", "real", "integer")


def read_arff(path: Path) -> pd.DataFrame:
    """Return the table of a file: numbers, text, dates, and the nominal attributes as categories.

    The values of a nominal attribute are ranks where they are listed in the order of a known scale: Weka itself lists
    those of a csv as they come. ``?`` is missing.

    Raises:
        OrdinateError: a line with more or fewer cells than attributes, a value that its attribute does not declare, or
            attributes that hold tables.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        try:
            lines = path.read_text(encoding="cp1252").splitlines()
        except UnicodeDecodeError:
            raise not_text(path, error) from error
    kinds, start = _header(lines, path)
    names = list(kinds)
    rows = list(_rows(lines, start, names, list(kinds.values()), path))
    cells = pd.DataFrame(rows, columns=pd.Index(names, dtype=object), dtype=object)
    return pd.DataFrame({name: _column(cells[name], kinds[name], path) for name in names}, columns=cells.columns)


def _header(lines: list[str], path: Path) -> tuple[dict[str, str], int]:
    """Return the type of each attribute by its name, and the line after ``@data``."""
    kinds: dict[str, str] = {}
    for number, line in enumerate(lines):
        text = line.strip()
        word = text.split(maxsplit=1)[0].lower() if text else ""
        if word == "@attribute":
            found = ATTRIBUTE.match(text)
            if found is None:
                raise OrdinateError(path, problem=f"line {number + 1} is no attribute", expected="@attribute NAME TYPE")
            name, kind = _bare(found[1]), found[2].strip()
            if kind.lower().startswith("relational"):
                raise OrdinateError(path, problem=f"{name!r} holds tables", expected="numbers, text, dates or values")
            if name in kinds:
                raise OrdinateError(path, problem=f"several columns are named {name!r}", expected="one name per column")
            kinds[name] = kind
        elif word == "@data":
            return kinds, number + 1
    raise OrdinateError(path, problem="has no line @data", expected="an ARFF file")


def _rows(lines: list[str], start: int, names: list[str], kinds: list[str], path: Path) -> Iterator[list[str | None]]:
    """Yield the cells of each row, None where one is missing; a sparse row names its cells that are not 0."""
    for number, line in enumerate(lines[start:], start=start + 1):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if text.startswith("{"):
            yield _sparse(text, kinds, path, number)
            continue
        cells = _cells(text)
        if len(cells) == len(names) + 1 and re.fullmatch(r"\{.*\}", cells[-1] or ""):
            cells.pop()  # The weight of a row.
        if len(cells) != len(names):
            problem = f"line {number} has {counted(len(cells), 'cell')}"
            raise OrdinateError(path, problem=problem, expected=f"{len(names)}, one per attribute")
        yield cells


def _cells(text: str) -> list[str | None]:
    cells: list[str | None] = []
    place = 0
    while place <= len(text):
        found = CELL.match(text, place)
        if found is None:  # A quoted value is followed by text.
            rest = text[place:].partition(",")[0]
            cells.append(rest.strip())
            place += len(rest) + 1
            continue
        cells.append(None if found[1] in ("?", "") else _bare(found[1]))
        if found.end() == len(text) and not text[place : found.end()].endswith((",", "\t")):
            break
        place = found.end()
    return cells


def _sparse(text: str, kinds: list[str], path: Path, number: int) -> list[str | None]:
    """Return the cells of a sparse row: those that it does not name are 0, or a nominal attribute's first value."""
    row: list[str | None] = [_values(kind)[0] if kind.startswith("{") else "0" for kind in kinds]
    named = text.strip("{} \t")
    if not named:
        return row
    for cell in _cells(named):
        place, _, value = (cell or "").partition(" ")
        if not place.isdecimal() or int(place) >= len(row):
            problem = f"line {number} names the attribute {place!r}"
            raise OrdinateError(path, problem=problem, expected=f"a number from 0 to {len(row) - 1}")
        row[int(place)] = None if value.strip() == "?" else _bare(value.strip())
    return row


def _column(cells: pd.Series, kind: str, path: Path) -> pd.Series:
    """Return the cells of an attribute by its type."""
    word = kind.split(maxsplit=1)[0].lower()
    if kind.startswith("{"):
        values = list(dict.fromkeys(_values(kind)))
        unknown = sorted(set(cells.dropna()) - set(values))
        if unknown:
            problem = f"{cells.name!r} holds {unknown[0]!r}"
            raise OrdinateError(path, problem=problem, expected=f"one of the declared values, {', '.join(values[:10])}")
        numbers = pd.to_numeric(pd.Series(values), errors="coerce")
        if numbers.notna().all():
            return pd.to_numeric(cells)
        return cells.astype(pd.CategoricalDtype(values, ordered=known_order(values) == values))
    if word in NUMBERS:
        numbers = pd.to_numeric(cells, errors="coerce")
        wrong = cells[numbers.isna() & cells.notna()]
        if len(wrong):
            problem = f"{cells.name!r} holds {wrong.iloc[0]!r}"
            raise OrdinateError(path, problem=problem, expected=f"numbers, as its type {kind} says")
        return numbers
    if word not in ("string", "date"):
        raise OrdinateError(
            path, problem=f"{cells.name!r} is of the type {kind}", expected="numeric, string, date or values"
        )
    return cells


def _values(kind: str) -> list[str]:
    """Return the values that a nominal attribute declares."""
    return [value for value in _cells(kind.strip()[1:-1]) if value is not None]


def _bare(text: str) -> str:
    """Return a word without its quotes and the escapes within them."""
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
