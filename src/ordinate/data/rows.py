"""Rows of samples, whatever holds them."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ordinate.data.streamed import Streamed


def take(X: Any, rows: NDArray[np.int64], *, renumber: bool = False) -> Any:
    """Return rows of a table, array, files or list; ``renumber`` gives those of pandas the index 0, 1, ..."""
    if isinstance(X, Streamed):
        return X.part(rows)
    if isinstance(X, pd.DataFrame | pd.Series):
        taken = X.iloc[rows]
        return taken.reset_index(drop=True) if renumber else taken
    return [X[row] for row in rows] if isinstance(X, list | tuple) else X[rows]


def column_of(values: ArrayLike | None, rows: NDArray[np.int64]) -> NDArray[Any] | None:
    """Return the values of some rows, such as their groups or weights; None where there are none."""
    return None if values is None else np.asarray(values)[rows]
