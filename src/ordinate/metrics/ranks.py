"""Metrics of predicted ranks; :func:`~ordinate.metrics.mae` is for ranks and for targets.

A sample with a whole weight counts as if it were repeated that often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.checks import check_num_classes
from ordinate.errors import OrdinateError
from ordinate.metrics.continuous import mae
from ordinate.metrics.inputs import check_probabilities, check_ranks, check_weights


def accuracy(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of samples whose rank is predicted exactly.

    Args:
        y_true: Ranks (n,), 0..C-1.
        y_pred: Predicted ranks (n,).
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A share in [0, 1].

    Raises:
        OrdinateError: lengths that differ, no samples, or values that are not such ranks.

    Example:
        >>> accuracy([0, 1, 2, 2], [0, 1, 2, 0])
        0.75
    """
    true, pred = check_ranks(y_true, y_pred)
    return float(np.mean(check_weights(sample_weight, len(true)) * (true == pred)))


def rank_scorer(class_order: Sequence[Any]) -> Any:
    """Return a scorer of scikit-learn, minus the mean absolute error in ranks, for classes that are text or numbers.

    Scikit-learn's own ``"neg_mean_absolute_error"`` is the same for ranks 0..C-1, and NaN for text.

    Args:
        class_order: Classes from the lowest rank to the highest.

    Returns:
        A value for ``scoring``, for any classifier that predicts these classes.

    Raises:
        OrdinateError: fewer than two classes, or one twice; in scoring, a label that is none of them.

    Example:
        >>> from sklearn.dummy import DummyClassifier
        >>> grades = ["severe", "mild", "moderate", "mild"]
        >>> model = DummyClassifier().fit([[0], [1], [2], [3]], grades)  # It predicts "mild".
        >>> rank_scorer(["mild", "moderate", "severe"])(model, [[0], [1], [2], [3]], grades)
        -0.75
    """
    from sklearn.metrics import make_scorer

    order = list(class_order)
    if len(order) < 2 or len(set(order)) < len(order):
        raise OrdinateError("class_order", order, "two or more different classes")
    return make_scorer(_error_of_classes, greater_is_better=False, class_order=order)


def _error_of_classes(y_true: ArrayLike, y_pred: ArrayLike, *, class_order: list[Any]) -> float:
    ranks = {label: rank for rank, label in enumerate(class_order)}
    true, pred = (np.asarray(labels).tolist() for labels in (y_true, y_pred))
    unknown = sorted({str(label) for label in (*true, *pred) if label not in ranks})
    if unknown:
        raise OrdinateError("class_order", class_order, f"all classes, and it lacks {', '.join(unknown[:5])}")
    return mae([ranks[label] for label in true], [ranks[label] for label in pred])


