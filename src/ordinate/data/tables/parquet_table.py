"""A table in parquet files, of which a column is read when it is asked for."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.counts import counted
from ordinate.data.csv_files import require_once
from ordinate.data.file_formats import PARQUET, ends_in
from ordinate.data.file_kinds import LOOKED_AT, require_kind
from ordinate.data.paths import reading, require_names, require_path
from ordinate.data.tables.arrow_files import as_pandas, named_classes
from ordinate.data.tables.row_groups import RowGroups, changed, in_parts_of
from ordinate.errors import OrdinateError
from ordinate.optional import optional

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetDataset


class ParquetTable:
    """Rows of a parquet file, or of a folder of them, that stay there: what is read is one column at a time.

    It stands for the DataFrame that ``pandas.read_parquet`` gives, wherever an estimator accepts X, and gives the same
    model and predictions, bit for bit, without its memory: the numbers of a large table lie in a file that is mapped
    into memory.

    ``table["price"]`` reads a column (a Series, numbered from 0); ``table[["rooms", "area"]]`` is the table of these
    columns, and ``table[rows]`` that of these rows, an index array, a mask or a slice: neither reads anything.

    Args:
        path: Path of a file, or of a folder of files of the same columns as Spark, Dask or pandas write one; subfolders
            named ``year=2024`` make a column.
        drop: Columns to leave out, such as the label.
        categorical: Columns whose numbers are codes, not amounts.

    Attributes:
        classes: Names of the codes of columns that Hugging Face datasets wrote as classes.

    Raises:
        OrdinateError: no parquet, no rows, two columns of one name, or a column that is not there; later, files that
            have changed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pd.DataFrame({"area": [50.0, 80.0, 65.0], "price": [1, 3, 2]}).to_parquet(f"{folder}/a.parquet")
        ...     table = ParquetTable(f"{folder}/a.parquet", drop=["price"])
        ...     list(table.columns), table.shape, table[[2, 0]]["area"].tolist()
        (['area'], (3, 1), [65.0, 50.0])
    """

    ndim = 2

    def __init__(
        self,
        path: str | Path,
        *,
        drop: Sequence[str] = (),
        categorical: Sequence[str] = (),
    ) -> None:
        optional("pyarrow", "parquet", "parquet")
        self.path = Path(path)
        require_path(self.path)
        with reading(self.path):
            files = _files_at(self.path)
            self._rows_in_files = sum(part.metadata.num_rows for part in files.fragments)
            self._columns = as_pandas(files.schema.empty_table())  # The frame has the columns but no rows.
            self.classes = named_classes(files.schema)
        self._columns.columns = [str(name) for name in self._columns.columns]
        if self._rows_in_files == 0:
            raise OrdinateError(self.path, problem="holds no rows", expected="a table with samples")
        require_names(self.columns, [*drop, *categorical], self.path)
        self._columns = self._columns.drop(columns=list(drop))
        self._categorical = frozenset(categorical)
        self._rows: NDArray[np.int64] | None = None  # None means all rows.

    def __len__(self) -> int:
        return self._rows_in_files if self._rows is None else len(self._rows)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns, as a DataFrame does."""
        return iter(self.columns)

    @property
    def columns(self) -> "pd.Index[str]":
        return self._columns.columns

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    @overload
    def __getitem__(self, key: str) -> pd.Series: ...
    @overload
    def __getitem__(self, key: "list[Any] | pd.Index[Any] | np.ndarray | slice") -> "ParquetTable": ...
    def __getitem__(self, key: Any) -> "pd.Series | ParquetTable":
        if isinstance(key, str):
            return self._read(key)
        view = self._view()
        if not isinstance(key, slice) and np.asarray(key).dtype.kind in "OUT":
            names = [str(name) for name in key]
            require_names(self.columns, names, self.path)
            view._columns = self._columns[names]
        else:
            rows = key if isinstance(key, np.ndarray) and is_plain_index(key, len(self)) else np.arange(len(self))[key]
            view._rows = self.in_files(rows)
        return view

    def _view(self) -> "ParquetTable":
        view = object.__new__(ParquetTable)
        view.__dict__.update(self.__dict__)
        view.__dict__.pop("order", None)
        return view

    def in_files(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where in the files rows of the table lie, counted over all of them."""
        return rows if self._rows is None else self._rows[rows]

    def places(self, rows_in_files: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many rows of the table come before rows of the files, in the order of the files."""
        if self._rows is None:
            return rows_in_files
        return np.searchsorted(self._rows, rows_in_files, sorter=self.order)

    @cached_property
    def order(self) -> NDArray[np.int64] | None:
        """The rows (n,) in the order of the files; None if they are in it."""
        if self._rows is None or (self._rows[1:] >= self._rows[:-1]).all():
            return None
        return np.argsort(self._rows, kind="stable")

    @property
    def row_groups(self) -> RowGroups:
        """What reads some of the row groups of these columns."""
        return self._row_groups(text_as_codes=True)

    def _row_groups(self, *, text_as_codes: bool) -> RowGroups:
        with reading(self.path):
            groups = RowGroups(self.path, list(self.columns), text_as_codes=text_as_codes)
        self._check_rows(int(groups.starts[-1]))
        return groups

    def __repr__(self) -> str:
        return f"ParquetTable({str(self.path)!r}): {counted(self.shape[0], 'row')}, {counted(self.shape[1], 'column')}"

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows and columns in memory."""
        return pd.DataFrame({name: self._read(name) for name in self.columns}, columns=self.columns)

    def head(self, n: int) -> pd.DataFrame:
        """Return the first ``n`` rows in memory; a table of some of the rows is read by column first."""
        if self._rows is not None:
            return self[slice(n)].to_pandas()
        return next(self.batches(n))

    def batches(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield the table ``rows`` rows at a time; the files are read once, in order, a part of a row group at a time.

        A table of some of the rows is read batch by batch, each from the start.
        """
        if self._rows is None:
            groups = self._row_groups(text_as_codes=False)
            parts = chain.from_iterable(self.readable(groups.read(group, rows)) for group in range(len(groups)))
            yield from map(self.as_frame, in_parts_of(parts, rows))
        else:
            yield from (self[slice(start, start + rows)].to_pandas() for start in range(0, len(self), rows))

    def in_order(self, rows: int) -> Iterator[tuple[slice | NDArray[np.int64], pd.DataFrame]]:
        """Yield the rows in the order in which they lie in the files, and their places in the table.

        Row groups that hold some are read once, ``rows`` rows at a time.
        """
        groups = self.row_groups
        places = self.places(groups.starts)
        for group in np.flatnonzero(np.diff(places)).tolist():
            place, start = int(places[group]), int(groups.starts[group])
            for part in self.readable(groups.read(group, rows)):
                stop = int(self.places(np.array(start + len(part))))
                if stop > place:
                    here = np.arange(place, stop) if self.order is None else self.order[place:stop]
                    frame = self.as_frame(part, self.in_files(here) - start)
                    yield slice(place, stop) if self.order is None else here, frame
                place, start = stop, start + len(part)
                if place == places[group + 1]:
                    break

    def readable(self, parts: "Iterator[pa.Table]") -> "Iterator[pa.Table]":
        """Yield what is read of the files, and raise what goes wrong as an `OrdinateError` that names them."""
        with reading(self.path):
            yield from parts

    def as_frame(self, part: "pa.Table", rows: NDArray[np.int64] | None = None) -> pd.DataFrame:
        """Return some rows of an arrow table, or all, as pandas would have read them."""
        if rows is not None and not np.array_equal(rows, np.arange(len(part))):
            part = part.take(rows)
        with reading(self.path):
            frame = as_pandas(part.unify_dictionaries(), use_threads=False).reset_index(drop=True)
            frame = frame.set_axis(part.schema.names, axis=1)[list(self.columns)]
        return frame.astype(dict.fromkeys(self._categorical.intersection(part.schema.names), "category"))

    def _read(self, name: str) -> pd.Series:
        require_names(self.columns, [name], self.path)
        with reading(self.path):
            values = _read_column(self.path, name)
        self._check_rows(len(values))
        if self._rows is not None:
            values = values.iloc[self._rows]
        if name in self._categorical:
            values = values.astype("category")
        return values.reset_index(drop=True).rename(name)

    def _check_rows(self, found: int) -> None:
        if found != self._rows_in_files:
            raise changed(self.path, found, self._rows_in_files)


def _files_at(path: Path) -> "ParquetDataset":
    from pyarrow.parquet import ParquetDataset

    if path.is_file():
        with path.open("rb") as file:
            require_kind(file.read(LOOKED_AT), path)
    files = ParquetDataset(path)
    several = [name for name, count in Counter(files.schema.names).items() if count > 1]
    require_once(several, several, path)
    return files


def _read_column(path: Path, name: str) -> pd.Series:
    """Return a column of all rows; its categories have the order of all parts."""
    from pyarrow.parquet import read_table

    return as_pandas(read_table(path, columns=[name]).select([name])).iloc[:, 0]


def is_plain_index(key: np.ndarray, n: int) -> bool:
    """Return whether an array holds whole numbers from 0 to below n."""
    return key.dtype.kind in "iu" and key.ndim == 1 and len(key) > 0 and key.min() >= 0 and key.max() < n


def in_memory(X: Any) -> Any:
    """Return a table in parquet files as a DataFrame, and all else as it is."""
    return X.to_pandas() if isinstance(X, ParquetTable) else X


def holds_parquet(path: str | Path) -> bool:
    """Return whether ``path`` is a parquet file, or a folder that holds some."""
    folder = Path(path)
    if folder.is_dir():
        return any(folder.glob("*.parquet")) or any(folder.glob("*=*/**/*.parquet"))
    return ends_in(path, PARQUET)
