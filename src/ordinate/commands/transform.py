"""``ordinate transform``: the embeddings of every row of a file."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.lib.format import write_array_header_1_0
from numpy.typing import NDArray

from ordinate.commands.batches import FileOfSamples
from ordinate.commands.table_file import write_table
from ordinate.data.new_files import new_file
from ordinate.data.registry import modality_of
from ordinate.data.rows import Samples
from ordinate.estimators import load


def transform(model: str, data: str, *, skip_unreadable: bool = False, jobs: int = 1, out: str) -> None:
    """Write embeddings to ``out``: a table with the paths of files if there are some, or an array in an npy file."""
    is_array = out.lower().endswith(".npy")
    estimator = load(model)
    samples = FileOfSamples(estimator, data, skip_unreadable, jobs)
    if not is_array:
        estimator.reader_.way_out = "; --skip-unreadable leaves them out"
    batches = samples.read()
    embedded = samples.results("transform", batches)
    dimensions = estimator.embedding_dim_
    if is_array:
        rows = len(batches)
        with new_file(Path(out)) as pending:
            _write_array((embeddings for _, embeddings in embedded), (rows, dimensions), pending)
    else:
        with samples.telling():
            rows = write_table((_table(X, embeddings) for X, embeddings in embedded), out)
    print(f"{rows} embeddings of {dimensions} dimensions: {out}")


def _table(X: Samples, embeddings: NDArray[np.float64]) -> pd.DataFrame:
    table = pd.DataFrame(embeddings).add_prefix("embedding_")
    paths = modality_of(X).paths(X)
    if paths is not None:
        table.insert(0, "path", paths)
    return table


def _write_array(parts: Iterable[NDArray[np.float64]], shape: tuple[int, int], path: Path) -> None:
    """Write arrays one after the other as a single npy array of this shape."""
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    with path.open("wb") as file:
        write_array_header_1_0(file, header)
        for part in parts:
            file.write(np.ascontiguousarray(part, dtype="<f8").data)
