"""What ``X`` may be, and how it becomes the batch that an encoder takes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor
from torch.utils.data import Dataset

from ordinate.data.images.files import ImageFiles
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import Decoded, as_images
from ordinate.data.images.reader import ImageReader
from ordinate.data.mapped_matrix import mapped_matrix
from ordinate.data.series.reader import SeriesScaler, stack_series
from ordinate.data.tables.features import NumericColumn, TableFeatures
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.data.text.options import TextOptions
from ordinate.data.text.samples import Texts, as_texts
from ordinate.data.text.token_reader import TokenReader
from ordinate.data.text.transformer import MINILM
from ordinate.data.text.word_reader import WordReader
from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.reader import VolumeReader
from ordinate.data.volumes.voxels import SUFFIXES as VOLUME_SUFFIXES
from ordinate.data.volumes.voxels import DecodedVolumes, VolumeFiles, as_volumes
from ordinate.errors import OrdinateError

Reader = TableFeatures | SeriesScaler | ImageReader | VolumeReader | WordReader | TokenReader
BILSTM = "bilstm"  # the encoder over word vectors
IN_MEMORY = 2**27  # bytes of a parquet table's numbers from which they lie in a file
KINDS = {
    TableFeatures: "tables (n, features)",
    SeriesScaler: "series (n, channels, length), or a list of arrays (channels, length)",
    ImageReader: "images: paths, or (n, channels, height, width)",
    VolumeReader: "volumes: paths of NIfTI files, or (n, channels, depth, height, width)",
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
    several_shapes = len({sample.shape for sample in samples}) > 1
    if several_shapes and are_series(samples) and samples[0].dtype != np.uint8:  # which would be grey pictures
        return samples, np.asarray(labels) if y is None and labels[0] is not None else y
    if several_shapes:
        shapes = sorted({sample.shape for sample in samples})[:3]
        raise OrdinateError(f"X: got a Dataset of samples of different shapes, such as {shapes}, takes one shape")
    stacked = np.stack(samples) if samples else np.zeros((0,))
    if stacked.ndim == 3 and stacked.dtype == np.uint8:  # grey pictures come without channels
        stacked = stacked[:, None]
    if y is None and samples and labels[0] is not None:
        y = np.asarray([np.asarray(label) for label in labels])
    return stacked, y


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return samples by index, in any form that an estimator takes but a Dataset."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows].reset_index(drop=True)
    return [X[row] for row in rows] if isinstance(X, list | tuple) else X[rows]


def check_input(estimator: BaseEstimator, X: ArrayLike | pd.DataFrame, *, reset: bool) -> Any:
    """Return X in one of seven forms.

    They are a DataFrame, a table in parquet files, an array (n, channels, length), in all of which NaN may stand for
    missing values, and in the third also for what lies beyond the end of a series; image files; images in memory,
    uint8 (n, channels, height, width); files of volumes; and volumes in memory, numbers (n, channels, depth, height,
    width).
    """
    if getattr(estimator, "text", None) is not None:
        return _check_texts(estimator, X, reset=reset)
    if isinstance(X, ImageFiles | Decoded | VolumeFiles | DecodedVolumes):
        return X
    if _are_paths(X):
        return VolumeFiles(X) if _are_volumes(X) else ImageFiles(X)  # type: ignore[arg-type]  # paths, as was just seen
    if isinstance(X, pd.DataFrame | ParquetTable):
        return _check_table(estimator, X, reset=reset)
    if getattr(X, "ndim", 2) == 4:
        return as_images(np.asarray(X))
    if getattr(X, "ndim", 2) == 5:
        return as_volumes(np.asarray(X))
    if are_series(X):
        X = stack_series(list(X))
    if getattr(X, "ndim", 2) == 3:
        values = np.asarray(X)
        values = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
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


def _check_table(
    estimator: BaseEstimator, X: pd.DataFrame | ParquetTable, *, reset: bool
) -> pd.DataFrame | ParquetTable:
    """Return a table with rows and columns, these as in training, its rows numbered from 0."""
    named = pd.DataFrame(columns=X.columns) if isinstance(X, ParquetTable) else X
    try:
        validate_data(estimator, named, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise OrdinateError(f"X: {error}") from error
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise OrdinateError(f"X: got a {type(X).__name__} of shape {X.shape}, takes at least one row and one column")
    if isinstance(X, ParquetTable):
        return X
    return X.reset_index(drop=True).set_axis([str(name) for name in X.columns], axis=1)


def _check_texts(estimator: BaseEstimator, X: Any, *, reset: bool) -> Texts:
    """Return X as samples of one text or two, as many as in training."""
    if isinstance(X, ParquetTable):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    texts = as_texts(X)
    if reset:
        estimator.n_features_in_ = texts.per_sample
    elif texts.per_sample != estimator.n_features_in_:
        raise OrdinateError(
            f"X: got {texts.per_sample} texts a sample, takes {estimator.n_features_in_}, as in training"
        )
    return texts


def are_series(X: Any) -> TypeGuard[Sequence[NDArray[Any]]]:
    """Return whether X is one array (channels, length) a sample, as series of several lengths are."""
    if not hasattr(X, "__len__") or hasattr(X, "columns") or getattr(X, "ndim", 1) != 1 or len(X) == 0:
        return False
    return hasattr(first := next(iter(X)), "shape") and len(first.shape) == 2


def _are_paths(X: Any) -> bool:
    """Return whether X is one path a sample."""
    if isinstance(X, str | bytes | Path) or not hasattr(X, "__len__") or getattr(X, "ndim", 1) != 1 or len(X) == 0:
        return False
    return isinstance(X.iloc[0] if isinstance(X, pd.Series) else X[0], str | Path)


def _are_volumes(X: Any) -> bool:
    """Return whether X is volumes, or one path of a NIfTI file a sample."""
    if isinstance(X, VolumeFiles | DecodedVolumes) or getattr(X, "ndim", 2) == 5:
        return True
    return _are_paths(X) and str(next(iter(X))).lower().endswith(VOLUME_SUFFIXES)


def _reader_of(X: Any) -> type[Reader]:
    if isinstance(X, pd.DataFrame | ParquetTable):
        return TableFeatures
    if _are_volumes(X):
        return VolumeReader
    return SeriesScaler if isinstance(X, np.ndarray) and X.ndim == 3 else ImageReader


def check_kind(reader: Reader, X: Any) -> None:
    """Raise where X is images or volumes and the model was trained on other data, or the other way round."""
    if holds_text(reader):
        return  # strings, which are no paths there
    volumes = _are_volumes(X)
    images = isinstance(X, ImageFiles | Decoded) or getattr(X, "ndim", 2) == 4 or (_are_paths(X) and not volumes)
    if (images, volumes) != (isinstance(reader, ImageReader), isinstance(reader, VolumeReader)):
        raise OrdinateError(f"X: got another kind of data, takes {KINDS[type(reader)]}, as in training")


def fit_reader(
    X: Any,
    images: ImageOptions,
    *,
    volumes: VolumeOptions | None = None,
    text: TextOptions | None = None,
    encoder: str = "auto",
    progress: bool = False,
) -> tuple[Reader, Any]:
    """Learn how to read X from the training samples; return the reader, and X, images and volumes decoded."""
    if isinstance(X, Texts):
        return _fit_text_reader(X, text or TextOptions(), encoder, progress=progress), X
    kind = _reader_of(X)
    if kind is ImageReader:
        return ImageReader.fit(X, images, progress=progress)
    if kind is VolumeReader:
        return VolumeReader.fit(X, volumes or VolumeOptions(), progress=progress)
    return (TableFeatures.fit(X) if kind is TableFeatures else SeriesScaler.fit(X)), X


def _fit_text_reader(texts: Texts, options: TextOptions, encoder: str, *, progress: bool) -> WordReader | TokenReader:
    if encoder == "auto":
        encoder = MINILM if options.word_vectors is None else BILSTM
    if encoder == BILSTM:
        return WordReader.fit(texts, options)
    if options.word_vectors is not None:
        raise OrdinateError(f"word_vectors: are for the encoder {BILSTM!r}, {encoder!r} takes None")
    reader = TokenReader.fit(texts, options, encoder)
    reader.progress = progress
    return reader


def read(reader: Reader, X: Any, folder: Path | None = None) -> Tensor:
    """Return X as the batch of the encoder: float32, images and volumes uint8.

    That of a large parquet table is read from a file in ``folder``, or where temporary files lie, which goes with it.
    """
    if isinstance(reader, WordReader | TokenReader):
        return reader.transform(X)
    if not isinstance(reader, _reader_of(X)):
        raise OrdinateError(f"X: got another kind of data, takes {KINDS[type(reader)]}, as in training")
    if isinstance(reader, ImageReader | VolumeReader):
        return reader.transform(X)
    if isinstance(reader, TableFeatures):
        shape = (len(X), reader.width)
        in_file = isinstance(X, ParquetTable) and 4 * shape[0] * shape[1] > IN_MEMORY
        return torch.from_numpy(reader.transform(X, mapped_matrix(shape, folder) if in_file else None))
    return torch.from_numpy(reader.transform(X))


def sample_shape(reader: Reader) -> tuple[int, ...]:
    """Return the shape of one sample in the encoder's batch."""
    return (reader.width,) if isinstance(reader, TableFeatures) else reader.sample_shape


def holds_numbers_alone(reader: Reader) -> bool:
    """Return whether every column of a table is a number."""
    return isinstance(reader, TableFeatures) and all(isinstance(c, NumericColumn) for c in reader.columns)


def holds_images(reader: Reader) -> bool:
    """Return whether samples are images or volumes."""
    return isinstance(reader, ImageReader | VolumeReader)


def holds_text(reader: Reader) -> bool:
    """Return whether samples are texts."""
    return isinstance(reader, WordReader | TokenReader)


def in_float32(reader: Reader) -> bool:
    """Return whether the encoder computes in float32 in prediction too: for images, volumes and text."""
    return holds_images(reader) or holds_text(reader)


def numeric_positions(reader: Reader) -> list[int]:
    """Return where a table's numbers stand; nowhere in other data."""
    return reader.numeric_positions if isinstance(reader, TableFeatures) else []
