"""Errors where training samples were many and where they were few (Yang et al., ICML 2021; SupReMix, Table 7)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.checks import check_positive
from ordinate.metrics import continuous_report
from ordinate.metrics.inputs import check_targets, check_train_labels

REGIONS = ("many", "medium", "few")


def shot_regions(train_labels: ArrayLike, labels: ArrayLike, bin_size: float = 1) -> NDArray[np.str_]:
    """Return how many training samples share a label's bin: many (> 100), medium (20 to 100) or few (< 20, also none).

    Bin b holds the labels from ``b * bin_size`` up to, and not including, ``(b + 1) * bin_size``; with several
    dimensions a bin is a box. SupReMix has bins of 1 (years, decibels) and of 0.1 (text similarity).

    Args:
        train_labels: Labels (m,) or (m, p) of the training set.
        labels: Labels (n,) or (n, p).
        bin_size: Width of a bin, in units of the label.

    Returns:
        (n,), each ``"many"``, ``"medium"`` or ``"few"``.

    Raises:
        OrdinateError: labels of different dimensions, none, values that are not finite, or a width that is not
            above 0.

    Example:
        >>> shot_regions([30] * 101 + [31] * 20 + [32] * 19, [30.9, 31, 32, 90])
        array(['many', 'medium', 'few', 'few'], dtype='<U6')
    """
    width = check_positive(bin_size, "bin_size")
    train, targets = check_train_labels(train_labels, labels)
    # A label on the edge of a bin may miss it by rounding.
    bins = np.floor(np.concatenate([train, targets]) / width + 1e-4)
    _, bin_of = np.unique(bins, axis=0, return_inverse=True)
    counts = np.bincount(bin_of[: len(train)], minlength=len(bins))[bin_of[len(train) :]]
    return np.select([counts > 100, counts >= 20], REGIONS[:2], REGIONS[2])


def shot_report(
    train_labels: ArrayLike, y_true: ArrayLike, y_pred: ArrayLike, bin_size: float = 1
) -> dict[str, dict[str, float | None]]:
    """Compute the metrics of ``continuous_report`` over all samples and in each region of ``shot_regions``.

    Args:
        train_labels: Labels (m,) or (m, p) of the training set.
        y_true: Targets (n,) or (n, p).
        y_pred: Predictions of the same shape.
        bin_size: Width of a bin, in units of the label.

    Returns:
        For ``all``, ``many``, ``medium`` and ``few`` the metrics and the number of ``samples``, ready for JSON; the
        metrics of a region without samples are None.

    Raises:
        OrdinateError: shapes that do not fit, no samples, values that are not finite, or a width that is not
            above 0.

    Example:
        >>> report = shot_report([30] * 200 + [60] * 3, y_true=[30, 30, 60], y_pred=[31, 30, 50])
        >>> report["many"]["mae"], report["medium"]["mae"], report["few"]["mae"]
        (0.5, None, 10.0)
    """
    regions = shot_regions(train_labels, y_true, bin_size)
    true, pred = check_targets(y_true, y_pred)
    overall = continuous_report(true, pred)
    report: dict[str, dict[str, float | None]] = {"all": {"samples": len(true), **overall}}
    for region in REGIONS:
        rows = regions == region
        values: dict[str, float | None] = dict.fromkeys(overall)
        if rows.any():
            values |= continuous_report(true[rows], pred[rows])
        report[region] = {"samples": int(rows.sum()), **values}
    return report
