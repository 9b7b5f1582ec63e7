"""What ``X`` may be, and how it becomes the batch that an encoder takes."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor
from torch.utils.data import Dataset

from ordinate.data.features import NumericColumn, TableFeatures
from ordinate.data.image_options import ImageOptions
from ordinate.data.image_reader import ImageReader
from ordinate.data.images import ImageFiles
from ordinate.data.pixels import Decoded, as_images
from ordinate.data.series import SeriesScaler
from ordinate.errors import OrdinateError

Reader = TableFeatures | SeriesScaler | ImageReader
KINDS = {
    TableFeatures: "tables (n, features)",
    SeriesScaler: "series (n, channels, length)",
    ImageReader: "images: paths, or (n, channels, height, width)",
}


def unpack(X: Any, y: Any) -> tuple[Any, Any]:
    """Return the samples of a Dataset as an array, and its labels where y is None; all else as it is."""
    if not isinstance(X, Dataset):
        return X, y
    samples, labels = [], []
    for index in range(len(X)):  # type: ignore[arg-type]  # a map-style data set has a length
        item = X[index]
        sample, *rest = item if isinstance(item, tuple | list) else (item,)
        samples.append(np.asarray(sample))
        labels.append(rest[0] if rest else None)
    if len({sample.shape for sample in samples}) > 1:
        shapes = sorted({sample.shape for sample in samples})[:3]
        raise OrdinateError(f"X: got a Dataset of samples of different shapes, such as {shapes}, takes one shape")
    stacked = np.stack(samples) if samples else np.zeros((0,))
    if stacked.ndim == 3 and stacked.dtype == np.uint8:  # grey pictures come without channels
        stacked = stacked[:, None]
    if y is None and samples and labels[0] is not None:
        y = np.asarray([np.asarray(label) for label in labels])
    return stacked, y


def check_input(estimator: BaseEstimator, X: ArrayLike | pd.DataFrame, *, reset: bool) -> Any:
    """Return X in one of four forms.

    They are a DataFrame, an array (n, channels, length), in both of which NaN may stand for missing values; image
    files; and images in memory, uint8 (n, channels, height, width).
    """
    if isinstance(X, ImageFiles | Decoded):
        return X
    if _are_paths(X):
        return ImageFiles(X)  # type: ignore[arg-type]  # paths, as was just seen
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise OrdinateError(f"X: got a DataFrame of shape {X.shape}, takes at least one row and one column")
        X = X.reset_index(drop=True)
        return X.set_axis([str(name) for name in X.columns], axis=1)
    if getattr(X, "ndim", 2) == 4:
        return as_images(np.asarray(X))
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


def _are_paths(X: Any) -> bool:
    """Return whether X is one path a sample."""
    if isinstance(X, str | bytes | Path) or not hasattr(X, "__len__") or getattr(X, "ndim", 1) != 1 or len(X) == 0:
        return False
    return isinstance(X.iloc[0] if isinstance(X, pd.Series) else X[0], str | Path)


def _reader_of(X: Any) -> type[Reader]:
    if isinstance(X, pd.DataFrame):
        return TableFeatures
    return SeriesScaler if isinstance(X, np.ndarray) and X.ndim == 3 else ImageReader


def check_kind(reader: Reader, X: Any) -> None:
    """Raise where X is images and the model was trained on other data, or the other way round."""
    images = isinstance(X, ImageFiles | Decoded) or getattr(X, "ndim", 2) == 4 or _are_paths(X)
    if images != isinstance(reader, ImageReader):
        raise OrdinateError(f"X: got another kind of data, takes {KINDS[type(reader)]}, as in training")


def fit_reader(X: Any, images: ImageOptions, *, progress: bool = False) -> tuple[Reader, Any]:
    """Learn how to read X from the training samples; return the reader, and X, images decoded."""
    kind = _reader_of(X)
    if kind is ImageReader:
        return ImageReader.fit(X, images, progress=progress)
    return (TableFeatures.fit(X) if kind is TableFeatures else SeriesScaler.fit(X)), X


def read(reader: Reader, X: Any) -> Tensor:
    """Return X as the batch of the encoder: float32, images uint8."""
    if not isinstance(reader, _reader_of(X)):
        raise OrdinateError(f"X: got another kind of data, takes {KINDS[type(reader)]}, as in training")
    if isinstance(reader, ImageReader):
        return reader.transform(X)
    return torch.from_numpy(reader.transform(X))


def sample_shape(reader: Reader) -> tuple[int, ...]:
    """Return the shape of one sample in the encoder's batch."""
    return (reader.width,) if isinstance(reader, TableFeatures) else reader.sample_shape


def holds_numbers_alone(reader: Reader) -> bool:
    """Return whether every column of a table is a number."""
    return isinstance(reader, TableFeatures) and all(isinstance(c, NumericColumn) for c in reader.columns)


def holds_images(reader: Reader) -> bool:
    """Return whether samples are images."""
    return isinstance(reader, ImageReader)


def numeric_positions(reader: Reader) -> list[int]:
    """Return where a table's numbers stand; nowhere in other data."""
    return reader.numeric_positions if isinstance(reader, TableFeatures) else []
