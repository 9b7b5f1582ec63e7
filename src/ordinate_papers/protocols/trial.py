"""One trial of a protocol: train a clone of an estimator on some rows, and measure it on others."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier

from ordinate.counts import counted
from ordinate.data.rows import Samples
from ordinate.errors import OrdinateError
from ordinate.metrics import continuous_report, rank_report
from ordinate.model.labels import find_classes, ordered_categories, to_ranks


def train(
    estimator: BaseEstimator, X: Samples, y: ArrayLike, name: str, groups: ArrayLike | None = None
) -> BaseEstimator:
    """Return a fitted clone; if the estimator has a ``checkpoint_dir``, it keeps its state in a folder there."""
    model = clone(estimator)
    folder = model.get_params().get("training__checkpoint_dir")
    if folder is not None:
        kept = Path(folder) / name
        kept.mkdir(parents=True, exist_ok=True)
        model.set_params(training__checkpoint_dir=kept)
    if groups is None:
        return model.fit(X, y)
    return model.fit(X, y, groups=groups)


def with_order_of(estimator: BaseEstimator, y: ArrayLike) -> BaseEstimator:
    """Return the estimator with the order that labels bring along, which an array loses."""
    if ordered_categories(y) is None or estimator.get_params().get("class_order", ()) is not None:
        return estimator
    return clone(estimator).set_params(class_order=find_classes(y, None).tolist())


def classes_of(estimator: BaseEstimator, y: ArrayLike) -> NDArray[np.generic]:
    """Return the classes of labels from the lowest rank to the highest, as the estimator orders them."""
    return find_classes(y, getattr(estimator, "class_order", None))


def as_numbers(estimator: BaseEstimator, labels: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """Return the ranks of labels among the classes of ``y`` for a classifier, and the targets of a regressor."""
    if is_classifier(estimator):
        labels = to_ranks(labels, classes_of(estimator, y))
    return np.asarray(labels, dtype=np.float64)


def score(model: BaseEstimator, X: Samples, y: ArrayLike) -> dict[str, float]:
    """Return accuracy, MAE in ranks and weighted kappa of a fitted classifier; the report of targets of a regressor."""
    if not is_classifier(model):
        return continuous_report(np.asarray(y, dtype=np.float64), model.predict(X))
    classes = getattr(model, "ordered_classes_", model.classes_)
    return score_ranks(to_ranks(y, classes), to_ranks(model.predict(X), classes), len(classes))


def score_ranks(true: NDArray[np.int64], predicted: NDArray[np.int64], num_classes: int) -> dict[str, float]:
    """Return the scores of predicted ranks (n,)."""
    report: dict[str, Any] = rank_report(true, predicted, num_classes)
    return {name: report[name] for name in ("accuracy", "mae", "quadratic_weighted_kappa")}


def check_labels(X: Samples, y: ArrayLike, name: str = "y") -> NDArray[Any]:
    """Return labels (n,), one per sample."""
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != len(X):
        raise OrdinateError(name, f"shape {labels.shape} for {counted(len(X), 'sample')}", "one label per sample")
    return labels
