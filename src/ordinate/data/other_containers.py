"""Samples and labels that other libraries hold: datasets, loaders, sparse matrices, and tables."""

from collections.abc import Iterable, Mapping, Sized
from typing import Any, cast

import numpy as np
import pandas as pd
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from ordinate.counts import counted
from ordinate.data.rows import Labels, Samples
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.errors import OrdinateError


def unpack(X: Any, y: Any) -> tuple[Any, Any]:
    """Return samples that other libraries hold as arrays and tables, and their labels where y is None.

    Samples of a Dataset or DataLoader are read once: what it draws at random, it draws once. Labels in parquet files
    are read. A list of dictionaries is a table.
    """
    if isinstance(y, ParquetTable):
        y = _one_column(y)
    if isinstance(X, DataLoader):
        return _of_batches(X, y)
    if isinstance(X, Dataset):
        return _of_items(X, y)
    if isinstance(X, list) and X and all(isinstance(row, Mapping) for row in X):  # As JSON holds a table.
        return pd.DataFrame(X), y
    X, y = (part.detach() if isinstance(part, Tensor) and part.requires_grad else part for part in (X, y))
    if hasattr(X, "toarray"):  # A sparse matrix.
        return X.toarray(), y
    if hasattr(X, "to_pandas") and not isinstance(X, ParquetTable):  # Polars, pyarrow and datasets have this method.
        return X.to_pandas(), y
    return X, y


def _one_column(y: ParquetTable) -> pd.Series:
    if len(y.columns) != 1:
        raise OrdinateError("y", f"a table of {counted(len(y.columns), 'column')}", "one column, as table[['label']]")
    return y[y.columns[0]]


def _of_batches(loader: DataLoader[object], y: Labels | None) -> tuple[Samples, Labels | None]:
    """Return the samples and labels of a DataLoader, in the order in which it gives them."""
    samples, labels = _samples_and_labels(loader)
    if not samples:
        raise OrdinateError("X", "a DataLoader without batches", "samples")
    if y is None and labels:
        y = np.concatenate(labels)
    return np.concatenate(samples), y


def _of_items(items: Dataset[object], y: Labels | None) -> tuple[Samples, Labels | None]:
    """Return the samples of a Dataset as an array, those of an iterable one as they come."""
    if isinstance(items, IterableDataset):
        samples, labels = _samples_and_labels(items)
    else:
        samples, labels = _samples_and_labels(map(items.__getitem__, range(len(cast(Sized, items)))))
    if y is None and labels:
        y = np.asarray(labels)
    if not samples:
        return np.zeros((0,)), y
    shapes = {sample.shape for sample in samples}
    is_grey = samples[0].ndim == 2 and samples[0].dtype == np.uint8  # Grey pictures come without channels.
    if len(shapes) > 1 and samples[0].ndim == 2 and not is_grey:  # Series may differ in length.
        return samples, y
    if len(shapes) > 1:
        shown = sorted(shapes)[:3]
        raise OrdinateError("X", f"a Dataset of samples of different shapes, such as {shown}", "one shape")
    stacked = np.stack(samples)
    if is_grey:
        stacked = stacked[:, None]
    return stacked, y


def _samples_and_labels(parts: Iterable[object]) -> tuple[list[Labels], list[Labels]]:
    """Return the first and the second entry of everything that a Dataset or DataLoader gives."""
    samples, labels = [], []
    for part in parts:
        if not isinstance(part, tuple | list):
            part = (part,)  # noqa: PLW2901
        sample, *rest = part
        samples.append(np.asarray(sample))
        labels += [np.asarray(label) for label in rest[:1] if label is not None]
    return samples, labels
