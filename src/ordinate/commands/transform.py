"""``ordinate transform``: the embeddings of every row of a file."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib.format import write_array_header_1_0
from numpy.typing import NDArray

from ordinate.commands.batch_progress import WAY_OUT, check_skipping, telling, with_progress
from ordinate.commands.table_file import write_table
from ordinate.data.new_files import new_file
from ordinate.data.registry import modality_of
from ordinate.estimators import load
from ordinate.estimators.batches import map_batches, read_batches


def transform(
    model: str, data: str, *, skip_unreadable: bool = False, jobs: int = 1, ray: str | None = None, out: str
) -> None:
    """Write embeddings to ``out``: a table with the paths of files where there are some, or an array in an npy file."""
    is_array = out.lower().endswith(".npy")
    estimator = load(model)
    check_skipping(estimator.reader_, skip_unreadable=skip_unreadable)
    estimator.reader_.way_out = "" if is_array else WAY_OUT
    left_out: list[str] = []
    say = left_out.append if skip_unreadable else None
    batches = read_batches(estimator, data, say)
    parts = map_batches(estimator, "transform", batches, jobs, ray, say)
    embedded = with_progress(parts, len(batches))
    rows = len(batches)
    if is_array:
        with new_file(Path(out)) as pending:
            shape = (len(batches), estimator.embedding_dim_)
            _write_array((embeddings for _, embeddings in embedded), shape, pending)
    else:
        with telling(left_out):
            rows = write_table((_table(X, embeddings) for X, embeddings in embedded), out)
    print(f"{rows} embeddings of {estimator.embedding_dim_} dimensions: {out}")


def _table(X: Any, embeddings: NDArray[np.float64]) -> pd.DataFrame:
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
