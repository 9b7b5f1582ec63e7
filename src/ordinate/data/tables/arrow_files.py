"""Tables in Arrow's formats and parquet: types that pandas does not know, and orders of categories in several parts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    import pyarrow as pa


def read_arrow(path: Path) -> pd.DataFrame:
    """Return the table of a Feather file, or of Arrow's formats of files and streams."""
    import pyarrow as pa
    from pyarrow import feather, ipc

    try:
        table = feather.read_table(path, memory_map=False)
    except pa.ArrowInvalid:
        with path.open("rb") as file:
            table = ipc.open_stream(file).read_all()
    return as_pandas(table)


def read_parquet(path: Path) -> pd.DataFrame:
    """Return the table of a parquet file."""
    from pyarrow import parquet

    return as_pandas(parquet.ParquetFile(path).read())  # A dataset does not read two columns of the same name.


def as_pandas(table: "pa.Table", *, use_threads: bool = True) -> pd.DataFrame:
    """Return a table of Arrow as pandas reads it, its categories in the order of all parts.

    The file may name pandas types that pandas cannot restore; Arrow's own types are read then.
    """
    table = with_agreed_orders(table)
    try:
        return table.to_pandas(use_threads=use_threads)
    except (TypeError, NotImplementedError):
        return table.replace_schema_metadata(None).to_pandas(use_threads=use_threads)


def with_agreed_orders(table: "pa.Table") -> "pa.Table":
    """Return a table whose ordered categories have one order in all of its parts; those that disagree are unordered.

    Arrow appends the categories that a part adds at the end of the order.
    """
    import pyarrow as pa

    for place, column in enumerate(table.schema):
        if not (pa.types.is_dictionary(column.type) and column.type.ordered):
            continue
        chunks = table.column(place).chunks
        several = list(dict.fromkeys(tuple(chunk.dictionary.to_pylist()) for chunk in chunks))
        if len(several) < 2:
            continue
        order = agreed_order(several)
        values = table.column(place).cast(column.type.value_type)
        texts = pd.Series(values.to_pandas())
        if order is None:
            categories = pd.Categorical(texts, list(dict.fromkeys(label for each in several for label in each)))
        else:
            categories = pd.Categorical(texts, order, ordered=True)
        table = table.set_column(place, column.name, pa.array(categories))
    return table


def agreed_order(orders: Sequence[Sequence[object]]) -> list[object] | None:
    """Return the one order of labels that agrees with several, each of which may lack some; None if there is none.

    Example:
        >>> agreed_order([["low", "high"], ["low", "mid", "high"]])
        ['low', 'mid', 'high']
        >>> agreed_order([["low", "high"], ["low", "mid"]]), agreed_order([["low", "high"], ["high", "low"]])
        (None, None)
    """
    above: dict[object, set[object]] = {label: set() for order in orders for label in order}
    for order in orders:
        for place, label in enumerate(order):
            above[label].update(order[place + 1 :])
    agreed: list[object] = []
    while above:
        lowest = [label for label in above if not any(label in higher for higher in above.values())]
        if len(lowest) != 1:
            return None  # Nothing says which of several is lower, or they contradict each other.
        agreed.append(lowest[0])
        del above[lowest[0]]
    return agreed