def quadratic_weighted_kappa(
    y_true: ArrayLike, y_pred: ArrayLike, *, num_classes: int | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Compute Cohen's kappa with quadratic weights (Cohen, Psychological Bulletin 70, 1968): agreement beyond chance.

    One minus the mean squared rank error over its mean when the predictions are dealt out to the samples at
    random. The range of the ranks cancels, so C does not change the value.

    Args:
        y_true: Ranks (n,), 0..C-1.
        y_pred: Predicted ranks (n,).
        num_classes: Number of ranks C, to check the ranks against; None for any.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value in [-1, 1]: 1 when all agree, also where they do so on a single rank and kappa is 0/0; 0 when
        ranks or predictions are constant and do not all agree.

    Raises:
        OrdinateError: lengths that differ, no samples, or values that are not such ranks.

    Example:
        >>> quadratic_weighted_kappa([0, 1, 2, 3], [0, 1, 2, 1])
        0.5
    """
    true, pred = check_ranks(y_true, y_pred, num_classes)
    weights = check_weights(sample_weight, len(true))
    error = true - pred
    mean = np.mean(weights * error)
    chance = _variance(true, weights) + _variance(pred, weights) + mean**2
    if chance == 0:
        return 1.0
    return round(float(1 - np.mean(weights * error**2) / chance), 15) + 0.0  # That of a constant is 0.


def amae(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the average MAE: the mean over classes of the mean absolute rank error of their samples.

    Every rank that has a sample counts the same, however many it has (Baccianella et al., ISDA 2009).

    Args:
        y_true: Ranks (n,), 0..C-1.
        y_pred: Predicted ranks (n,).
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value in ranks, >= 0.

    Raises:
        OrdinateError: lengths that differ, no samples, or values that are not such ranks.

    Example:
        >>> amae([0, 0, 0, 1], [0, 0, 0, 2])
        0.5
    """
    return float(np.mean(_class_errors(y_true, y_pred, sample_weight)))


def mmae(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the maximum MAE: the mean absolute rank error of the class that is predicted worst.

    The mean over the samples of a rank, largest over ranks that have a sample (Cruz-Ramírez et al., Neurocomputing
    135, 2014).

    Args:
        y_true: Ranks (n,), 0..C-1.
        y_pred: Predicted ranks (n,).
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value in ranks, >= 0.

    Raises:
        OrdinateError: lengths that differ, no samples, or values that are not such ranks.

    Example:
        >>> mmae([0, 0, 0, 1], [0, 0, 0, 2])
        1.0
    """
    return float(np.max(_class_errors(y_true, y_pred, sample_weight)))


def ranked_probability_score(
    y_true: ArrayLike, probabilities: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Compute the error of predicted cumulative distributions of ranks (Epstein, J. Appl. Meteor. 8, 1969).

    Summed over the C-1 boundaries between ranks, averaged over the samples. It is proper: the true probabilities have
    the lowest expected score, and mass far from the true rank costs more than mass next to it. For predictions that are
    certain it is the mean absolute error.

    Args:
        y_true: Ranks (n,), 0..C-1.
        probabilities: Probabilities (n, C) of the ranks from lowest to highest; rows sum to 1.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value in [0, C-1]; 0 if every true rank has probability 1.

    Raises:
        OrdinateError: lengths that differ, no samples, or values that are not such ranks or probabilities.

    Example:
        >>> ranked_probability_score([0, 2], [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
        0.125
    """
    values, true = check_probabilities(probabilities, y_true)
    below = true[:, None] <= np.arange(values.shape[1] - 1)
    squares = np.square(values.cumsum(axis=1)[:, :-1] - below).sum(axis=1)
    return float(np.mean(check_weights(sample_weight, len(true)) * squares))


def adjacent_error_rates(
    y_true: ArrayLike, y_pred: ArrayLike, num_classes: int, *, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the error rate at each boundary between adjacent ranks (CLOC, Section 4.4, Table 2).

    Entry h is the share of the samples of the ranks h and h + 1 that are predicted as the other of the two. The
    paper does not spell this out; with the rank sizes of its IDRiD test set (34, 5, 32, 19, 13) this reading gives
    all eight rates of Table 2 as whole counts of samples, e.g. 5/39 = 0.1282 and 1/37 = 0.0270.

    Args:
        y_true: Ranks (n,), 0..C-1.
        y_pred: Predicted ranks (n,).
        num_classes: Number of ranks C.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        (C-1,), shares in [0, 1]; NaN at a boundary neither of whose ranks has a sample.

    Raises:
        OrdinateError: lengths that differ, no samples, or values that are not such ranks.

    Example:
        >>> adjacent_error_rates([0, 0, 0, 1, 2, 2], [0, 1, 2, 0, 2, 2], num_classes=3)
        array([0.5, 0. ])
    """
    num_classes = check_num_classes(num_classes)
    true, pred = check_ranks(y_true, y_pred, num_classes)
    weights = check_weights(sample_weight, len(true))
    adjacent = np.abs(true - pred) == 1
    swapped = np.bincount(np.minimum(true, pred)[adjacent], weights[adjacent], minlength=num_classes - 1)
    sizes = np.bincount(true, weights, minlength=num_classes)
    samples = sizes[:-1] + sizes[1:]
    rates = np.full(num_classes - 1, np.nan)
    np.divide(swapped, samples, out=rates, where=samples > 0)
    return rates


def rank_report(
    y_true: ArrayLike, y_pred: ArrayLike, num_classes: int, *, sample_weight: ArrayLike | None = None
) -> dict[str, float | list[float | None]]:
    """Compute the metrics that a report of predicted ranks shows, ready for JSON.

    Args:
        y_true: Ranks (n,), 0..C-1.
        y_pred: Predicted ranks (n,).
        num_classes: Number of ranks C.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        ``accuracy``, ``mae``, ``quadratic_weighted_kappa`` and ``adjacent_error_rates``, a list in which None
        stands for NaN, which JSON lacks.

    Raises:
        OrdinateError: lengths that differ, no samples, or values that are not such ranks.

    Example:
        >>> rank_report([0, 1, 1, 1], [0, 1, 1, 0], num_classes=4)["adjacent_error_rates"]
        [0.25, 0.0, None]
    """
    rates = adjacent_error_rates(y_true, y_pred, num_classes, sample_weight=sample_weight).tolist()
    return {
        "accuracy": accuracy(y_true, y_pred, sample_weight=sample_weight),
        "mae": mae(y_true, y_pred, sample_weight=sample_weight),
        "quadratic_weighted_kappa": quadratic_weighted_kappa(y_true, y_pred, sample_weight=sample_weight),
        "adjacent_error_rates": [None if np.isnan(rate) else rate for rate in rates],
    }


def _class_errors(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> NDArray[np.float64]:
    """Return the mean absolute error of every rank that has a sample of positive weight."""
    true, pred = check_ranks(y_true, y_pred)
    weights = check_weights(sample_weight, len(true))
    sizes = np.bincount(true, weights)
    errors = np.bincount(true, weights * np.abs(true - pred))
    return np.asarray(errors[sizes > 0] / sizes[sizes > 0])


def _variance(ranks: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    if np.ptp(ranks) == 0:
        return 0.0  # The mean may be off by rounding.
    return float(np.mean(weights * (ranks - np.mean(weights * ranks)) ** 2))
