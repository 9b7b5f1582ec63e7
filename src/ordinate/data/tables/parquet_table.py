"""A table in parquet files, of which a column is read when it is asked for."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.paths import require_path
from ordinate.data.tables.files import PARQUET, require_columns
from ordinate.errors import OrdinateError
from ordinate.optional import optional

BUFFER = 1 << 20  # bytes of a column that are read from a file at a time


class ParquetTable:
    """Rows of a parquet file, or of a folder of them, that stay there: what is read is one column at a time.

    It stands for the DataFrame that ``pandas.read_parquet`` gives, wherever an estimator accepts X, and gives the same
    model and predictions, bit for bit, without its memory.

    ``table["price"]`` reads a column (a Series, numbered from 0); ``table[["rooms", "area"]]`` is the table of these
    columns, and ``table[rows]`` that of these rows, an index array, a mask or a slice: neither reads anything.

    Args:
        path: a file, or a folder of files of the same columns as Spark, Dask or pandas write one; subfolders named
            ``year=2024`` make a column.
        drop: columns to leave out, such as the label.
        categorical: columns whose numbers are codes, not amounts.

    Raises:
        OrdinateError: no parquet, no rows, or a column that is not there; later, files that have changed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pd.DataFrame({"area": [50.0, 80.0, 65.0], "price": [1, 3, 2]}).to_parquet(f"{folder}/a.parquet")
        ...     table = ParquetTable(f"{folder}/a.parquet", drop=["price"])
        ...     list(table.columns), table.shape, table[[2, 0]]["area"].tolist()
        (['area'], (3, 1), [65.0, 50.0])
    """

    ndim = 2

    def __init__(self, path: str | Path, *, drop: Sequence[str] = (), categorical: Sequence[str] = ()) -> None:
        optional("pyarrow", "parquet", "parquet")
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetDataset

        self.path = Path(path)
        require_path(self.path)
        try:
            files = ParquetDataset(self.path)
            self._rows_in_files = sum(part.count_rows() for part in files.fragments)
            self._columns = files.schema.empty_table().to_pandas()  # without a row
        except (ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from error
        self._columns.columns = [str(name) for name in self._columns.columns]
        if self._rows_in_files == 0:
            raise OrdinateError(self.path, problem="holds no rows", expected="a table with samples")
        require_columns(self._columns, [*drop, *categorical], self.path)
        self._columns = self._columns.drop(columns=list(drop))
        self._categorical = frozenset(categorical)
        self._rows: NDArray[np.int64] | None = None  # all

    def __len__(self) -> int:
        return self._rows_in_files if self._rows is None else len(self._rows)

    @property
    def columns(self) -> "pd.Index[str]":
        return self._columns.columns

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    @overload
    def __getitem__(self, key: str) -> "pd.Series[Any]": ...
    @overload
    def __getitem__(self, key: "list[Any] | pd.Index[Any] | NDArray[Any] | slice") -> "ParquetTable": ...
    def __getitem__(self, key: Any) -> "pd.Series[Any] | ParquetTable":
        if isinstance(key, str):
            return self._read(key)
        view = object.__new__(ParquetTable)
        view.__dict__.update(self.__dict__)
        if not isinstance(key, slice) and np.asarray(key).dtype.kind in "OUT":
            names = [str(name) for name in key]
            require_columns(self._columns, names, self.path)
            view._columns = self._columns[names]
        else:
            here = np.arange(len(self)) if self._rows is None else self._rows
            view._rows = here[key]
        return view

    def __repr__(self) -> str:
        return f"ParquetTable({str(self.path)!r}): {self.shape[0]:,} rows, {self.shape[1]} columns"

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
            yield from self._batches_of_files(rows)
        else:
            yield from (self[slice(start, start + rows)].to_pandas() for start in range(0, len(self), rows))

    def in_order(self, rows: int) -> Iterator[tuple[slice | NDArray[np.int64], pd.DataFrame]]:
        """Yield the rows in the order in which they lie in the files, and their places in the table.

        The files are read once, ``rows`` rows at a time, of which a table of some of them may hold fewer.
        """
        order = None if self._rows is None else np.argsort(self._rows, kind="stable")
        start = 0
        for frame in self._batches_of_files(rows):
            stop = start + len(frame)
            if self._rows is None or order is None:
                yield slice(start, stop), frame
            else:
                places = order[slice(*np.searchsorted(self._rows, (start, stop), sorter=order))]
                if len(places):
                    yield places, frame.iloc[self._rows[places] - start].reset_index(drop=True)
            start = stop

    def _batches_of_files(self, rows: int) -> Iterator[pd.DataFrame]:
        from pyarrow import ArrowException

        found = 0
        try:
            for part in self._parts(rows):
                found += len(part)
                yield self._as_frame(part)
        except (ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from error
        self._check_rows(found)

    def _parts(self, rows: int) -> Iterator[Any]:
        """Yield arrow tables of ``rows`` rows, the last one of what is left."""
        import pyarrow as pa
        from pyarrow.dataset import HivePartitioning, dataset
        from pyarrow.parquet import ParquetFile

        subfolders = HivePartitioning.discover(infer_dictionary=True)  # as pandas reads them
        files = dataset(self.path, format="parquet", partitioning=subfolders)
        names = [name for name in files.schema.names if name in self.columns]
        schema = pa.schema([files.schema.field(name) for name in names], files.schema.metadata)
        held = schema.empty_table()
        for file in files.get_fragments():
            with file.open() as source:
                # a scan of the dataset, and a buffer made before, would hold whole row groups
                there = ParquetFile(source, pre_buffer=False, buffer_size=BUFFER)
                present = [name for name in names if name in there.schema_arrow.names]
                for batch in there.iter_batches(rows, columns=present):
                    part = _complete(pa.Table.from_batches([batch]), file, files.partitioning, schema)
                    held = pa.concat_tables([held, part])
                    while len(held) >= rows:
                        yield held.slice(0, rows)
                        held = held.slice(rows)
        if len(held):
            yield held

    def _as_frame(self, part: Any) -> pd.DataFrame:
        """Return an arrow table as pandas would have read it."""
        frame = part.to_pandas().reset_index(drop=True)
        frame = frame.set_axis(part.schema.names, axis=1)[list(self.columns)]
        return frame.astype(dict.fromkeys(self._categorical.intersection(part.schema.names), "category"))

    def _read(self, name: str) -> "pd.Series[Any]":
        require_columns(self._columns, [name], self.path)
        try:
            values = pd.read_parquet(self.path, columns=[name]).iloc[:, 0]
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error
        self._check_rows(len(values))
        if name in self._categorical:
            values = values.astype("category")
        if self._rows is not None:
            values = values.iloc[self._rows]
        return values.reset_index(drop=True).rename(name)

    def _check_rows(self, found: int) -> None:
        if found != self._rows_in_files:
            raise OrdinateError(
                self.path,
                problem=f"holds {found} rows, and {self._rows_in_files} when it was opened",
                hint="open it anew",
            )

    def _unreadable(self, error: Exception) -> OrdinateError:
        return OrdinateError(self.path, problem=f"could not be read: {str(error).splitlines()[0]}")


def _complete(part: Any, file: Any, partitioning: Any, schema: Any) -> Any:
    """Return rows of a file of a dataset with the columns that the names of its folders make, in the schema's order."""
    import pyarrow as pa
    from pyarrow.dataset import get_partition_keys

    for name, value in get_partition_keys(file.partition_expression).items():
        if name in schema.names:
            values = partitioning.dictionaries[partitioning.schema.get_field_index(name)]
            places = pa.array(np.full(len(part), values.index(value).as_py(), dtype=np.int32))
            part = part.append_column(name, pa.DictionaryArray.from_arrays(places, values))
    return part.select(schema.names).cast(schema)


def in_memory(X: Any) -> Any:
    """Return a table in parquet files as a DataFrame, and all else as it is."""
    return X.to_pandas() if isinstance(X, ParquetTable) else X


def holds_parquet(path: str | Path) -> bool:
    """Return whether ``path`` is a parquet file, or a folder that holds some."""
    path = Path(path)
    if path.is_dir():
        return any(path.glob("*.parquet")) or any(path.glob("*=*/**/*.parquet"))
    return path.name.lower().endswith(PARQUET)
