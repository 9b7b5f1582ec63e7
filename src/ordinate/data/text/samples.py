"""Samples that are texts, one or two each."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.errors import OrdinateError


class Texts:
    """n samples of k texts (n, k): 1, or 2 of a pair."""

    def __init__(self, columns: NDArray[np.object_]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> "Texts":
        return Texts(self.columns[rows])

    @property
    def per_sample(self) -> int:
        """Texts of one sample."""
        return int(self.columns.shape[1])

    @property
    def flat(self) -> list[str]:
        """All texts, those of a sample next to each other."""
        return list(self.columns.ravel())


def as_texts(X: object) -> Texts:
    """Return n strings, (n, 2) strings, or a DataFrame of one or two columns of strings as samples.

    Raises:
        OrdinateError: another shape, or a value that is no string; says which.

    Example:
        >>> as_texts([("a dog", "a cat"), ("rain", "sun")]).per_sample
        2
    """
    if isinstance(X, Texts):
        return X
    if isinstance(X, str) or not hasattr(X, "__len__"):
        raise OrdinateError("X", repr(X), "n strings or (n, 2) strings")
    values = np.asarray(X, dtype=object)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] not in (1, 2) or len(values) == 0:
        raise OrdinateError("X", f"shape {values.shape}", "n strings or (n, 2) strings")
    for row, sample in enumerate(values):
        for value in sample:
            if not isinstance(value, str):
                found = f"holds {value!r}"
                if pd.api.types.is_scalar(value) and pd.isna(value):
                    found = "lacks a text"
                raise OrdinateError("X", problem=f"sample {row} {found}", expected="a string")
    return Texts(values)
