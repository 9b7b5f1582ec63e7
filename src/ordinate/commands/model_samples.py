"""The samples that a saved model is given by a command: a table's columns as in training, series, or images."""

from typing import Any

import pandas as pd

from ordinate.data.image_reader import ImageReader
from ordinate.data.images import ImageFiles
from ordinate.data.labelled_images import holds_images, read_images
from ordinate.data.pixels import Decoded
from ordinate.data.tables import read_samples
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator


def read_for(estimator: EmbeddingEstimator, data: str) -> Any:
    """Return the samples of a file, folder or zip as the estimator takes them; columns it does not know are left out.

    Raises:
        OrdinateError: data that cannot be read, or of another kind than the training data.
    """
    return fit_to(estimator, read_images(data) if holds_images(data) else read_samples(data), data)


def fit_to(estimator: EmbeddingEstimator, X: Any, data: str) -> Any:
    """Return samples with the columns of the training data, and images decoded, once for all that is done to them."""
    if hasattr(estimator, "feature_names_in_"):
        if not isinstance(X, pd.DataFrame):
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
    return X
