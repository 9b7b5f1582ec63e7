"""The one place that checks probabilities and coverages for sets and costs."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.errors import OrdinateError
from ordinate.metrics.inputs import check_embeddings

SUM_TOLERANCE = 1e-4  # of a row, which may come from float32


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
    if abs(worst - 1) > SUM_TOLERANCE:
        raise OrdinateError("probabilities", f"a row that sums to {worst:g}", "rows that sum to 1")
    return values, known


def check_coverage(coverage: float) -> float:
    """Return the share that is to be covered, above 0 and below 1."""
    if isinstance(coverage, bool) or not isinstance(coverage, float | np.floating) or not 0 < coverage < 1:
        raise OrdinateError("coverage", repr(coverage), "a share above 0 and below 1, such as 0.9")
    return float(coverage)


def shape_of(values: ArrayLike, name: str) -> tuple[int, ...]:
    """Return the shape of an array, or of nested lists that make one."""
    try:
        return np.shape(values)
    except ValueError as error:
        raise OrdinateError(name, "rows of different lengths", "one array") from error
