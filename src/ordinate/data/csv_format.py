"""How a csv or tsv file is written, as its first lines tell: separator, decimal mark, encoding, lines of comment.

Nothing here imports pandas, so that commands can check a header before anything heavy is loaded.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice, takewhile, zip_longest
from pathlib import Path
from typing import IO, Any, cast

from ordinate.counts import counted
from ordinate.data.file_kinds import require_kind
from ordinate.data.header_rows import AMOUNT, rows_in_header
from ordinate.data.paths import not_text
from ordinate.errors import OrdinateError

WITHOUT_HEADER = (".dat", ".dat.gz", ".data", ".data.gz")  # Such files often have none.
ANY_SEPARATOR = (".txt", ".txt.gz", *WITHOUT_HEADER)
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz", *ANY_SEPARATOR)
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
BLANKS = " "  # Stands for blanks and tabs, one or several.
# "None" may be a grade.
MISSING = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "null", "NULL"]
NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?")
COMMENT = re.compile(r'\s*"?#')


@dataclass(frozen=True)
class Given:
    """Format that ``--sep``, ``--decimal`` and ``--encoding`` give all csv files of a command; None: as recognised.

    ``known`` is the separator and decimal mark of the data that a model was trained on: it decides for files that may
    be read in several ways, such as those of one row. ``recognised`` are the formats of files so far, each of which is
    looked at once.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    known: tuple[str, str | None] | None = None
    recognised: "dict[Path, CsvFormat]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sep is not None and len(self.separator) != 1:
            raise OrdinateError("sep", repr(self.sep), "one character, or tab")
        if self.encoding is not None:
            try:
                "1".encode(self.encoding)  # Other codecs than those of text are refused.
            except LookupError:
                raise OrdinateError("encoding", repr(self.encoding), "a name such as latin-1 or utf-16") from None
            object.__setattr__(self, "encoding", codecs.lookup(self.encoding).name)

    @property
    def separator(self) -> str:
        return {"tab": "\t", "\\t": "\t"}.get(str(self.sep), str(self.sep))

    @property
    def words(self) -> list[str]:
        """What the command line has for it."""
        named = {"sep": self.sep, "decimal": self.decimal, "encoding": self.encoding}
        return [word for name, value in named.items() if value is not None for word in (f"--{name}", value)]


_given: ContextVar[Given] = ContextVar("given")


@contextmanager
def csv_given(given: Given) -> Iterator[None]:
    """Read all csv files meanwhile as ``given`` says."""
    token = _given.set(given)
    try:
        yield
    finally:
        _given.reset(token)


def given_format() -> Given:
    """Return what the command gives all csv files."""
    return _given.get(Given())


@dataclass(frozen=True)
class CsvFormat:
    """How a csv or tsv file is written.

    Args:
        names: Names of the columns, as the header has them.
        separator: Character between cells.
        decimal: Decimal mark of numbers.
        thousands: Character between thousands; None if there is none.
        encoding: Encoding of the text.
        skipped: Number of lines before the header, or before the first row if there is no header.
        has_fractions: Whether a number among the first lines has a decimal mark.
        has_header: Whether the first line that is not skipped has the names; otherwise they are numbers from 0 on.
        below: Places of the lines below the first line of the header that belong to it; quoted ends of lines are none.
    """

    names: tuple[str, ...]
    separator: str
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    skipped: int = 0
    has_fractions: bool = False
    has_header: bool = True
    below: tuple[int, ...] = ()

    @property
    def doubled(self) -> list[str]:
        """The names that several columns have, of which the first is read."""
        return [name for name, count in Counter(filter(None, self.names)).items() if count > 1]

    def note(self, usual: str) -> str | None:
        """Return what differs from ``usual`` separators, decimal points and UTF-8; None if nothing does."""
        parts = []
        if self.separator != usual:
            parts.append({**SEPARATORS, BLANKS: "blanks"}.get(self.separator, repr(self.separator)))
        if self.decimal != ".":
            parts.append("decimal commas")
        if self.thousands is not None:
            parts.append({",": "commas", ".": "points"}[self.thousands] + " between thousands")
        if self.encoding != "utf-8":
            names = {"cp1252": "Windows-1252 (Latin-1)", "utf-16": "UTF-16"}
            parts.append(names.get(self.encoding, self.encoding))
        if self.skipped:
            where = "header" if self.has_header else "first row"
            parts.append(f"the {where} after {counted(self.skipped, 'line')}")
        if not self.has_header:
            parts.append("no header (columns are numbered from 0)")
        if not parts:
            return None
        listed = [", ".join(parts[:-1]), parts[-1]]
        return f"reads {' and '.join(filter(None, listed))}"


