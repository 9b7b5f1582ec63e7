"""Reading csv and tsv: one way for all commands, in which no cell moves to another column."""

import csv
import gzip
import io
import warnings
import zlib
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from pandas.errors import ParserError, ParserWarning

from ordinate.counts import counted
from ordinate.data.csv_format import (
    BLANKS,
    MISSING,
    CsvFormat,
    cells_of,
    opened,
    recognise,
    usual_separator,
    without_mark,
)
from ordinate.data.header_rows import note_on_header
from ordinate.data.memory import available_memory, require_memory
from ordinate.data.paths import first_named, not_text
from ordinate.errors import OrdinateError, argument, warn

SINGLE_BYTES = ("utf-8", "cp1252")  # Encodings in which a byte below 128 is always the character of ASCII.


def format_of(content: Path | IO[bytes], where: Path | str, say: Callable[[str], None] = warn) -> CsvFormat:
    """Return how a csv is written; ``say`` gets a note on what is not usual."""
    found = recognise(content, where)
    note = found.note(usual_separator(where))
    if note is not None:
        say(f"{where}: {note}")
    if found.below:
        say(f"{where}: {note_on_header(len(found.below))}")
    if found.doubled:
        say(f"{where}: {note_on_doubled(found.doubled)}")
    return found


def require_once(targets: Collection[str], doubled: Collection[str], where: Path | str) -> None:
    """Raise an error if several columns have the name of a target."""
    for name in set(targets).intersection(doubled):
        raise OrdinateError(where, problem=f"several columns are named {name!r}", expected="one name per column")


def note_on_doubled(names: Collection[str]) -> str:
    """Return the note on names that several columns have."""
    return f"several columns are named {first_named(map(repr, names))}; the first of each is read"


def read_csv(
    content: Path | IO[bytes],
    where: Path | str,
    say: Callable[[str], None] = warn,
    dtype: Mapping[str, type] | None = None,
    ranks: Mapping[str, Collection[str]] | None = None,
    targets: Collection[str] = (),
) -> pd.DataFrame:
    """Return the table of a csv, with the names of its columns in the first line.

    Lines may end in a separator with nothing behind it. ``where`` the file lies is for messages; ``say`` gets a note on
    separators, decimal marks and the like that are not usual; ``dtype`` gives types of some columns, and
    ``ranks`` texts of some columns that are values even if they mean missing elsewhere, such as NA; ``targets`` are
    columns that must not have the same name as others.

    Raises:
        OrdinateError: what pandas cannot read, a line with more cells or fewer than there are columns, a name that
            several columns have, or a file that memory does not hold.
    """
    require_memory(_size(content), where)
    found = format_of(content, where, say)
    require_once(targets, found.doubled, where)
    with _parsing(content, where, found):
        frame = _parse(content, found, dtype, na_values=_missing_texts(found, ranks or {}))
    _require_whole_lines(frame, content, where, found)
    return _first_of_each(frame, found)


def with_leading_zeros(frame: pd.DataFrame, path: Path, names: Collection[str], looked_at: int = 1000) -> pd.DataFrame:
    """Return the table of a csv, with those of some columns as text that have leading zeros in their first rows."""
    found = recognise(path, path)
    names = [name for name in names if name in found.names and pd.api.types.is_integer_dtype(frame[name])]
    if not names:
        return frame

    def read(names: Collection[str], rows: int | None) -> pd.DataFrame:
        with _parsing(path, path, found):
            text: pd.DataFrame = _parse(path, found, dict.fromkeys(names, str), usecols=[*names], nrows=rows)
        return text

    head = read(names, looked_at)
    names = [name for name in names if head[name].str.match(r"\s*0\d").any()]
    return frame.assign(**read(names, None)) if names else frame


