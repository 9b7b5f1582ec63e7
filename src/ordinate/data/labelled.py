"""Samples with their labels, as a data set gives them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.rows import take


@dataclass(frozen=True)
class Labelled:
    """Samples with a label each, and where the data set has them, a split and a group each.

    Args:
        samples: n of them: files, an array, a table or a list.
        labels: (n,) ranks, numbers or text; a DataFrame (n, p) for targets of p dimensions.
        splits: (n,) such as ``"train"``, ``"validation"``, ``"test"``, or the name of a fold.
        groups: (n,), such as the subject; no group is to stand on both sides of a split.
        weights: (n,), by which samples count.
        paths: (n,) of files that have been read into ``samples``.
        left_out: why each file that could not be read is not among them.

    Example:
        >>> data = Labelled(np.arange(6.0)[:, None], pd.Series([0, 0, 1, 1, 2, 2]))
        >>> len(data), data.take(np.array([4, 1])).labels.tolist()
        (6, [2, 0])
    """

    samples: Any
    labels: pd.Series | pd.DataFrame
    splits: pd.Series | None = None
    groups: pd.Series | None = None
    weights: pd.Series | None = None
    paths: NDArray[np.str_] | None = None
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.int64]) -> "Labelled":
        """Return some of them, by index, their labels numbered from 0."""
        columns = {name: getattr(self, name) for name in ("samples", "labels", "splits", "groups", "weights", "paths")}
        taken = {name: take(column, rows, renumber=True) for name, column in columns.items() if column is not None}
        return replace(self, **taken)
