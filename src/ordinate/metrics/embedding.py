"""Quality of embeddings before any head: the order of their ranks.

Cosines are compared to 12 decimals, so that rounding neither breaks a tie nor makes an order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.checks import check_num_classes
from ordinate.errors import OrdinateError
from ordinate.metrics.inputs import check_embeddings

DECIMALS = 12  # Cosines are equal if they agree to so many.


def rank_cosine_matrix(embeddings: ArrayLike, labels: ArrayLike, num_classes: int) -> NDArray[np.float64]:
    """Return the mean cosine between the samples of every two ranks (OTD, Figs. 5 to 8).

    Args:
        embeddings: Embeddings (n, d).
        labels: Ranks (n,), 0..C-1.
        num_classes: Number of ranks C, at least 2.

    Returns:
        (C, C), symmetric, in [-1, 1]. On the diagonal a sample is not paired with itself. NaN where there is no
        pair: a rank without samples, and the diagonal of a rank with one.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, or labels that are no ranks 0..C-1.

    Example:
        >>> rank_cosine_matrix([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]], [0, 0, 1, 1], num_classes=2)
        array([[1., 0.],
               [0., 1.]])
    """
    num_classes = check_num_classes(num_classes)
    points, ranks = check_embeddings(embeddings, labels, num_classes)
    units = unit_norm(points)
    # The sum of the cosines between two ranks is the inner product of their sums.
    sums = np.zeros((num_classes, units.shape[1]))
    np.add.at(sums, ranks, units)
    sizes = np.bincount(ranks, minlength=num_classes)
    own = np.bincount(ranks, weights=np.sum(units**2, axis=1), minlength=num_classes)
    totals = sums @ sums.T - np.diag(own)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    means = np.divide(totals, pairs, out=np.full_like(totals, np.nan), where=pairs > 0)
    return np.clip(means, -1, 1)


def is_rank_ordered(matrix: ArrayLike) -> bool:
    """Return whether in each row the mean cosine falls as ranks get farther apart (OTD, Figs. 5 to 8).

    The row of rank r has to fall from r upwards and from r downwards. A rank above r and one below it are not
    compared: the order of the ranks does not say which of the two is farther from r.

    Args:
        matrix: Mean cosines (C, C) of :func:`rank_cosine_matrix`; NaN entries are skipped.

    Returns:
        True if every step away from a rank lowers the cosine.

    Raises:
        OrdinateError: a matrix that is not square, or holds no two ranks to compare.

    Example:
        >>> is_rank_ordered([[1.0, 0.7, 0.0], [0.7, 1.0, 0.7], [0.0, 0.7, 1.0]])
        True
        >>> is_rank_ordered([[1.0, 0.0, 0.7], [0.0, 1.0, 0.7], [0.7, 0.7, 1.0]])
        False
    """
    rows = np.round(np.asarray(matrix, dtype=np.float64), DECIMALS)
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1] or len(rows) < 2:
        raise OrdinateError("matrix", f"shape {rows.shape}", "(C, C) for two ranks or more")
    if np.isfinite(rows).sum(1).max() < 2:
        raise OrdinateError("matrix", problem="no row has two cosines", expected="two ranks with samples, or more")
    return all(_falls(row[rank:]) and _falls(row[rank::-1]) for rank, row in enumerate(rows))


def _falls(cosines: NDArray[np.float64]) -> bool:
    return bool(np.all(np.diff(cosines[~np.isnan(cosines)]) < 0))


def unit_norm(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale rows to norm 1, in two steps so that no square underflows; a zero row stays zero."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    scaled = x / np.where(largest > 0, largest, 1)
    units: NDArray[np.float64] = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1)
    return units