def recognise(
    content: Path | IO[bytes], where: Path | str, looked_at: int = 2**16, longest_line: int = 2**22
) -> CsvFormat:
    r"""Return how a csv is written.

    Args:
        content: Path of the file, plain or gz, or an open file.
        where: Where it lies, for messages.
        looked_at: Number of bytes that tell the format, completed to whole lines.
        longest_line: Largest number of bytes of such a line.

    Raises:
        OrdinateError: A file that cannot be read or is not text.

    Example:
        >>> recognise(io.BytesIO(b"size;price\n1,5;2\n0,75;3\n"), "a.csv").note(",")
        'reads semicolons and decimal commas'
    """
    recognised = given_format().recognised
    if not isinstance(content, Path):
        return _recognise(content, where, looked_at, longest_line)
    if content not in recognised:
        recognised[content] = _recognise(content, where, looked_at, longest_line)
    return recognised[content]


def _recognise(content: Path | IO[bytes], where: Path | str, looked_at: int, longest_line: int) -> CsvFormat:
    given = given_format()
    known_separator, known_decimal = given.known or (None, None)
    try:
        with opened(content) as file:
            start = file.read(looked_at)
            is_whole = len(start) < looked_at
            start += file.readline(longest_line) + file.readline(longest_line)  # A header may be longer.
    except (OSError, EOFError, zlib.error) as error:
        hint = "remove .gz from its name if it is not compressed" if isinstance(error, gzip.BadGzipFile) else None
        raise OrdinateError(where, problem=f"could not be read: {error}", hint=hint) from error
    require_kind(start, str(where).removesuffix(".gz"))
    encoding, text = _decoded(start, where, given.encoding, is_whole=is_whole)
    lines = list(io.StringIO(text, newline=None))
    declared = re.fullmatch(r'"?sep=(.)"?\s*', "".join(lines[:1]))
    fixed_separator = None
    if given.sep is not None:
        fixed_separator = given.separator
    elif declared is not None:
        fixed_separator = declared[1]
    may_be_blanks = str(where).lower().endswith(ANY_SEPARATOR)
    separators = (fixed_separator, usual_separator(where), known_separator, may_be_blanks)
    comments = _comments(lines, first=int(declared is not None))
    skipped = comments.stop
    separator, rows = _table("".join(lines[skipped:]), *separators)
    last = next((place for place in reversed(comments) if lines[place].strip()), None)
    if last is not None:
        separator_from_last, rows_from_last = _table("".join(lines[last:]), *separators)
        if not rows or _is_header(*rows_from_last):
            skipped, separator, rows = last, separator_from_last, rows_from_last
    titles = _titles(lines[skipped:], rows, separators)
    if titles:
        skipped += titles
        separator, rows = _table("".join(lines[skipped:]), *separators)
    has_header = True
    if separator == BLANKS or str(where).lower().endswith(WITHOUT_HEADER):
        has_header = not _are_all_data(rows)
    names, *rows = rows or [[]]
    in_header = rows_in_header(names, rows) if has_header else 0
    below = _places_below("".join(lines[skipped:]), separator, in_header)
    rows = rows[in_header:]
    if not has_header:
        rows = [names, *rows]
        names = [str(place) for place in range(len(names))]
    cells = [cell.strip() for row in rows for cell in row]
    if separator != known_separator:
        known_decimal = None
    numbers = list(filter(NUMBER.fullmatch, dict.fromkeys(cells)))
    decimal, thousands = _marks(numbers, separator, given.decimal, known_decimal)
    has_fractions = any(cell.count(decimal) == 1 for cell in numbers)  # Dates have two points.
    return CsvFormat(
        tuple(names), separator, decimal, thousands, encoding, skipped, has_fractions, has_header, tuple(below)
    )


