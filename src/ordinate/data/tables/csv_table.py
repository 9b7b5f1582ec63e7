"""A table in a csv file, of which some rows are read at a time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.data.csv_files import format_of, read_csv_parts
from ordinate.data.paths import require_names, require_path
from ordinate.data.tables.files import checked_frame

LOOKED_AT = 1 << 16  # Types are inferred from this many rows at a time.


class CsvTable:
    """Rows of a csv or tsv file that stay there, and are read in batches.

    The whole file decides the type of a column, as where pandas reads it at once: numbers that are text in a later row
    are text in every batch. For that, and to count the rows, the file is read once before.

    ``table[["rooms", "area"]]`` is the table of these columns.

    Args:
        path: Path of a csv or tsv file, plain or gz.

    Raises:
        OrdinateError: a file that cannot be read, or without rows; a column that is not there.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pd.DataFrame({"rooms": [3, 5, 2], "code": ["01", "02", "none"]}).to_csv(f"{folder}/a.csv")
        ...     [batch["code"].tolist() for batch in CsvTable(f"{folder}/a.csv").batches(2)]
        [['01', '02'], ['none']]
    """

    ndim = 2

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        require_path(self.path)
        self._format = format_of(self.path, self.path)
        kinds: dict[str, set[str]] = defaultdict(set)
        self._length = 0
        for part in read_csv_parts(self.path, LOOKED_AT, self._format):
            frame = checked_frame(part, self.path)
            self.columns: pd.Index[str] = frame.columns
            self._length += len(frame)
            for name in frame.columns[frame.notna().any()]:
                kinds[name].add(pd.api.types.infer_dtype(frame[name], skipna=True))
        self._types = {name: kind for name in kinds if (kind := _type_of(kinds[name])) is not None}

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, names: Sequence[str]) -> "CsvTable":
        view = object.__new__(CsvTable)
        view.__dict__.update(self.__dict__)
        require_names(self.columns, names, self.path)
        view.columns = pd.Index(names)
        return view

    def with_text(self, names: Iterable[str]) -> "CsvTable":
        """Return the table with these columns read as text, whatever this file has in them."""
        view = self[list(self.columns)]
        view._types = self._types | dict.fromkeys(names, str)
        return view

    def batches(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield the table ``rows`` rows at a time, numbered from 0 in each."""
        for part in read_csv_parts(self.path, rows, self._format, dtype=self._types):
            yield checked_frame(part, self.path)[list(self.columns)].reset_index(drop=True)


def _type_of(kinds: set[str]) -> type | None:
    """Return the type of a column whose parts are of these kinds; None if each part tells it by itself."""
    if kinds in ({"integer"}, {"boolean"}):
        return None
    return np.float64 if kinds <= {"integer", "floating"} else str
