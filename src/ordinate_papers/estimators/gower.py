"""Gower's coefficient extended to ordinal features (Podani, Taxon 48, 1999): Ex-Gower of OTD's Table 2.

With the ranks r of a feature's values among those of all samples (ties share their mean rank) and T, how many samples
share a value, the similarity of two samples in the feature is 1 where their ranks are equal, else

    s = 1 - (|r_i - r_j| - (T_i - 1) / 2 - (T_j - 1) / 2) / (r_max - r_min - (T_max - 1) / 2 - (T_min - 1) / 2),

and their distance 1 less the mean similarity over the features. The numerator is 1 more than the number of samples
whose values lie strictly between, the denominator the same for the least and the greatest value.
"""

import numpy as np
from numpy.typing import NDArray


def gower_distances(
    a: NDArray[np.float64], b: NDArray[np.float64], reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distances (n, m) between samples a (n, d) and b (m, d), ranked among those of ``reference`` (k, d).

    Values that do not occur in the reference have the ranks between its values, or past them.

    Example:
        >>> ages = np.array([[1.0], [2.0], [2.0], [5.0]])
        >>> gower_distances(ages[:1], ages, ages).round(3).tolist()
        [[0.0, 0.333, 0.333, 1.0]]
    """
    total = np.zeros((len(a), len(b)))
    for values, first, second in zip(np.sort(reference, axis=0).T, a.T, b.T, strict=True):
        (below, upto), (other_below, other_upto) = (_ranks(values, some) for some in (first, second))
        between = np.maximum(below[:, None] - other_upto, other_below - upto[:, None])
        ends_below, ends_upto = _ranks(values, values[[0, -1]])
        widest = max(1, ends_below[1] - ends_upto[0] + 1)
        total += np.where(first[:, None] == second, 0.0, (between + 1) / widest)
    return total / a.shape[1]


def _ranks(values: NDArray[np.float64], some: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return how many of the sorted values lie below each of some, and how many do not lie above it."""
    return np.searchsorted(values, some, "left"), np.searchsorted(values, some, "right")
