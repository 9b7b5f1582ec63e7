"""Metrics of predicted continuous targets.

A sample with a whole weight counts as if it were repeated that often.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.metrics.inputs import check_targets, check_weights


def mae(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Compute the mean absolute error, of targets or of ranks.

    Args:
        y_true: Targets or ranks (n,), or targets (n, p); with p dimensions the result is the mean over them.
        y_pred: Predictions of the same shape.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value >= 0, in units of the label.

    Raises:
        OrdinateError: shapes that differ, no samples, or values that are not finite numbers.

    Example:
        >>> mae([0, 1, 3], [0, 2, 1])
        1.0
    """
    true, pred = check_targets(y_true, y_pred)
    return float(np.mean(check_weights(sample_weight, len(true))[:, None] * np.abs(true - pred)))


def rmse(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Compute the root mean squared error.

    Args:
        y_true: Targets (n,) or (n, p); with p dimensions the result is the mean over them.
        y_pred: Predictions of the same shape.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value >= 0, in units of the label.

    Raises:
        OrdinateError: shapes that differ, no samples, or values that are not finite numbers.

    Example:
        >>> rmse([1.0, 2.0], [2.0, 1.0])
        1.0
    """
    true, pred = check_targets(y_true, y_pred)
    weights = check_weights(sample_weight, len(true))[:, None]
    return float(np.mean(np.sqrt(np.mean(weights * (true - pred) ** 2, axis=0))))


def r2(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Compute the coefficient of determination: the share of the targets' variance that the predictions explain.

    Args:
        y_true: Targets (n,) or (n, p); with p dimensions the result is the mean over them.
        y_pred: Predictions of the same shape.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value <= 1; 0 for a dimension whose targets are constant.

    Raises:
        OrdinateError: shapes that differ, no samples, or values that are not finite numbers.

    Example:
        >>> r2([1.0, 2.0, 3.0], [1.0, 2.0, 2.0])
        0.5
    """
    true, pred = check_targets(y_true, y_pred)
    weights = check_weights(sample_weight, len(true))[:, None]
    total = np.sum(weights * _centred(true, weights) ** 2, axis=0)
    residual = np.sum(weights * (true - pred) ** 2, axis=0)
    unexplained = np.divide(residual, total, out=np.ones_like(total), where=total > 0)
    return float(np.mean(1 - unexplained))


def pearson(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Compute Pearson's correlation coefficient.

    Args:
        y_true: Targets (n,) or (n, p); with p dimensions the result is the mean over them.
        y_pred: Predictions of the same shape.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value in [-1, 1]; 0 for a dimension in which targets or predictions are constant.

    Raises:
        OrdinateError: shapes that differ, no samples, or values that are not finite numbers.

    Example:
        >>> pearson([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
        1.0
    """
    true, pred = check_targets(y_true, y_pred)
    return _correlation(true, pred, check_weights(sample_weight, len(true)))


def spearman(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Compute Spearman's rank correlation: Pearson's of the positions in sorted order, tied values sharing their mean.

    Args:
        y_true: Targets (n,) or (n, p); with p dimensions the result is the mean over them.
        y_pred: Predictions of the same shape.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value in [-1, 1]; 0 for a dimension in which targets or predictions are constant.

    Raises:
        OrdinateError: shapes that differ, no samples, or values that are not finite numbers.

    Example:
        >>> spearman([1.0, 2.0, 3.0], [1.0, 8.0, 27.0])
        1.0
    """
    true, pred = check_targets(y_true, y_pred)
    weights = check_weights(sample_weight, len(true))
    true_positions = np.apply_along_axis(_positions, 0, true, weights)
    pred_positions = np.apply_along_axis(_positions, 0, pred, weights)
    return _correlation(true_positions, pred_positions, weights)


def geometric_mean_error(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Compute the geometric mean of the absolute errors: GM in SupReMix's tables (after Yang et al., ICML 2021).

    One exact prediction would make it 0, so errors below 1e-10 count as 1e-10, by which Yang et al.
    replace a 0 on STS-B-DIR.

    Args:
        y_true: Targets (n,) or (n, p); with p dimensions the result is the mean over them.
        y_pred: Predictions of the same shape.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        A value >= 1e-10, in units of the label.

    Raises:
        OrdinateError: shapes that differ, no samples, or values that are not finite numbers.

    Example:
        >>> round(geometric_mean_error([1.0, 10.0], [2.0, 14.0]), 12)
        2.0
    """
    true, pred = check_targets(y_true, y_pred)
    weights = check_weights(sample_weight, len(true))[:, None]
    logs = np.log(np.maximum(np.abs(true - pred), 1e-10))
    return float(np.mean(np.exp(np.mean(weights * logs, axis=0))))


def continuous_report(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> dict[str, float]:
    """Compute the metrics that a report of predicted targets shows, ready for JSON.

    Args:
        y_true: Targets (n,) or (n, p); with p dimensions every metric is the mean over them.
        y_pred: Predictions of the same shape.
        sample_weight: Weights (n,) of the samples, >= 0; None for equal ones.

    Returns:
        ``mae``, ``rmse``, ``r2``, ``pearson``, ``spearman`` and ``geometric_mean_error``.

    Raises:
        OrdinateError: shapes that differ, no samples, or values that are not finite numbers.

    Example:
        >>> continuous_report([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])["mae"]
        1.0
    """
    return {
        "mae": mae(y_true, y_pred, sample_weight=sample_weight),
        "rmse": rmse(y_true, y_pred, sample_weight=sample_weight),
        "r2": r2(y_true, y_pred, sample_weight=sample_weight),
        "pearson": pearson(y_true, y_pred, sample_weight=sample_weight),
        "spearman": spearman(y_true, y_pred, sample_weight=sample_weight),
        "geometric_mean_error": geometric_mean_error(y_true, y_pred, sample_weight=sample_weight),
    }


def _positions(x: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positions (n,) in sorted order, which are as far apart as samples weigh; tied values share their mean."""
    tie_group = np.unique(x, return_inverse=True)[1]
    sizes = np.bincount(tie_group, weights)
    means: NDArray[np.float64] = sizes.cumsum() - sizes / 2
    return means[tie_group]


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    weights = weights[:, None]
    a = _scaled(a, weights)
    b = _scaled(b, weights)
    norm = np.sqrt(np.sum(weights * a**2, axis=0) * np.sum(weights * b**2, axis=0))
    correlation = np.sum(weights * a * b, axis=0) / np.where(norm > 0, norm, 1)
    return float(np.mean(np.clip(correlation, -1, 1)))


def _scaled(x: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return deviations from the mean, scaled to a largest of 1 so that no square underflows; 0 for a constant."""
    x = _centred(x, weights)
    largest = np.abs(x).max(axis=0)
    return x / np.where(largest > 0, largest, 1)


def _centred(x: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return deviations from the mean; exactly 0 for a constant, whose mean may be off by rounding."""
    return np.where(np.ptp(x, axis=0) == 0, 0.0, x - (weights * x).mean(axis=0))
