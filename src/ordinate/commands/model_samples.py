"""The samples that a command gives to a saved model."""

from typing import Any

from ordinate.estimators.batches import trained_columns
from ordinate.estimators.embedding_estimator import EmbeddingEstimator


def fit_to(estimator: EmbeddingEstimator, X: Any, data: str) -> Any:
    """Return samples with the columns of the training data, their files read once for all that is done with them."""
    X = trained_columns(estimator, X, data)
    return X if hasattr(estimator, "feature_names_in_") else estimator.reader_.decode(X)
