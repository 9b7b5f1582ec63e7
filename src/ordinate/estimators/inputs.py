"""What ``X`` may be, and how it becomes the batch that an encoder takes."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor

from ordinate.data.features import NumericColumn, TableFeatures
from ordinate.data.series import SeriesScaler
from ordinate.errors import OrdinateError

Reader = TableFeatures | SeriesScaler


def check_input(estimator: BaseEstimator, X: ArrayLike | pd.DataFrame, *, reset: bool) -> Any:
    """Return X as a DataFrame, or as an array (n, channels, length); NaN may stand for missing values."""
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise OrdinateError(f"X: got a DataFrame of shape {X.shape}, takes at least one row and one column")
        X = X.reset_index(drop=True)
        return X.set_axis([str(name) for name in X.columns], axis=1)
    if getattr(X, "ndim", 2) == 3:
        values = np.asarray(X, dtype=np.float64)
        if np.isinf(values).any():
            raise OrdinateError("X: got infinity, takes finite numbers or NaN for missing values")
        if reset:
            estimator.n_features_in_ = values.shape[1]
        return values
    try:
        values = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
    except ValueError as error:
        raise OrdinateError(f"X: {error}") from error
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])


def fit_reader(X: Any) -> Reader:
    """Learn how to read X from the training samples."""
    return TableFeatures.fit(X) if isinstance(X, pd.DataFrame) else SeriesScaler.fit(X)


def read(reader: Reader, X: Any) -> Tensor:
    """Return X as the float32 batch of the encoder."""
    if isinstance(reader, TableFeatures) != isinstance(X, pd.DataFrame):
        kind = "tables (n, features)" if isinstance(reader, TableFeatures) else "series (n, channels, length)"
        raise OrdinateError(f"X: got the other kind of data, takes {kind}, as in training")
    return torch.from_numpy(reader.transform(X))


def sample_shape(reader: Reader) -> tuple[int, ...]:
    """Return the shape of one sample in the encoder's batch."""
    return (reader.width,) if isinstance(reader, TableFeatures) else reader.sample_shape


def holds_numbers_alone(reader: Reader) -> bool:
    """Return whether every column of a table is a number."""
    return isinstance(reader, TableFeatures) and all(isinstance(c, NumericColumn) for c in reader.columns)


def numeric_positions(reader: Reader) -> list[int]:
    """Return where a table's numbers stand; nowhere in a series."""
    return reader.numeric_positions if isinstance(reader, TableFeatures) else []
