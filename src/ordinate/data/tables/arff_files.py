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
# Behind a comma or a blank outside of quotes, % begins a comment.
COMMENT = re.compile(r"""((?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|.)*?)(?:(?<![^\s,}])%.*)?$""")
SPARSE = re.compile(r"""\s*(\d+)\s+('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,]*?)\s*(?:,|$)""")
WEIGHT_OF_SPARSE = re.compile(r"(?<=\})\s*,\s*\{[\d.eE+-]+\}$")
NUMBERS = ("numeric", "real", "integer")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
DATE = "yyyy-MM-dd'T'HH:mm:ss"
# Letters of Java's SimpleDateFormat, and those of strptime.
LETTERS = {
    "yyyy": "%Y", "yy": "%y", "y": "%Y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d",
    "HH": "%H", "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S", "SSS": "%f",
    "a": "%p", "EEEE": "%A", "EEE": "%a", "E": "%a",
}  # fmt: skip


def read_arff(path: Path) -> pd.DataFrame:
    """Return the table of a file: numbers, text, dates, and the nominal attributes as categories.

    The values of a nominal attribute are ranks where they are listed in the order of a known scale: Weka itself lists
    those of a csv as they come. ``?`` is missing. Weights of rows are left out. Attributes of other types, such as
    tables, are columns of lists.

    Raises:
        OrdinateError: a line with more or fewer cells than attributes, or a value that its attribute does not declare.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        try:
            lines = path.read_text(encoding="cp1252").splitlines()
        except UnicodeDecodeError:
            raise not_text(path, error) from error
    attributes, start = _header(lines, path)
    kinds = [kind for _, kind in attributes]
    rows = list(_rows(lines, start, kinds, path))
    cells = pd.DataFrame(rows, columns=range(len(kinds)), dtype=object)
    columns = [_column(cells[place].rename(name), kind, path) for place, (name, kind) in enumerate(attributes)]
    return pd.concat(columns, axis=1)


def _header(lines: list[str], path: Path) -> tuple[list[tuple[str, str]], int]:
    """Return the name and the type of each attribute, and the line after ``@data``."""
    attributes: list[tuple[str, str]] = []
    is_within_table = False
    for number, line in enumerate(lines):
        text = _without_comment(line)
        word = text.split(maxsplit=1)[0].lower() if text else ""
        if word == "@end":
            is_within_table = False
        elif word == "@attribute" and not is_within_table:
            found = ATTRIBUTE.match(text)
            if found is None:
                raise OrdinateError(path, problem=f"line {number + 1} is no attribute", expected="@attribute NAME TYPE")
            name, kind = _bare(found[1]), found[2].strip()
            is_within_table = kind.lower().startswith("relational")
            attributes.append((name, kind))
        elif word == "@data":
            return attributes, number + 1
    raise OrdinateError(path, problem="has no line @data", expected="an ARFF file")


def _rows(lines: list[str], start: int, kinds: list[str], path: Path) -> Iterator[list[str | None]]:
    """Yield the cells of each row, None where one is missing; a sparse row names its cells that are not 0."""
    for number, line in enumerate(lines[start:], start=start + 1):
        text = _without_comment(line)
        if not text:
            continue
        if text.startswith("{"):
            yield _sparse(WEIGHT_OF_SPARSE.sub("", text), kinds, path, number)
            continue
        cells = _cells(text)
        if len(cells) == 1 < len(kinds) and not any(mark in text for mark in "'\""):
            cells = _cells(",".join(text.split()))  # Blanks separate cells, too.
        if len(cells) == len(kinds) + 1 and re.fullmatch(r"\{.*\}", cells[-1] or ""):
            cells.pop()  # The weight of a row.
        if len(cells) != len(kinds):
            problem = f"line {number} has {counted(len(cells), 'cell')}"
            raise OrdinateError(path, problem=problem, expected=f"{len(kinds)}, one per attribute")
        yield cells


def _without_comment(line: str) -> str:
    if "%" not in line:
        return line.strip()
    found = COMMENT.match(line.strip())
    return line.strip() if found is None else found[1].strip()


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
    """Return the cells of a sparse row: those that it does not name are 0, or a nominal attribute's first value.

    Text and dates that it does not name are missing.
    """
    row: list[str | None] = [_absent(kind) for kind in kinds]
    named = text.removeprefix("{").removesuffix("}").strip()
    place = 0
    while place < len(named):
        found = SPARSE.match(named, place)
        if found is None or int(found[1]) >= len(row):
            attribute = named[place:].split(maxsplit=1)[0]
            problem = f"line {number} names the attribute {attribute!r}"
            raise OrdinateError(path, problem=problem, expected=f"a number from 0 to {len(row) - 1}")
        row[int(found[1])] = None if found[2] == "?" else _bare(found[2])
        place = found.end()
    return row


def _absent(kind: str) -> str | None:
    if kind.startswith("{"):
        return _values(kind)[0]
    return "0" if _type(kind) in NUMBERS else None


def _type(kind: str) -> str:
    """Return the word of a type; a range may follow it."""
    return re.split(r"[\s\[]", kind, maxsplit=1)[0].lower()


def _column(cells: pd.Series, kind: str, path: Path) -> pd.Series:
    """Return the cells of an attribute by its type."""
    word = _type(kind)
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
        wrong = cells[numbers.isna() & cells.notna() & (cells != "NaN")]
        if len(wrong):
            problem = f"{cells.name!r} holds {wrong.iloc[0]!r}"
            raise OrdinateError(path, problem=problem, expected=f"numbers, as its type {kind} says")
        return numbers
    if word == "date":
        return _dates(cells, _bare(kind[len(word) :].strip()) or DATE, path)
    if word == "string":
        return cells
    return cells.map(lambda cell: [cell], na_action="ignore")


def _dates(cells: pd.Series, form: str, path: Path) -> pd.Series:
    """Return dates in a format of Java; as text if it has other letters than those of dates and times."""
    parts = [found[0] for found in re.finditer(r"'[^']*'|([A-Za-z])\1*|[^A-Za-z']+", form)]
    if any(part[0].isalpha() and part not in LETTERS for part in parts):
        return cells
    written = "".join(LETTERS.get(part, part.strip("'")) for part in parts)
    dates = pd.to_datetime(cells, format=written, errors="coerce")
    wrong = cells[dates.isna() & cells.notna()]
    if len(wrong):
        problem = f"{cells.name!r} holds {wrong.iloc[0]!r}"
        raise OrdinateError(path, problem=problem, expected=f"dates as {form}, as its type says")
    return dates


def _values(kind: str) -> list[str]:
    """Return the values that a nominal attribute declares."""
    return [value for value in _cells(kind.strip()[1:-1]) if value is not None]


def _bare(text: str) -> str:
    """Return a word without its quotes and the escapes within them."""
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), text[1:-1])
    return text
