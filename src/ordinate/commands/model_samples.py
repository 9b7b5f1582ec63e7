"""The samples that a saved model is given by a command: a table's columns as in training, series, or images."""

from typing import Any

import pandas as pd

from ordinate.data.images.files import ImageFiles
from ordinate.data.images.labelled import holds_images, read_images
from ordinate.data.images.pixels import Decoded
from ordinate.data.images.reader import ImageReader
from ordinate.data.series.eeg import holds_recordings, read_tuab
from ordinate.data.series.matrices import holds_matrices, read_unlabelled_matrices
from ordinate.data.tables.files import read_samples
from ordinate.data.tables.parquet_table import ParquetTable, holds_parquet
from ordinate.data.volumes.labelled import holds_volumes, read_volumes
from ordinate.data.volumes.reader import VolumeReader
from ordinate.data.volumes.voxels import DecodedVolumes, VolumeFiles
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator


def read_for(estimator: EmbeddingEstimator, data: str) -> Any:
    """Return the samples of a file, folder or zip as the estimator takes them; columns it does not know are left out.

    Raises:
        OrdinateError: data that cannot be read, or of another kind than the training data.
    """
    return fit_to(estimator, read_unlabelled(data), data)


def read_unlabelled(data: str) -> Any:
    """Return the samples of a file, folder or zip: a table or an array, or the files of images or volumes."""
    if holds_parquet(data):
        return ParquetTable(data)
    if holds_volumes(data):
        return read_volumes(data)
    if holds_matrices(data):
        return read_unlabelled_matrices(data)
    if holds_recordings(data):
        return read_tuab(data).series
    return read_images(data) if holds_images(data) else read_samples(data)


def fit_to(estimator: EmbeddingEstimator, X: Any, data: str) -> Any:
    """Return samples with the columns of the training data; images and volumes decoded, once for all that is done."""
    if hasattr(estimator, "feature_names_in_"):
        if not isinstance(X, pd.DataFrame | ParquetTable):
            raise OrdinateError(f"{data}: holds an array, takes a table with the columns of the training data")
        names = [str(name) for name in estimator.feature_names_in_]
        absent = [name for name in names if name not in X.columns]
        if absent:
            raise OrdinateError(
                f"{data}: lacks the columns {', '.join(absent)}, takes those that the model was trained on"
            )
        return X[names]
    if isinstance(X, ImageFiles) and isinstance(estimator.reader_, ImageReader):
        return Decoded(estimator.reader_.transform(X).numpy(), estimator.reader_.preprocessing)
    if isinstance(X, VolumeFiles) and isinstance(estimator.reader_, VolumeReader):
        return DecodedVolumes(estimator.reader_.transform(X).numpy(), estimator.reader_.preprocessing)
    return X
