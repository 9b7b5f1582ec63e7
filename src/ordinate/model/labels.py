"""Labels of a model: from what the user gives to training targets, and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from ordinate.counts import counted
from ordinate.data.known_scales import order_problem, order_to_write
from ordinate.data.numbers import as_numbers
from ordinate.data.rows import Labels
from ordinate.data.times import are_times
from ordinate.errors import OrdinateError, did_you_mean, warn
from ordinate.option_group import Settings
from ordinate.plain_values import to_plain


def find_classes(y: ArrayLike, class_order: Sequence[object] | None) -> NDArray[np.generic]:
    """Return the classes from the lowest rank to the highest.

    Args:
        y: Labels; an ordered pandas categorical or a polars Enum also gives their order.
        class_order: Order of labels that do not define it; None sorts numbers, also if they are text.

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


def ordered_categories(y: ArrayLike) -> list[object] | None:
    """Return the categories of labels that bring their order along, from the lowest; None for others."""
    dtype: Any = getattr(y, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        return dtype.categories.tolist()
    if type(y).__module__.partition(".")[0] == "polars" and type(dtype).__name__ == "Enum":
        return list(dtype.categories)
    return None


def _classes_of_codes(y: ArrayLike, classes: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the codes of the classes in their order where y holds those instead of labels, else the classes.

    scikit-learn's Voting, Stacking, Bagging and ``cross_val_predict`` replace labels by their places among the sorted
    ones before an estimator sees them.
    """
    labels = check_labels(y)
    present = set(labels.tolist())
    # A code identifies its class only if every class occurs, because codes number the classes that occur.
    are_codes = labels.dtype.kind in "iu" and present == set(range(len(classes)))
    if not are_codes or present <= set(classes.tolist()):
        return classes
    codes = np.unique(classes, return_inverse=True)[1]
    meanings = ", ".join(f"{code} = {label}" for code, label in enumerate(np.sort(classes).tolist()))
    warn(
        "y holds whole numbers that class_order does not: they are read as scikit-learn's ensembles encode labels, "
        f"{meanings}"
    )
    return codes


def check_labels(y: ArrayLike) -> NDArray[np.generic]:
    """Return class labels (n,), none of them missing."""
    labels = column_or_1d(_of_numpy(y), warn=True)
    if pd.isna(labels).any():
        problem = f"Input contains NaN in {counted(int(pd.isna(labels).sum()), 'label')}"
        raise OrdinateError("y", problem=problem, expected="a rank for every sample")
    _check_kind(labels)
    if labels.dtype == object and not isinstance(next(iter(labels), None), str):
        labels = as_numbers(pd.Series(labels).infer_objects()).to_numpy()
    return np.asarray(labels)


def _of_numpy(y: Any) -> ArrayLike:
    """Return nullable whole numbers and truth values, such as Int64, with NumPy's type; scikit-learn makes floats."""
    dtype: Any = getattr(y, "dtype", None)
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        dtype = y.dtypes.iloc[0]
    is_whole = isinstance(dtype, pd.api.extensions.ExtensionDtype) and dtype.kind in "iub"
    if not is_whole or np.asarray(pd.isna(y)).any():
        return y
    return y.astype(dtype.numpy_dtype)


def check_discrete(labels: NDArray[np.generic], max_shown: int = 20) -> None:
    """Raise for numbers with fractions, which are ranks only if their order is given."""
    try:
        check_classification_targets(labels)
    except ValueError as error:
        hint = "a regressor, such as SupCRRegressor or BlendRegressor, takes numbers with fractions"
        different = np.unique(labels).tolist()
        if len(different) <= max_shown:
            hint += f"; class_order={different} takes them as ranks"
        raise OrdinateError("y", problem=str(error).rstrip("."), hint=hint) from error


def _check_kind(labels: NDArray[np.generic]) -> None:
    """Raise for labels that are no numbers, text or truth values, or several of these."""
    if are_times(labels):
        raise OrdinateError("y", "dates or times", "ranks", "turn them into whole numbers")
    if labels.dtype != object:
        return
    if any(isinstance(label, pd.Interval) for label in labels):
        hint = "pd.cut(..., labels=False) numbers them, .astype(str) with class_order too"
        raise OrdinateError("y", "intervals", "numbers or text", hint)
    if len({isinstance(label, str) for label in labels}) > 1:
        hint = "y.astype(str) makes all of them text"
        raise OrdinateError("y", "text among other labels", "labels of one kind", hint)


def to_ranks(y: ArrayLike, classes: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the rank 0..C-1 of every label."""
    position = {label: rank for rank, label in enumerate(classes.tolist())}
    codes, found = pd.factorize(check_labels(y))
    unknown = sorted({str(label) for label in found.tolist() if label not in position})
    if unknown:
        hint = did_you_mean(unknown[0], map(str, classes.tolist()))
        raise OrdinateError("y", f"unknown labels {unknown[:5]}", classes.tolist(), hint)
    return np.array([position[label] for label in found.tolist()], dtype=np.int64)[codes]


@dataclass(frozen=True, eq=False)
class RankLabels:
    """Labels that are ranks.

    Args:
        classes: (C,), the classes from the lowest rank to the highest.
        names: The labels by rank, also if an ensemble of scikit-learn passes codes instead of labels.
        counts: Numbers (C,) of training samples by rank; None of a model that was saved without them.
    """

    classes: NDArray[np.generic]
    names: list[Any]
    counts: list[int] | None = None
    stratified = True

    @classmethod
    def learn(cls, y: Labels, class_order: Sequence[Any] | None) -> "RankLabels":
        """Return the labels of training samples."""
        classes = find_classes(y, class_order)
        names = list(class_order) if class_order is not None else classes.tolist()
        return cls(classes, names, np.bincount(to_ranks(y, classes), minlength=len(classes)).tolist())

    @property
    def outputs(self) -> int:
        """The number of ranks."""
        return len(self.classes)

    @property
    def usual(self) -> int | None:
        """The commonest rank of training, 0..C-1; None where it is not known."""
        return None if self.counts is None else int(np.argmax(self.counts))

    def encode(self, y: Labels) -> NDArray[np.int32]:
        """Return ranks (n,); int32 takes half of the memory."""
        return to_ranks(y, self.classes).astype(np.int32)

    def state(self) -> Settings:
        """Return what :func:`restore_labels` reads, ready for JSON."""
        return {"classes": self.classes.tolist(), "names": to_plain(list(self.names)), "counts": self.counts}

    def check_several(self, ranks: NDArray[np.int32]) -> None:
        """Raise an error if training samples are of one class."""
        if len(np.unique(ranks)) < 2:
            present = self.classes[ranks[0]].item()
            raise OrdinateError("y", f"{len(ranks)} sample(s) of one class, {present!r}", "at least two classes")

    def check_left_out(self, y: ArrayLike) -> None:
        """Raise an error if training samples of weight 0 are the only ones of a class."""
        lost = sorted(set(check_labels(y).tolist()) - set(self.classes.tolist()))
        if lost:
            raise OrdinateError(
                "sample_weight",
                f"0 for every sample of the classes {lost[:5]}",
                "some above 0 in every class",
                "leave their samples out, or name the classes in class_order",
            )


@dataclass(frozen=True, eq=False)
class TargetLabels:
    """Labels that are continuous targets, of which training sees the distance from an offset.

    Args:
        offset: (p,), the mean of the training targets, or 0 where distances between targets change with a shift.
        is_vector: Whether the user gives one number per sample, (n,).
        one_dimension: Whether the method supports p = 1 alone.
        mean: Mean (p,) of the training targets; None of a model that was saved without it.
    """

    offset: NDArray[np.float64]
    is_vector: bool
    one_dimension: bool = False
    mean: NDArray[np.float64] | None = None
    stratified = False

    @classmethod
    def learn(cls, y: Labels, *, shifts: bool, one_dimension: bool) -> "TargetLabels":
        """Return the labels of training samples.

        Args:
            y: (n,) or (n, p) targets.
            shifts: Whether targets may be shifted by their mean.
            one_dimension: Whether the method supports p = 1 alone.
        """
        if one_dimension:
            y = _one_column(y)
        targets = _numbers(y)
        if len(targets) == 1:
            raise OrdinateError("y", "1 sample", "at least two to contrast")
        if (targets == targets[0]).all():
            raise OrdinateError("y", f"the one value {targets.flat[0]:g} for every sample", "targets that differ")
        matrix = targets.reshape(len(targets), -1)
        mean = matrix.mean(axis=0)
        labels = cls(np.where(shifts, mean, 0.0), targets.ndim == 1, one_dimension, mean)
        _check_deviation((matrix - labels.offset).std())
        return labels

    @property
    def outputs(self) -> int:
        """The number of target dimensions."""
        return len(self.offset)

    @property
    def usual(self) -> NDArray[np.float64] | np.float64 | None:
        """The mean target of training, (p,) or a number as the user gives them; None where it is not known."""
        if self.mean is None or not self.is_vector:
            return self.mean
        return self.mean[0]

    def encode(self, y: Labels) -> NDArray[np.float32]:
        """Return training targets (n, p)."""
        if self.one_dimension:
            y = _one_column(y)
        targets = _numbers(y)
        matrix = targets.reshape(len(targets), -1)
        if matrix.shape[1] != len(self.offset):
            raise OrdinateError("y", f"{counted(matrix.shape[1], 'target')} per sample", len(self.offset))
        return (matrix - self.offset).astype(np.float32)

    def state(self) -> Settings:
        """Return what :func:`restore_labels` reads, ready for JSON."""
        mean = None if self.mean is None else self.mean.tolist()
        return {
            "offset": self.offset.tolist(), "is_vector": self.is_vector, "one_dimension": self.one_dimension,
            "mean": mean,
        }  # fmt: skip

    def decode(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions (n, p) in the user's units and shape."""
        restored = predicted + self.offset
        return restored[:, 0] if self.is_vector else restored

    def check_left_out(self, y: ArrayLike) -> None:
        """Accept any targets of samples of weight 0."""


def restore_labels(state: Settings) -> RankLabels | TargetLabels:
    """Return the labels of a saved model.

    Raises:
        ValueError: They are no labels that a model could have.
    """
    if "classes" not in state:
        offset = np.asarray(state["offset"], dtype=np.float64)
        flags = (state["is_vector"], state["one_dimension"])
        if offset.ndim != 1 or len(offset) == 0 or not all(type(flag) is bool for flag in flags):
            raise ValueError(f"its targets are {state}")
        mean = state.get("mean")
        if mean is not None:
            mean = np.asarray(mean, dtype=np.float64)
            if mean.shape != offset.shape or not np.isfinite(mean).all():
                raise ValueError(f"the mean of its targets is {mean.tolist()}")
        return TargetLabels(offset, *flags, mean)
    classes = np.asarray(state["classes"])
    if classes.ndim != 1 or len(np.unique(classes)) < max(2, len(classes)):
        raise ValueError(f"its classes are {classes.tolist()}")
    names = state["names"]
    if not isinstance(names, list) or len(names) < len(classes):
        raise ValueError(f"its classes are named {names}")
    counts = state.get("counts")
    if counts is not None and (len(counts) != len(classes) or not all(type(n) is int and n >= 0 for n in counts)):
        raise ValueError(f"the counts of its classes are {counts}")
    return RankLabels(classes, names, counts)


def _one_column(y: Labels) -> Labels:
    if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
        raise OrdinateError(
            "y", f"{counted(y.shape[1], 'target')} per sample", "one", "SupCRRegressor supports several"
        )
    return column_or_1d(y, warn=True)


def _numbers(y: Labels) -> NDArray[np.float64]:
    if are_times(y):
        raise OrdinateError("y", "dates or times", "numbers", "count days or seconds from one of them")
    try:
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        hint = "a classifier, such as CLOCClassifier, takes ranks that are text"
        got = str(error).rpartition(": ")[2].removeprefix("np.str_(").removesuffix(")")
        raise OrdinateError("y", got, "numbers", hint) from error
    if targets.ndim > 2:
        raise OrdinateError("y", f"shape {targets.shape}", "(n,) or (n, p)")
    return np.asarray(targets)


def _check_deviation(deviation: float, least: float = 1e-36, most: float = 1e36) -> None:
    """Raise an error if float32 does not hold targets of this deviation."""
    if not least < deviation < most:
        got = f"values beyond the range of float32 or too close for it, with a deviation of {deviation:g}"
        raise OrdinateError("y", got, "rescaled targets")


def first_label(names: Sequence[str] | None) -> int:
    """Return the lowest of ranks that are named by consecutive numbers, so that means of ranks are means of names.

    0 for other ranks, whose means count from 0, and for targets.

    Example:
        >>> first_label(["3", "4", "5"]), first_label(["mild", "severe"]), first_label(None)
        (3, 0, 0)
    """
    if names is None or not all(name.removeprefix("-").isdecimal() for name in names):
        return 0
    numbers = [int(name) for name in names]
    is_consecutive = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return numbers[0] if is_consecutive else 0