def _places_below(text: str, separator: str, count: int) -> list[int]:
    """Return the places of the first rows below the header among the lines of a text; blank lines count too."""
    rows = enumerate(cells_of(io.StringIO(text), separator))
    places = (place for place, row in rows if row)
    return list(islice(places, 1, 1 + count)) if count else []


def column_cells(path: Path, found: CsvFormat, name: str, most: int = 2**23) -> list[str] | None:
    """Return the cells of a column; None where :func:`rows_of_cells` is, and where rows are too short.

    Args:
        path: Path of the csv.
        found: How it is written.
        name: Name of the column.
        most: Largest size in bytes.
    """
    rows = rows_of_cells(path, found, most)
    place = found.names.index(name)
    if rows is None or any(len(row) <= place for row in rows):
        return None
    return [row[place] for row in rows]


def rows_of_cells(path: Path, found: CsvFormat, most: int = 2**23, count: int | None = None) -> list[list[str]] | None:
    """Return the cells of the first ``count`` rows below the header, or of all.

    None of a file above ``most`` bytes, or that cannot be read.
    """
    header = int(found.has_header) + len(found.below)
    if path.suffix == ".gz" or path.stat().st_size > most:
        return None
    try:
        with path.open(encoding=without_mark(found.encoding), newline="") as file:
            lines = islice(file, found.skipped, None)
            rows = filter(None, cells_of(lines, found.separator))
            return list(islice(rows, header, None if count is None else header + count))
    except (UnicodeError, csv.Error):
        return None


def marks_of(path: Path) -> tuple[str, str | None] | None:
    """Return the separator of a csv file, and its decimal mark if it has fractions; None for no file."""
    if not path.is_file():
        return None
    found = recognise(path, path)
    return found.separator, found.decimal if found.has_fractions else None


def usual_separator(where: Path | str) -> str:
    """Return what separates the cells of a file by its name."""
    return "\t" if ".tsv" in Path(where).name.lower() else ","


@contextmanager
def opened(content: Path | IO[bytes]) -> Iterator[IO[bytes]]:
    """Open a csv, plain or gz, or return to the start of an open one."""
    if isinstance(content, Path):
        with gzip.open(content, "rb") if content.suffix == ".gz" else content.open("rb") as file:
            yield cast(IO[bytes], file)
    else:
        content.seek(0)
        yield content
        content.seek(0)


def without_mark(encoding: str) -> str:
    """Return the encoding that leaves out the byte-order mark, with which some programs begin UTF-8."""
    return {"utf-8": "utf-8-sig"}.get(encoding, encoding)


def _decoded(start: bytes, where: Path | str, encoding: str | None, *, is_whole: bool) -> tuple[str, str]:
    """Return the encoding of a file, and its first bytes, which may be all, as text."""
    if encoding is not None:
        try:
            return encoding, codecs.getincrementaldecoder(without_mark(encoding))().decode(start, is_whole)
        except UnicodeError as error:
            raise OrdinateError("encoding", f"{encoding!r}, and {where} has another encoding") from error
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        with suppress(UnicodeError):
            return "utf-16", codecs.getincrementaldecoder("utf-16")().decode(start, is_whole)
    try:
        return "utf-8", codecs.getincrementaldecoder("utf-8-sig")().decode(start, is_whole)
    except UnicodeDecodeError as error:
        if not re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", start):
            with suppress(UnicodeError):
                return "cp1252", start.decode("cp1252")
        raise not_text(where, error) from error


