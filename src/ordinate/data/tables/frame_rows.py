"""Some rows of a DataFrame without a copy of all their columns."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class FrameRows:
    """Some rows of a DataFrame, which are copied one column at a time when it is asked for.

    Args:
        frame: Table.
        rows: Places (n,) of its rows.

    Example:
        >>> rows = FrameRows(pd.DataFrame({"size": [1.5, 2.5, 3.5]}), np.array([2, 0]))
        >>> len(rows), rows["size"].tolist()
        (2, [3.5, 1.5])
    """

    frame: pd.DataFrame
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: Hashable) -> pd.Series:
        return self.frame[name].iloc[self.rows]

    @property
    def columns(self) -> "pd.Index[str]":
        return self.frame.columns
