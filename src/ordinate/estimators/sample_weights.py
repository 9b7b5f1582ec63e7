"""Weights of samples and of classes, and the checked samples that they belong to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ordinate.checks import check_positive
from ordinate.data.large_labels import without
from ordinate.data.rows import column_of, take
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class CheckedSamples:
    """Samples that a reader can read, their training targets, and the weights and groups that some have.

    Args:
        X: n of them.
        targets: (n,) ranks or (n, p) targets.
        weights: (n,), all above 0.
        groups: (n,).
    """

    X: Any
    targets: NDArray[Any]
    weights: NDArray[np.float64] | None = None
    groups: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return some of them, by index."""
        weights = None if self.weights is None else self.weights[rows]
        X = take(self.X, rows, renumber=True)
        return type(self)(X, self.targets[rows], weights, column_of(self.groups, rows))

    def without(self, rows: NDArray[np.int64]) -> Self:
        """Return all but few rows of a parquet table, by index."""
        weights, groups = (
            None if column is None else np.delete(column, rows) for column in (self.weights, self.groups)
        )
        return type(self)(self.X.without(rows), without(self.targets, rows), weights, groups)


def check_sample_weight(sample_weight: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the weights (n,) of samples, finite, none below 0, some above.

    Example:
        >>> check_sample_weight([1, 0, 2], 3)
        array([1., 0., 2.])
    """
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OrdinateError(
            "sample_weight",
            type(sample_weight).__name__,
            f"({n},) numbers",
            "validation samples are given as validation=",
        ) from error
    if weights.shape != (n,):
        raise OrdinateError("sample_weight", f"shape {weights.shape}", f"({n},), one per sample")
    if not np.isfinite(weights).all():
        raise OrdinateError("sample_weight", "NaN or infinity", "finite numbers")
    if weights.min() < 0:
        raise OrdinateError("sample_weight", f"{weights.min():g}", "numbers of at least 0")
    if weights.max() == 0:
        raise OrdinateError("sample_weight", "zero for every sample", "some above 0")
    return weights


def check_class_weight(class_weight: Any) -> None:
    """Raise where ``class_weight`` is not None, ``"balanced"`` or a mapping to weights above 0."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise OrdinateError("class_weight", repr(class_weight), "None, 'balanced' or {label: weight}")
    for label, weight in class_weight.items():
        check_positive(weight, f"class_weight[{label!r}]")


def weights_of_ranks(
    class_weight: Any, labels: list[Any], ranks: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the weights of samples times those of their classes.

    Args:
        class_weight: ``"balanced"``, in inverse proportion to the summed weight of each class, or ``{label: weight}``,
            1 for labels that it lacks.
        labels: (C,), from the lowest rank to the highest.
        ranks: (n,).
        weights: (n,), of the samples; None for equal ones.

    Raises:
        OrdinateError: a label that there is not.

    Example:
        >>> weights_of_ranks("balanced", ["low", "high"], np.array([0, 0, 0, 1]), None).round(2).tolist()
        [0.67, 0.67, 0.67, 2.0]
    """
    weights = np.ones(len(ranks)) if weights is None else weights
    if isinstance(class_weight, str):
        sums = np.bincount(ranks, weights, minlength=len(labels))
        return weights * weights.sum() / np.count_nonzero(sums) / sums[ranks]
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise OrdinateError("class_weight", f"the labels {unknown[:5]}", f"labels of {labels}")
    return weights * np.array([class_weight.get(label, 1.0) for label in labels])[ranks]


def relative_weights(weights: NDArray[np.float64] | None) -> Tensor | None:
    """Return weights (n,) in float32 with mean 1; None where all are the same, as none are needed then.

    Example:
        >>> relative_weights(np.array([3.0, 1.0])).tolist(), relative_weights(np.array([2.0, 2.0]))
        ([1.5, 0.5], None)
    """
    if weights is None or bool((weights == weights[0]).all()):
        return None
    shares = weights / weights.max()  # no sum past the range of numbers
    least = np.finfo(np.float32).tiny  # a weight above 0 stays one
    return torch.from_numpy(np.maximum(shares / shares.mean(), least).astype(np.float32))