def _comments(lines: Sequence[str], first: int) -> range:
    """Return the places of the lines of comment from the ``first`` line on, with the blank lines among them."""
    above = takewhile(lambda line: not line.strip() or COMMENT.match(line), lines[first:])
    count = sum(1 for _ in above)
    if not "".join(lines[first : first + count]).strip():
        count = 0  # Blank lines alone are left to the parser.
    return range(first, first + count)


def _is_header(names: Sequence[str], *rows: Sequence[str]) -> bool:
    """Return whether a line that begins with # has the names of the columns, as the first row below it is data.

    The first row is data if it has numbers where the rows below it have numbers, or, in a table of text, if a text of
    it comes again in its column.
    """
    if not rows:
        return False
    first, *others = rows
    width = max(len(row) - next((place for place, cell in enumerate(reversed(row)) if cell), len(row)) for row in rows)
    if len(names) != width or not all(names):
        return False
    if not others:
        return any(map(AMOUNT.match, first))
    columns = list(zip(first, zip_longest(*others, fillvalue=""), strict=False))
    told = [cell for cell, below in columns if cell not in MISSING and _are_amounts(below)]
    if told:
        return 2 * sum(AMOUNT.match(cell) is not None for cell in told) > len(told)
    return any(cell in below for cell, below in columns if cell)


def _are_amounts(cells: Sequence[str]) -> bool:
    """Return whether most cells of a column that are not missing are numbers, dates or times."""
    present = [cell for cell in cells if cell not in MISSING]
    return 2 * sum(AMOUNT.match(cell) is not None for cell in present) > len(present)