def read_csv_parts(
    path: Path, rows: int, found: CsvFormat, dtype: Mapping[str, type] | None = None
) -> Iterator[pd.DataFrame]:
    """Yield the table of a csv or tsv file of this format ``rows`` rows at a time; otherwise as :func:`read_csv`."""
    with _parsing(path, path, found):
        parts = _parse(path, found, dtype, na_values=MISSING, chunksize=rows, low_memory=False)
    are_whole = False
    with parts:
        while True:
            with _parsing(path, path, found):
                part = next(parts, None)
            if part is None:
                return
            are_whole = are_whole or _require_whole_lines(part, path, path, found)
            yield _first_of_each(part, found)


def _first_of_each(frame: pd.DataFrame, found: CsvFormat) -> pd.DataFrame:
    """Return a table with the first of the columns that have the same name, which pandas has renamed."""
    if not found.doubled:
        return frame
    later = [place for place, name in enumerate(found.names) if name and name in found.names[:place]]
    return frame.drop(columns=frame.columns[later])


def _missing_texts(found: CsvFormat, ranks: Mapping[str, Collection[str]]) -> Any:
    """Return the texts that mean missing, by column where they are not the same in all."""
    if not any(set(MISSING).intersection(texts) for texts in ranks.values()):
        return MISSING
    return {name: [text for text in MISSING if text not in ranks.get(name, ())] for name in found.names}


def _parse(content: Path | IO[bytes], found: CsvFormat, dtype: Mapping[str, type] | None, **options: Any) -> Any:
    separator = r"\s+" if found.separator == BLANKS else found.separator
    if not found.has_header:
        options |= {"header": None, "names": list(found.names)}
    skipped: int | list[int] = found.skipped
    if found.below:
        skipped = [*range(found.skipped), *(found.skipped + place for place in found.below)]
    return pd.read_csv(
        content, index_col=False, keep_default_na=False, skipinitialspace=_may_begin_with_spaces(content, found),
        dtype=dtype, sep=separator, decimal=found.decimal, thousands=found.thousands, encoding=found.encoding,
        skiprows=skipped, **options,
    )  # fmt: skip


def _may_begin_with_spaces(content: Path | IO[bytes], found: CsvFormat) -> bool:
    """Return whether cells may begin with spaces: pandas takes a third longer if it looks for them."""
    marks = np.frombuffer(f"{found.separator}\n\r".encode(), dtype=np.uint8)
    has_bytes = found.encoding in SINGLE_BYTES and len(marks) == 3
    if not isinstance(content, Path) or content.suffix == ".gz" or not has_bytes:
        return True
    before = b"\n"
    with content.open("rb") as file:
        while part := file.read(1 << 20):
            if b" " in part:
                text = np.frombuffer(before + part, dtype=np.uint8)
                if np.isin(text[:-1][text[1:] == ord(" ")], marks).any():
                    return True
            before = part[-1:]
    return False


