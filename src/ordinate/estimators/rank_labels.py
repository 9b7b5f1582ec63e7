"""Labels of ranks: which there are, and their order."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ordinate.errors import OrdinateError


def find_classes(y: Any, class_order: Sequence[Any] | None) -> NDArray[Any]:
    """Return the classes from the lowest rank to the highest.

    Args:
        y: labels; an ordered pandas categorical brings its order along.
        class_order: the order where the labels do not tell it; None sorts them, and warns for text.
    """
    if isinstance(y, pd.Categorical):
        y = pd.Series(y)
    if class_order is not None:
        classes = np.asarray(class_order)
        if classes.ndim != 1 or len(set(classes.tolist())) != len(classes):
            raise OrdinateError(f"class_order: got {class_order!r}, takes each class once, from lowest to highest")
        return classes
    if isinstance(y, pd.Series) and isinstance(y.dtype, pd.CategoricalDtype) and y.dtype.ordered:
        present = set(y.dropna())
        return np.asarray([category for category in y.dtype.categories if category in present])
    classes = np.unique(check_labels(y))
    if classes.dtype.kind in "OUS":
        warnings.warn(
            f"y holds text without an order: its ranks are taken in sorted order, {' < '.join(map(str, classes))}; "
            "give class_order, or an ordered pandas categorical, if that is not the order meant",
            UserWarning,
            stacklevel=4,
        )
    return classes


def check_labels(y: Any) -> NDArray[Any]:
    """Return class labels (n,), none of them missing."""
    labels = column_or_1d(y, warn=True)
    if pd.isna(labels).any():
        raise OrdinateError(
            f"y: Input contains NaN in {int(pd.isna(labels).sum())} labels, takes a rank for every sample"
        )
    check_classification_targets(labels)
    return np.asarray(labels)


def to_ranks(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rank 0..C-1 of every label."""
    labels = check_labels(y)
    position = {label: rank for rank, label in enumerate(classes.tolist())}
    unknown = sorted({str(label) for label in labels.tolist() if label not in position})
    if unknown:
        raise OrdinateError(f"y: got labels {unknown[:5]} that are no known class, takes {classes.tolist()}")
    return np.array([position[label] for label in labels.tolist()], dtype=np.int64)
