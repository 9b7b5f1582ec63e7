"""The samples that a command gives to a saved model."""

from typing import Any

from ordinate.data.paths import reading
from ordinate.data.registry import modality_of, modality_of_files
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator


def read_unlabelled(data: str) -> Any:
    """Return the samples of a file, folder or zip: a table, an array, or files of images or volumes."""
    with reading(data):
        return modality_of_files(data).read_unlabelled(data)


def fit_to(estimator: EmbeddingEstimator, X: Any, data: str) -> Any:
    """Return samples with the columns of the training data, their files read once for all that is done with them."""
    if hasattr(estimator, "feature_names_in_"):
        if not hasattr(X, "columns"):
            raise OrdinateError(data, problem="holds no table", expected="one with the columns of the training data")
        names = [str(name) for name in estimator.feature_names_in_]
        absent = [name for name in names if name not in X.columns]
        if absent:
            raise OrdinateError(
                data, problem=f"lacks the columns {', '.join(absent)}", expected="those that the model was trained on"
            )
        return X[names]
    return estimator.reader_.decode(X)


def paths_of(X: Any) -> Any:
    """Return the files (n,) that samples lie in; None where they do not lie in one each."""
    return modality_of(X).paths(X)
