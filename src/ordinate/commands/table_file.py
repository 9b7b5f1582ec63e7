"""The file that a command writes: csv or parquet, never over what it reads, and whole or not there."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ordinate.data.new_files import new_file
from ordinate.errors import OrdinateError
from ordinate.optional import optional
from ordinate.report.output import check_ending, check_output

if TYPE_CHECKING:
    import pandas as pd


STDOUT = "-"  # As a file of --out: standard output.
TABLE = (".csv", ".parquet")  # Endings of the names of tables that commands write.
_stdout: ContextVar[IO[str] | None] = ContextVar("stdout", default=None)


@contextmanager
def only_table_on_stdout() -> Iterator[None]:
    """Print everything to standard error, except the table of ``--out -``."""
    token = _stdout.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _stdout.reset(token)


def check_new(
    out: str | None, inputs: Iterable[str] = (), endings: tuple[str, ...] = (), *, overwrite: bool = False
) -> None:
    """Raise where the file of ``--out`` cannot be written, or is there already.

    Args:
        out: File to write; None where a command prints, ``"-"`` for standard output.
        inputs: Files and folders that the command reads. None of them is written over, nor a file in one of the
            folders unless it is a page.
        endings: Endings that the name of the file may have; none allows any.
        overwrite: Whether to overwrite an existing file.
    """
    if out in (None, STDOUT):
        return
    check_output(out)
    if out.lower().endswith(".parquet"):
        optional("pyarrow", "parquet", "out")
    path = Path(out)
    if path.exists():
        _check_old(path, inputs, overwrite=overwrite)
    if endings:
        check_ending(out, endings)


def _check_old(path: Path, inputs: Iterable[str], *, overwrite: bool) -> None:
    """Raise where a file that is there is read by the command, or is not to be overwritten."""
    for given in map(Path, inputs):
        within = given.is_dir() and path.suffix != ".html" and path.resolve().is_relative_to(given.resolve())
        if given.exists() and (within or path.samefile(given)):
            problem = f"{path} is what the command reads"
            if within:
                problem = f"{path} belongs to {given}, which the command reads"
            raise OrdinateError("out", problem=problem, expected="another file")
    if not overwrite:
        raise OrdinateError("out", problem=f"{path} exists", expected="a new file", hint="--overwrite writes over it")


def write_table(parts: "Iterable[pd.DataFrame]", out: str | None) -> int:
    """Write a table that comes in parts, one after the other, and return its rows.

    The file of ``--out`` is parquet where its name ends so, and csv otherwise; without it, or for ``-``, csv is
    printed. In csv, text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    if out in (None, STDOUT):
        return _write_csv(parts, _stdout.get() or sys.stdout)
    with new_file(Path(out)) as pending:
        if out.lower().endswith(".parquet"):
            return _write_parquet(parts, pending)
        with pending.open("w", newline="", encoding="utf-8") as file:
            return _write_csv(parts, file)


def _write_csv(parts: "Iterable[pd.DataFrame]", file: IO[str]) -> int:
    from ordinate.commands.csv_text import csv_text
    from ordinate.data.csv_files import without_formulas
    from ordinate.model.batches import made_ahead

    rows = 0
    for part in made_ahead(parts):
        file.write(csv_text(without_formulas(part), header=rows == 0))
        rows += len(part)
    return rows


def _write_parquet(parts: "Iterable[pd.DataFrame]", path: Path) -> int:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    rows, writer = 0, None
    try:
        for part in parts:
            table = pa.Table.from_pandas(part, preserve_index=False)
            writer = writer or ParquetWriter(path, table.schema)
            writer.write_table(table)
            rows += len(part)
    finally:
        if writer is not None:
            writer.close()
    return rows
