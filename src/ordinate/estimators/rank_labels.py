"""Labels of ranks: which there are, and their order."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ordinate.data.numbers import as_numbers
from ordinate.data.times import are_times
from ordinate.errors import OrdinateError
from ordinate.estimators.known_scales import order_problem, order_to_write


def find_classes(y: Any, class_order: Sequence[Any] | None) -> NDArray[Any]:
    """Return the classes from the lowest rank to the highest.

    Args:
        y: labels; an ordered pandas categorical and a polars Enum bring their order along.
        class_order: the order where the labels do not tell it; None sorts numbers, also if they are text.

    Raises:
        OrdinateError: Labels are other text, or numbers with fractions, and nothing tells their order.
    """
    if class_order is not None:
        if len({isinstance(label, str) for label in class_order}) > 1:
            raise OrdinateError("class_order", repr(class_order), "labels of one kind, all text or all numbers")
        classes = np.asarray(class_order)
        if classes.ndim != 1 or len(set(classes.tolist())) != len(classes):
            raise OrdinateError("class_order", repr(class_order), "each class once, from lowest to highest")
        return _classes_of_codes(y, classes)
    categories = ordered_categories(y)
    if categories is not None:
        present = set(check_labels(y).tolist())
        return np.asarray([category for category in categories if category in present])
    labels = check_labels(y)
    check_discrete(labels)
    classes = np.unique(labels)
    if classes.dtype.kind not in "OUS":
        return classes
    numbers = pd.to_numeric(pd.Series(classes), errors="coerce").to_numpy(dtype=np.float64)
    if np.isfinite(numbers).all():
        return classes[np.argsort(numbers, kind="stable")]
    names = [str(label) for label in classes]
    raise OrdinateError(
        "y", problem=order_problem(names), hint=f"give {order_to_write(names)} or an ordered pandas categorical"
    )


def ordered_categories(y: Any) -> list[Any] | None:
    """Return the categories of labels that bring their order along, from the lowest; None for others."""
    dtype: Any = getattr(y, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype):
        return dtype.categories.tolist() if dtype.ordered else None
    if type(y).__module__.partition(".")[0] == "polars" and type(dtype).__name__ == "Enum":
        return list(dtype.categories)
    return None


def _classes_of_codes(y: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the codes of the classes in their order where y holds those in place of labels, else the classes.

    scikit-learn's Voting, Stacking, Bagging and ``cross_val_predict`` replace labels by their places among the sorted
    ones before an estimator sees them.
    """
    labels = check_labels(y)
    present = set(labels.tolist()) if labels.dtype.kind in "iu" else set()
    # a code says which class it is only where all classes are there: they are counted among the labels that are
    if present != set(range(len(classes))) or present <= set(classes.tolist()):
        return classes
    codes = np.unique(classes, return_inverse=True)[1]
    meanings = ", ".join(f"{code} = {label}" for code, label in enumerate(np.sort(classes).tolist()))
    warnings.warn(
        "y holds whole numbers that class_order does not: they are read as scikit-learn's ensembles encode labels, "
        f"{meanings}",
        UserWarning,
        stacklevel=5,
    )
    return codes


def check_labels(y: Any) -> NDArray[Any]:
    """Return class labels (n,), none of them missing."""
    labels = column_or_1d(y, warn=True)
    if pd.isna(labels).any():
        raise OrdinateError(
            "y",
            problem=f"Input contains NaN in {int(pd.isna(labels).sum())} labels",
            expected="a rank for every sample",
        )
    _check_kind(labels)
    if labels.dtype == object and not isinstance(next(iter(labels), None), str):
        labels = as_numbers(pd.Series(labels).infer_objects()).to_numpy()
    return np.asarray(labels)


def check_discrete(labels: NDArray[Any], max_shown: int = 20) -> None:
    """Raise for numbers with fractions, which are ranks only if their order is given."""
    try:
        check_classification_targets(labels)
    except ValueError as error:
        hint = "a regressor, such as SupCRRegressor or BlendRegressor, takes numbers with fractions"
        different = np.unique(labels).tolist()
        if len(different) <= max_shown:
            hint += f"; class_order={different} takes them as ranks"
        raise OrdinateError("y", problem=str(error).rstrip("."), hint=hint) from error


def _check_kind(labels: NDArray[Any]) -> None:
    """Raise for labels that are no numbers, text or truth values, or several of these."""
    if are_times(labels):
        raise OrdinateError("y", "dates or times", "ranks", "turn them into whole numbers")
    if labels.dtype != object:
        return
    if any(isinstance(label, pd.Interval) for label in labels):
        raise OrdinateError(
            "y",
            "intervals",
            "numbers or text",
            "pd.cut(..., labels=False) numbers them, .astype(str) with class_order too",
        )
    kinds = {isinstance(label, str) for label in labels}
    if len(kinds) > 1:
        raise OrdinateError(
            "y", "text among other labels", "labels of one kind", "y.astype(str) makes all of them text"
        )


def to_ranks(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rank 0..C-1 of every label."""
    position = {label: rank for rank, label in enumerate(classes.tolist())}
    codes, found = pd.factorize(check_labels(y))
    unknown = sorted({str(label) for label in found.tolist() if label not in position})
    if unknown:
        raise OrdinateError("y", f"unknown labels {unknown[:5]}", classes.tolist())
    return np.array([position[label] for label in found.tolist()], dtype=np.int64)[codes]
