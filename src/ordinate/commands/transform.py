"""``ordinate transform``: the embeddings of every row of a file."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.lib.format import write_array_header_1_0
from numpy.typing import NDArray

from ordinate.commands.batches import FileOfSamples
from ordinate.commands.split_file import read_split
from ordinate.commands.table_file import write_table
from ordinate.counts import counted
from ordinate.data.new_files import new_file
from ordinate.estimators.loading import load
from ordinate.model.model import Model


def transform(model: str, data: str, *, skip_unreadable: bool = False, out: str) -> None:
    """Write embeddings to ``out``: a table whose rows are named as in predictions, or an array in an npy file."""
    is_array = out.lower().endswith(".npy")
    fitted = load(model).fitted
    samples = FileOfSamples(fitted, data, skip_unreadable)
    if not is_array:
        fitted.reader.way_out = "; --skip-unreadable leaves them out"
    batches = samples.read()
    embedded = samples.results(Model.transform, batches)
    dimensions = fitted.embedding_dim
    if is_array:
        rows = len(batches)
        with new_file(Path(out)) as pending:
            _write_array((embeddings for _, embeddings in embedded), (rows, dimensions), pending)
    else:
        named = samples.named(embedded, read_split(model)["identity"])
        with samples.telling():
            rows = write_table((names.join(_table(embeddings)) for names, embeddings in named), out)
    print(f"{counted(rows, 'embedding')} of {counted(dimensions, 'dimension')}: {out}")


def _table(embeddings: NDArray[np.float64]) -> pd.DataFrame:
    return pd.DataFrame(embeddings).add_prefix("embedding_")


def _write_array(parts: Iterable[NDArray[np.float64]], shape: tuple[int, int], path: Path) -> None:
    """Write arrays one after the other as a single npy array of this shape."""
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    with path.open("wb") as file:
        write_array_header_1_0(file, header)
        for part in parts:
            file.write(np.ascontiguousarray(part, dtype="<f8").data)
