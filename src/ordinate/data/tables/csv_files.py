"""Reading csv and tsv: one way for all commands, in which no cell moves to another column."""

import csv
import gzip
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pandas as pd
from pandas.errors import ParserError, ParserWarning

from ordinate.errors import OrdinateError

MISSING = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "null", "NULL"]  # not "None": a grade

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # begin what a spreadsheet computes


def read_csv(content: Path | IO[bytes], where: Path | str, separator: str = ",", **options: Any) -> pd.DataFrame:
    """Return the table of a csv, with the names of its columns in the first line.

    Lines may end in a separator with nothing behind it. ``options`` are further ones of ``pandas.read_csv``; ``where``
    the file lies is for messages.

    Raises:
        OrdinateError: what pandas cannot read, or a line with more cells than there are columns.
    """
    with _parsing(content, where, separator):
        return _parse(content, separator, **options)


def read_csv_parts(path: Path, rows: int, **options: Any) -> Iterator[pd.DataFrame]:
    """Yield the table of a csv or tsv file ``rows`` rows at a time; otherwise as :func:`read_csv`."""
    separator = separator_of(path)
    with _parsing(path, path, separator):
        parts = _parse(path, separator, chunksize=rows, low_memory=False, **options)
    with parts:
        while True:
            with _parsing(path, path, separator):
                part = next(parts, None)
            if part is None:
                return
            yield part


def separator_of(path: Path) -> str:
    """Return what separates the cells of a file, by its name."""
    return "\t" if ".tsv" in path.name.lower() else ","


def _parse(content: Path | IO[bytes], separator: str, **options: Any) -> Any:
    return pd.read_csv(
        content, sep=separator, index_col=False, keep_default_na=False, na_values=MISSING, skipinitialspace=True,
        **options,
    )  # fmt: skip


@contextmanager
def _parsing(content: Path | IO[bytes], where: Path | str, separator: str) -> Iterator[None]:
    """Raise what pandas cannot read, or would leave out, as an `OrdinateError`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)  # of cells that it leaves out
            yield
    except (ParserWarning, ValueError, OSError, EOFError) as error:
        if isinstance(error, ParserWarning | ParserError):
            _require_short_lines(content, where, separator)
        raise OrdinateError(where, problem=f"could not be read: {str(error).splitlines()[0]}") from error


def _require_short_lines(content: Path | IO[bytes], where: Path | str, separator: str) -> None:
    """Raise where a line has cells beyond the columns."""
    if isinstance(content, Path):
        written = content.read_bytes()
        written = gzip.decompress(written) if content.suffix == ".gz" else written
    else:
        content.seek(0)
        written = content.read()
    with io.StringIO(written.decode("utf-8-sig", "replace"), newline="") as text, suppress(csv.Error):
        rows = csv.reader(text, delimiter=separator, skipinitialspace=True)
        columns = len(next(row for row in rows if row))
        for row in rows:
            if any(row[columns:]):
                raise OrdinateError(
                    where, problem=f"line {rows.line_num} has {len(row)} cells", expected=f"{columns}, as the first has"
                )


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


def _as_text(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
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
