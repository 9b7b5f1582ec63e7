"""The one place that checks labels, predictions and embeddings for every metric.

Each check returns the array the metric works on, or raises :class:`~ordinate.errors.OrdinateError`
naming the argument, what it got and what was expected.
"""

from collections.abc import Sized
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.checks import check_num_classes
from ordinate.counts import counted
from ordinate.errors import OrdinateError

LARGEST = 1e150  # Squares of larger values, or their sums, leave the range of float64.


def check_ranks(
    y_true: ArrayLike, y_pred: ArrayLike, num_classes: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return true and predicted ranks, (n,) each."""
    true = _as_ranks(y_true, "y_true", num_classes)
    pred = _as_ranks(y_pred, "y_pred", num_classes)
    _check_rows(pred, "y_pred", true, "y_true")
    return true, pred


def check_targets(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return true and predicted targets, (n, p) each."""
    true = _as_matrix(y_true, "y_true")
    pred = _as_matrix(y_pred, "y_pred")
    _check_rows(pred, "y_pred", true, "y_true")
    _check_dimensions(pred, "y_pred", true, "y_true")
    return true, pred


def check_weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Return the weights (n,) of samples, of mean 1; all 1 where there are none."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise OrdinateError("sample_weight", f"shape {weights.shape}", f"({n},), one per sample")
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() == 0:
        raise OrdinateError("sample_weight", "negative, infinite or only zero values", "numbers >= 0, some above 0")
    weights = weights / weights.max()
    return np.asarray(weights / weights.mean())


def check_train_labels(train_labels: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return continuous labels of a training set (m, p) and of other samples (n, p)."""
    train = _as_targets(train_labels, "train_labels")
    targets = _as_targets(labels, "labels")
    _check_dimensions(train, "train_labels", targets, "labels")
    return train, targets


def check_embeddings(
    embeddings: ArrayLike,
    labels: ArrayLike,
    num_classes: int | None = None,
    names: tuple[str, str] = ("embeddings", "labels"),
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return embeddings (n, d) and their ranks (n,)."""
    points = _as_embeddings(embeddings, names[0])
    ranks = _as_ranks(labels, names[1], num_classes)
    _check_rows(ranks, names[1], points, names[0])
    return points, ranks


def check_targeted_embeddings(
    embeddings: ArrayLike, labels: ArrayLike, names: tuple[str, str] = ("embeddings", "labels")
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return embeddings (n, d) and their continuous labels (n, p)."""
    points = _as_embeddings(embeddings, names[0])
    targets = _as_targets(labels, names[1])
    _check_rows(targets, names[1], points, names[0])
    return points, targets


def check_targeted_references(
    ref_emb: ArrayLike | None,
    ref_labels: ArrayLike | None,
    embeddings: NDArray[np.float64],
    labels: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return reference embeddings (m, d) and their continuous labels (m, p), of which both are given."""
    references = both_given(ref_emb, ref_labels)
    refs, targets = check_targeted_embeddings(*references, names=("ref_emb", "ref_labels"))
    _check_dimensions(refs, "ref_emb", embeddings, "embeddings")
    _check_dimensions(targets, "ref_labels", labels, "labels")
    return refs, targets


def both_given(ref_emb: ArrayLike | None, ref_labels: ArrayLike | None) -> tuple[ArrayLike, ArrayLike]:
    """Return references and their labels, of which neither is None."""
    if ref_emb is None or ref_labels is None:
        missing = "ref_emb" if ref_emb is None else "ref_labels"
        raise OrdinateError(missing, "None", "an array whenever its counterpart is given")
    return ref_emb, ref_labels


def check_references(
    ref_emb: ArrayLike, ref_labels: ArrayLike, embeddings: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return reference embeddings (m, d) and their ranks (m,); d is that of ``embeddings``."""
    refs, ref_ranks = check_embeddings(ref_emb, ref_labels, names=("ref_emb", "ref_labels"))
    _check_dimensions(refs, "ref_emb", embeddings, "embeddings")
    return refs, ref_ranks


def check_neighbours(k: int, available: int) -> int:
    """Return the number of neighbours, at most as many as there are."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= available:
        raise OrdinateError("k", repr(k), f"a whole number from 1 to {available}, the neighbours there are")
    return int(k)


def check_probabilities(
    probabilities: ArrayLike, y_true: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return probabilities (n, C) of two ranks or more, rows that sum to 1, and the true ranks (n,), 0 if not given."""
    shape = shape_of(probabilities, "probabilities")
    if len(shape) != 2 or shape[1] < 2:
        raise OrdinateError("probabilities", f"shape {shape}", "(n, C) for two ranks or more")
    ranks = np.zeros(shape[0]) if y_true is None else y_true
    values, known = check_embeddings(probabilities, ranks, shape[1], names=("probabilities", "y_true"))
    if values.min() < 0:
        raise OrdinateError("probabilities", f"{values.min():g}", "values of at least 0")
    sums = values.sum(axis=1)
    worst = sums[np.abs(sums - 1).argmax()]
    # Probabilities may come from float32.
    if abs(worst - 1) > 1e-4:
        raise OrdinateError("probabilities", f"a row that sums to {worst:g}", "rows that sum to 1")
    return values, known


def shape_of(values: ArrayLike, name: str) -> tuple[int, ...]:
    """Return the shape of an array, or of nested lists that make one."""
    try:
        return np.shape(values)
    except ValueError as error:
        raise OrdinateError(name, "rows of different lengths", "one array") from error


def _as_ranks(ranks: ArrayLike, name: str, num_classes: int | None = None) -> NDArray[np.int64]:
    """Return ranks (n,) as int64; floats pass where they are whole numbers, gaps between ranks are allowed."""
    array = _as_numbers(ranks, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise OrdinateError(name, f"shape {array.shape}", "one rank per sample, (n,)")
    fractions = array[array != np.floor(array)]
    if fractions.size:
        raise OrdinateError(name, f"fractions such as {fractions[0]:g}", "whole ranks")
    low = array.min()
    high = array.max()
    top = np.iinfo(np.int32).max if num_classes is None else check_num_classes(num_classes) - 1
    if low < 0 or high > top:
        raise OrdinateError(name, f"ranks {low:g} to {high:g}", f"0 to {top}")
    return array.astype(np.int64)


def _as_embeddings(embeddings: ArrayLike, name: str) -> NDArray[np.float64]:
    array = _as_numbers(embeddings, name)
    if array.ndim != 2:
        raise OrdinateError(name, f"shape {array.shape}", "(n, d)")
    return _as_matrix(array, name)


def _as_matrix(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = _as_numbers(values, name)
    if array.ndim not in (1, 2):
        raise OrdinateError(name, f"shape {array.shape}", "(n,) or (n, p)")
    matrix = array.reshape(len(array), -1).astype(np.float64)
    if np.abs(matrix).max() > LARGEST:
        raise OrdinateError(name, f"{np.abs(matrix).max():g}", f"magnitudes up to {LARGEST:g}", "rescale it")
    return matrix


def _as_targets(values: Any, name: str) -> NDArray[np.float64]:
    """Return labels (n, p), those of float32 as the shortest decimals that they stand for: 0.3, not 0.30000001.

    Differences of labels are compared with each other, and with a reach in the unit of the label.
    """
    dtype = str(getattr(values, "dtype", "")).removeprefix("torch.")
    matrix = _as_matrix(values, name)
    if dtype != "float32":
        return matrix
    different, places = np.unique(matrix.astype(np.float32), return_inverse=True)
    decimals: NDArray[np.float64] = different.astype(str).astype(np.float64)
    return decimals[places].reshape(matrix.shape)


def _as_numbers(values: Any, name: str) -> NDArray[Any]:
    if hasattr(values, "detach"):  # A tensor of torch, which may be on a GPU, or of a dtype that NumPy lacks.
        values = values.detach().cpu()
        values = values.double() if values.is_floating_point() else values
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise OrdinateError(name, "rows of different lengths", "one array") from error
    if array.dtype.kind not in "biuf":
        raise OrdinateError(name, f"dtype {array.dtype}", "real numbers")
    if array.size == 0:
        raise OrdinateError(name, f"shape {array.shape}", "at least one sample")
    if not np.isfinite(array).all():
        hint = "drop or impute unlabelled samples" if name.endswith(("labels", "true")) else None
        raise OrdinateError(name, "NaN or infinity", "finite values", hint)
    return array


def _check_rows(array: Sized, name: str, other: Sized, other_name: str) -> None:
    if len(array) != len(other):
        raise OrdinateError(name, counted(len(array), "sample"), f"{len(other)}, as many as {other_name}")


def _check_dimensions(array: NDArray[np.float64], name: str, other: NDArray[np.float64], other_name: str) -> None:
    if array.shape[1] != other.shape[1]:
        raise OrdinateError(name, counted(array.shape[1], "dimension"), f"{other.shape[1]}, those of {other_name}")