def _are_all_data(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row holds no names: numbers stand above numbers, and a text comes again below."""
    if len(rows) < 2:
        return False
    first, *others = rows
    columns = list(zip(first, zip_longest(*others, fillvalue=""), strict=False))
    amounts = [cell for cell, below in columns if _are_amounts(below)]
    texts = [(cell, below) for cell, below in columns if not _are_amounts(below)]
    if not amounts or not all(AMOUNT.match(cell) or cell in (*MISSING, "?") for cell in amounts):
        return False
    return not texts or any(cell in below for cell, below in texts)


def _titles(lines: Sequence[str], rows: Sequence[Sequence[str]], separators: Any, most: int = 10) -> int:
    """Return how many lines of a title stand above the header, the blank ones included; 0 where the first has names.

    All lines below a header have as many cells as it has. A title has one cell, or fewer than the header if a blank
    line follows it; without one, numbers stand below a name of the header.
    """
    if not rows or (len(rows[0]) > 1 and all(_has_width(row, len(rows[0])) for row in rows)):
        return 0
    for start in range(1, min(len(lines), most + 1)):
        if not lines[start].strip():
            continue
        separator, (header, *others) = _table("".join(lines[start:]), *separators)
        if len(header) < 2 or not all(header) or not others:
            continue
        if not all(_has_width(row, len(header)) for row in others):
            continue
        title = 1
        if separator != BLANKS:
            title = max((sum(map(bool, cells)) for cells in cells_of(lines[:start], separator)), default=0)
        is_apart = not lines[start - 1].strip() and not all(map(AMOUNT.match, header))
        told = [cell for cell, below in zip(header, zip(*others, strict=False), strict=False) if _are_amounts(below)]
        has_names = bool(told) and not any(map(AMOUNT.match, told))
        if (title == 1 and has_names) or (title < len(header) and is_apart):
            return start
        return 0
    return 0


def _has_width(row: Sequence[str], width: int) -> bool:
    """Return whether a row has as many cells, except empty ones behind them."""
    return len(row) >= width and not any(row[width:])


def _table(
    text: str, separator: str | None, usual: str, known: str | None, may_be_blanks: bool
) -> tuple[str, list[list[str]]]:
    """Return the separator of text, if it is not given, and the first rows."""
    if separator is None:
        separator = _separator(text, usual, known, may_be_blanks=may_be_blanks)
    return separator, _rows(text, separator, 1000)


def cells_of(lines: Iterable[str], separator: str) -> Any:
    """Return the reader of the csv module of the cells of lines."""
    if separator == BLANKS:
        lines = (line.replace("\t", " ").rstrip() + "\n" for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _rows(text: str, separator: str, most: int) -> list[list[str]]:
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(islice(filter(None, cells_of(io.StringIO(text), separator)), most))
    while rows and rows[0] and not rows[0][-1]:  # A header may end in separators too.
        rows[0].pop()
    return rows


def _separator(text: str, usual: str, known: str | None, *, may_be_blanks: bool) -> str:
    """Return the separator with which most lines have as many cells as the header; of several, most numbers.

    Of those that are equal in both, the known one comes first, then the usual one. Blanks separate cells only if all
    lines have as many, and numbers alone stand in a column.
    """
    found: dict[str, tuple[float, float]] = {}
    candidates = [known, usual, *SEPARATORS]
    if may_be_blanks:
        candidates.append(BLANKS)
    for separator in dict.fromkeys(filter(None, candidates)):
        header, *rows = _rows(text, separator, 100) or [[]]
        if separator == BLANKS and not _has_column_of_numbers(header, rows):
            continue
        if len(header) > 1:
            whole = [row for row in rows if len(row) >= len(header) and not any(row[len(header) :])]
            cells = [cell for row in whole for cell in row]
            numbers = sum(NUMBER.fullmatch(cell.strip()) is not None for cell in cells)
            share = len(whole) / len(rows) if rows else 1.0
            found[separator] = share, numbers / max(1, len(cells))
    if list(found) == [usual]:
        return usual
    best = max(found, key=found.__getitem__, default=usual)
    if found.get(best, (0, 0))[0] > 1 / 2:
        return best
    return usual


def _has_column_of_numbers(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether all rows have as many cells as the header, and a column holds numbers alone."""
    if not rows or any(len(row) != len(header) for row in rows):
        return False
    return any(all(NUMBER.fullmatch(cell) for cell in column) for column in zip(*rows, strict=True))


def _marks(numbers: Sequence[str], separator: str, given: str | None, known: str | None) -> tuple[str, str | None]:
    """Return the decimal mark of numbers as text, and the character between thousands.

    The ``given`` mark is the decimal one. The ``known`` one is, if no number tells: 1,234 and 1.234 do not.
    """
    unclear = _of_form(
        r"[-+]?[1-9]\d{0,2},\d{3}", [text for text in numbers if "," in text]
    )  # 1,234 has a decimal comma, or one between thousands.
    clear = [text for text in numbers if text not in unclear]
    with_comma = [text for text in clear if "," in text]
    decimal_comma = _any_of_form(r"[-+]?(\d{1,3}(\.\d{3})+|\d*),\d+([eE][-+]?\d+)?", with_comma)
    thousands_comma = _any_of_form(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", with_comma)
    decimal_point = _any_of_form(r"[-+]?(?![1-9]\d{0,2}\.\d{3}$)\d*\.\d+([eE][-+]?\d+)?", clear)
    has_commas = decimal_comma or (unclear and separator != ",")
    if separator == "," and any("." in text for text in numbers):
        has_commas = False  # Quoted commas of one column do not make thousands of another's points.
    is_clear = decimal_comma or thousands_comma or decimal_point
    if given is None and not is_clear and any(mark in text for text in numbers for mark in ",."):
        given = known
    if given is None:
        given = "," if has_commas and not thousands_comma and not decimal_point else "."
    if given == ",":
        grouped = _of_form(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?", numbers)
        is_grouped = grouped and _of_form(r"[-+]?\d+(\.\d+)+", numbers) <= grouped  # Dates have points as well.
        return ",", ("." if is_grouped else None)
    if (thousands_comma or unclear) and not decimal_comma:
        return ".", ","
    return ".", None


def _any_of_form(pattern: str, texts: Sequence[str]) -> bool:
    """Return whether a pattern matches a text as a whole."""
    return any(re.fullmatch(pattern, text) for text in texts)


def _of_form(pattern: str, texts: Sequence[str]) -> set[str]:
    """Return the different texts that a pattern matches as a whole."""
    return {text for text in texts if re.fullmatch(pattern, text)}
