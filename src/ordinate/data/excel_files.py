"""Reading the table on the first sheet of a workbook of Excel or OpenDocument."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import pandas as pd

from ordinate.counts import counted
from ordinate.data.csv_format import MISSING
from ordinate.data.file_formats import require_packages
from ordinate.data.header_rows import note_on_header, rows_in_header
from ordinate.data.memory import check_zip, require_memory
from ordinate.data.paths import reading


def read_excel(
    path: Path, say: Callable[[str], None], ranks: Mapping[str, Collection[str]] | None = None
) -> pd.DataFrame:
    """Return the table on the first sheet of a workbook: the first row that is not blank has the names.

    ``ranks`` of columns are not missing values, whatever their names.
    """
    require_packages(str(path))
    require_memory(path.stat().st_size, path)
    with reading(path):
        check_zip(path)
        rows = _first_sheet(path, say)
    rows = rows.dropna(how="all").dropna(axis="columns", how="all")
    if rows.empty:
        return rows
    names = rows.iloc[0].fillna(pd.Series([f"Unnamed: {place}" for place in range(rows.shape[1])], rows.columns))
    texts = rows.iloc[1:1001].fillna("").astype(str).to_numpy().tolist()
    in_header = rows_in_header(list(map(str, names)), texts)
    if in_header:
        say(f"{path}: {note_on_header(in_header)}")
    cells = rows.iloc[1 + in_header :].set_axis(names, axis=1).reset_index(drop=True)
    missing = cells.isin(MISSING)
    for name, known in (ranks or {}).items():
        if name in cells:
            missing[name] &= ~cells[name].isin(known)
    return cells.mask(missing).infer_objects()


def _first_sheet(path: Path, say: Callable[[str], None]) -> pd.DataFrame:
    """Return all cells of the first sheet of a workbook."""
    with pd.ExcelFile(path, engine="calamine") as book:
        if len(book.sheet_names) > 1:
            say(f"{path}: reads the first of {counted(len(book.sheet_names), 'sheet')}, {book.sheet_names[0]!r}")
        return pd.read_excel(book, header=None, dtype=object, keep_default_na=False, na_values=[""])
