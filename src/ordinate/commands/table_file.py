"""The file that a command writes: csv or parquet, never over what it reads, and whole or not there."""

import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordinate.data.new_files import new_file
from ordinate.errors import OrdinateError
from ordinate.optional import optional
from ordinate.report.output import check_output

if TYPE_CHECKING:
    import pandas as pd


def check_new(out: str | None, inputs: Iterable[str] = (), *, overwrite: bool = False) -> None:
    """Raise where the file of ``--out`` cannot be written, or is there already.

    Args:
        out: File to write; None where a command prints.
        inputs: Files and folders that the command reads. None of them is written over, nor a file in one of the
            folders unless it is a page.
        overwrite: Whether to overwrite an existing file.
    """
    if out is None:
        return
    check_output(out)
    if out.lower().endswith(".parquet"):
        optional("pyarrow", "parquet", "out")
    path = Path(out)
    if not path.exists():
        return
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

    The file of ``--out`` is parquet where its name ends so, and csv otherwise; without it csv is printed. In csv, text
    that a spreadsheet would take for a formula begins with an apostrophe.
    """
    if out is None:
        return _write_csv(parts, sys.stdout)
    with new_file(Path(out)) as pending:
        if out.lower().endswith(".parquet"):
            return _write_parquet(parts, pending)
        with pending.open("w", newline="", encoding="utf-8") as file:
            return _write_csv(parts, file)


def _write_csv(parts: "Iterable[pd.DataFrame]", file: IO[str]) -> int:
    from ordinate.data.csv_files import without_formulas

    rows = 0
    for part in parts:
        file.write(csv_text(without_formulas(part), header=rows == 0))
        rows += len(part)
    return rows


def csv_text(frame: "pd.DataFrame", *, header: bool) -> str:
    r"""Return a table as csv, with 12 digits of each number: by pyarrow if it can, seven times as fast as by pandas.

    More digits would show the batch size; fewer would lose small differences between large targets.

    Example:
        >>> import pandas as pd
        >>> csv_text(pd.DataFrame({"grade": ["low"], "probability": [1 / 3]}), header=False)
        'low,0.333333333333\\n'
    """
    kinds = {kind.kind for kind in frame.dtypes}
    if not kinds <= set("iuf") or find_spec("pyarrow") is None:
        return frame.to_csv(header=header, index=False, float_format="{:z.12g}".format)
    import pyarrow as pa
    from pyarrow.csv import WriteOptions, write_csv

    columns = []
    for place in range(frame.shape[1]):
        numbers = frame.iloc[:, place].to_numpy()
        if numbers.dtype.kind == "f":
            numbers = with_digits(numbers.astype(np.float64))
        columns.append(pa.array(numbers, from_pandas=True))
    text = pa.BufferOutputStream()
    options = WriteOptions(include_header=False, quoting_style="needed")
    write_csv(pa.table(columns, names=[str(place) for place in range(len(columns))]), text, options)
    names = frame.head(0).to_csv(index=False) if header else ""
    return names + text.getvalue().to_pybytes().decode("utf-8")


def with_digits(values: NDArray[np.float64], digits: int = 12) -> NDArray[np.float64]:
    """Return numbers (n,) rounded to so many digits, so that their shortest text has no more.

    Example:
        >>> with_digits(np.array([2 / 3, -2e9 / 3, 0.0, 2e-30 / 3]), 3).tolist()
        [0.667, -667000000.0, 0.0, 6.67e-31]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        places = digits - 1 - np.floor(np.log10(np.abs(values)))
    is_exact = (places >= 0) & (places <= 22)  # These powers of ten are numbers of double precision.
    scale = 10.0 ** np.where(is_exact, places, 0)
    found = np.where(is_exact, np.round(values * scale) / scale, values) + 0.0  # No zero has a sign.
    others = np.flatnonzero(~is_exact & np.isfinite(values) & (values != 0))
    found[others] = [float(f"{value:.{digits}g}") for value in values[others]]
    return found


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