@contextmanager
def _parsing(content: Path | IO[bytes], where: Path | str, found: CsvFormat) -> Iterator[None]:
    """Raise what pandas cannot read, or would leave out, as an `OrdinateError`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)  # Pandas warns of cells that it leaves out.
            yield
    except UnicodeDecodeError as error:
        hint = f"save it as UTF-8, or name its encoding, such as {argument('encoding', 'latin-1')}"
        raise not_text(where, error, found.encoding, hint) from error
    except (ParserWarning, ValueError, OSError, EOFError) as error:
        if isinstance(error, ParserWarning | ParserError):
            _require_short_lines(content, where, found)
        raise OrdinateError(where, problem=f"could not be read: {str(error).splitlines()[0]}") from error


def _require_short_lines(content: Path | IO[bytes], where: Path | str, found: CsvFormat) -> None:
    """Raise an error if a line has cells beyond the columns."""
    for number, row, columns in _lines(content, found):
        if any(row[columns:]):
            hint = None
            if columns == 1:
                hint = f"{argument('sep')} names another separator; remove lines above the names of the columns"
            problem = f"line {number} has {counted(len(row), 'cell')}"
            raise OrdinateError(where, problem=problem, expected=f"{columns}, as the first has", hint=hint)


def _require_whole_lines(frame: pd.DataFrame, content: Path | IO[bytes], where: Path | str, found: CsvFormat) -> bool:
    """Raise an error if a line is cut off; return whether all lines were looked at, as some end in a missing value."""
    if not frame.shape[1] or not frame.iloc[:, -1].isna().any():
        return False
    if _have_separators(content, found):
        return True
    for number, row, columns in _lines(content, found):
        if row and len(row) < columns:
            problem = f"line {number} has {counted(len(row), 'cell')}"
            hint = "it may be cut off; empty cells need their separators"
            raise OrdinateError(where, problem=problem, expected=f"{columns}, as the first has", hint=hint)
    return True


def _have_separators(content: Path | IO[bytes], found: CsvFormat) -> bool:
    """Return whether each line has as many separators as the header; False where quotes may hold some."""
    separator = found.separator.encode()
    if found.encoding not in SINGLE_BYTES or len(separator) != 1 or found.separator == BLANKS:
        return False
    with suppress(OSError, EOFError, zlib.error), opened(content) as file:
        for _ in range(found.skipped):
            file.readline()
        while part := file.read(1 << 20):
            part += file.readline()
            if b'"' in part or part.count(b"\r") != part.count(b"\r\n"):
                return False
            text = np.frombuffer(part.rstrip(b"\n") + b"\n", dtype=np.uint8)
            ends = np.flatnonzero(text == ord("\n"))
            starts = np.append(0, ends[:-1] + 1)
            separators = np.diff(np.searchsorted(np.flatnonzero(text == ord(separator)), ends), prepend=0)
            is_blank = np.isin(text[starts], (ord("\r"), ord("\n")))
            if ((separators < len(found.names) - 1) & ~is_blank).any():
                return False
        return True
    return False


def _lines(content: Path | IO[bytes], found: CsvFormat) -> Iterator[tuple[int, list[str], int]]:
    """Yield the number and the cells of each line after the header, and how many that has."""
    with suppress(csv.Error, StopIteration), opened(content) as file:
        text = io.TextIOWrapper(file, without_mark(found.encoding), "replace", newline="")
        for _ in range(found.skipped):
            next(text)
        rows = cells_of(text, found.separator)
        if found.has_header:
            next(row for row in rows if row)
        for row in rows:
            yield found.skipped + rows.line_num, row, len(found.names)
        text.detach()


def _size(content: Path | IO[bytes]) -> int:
    """Return the bytes of a csv, or as many as say that memory does not hold a compressed one."""
    if not isinstance(content, Path):
        return content.seek(0, io.SEEK_END) - content.seek(0)
    size = content.stat().st_size
    available = available_memory()
    most_compressed = 1032  # Gzip compresses at most this many bytes into one.
    if content.suffix != ".gz" or available is None or size * most_compressed < available:
        return size
    unpacked = 0
    with suppress(OSError, EOFError), gzip.open(content) as file:  # Damage is reported by pandas later.
        while unpacked <= available and (part := file.read(1 << 24)):
            unpacked += len(part)
    return unpacked


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose text no spreadsheet takes for a formula: an apostrophe stands before it, as they read it.

    Example:
        >>> without_formulas(pd.DataFrame({"path": ["=1+1", "-5", "a"], "score": [-1.0, 2.0, 3.0]})).values.tolist()
        [["'=1+1", -1.0], ['-5', 2.0], ['a', 3.0]]
    """
    frame = frame.rename(columns=_as_text)
    for place, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            frame.isetitem(place, frame.iloc[:, place].map(_as_text).array)
    return frame


def _as_text(cell: Hashable) -> Hashable:
    # Spreadsheets evaluate a cell that begins with one of these characters, except ranks such as ++.
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or not cell.strip("+-"):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def first_line_is_data(columns: "pd.Index[str]") -> bool:
    """Return whether the names of columns look like a row: numbers, other than those that pandas counts columns with.

    Example:
        >>> first_line_is_data(pd.Index(["5.1", "3.5", "0"])), first_line_is_data(pd.Index(["0", "1", "2"]))
        (True, False)
    """
    numbers = pd.to_numeric(columns.to_series(), errors="coerce")
    return bool(numbers.notna().all()) and numbers.tolist() != list(range(len(numbers)))
