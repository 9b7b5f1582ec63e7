"""Tables in Arrow's formats and parquet: types that pandas does not know, orders of categories, names of classes."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ordinate.data.typed import Declared

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
    """Return a table whose ordered categories have the longest order of its parts, or none if another disagrees.

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
        order = max(several, key=len)
        agree = all([label for label in order if label in each] == list(each) for each in several)
        values = table.column(place).cast(column.type.value_type)
        texts = pd.Series(values.to_pandas())
        labels = order if agree else list(dict.fromkeys(label for each in several for label in each))
        categories = pd.Categorical(texts, labels, ordered=agree)
        table = table.set_column(place, column.name, pa.array(categories))
    return table


def named_classes(schema: "pa.Schema") -> dict[str, Declared]:
    """Return the names of the classes of columns that Hugging Face datasets wrote, by their codes; -1 is no class."""
    stored = (schema.metadata or {}).get(b"huggingface", b"{}")
    features = json.loads(stored).get("info", {}).get("features", {})
    return {
        name: Declared(dict(enumerate(feature["names"])), missing=((-1, -1),))
        for name, feature in features.items()
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    }
