"""How far predicted targets are from the true ones.

``y_true`` and ``y_pred`` are both (n,) or both (n, p); with p dimensions every metric is the mean of its values in
each. OrdinateError is raised where shapes differ, there is no sample, or a value is not a finite number.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.metrics.inputs import check_targets

FLOOR = 1e-10  # what a smaller error counts as in the geometric mean


def mae(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean absolute error, of targets or of ranks.

    Returns:
        A value >= 0, in units of the label.

    Example:
        >>> mae([0, 1, 3], [0, 2, 1])
        1.0
    """
    true, pred = check_targets(y_true, y_pred)
    return float(np.mean(np.abs(true - pred)))


def mse(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean squared error.

    Returns:
        A value >= 0, in squared units of the label.

    Example:
        >>> mse([1.0, 2.0], [3.0, 2.0])
        2.0
    """
    true, pred = check_targets(y_true, y_pred)
    return float(np.mean((true - pred) ** 2))


def rmse(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Root mean squared error.

    Returns:
        A value >= 0, in units of the label.

    Example:
        >>> rmse([1.0, 2.0], [2.0, 1.0])
        1.0
    """
    true, pred = check_targets(y_true, y_pred)
    return float(np.mean(np.sqrt(np.mean((true - pred) ** 2, axis=0))))


def r2(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Coefficient of determination: the share of the targets' variance that the predictions explain.

    Returns:
        A value <= 1; 0 for a dimension whose targets are constant.

    Example:
        >>> r2([1.0, 2.0, 3.0], [1.0, 2.0, 2.0])
        0.5
    """
    true, pred = check_targets(y_true, y_pred)
    total = np.sum(_centred(true) ** 2, axis=0)
    residual = np.sum((true - pred) ** 2, axis=0)
    unexplained = np.divide(residual, total, out=np.ones_like(total), where=total > 0)
    return float(np.mean(1 - unexplained))


def pearson(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Pearson's correlation coefficient.

    Returns:
        A value in [-1, 1]; 0 for a dimension in which targets or predictions are constant.

    Example:
        >>> pearson([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
        1.0
    """
    return _correlation(*check_targets(y_true, y_pred))


def spearman(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Spearman's rank correlation: Pearson's of the positions in sorted order, tied values sharing their mean.

    Returns:
        A value in [-1, 1]; 0 for a dimension in which targets or predictions are constant.

    Example:
        >>> spearman([1.0, 2.0, 3.0], [1.0, 8.0, 27.0])
        1.0
    """
    true, pred = check_targets(y_true, y_pred)
    return _correlation(np.apply_along_axis(_positions, 0, true), np.apply_along_axis(_positions, 0, pred))


def kendall(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Kendall's tau-b: concordant less discordant pairs, over the geometric mean of the pairs untied in each.

    In n log n time (Knight, JASA 61, 1966), which SciPy provides.

    Returns:
        A value in [-1, 1]; 0 for a dimension in which targets or predictions are constant.

    Example:
        >>> round(kendall([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]), 4)
        0.6667
    """
    from scipy.stats import kendalltau

    true, pred = check_targets(y_true, y_pred)
    varies = (np.ptp(true, axis=0) > 0) & (np.ptp(pred, axis=0) > 0)
    taus = [kendalltau(true[:, p], pred[:, p]).statistic if varies[p] else 0.0 for p in range(true.shape[1])]
    return float(np.mean(taus))


def geometric_mean_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Geometric mean of the absolute errors: GM in SupReMix's tables (after Yang et al., ICML 2021).

    One exact prediction would make it 0, so errors below 1e-10 count as 1e-10, what Yang et al. put in the
    place of a 0 on STS-B-DIR.

    Returns:
        A value >= 1e-10, in units of the label.

    Example:
        >>> round(geometric_mean_error([1.0, 10.0], [2.0, 14.0]), 12)
        2.0
    """
    true, pred = check_targets(y_true, y_pred)
    errors = np.maximum(np.abs(true - pred), FLOOR)
    return float(np.mean(np.exp(np.mean(np.log(errors), axis=0))))


def continuous_report(y_true: ArrayLike, y_pred: ArrayLike) -> dict[str, float]:
    """The metrics that a report of predicted targets shows, ready for JSON.

    Returns:
        ``mae``, ``rmse``, ``r2``, ``pearson``, ``spearman`` and ``geometric_mean_error``.

    Example:
        >>> continuous_report([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])["mae"]
        1.0
    """
    return {
        "mae": mae(y_true, y_pred),
        "rmse": rmse(y_true, y_pred),
        "r2": r2(y_true, y_pred),
        "pearson": pearson(y_true, y_pred),
        "spearman": spearman(y_true, y_pred),
        "geometric_mean_error": geometric_mean_error(y_true, y_pred),
    }


def _positions(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions (n,) in sorted order, tied values sharing their mean."""
    _, tie_group, sizes = np.unique(x, return_inverse=True, return_counts=True)
    means: NDArray[np.float64] = sizes.cumsum() - (sizes - 1) / 2
    return means[tie_group]


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    a, b = _scaled(a), _scaled(b)
    norm = np.sqrt(np.sum(a**2, axis=0) * np.sum(b**2, axis=0))
    return float(np.mean(np.clip(np.sum(a * b, axis=0) / np.maximum(norm, 1), -1, 1)))


def _scaled(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviations from the mean, the largest of magnitude 1, so that no square underflows; 0 for a constant."""
    x = _centred(x)
    largest = np.abs(x).max(axis=0)
    return x / np.where(largest > 0, largest, 1)


def _centred(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviations from the mean; exactly 0 for a constant, whose mean may be off by rounding."""
    return np.where(np.ptp(x, axis=0) == 0, 0.0, x - x.mean(axis=0))
