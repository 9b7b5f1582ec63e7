"""One trial of a protocol: train a clone of an estimator on some rows, and measure it on others."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier

from ordinate.errors import OrdinateError
from ordinate.estimators.labels import find_classes, ordered_categories, to_ranks
from ordinate.metrics import continuous_report, rank_report

RANK_SCORES = ("accuracy", "mae", "quadratic_weighted_kappa")


def train(estimator: Any, X: Any, y: Any, name: str, groups: ArrayLike | None = None) -> Any:
    """Return a fitted clone; if the estimator has a ``checkpoint_dir``, it keeps its state in a folder there."""
    model = clone(estimator)
    folder = model.get_params().get("training__checkpoint_dir")
    if folder is not None:
        kept = Path(folder) / name
        kept.mkdir(parents=True, exist_ok=True)
        model.set_params(training__checkpoint_dir=kept)
    return model.fit(X, y) if groups is None else model.fit(X, y, groups=groups)


def with_order_of(estimator: Any, y: Any) -> Any:
    """Return the estimator with the order that labels bring along, which an array loses."""
    if ordered_categories(y) is None or estimator.get_params().get("class_order", ()) is not None:
        return estimator
    return clone(estimator).set_params(class_order=find_classes(y, None).tolist())


def classes_of(estimator: Any, y: Any) -> NDArray[Any]:
    """Return the classes of labels from the lowest rank to the highest, as the estimator orders them."""
    return find_classes(y, getattr(estimator, "class_order", None))


def score(model: Any, X: Any, y: Any) -> dict[str, float]:
    """Return accuracy, MAE in ranks and weighted kappa of a fitted classifier; the report of targets of a regressor."""
    if not is_classifier(model):
        return continuous_report(np.asarray(y, dtype=np.float64), model.predict(X))
    classes = getattr(model, "ordered_classes_", model.classes_)
    return score_ranks(to_ranks(y, classes), to_ranks(model.predict(X), classes), len(classes))


def score_ranks(true: NDArray[np.int64], predicted: NDArray[np.int64], num_classes: int) -> dict[str, float]:
    """Return the scores of predicted ranks (n,)."""
    report: dict[str, Any] = rank_report(true, predicted, num_classes)
    return {name: report[name] for name in RANK_SCORES}


def check_labels(X: Any, y: Any, name: str = "y") -> NDArray[Any]:
    """Return labels (n,), one per sample."""
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != len(X):
        raise OrdinateError(name, f"shape {labels.shape} for {len(X)} samples", "one label per sample")
    return labels
