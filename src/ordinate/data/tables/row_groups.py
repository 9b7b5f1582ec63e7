"""The row groups of parquet files, read some rows at a time."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ordinate.counts import counted
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.dataset import ParquetFileFragment


class RowGroups:
    """Where the row groups of a parquet file, or of a folder of them, lie, and what reads one.

    Args:
        path: Path of the file or folder.
        names: Columns to read.
        text_as_codes: Whether to read text as codes and the values that they stand for, which takes less time and
            memory.

    Attributes:
        starts: Number of rows (g+1,) before each of g row groups, and of all.

    Raises:
        OrdinateError: in reading, files that have changed.
    """

    def __init__(self, path: Path, names: Sequence[str], *, text_as_codes: bool) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetDataset

        self.path = path
        found = ParquetDataset(path)
        fields = [field for field in found.schema if field.name in names]
        self._codes: list[str] = []
        for place, field in enumerate(fields):
            if text_as_codes and (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
                self._codes.append(field.name)
                fields[place] = field.with_type(pa.dictionary(pa.int32(), field.type))
        self._schema = pa.schema(fields, found.schema.metadata)
        self._partitioning = found.partitioning
        self._files = found.fragments
        self._stats = [_stat(file) for file in self._files]
        groups = [(place, group) for place, file in enumerate(self._files) for group in file.row_groups]
        self._places = [(place, group.id) for place, group in groups]
        self.starts = np.cumsum([0, *(group.num_rows for _, group in groups)], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._places)

    def read(self, group: int, rows: int) -> "Iterator[pa.Table]":
        """Yield arrow tables of ``rows`` rows of a group, the last one of what is left."""
        from pyarrow.parquet import ParquetFile

        place, there = self._places[group]
        file = self._files[place]
        if _stat(file) != self._stats[place]:
            raise self._changed()
        with file.open() as source:
            # A scan of the dataset, or a large buffer filled in advance, would hold whole row groups.
            opened = ParquetFile(
                source, metadata=file.metadata, pre_buffer=False, buffer_size=2**16, read_dictionary=self._codes
            )
            present = [name for name in self._schema.names if name in opened.schema_arrow.names]
            batches = opened.iter_batches(rows, row_groups=[there], columns=present, use_threads=False)
            yield from in_parts_of((self._complete(batch, file) for batch in batches), rows)

    def _complete(self, batch: "pa.RecordBatch", file: "ParquetFileFragment") -> "pa.Table":
        """Return rows of a file with the columns that the names of its folders make, in the schema's order."""
        import pyarrow as pa
        from pyarrow.dataset import get_partition_keys

        part = pa.Table.from_batches([batch])
        for name, value in get_partition_keys(file.partition_expression).items():
            if name in self._schema.names:
                values = self._partitioning.dictionaries[self._partitioning.schema.get_field_index(name)]
                codes = pa.array(np.full(len(part), values.index(value).as_py(), dtype=np.int32))
                part = part.append_column(name, pa.DictionaryArray.from_arrays(codes, values))
        return part.select(self._schema.names).cast(self._schema)

    def _changed(self) -> OrdinateError:
        from pyarrow.parquet import ParquetDataset

        found = sum(part.metadata.num_rows for part in ParquetDataset(self.path).fragments)
        return changed(self.path, found, int(self.starts[-1]))


def _stat(file: "ParquetFileFragment") -> tuple[int, int]:
    stat = Path(file.path).stat()
    return stat.st_size, stat.st_mtime_ns


def in_parts_of(tables: "Iterable[pa.Table]", rows: int) -> "Iterator[pa.Table]":
    """Yield the rows of arrow tables ``rows`` at a time, the last part of what is left."""
    import pyarrow as pa

    held = None
    for table in tables:
        held = table if held is None else pa.concat_tables([held, table])
        while len(held) >= rows:
            yield held.slice(0, rows)
            held = held.slice(rows)
    if held is not None and len(held):
        yield held


def changed(path: Path, found: int, expected: int) -> OrdinateError:
    """Return the error that files are no longer those that were opened."""
    if found == expected:
        return OrdinateError(path, problem="has changed since it was opened", hint="open it anew")
    return OrdinateError(
        path, problem=f"holds {counted(found, 'row')}, and {expected} when it was opened", hint="open it anew"
    )
