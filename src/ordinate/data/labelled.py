"""Samples with their labels, as a data set gives them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.paths import first_named
from ordinate.data.rows import take
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class Labelled:
    """Samples with a label each, and if the data set has them, a split and a group each.

    Args:
        samples: Samples (n): files, an array, a table or a list.
        labels: Labels (n,), ranks, numbers or text; a DataFrame (n, p) for targets of p dimensions.
        splits: Splits (n,) such as ``"train"``, ``"validation"``, ``"test"``, or the name of a fold.
        groups: Groups (n,), such as subjects; no group is to be on both sides of a split.
        weights: Weights (n,) of the samples.
        paths: Files (n,) that have been read into ``samples``.
        left_out: Reasons why files that could not be read are not among them.
        notes: Notes on the labels.
        unused: Columns of a labels.csv that are none of these.

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
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.int64]) -> "Labelled":
        """Return some of them, by index, their labels numbered from 0."""
        taken = {}
        for name in ("samples", "labels", "splits", "groups", "weights", "paths"):
            column = getattr(self, name)
            if column is not None:
                taken[name] = take(column, rows, renumber=True)
        return replace(self, **taken)


def require_labels(y: pd.Series, path: Path | str) -> None:
    """Raise an error if no row has a label, or labels are no numbers, text or categories.

    Args:
        y: Labels (n,), with the name of their column; rows without one are left out later.
        path: Path of the data, for messages.
    """
    if pd.api.types.is_complex_dtype(y.dtype):
        raise OrdinateError(path, problem=f"{y.name!r} holds {y.dtype}", expected="real numbers, text or categories")
    if not y.notna().any():
        raise OrdinateError(path, problem=f"no row has a label in {y.name!r}", expected="a label per row")


def require_filled(
    column: pd.Series, path: Path | str, noun: str = "value", way_out: str = "remove those rows, or fill them"
) -> None:
    """Raise an error that names the first rows, by index, in which a column of a table has no value."""
    rows = column.index[column.isna()].tolist()
    if rows:
        problem = f"{len(rows)} of {len(column)} {noun}s in {column.name!r} are missing"
        hint = f"{way_out}: {first_named(rows)} (counted from 0)"
        raise OrdinateError(path, problem=problem, expected=f"one {noun} per row", hint=hint)
