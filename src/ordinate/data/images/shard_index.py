"""The index of large sets of tar shards, kept for the runs that follow, which map it into memory and read no header."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.named_files import file_stamp
from ordinate.data.paths import is_url
from ordinate.optional import optional

CACHE = "ORDINATE_CACHE"  # This environment variable names a folder to use instead of ~/.cache/ordinate.
FORMAT = 1  # A change of this number makes all index files invalid.
KEPT_FROM = 100_000  # The headers of fewer images are read in a second.
MOST_KEPT = 16  # The most recently used index files are kept.

Index = tuple[NDArray[np.uint64], pd.DataFrame]


def index_file(shards: Sequence[str], columns: Sequence[str] | None) -> Path:
    """Return where the index of shards with these columns is kept, by the shards' names, sizes and times."""
    stamps = [(shard if is_url(shard) else str(Path(shard).absolute()), *file_stamp(shard)) for shard in shards]
    key = hashlib.sha256(repr((FORMAT, None if columns is None else sorted(columns), stamps)).encode()).hexdigest()
    folder = os.environ.get(CACHE) or os.path.expanduser("~/.cache/ordinate")  # noqa: PTH111  # It needs no home.
    return Path(folder, "shards", f"{key}.arrow")


def kept_index(path: Path) -> Index | None:
    """Return the places of images and the columns that an earlier run kept in a file; None if it kept none.

    Places and columns of numbers are mapped into memory.
    """
    if not path.exists():
        return None
    pa = optional("pyarrow", "images", "tar shards")
    try:
        with pa.memory_map(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        path.touch()
    except (OSError, pa.ArrowInvalid):  # The file is damaged and will be written again.
        return None
    columns = dict(zip(table.column_names[1:], map(_column, table.columns[1:]), strict=True))
    frame = pd.DataFrame(columns, index=range(len(table)), copy=False)
    return table.column(0).chunk(0).to_numpy(), frame


def keep_index(path: Path, index: Index) -> Index:
    """Keep the index of many images, and return it as :func:`kept_index` does; where it cannot be kept, as it is."""
    places, frame = index
    if len(places) < KEPT_FROM:
        return index
    pa = optional("pyarrow", "images", "tar shards")
    pending = path.with_suffix(f".{uuid4().hex}")  # Several processes may write.
    try:
        columns = [_array(pa, frame[name]) for name in frame]
        batch = pa.RecordBatch.from_arrays([pa.array(places), *columns], names=["places", *frame])
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # Labels may be confidential.
        with pa.ipc.new_file(str(pending), batch.schema) as file:
            file.write(batch)
        pending.replace(path)
        for old in sorted(path.parent.iterdir(), key=os.path.getmtime)[:-MOST_KEPT]:
            old.unlink(missing_ok=True)
    except (OSError, pa.ArrowException):  # The disk is full, or a column holds values of several types.
        if pending.exists():
            pending.unlink()
        return index
    return kept_index(path) or index


def _array(pa: Any, column: pd.Series) -> Any:
    """Return a column as pyarrow has it, each text once."""
    array = pa.array(column, from_pandas=True)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array.dictionary_encode() if array.type in (pa.string(), pa.large_string()) else array


def _column(column: Any) -> Any:
    """Return a column as pandas has it when it is read from the shards, equal texts as one object."""
    values = column.to_pandas()
    return values.astype(values.cat.categories.dtype) if isinstance(values.dtype, pd.CategoricalDtype) else values
