"""Whether a predicted probability is how often the prediction is right."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

BINS = 10


@dataclass(frozen=True)
class Calibration:
    """Samples grouped by the probability of what was predicted.

    Args:
        counts: (10,), samples whose probability is in each tenth.
        promised: (10,), their mean probability, NaN where there is none.
        measured: (10,), the share of them that is right, likewise.
        error: mean distance of the two, weighted by the counts (expected calibration error, Naeini et al., AAAI 2015).
    """

    counts: NDArray[np.int64]
    promised: NDArray[np.float64]
    measured: NDArray[np.float64]
    error: float


def calibrate(confidence: ArrayLike, right: ArrayLike) -> Calibration:
    """Compare what was promised with what was right.

    Args:
        confidence: (n,), the probability of the predicted rank, from 0 to 1.
        right: (n,), whether it is the true one.

    Example:
        >>> calibrate([0.95, 0.95, 0.65, 0.65], [True, True, True, False]).error
        0.1
    """
    promised, hits = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    bins = np.minimum((promised * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(bins, weights=promised, minlength=BINS) / counts
        share = np.bincount(bins, weights=hits, minlength=BINS) / counts
    error = float(np.nansum(np.abs(mean - share) * counts) / len(promised))
    return Calibration(counts, mean, share, round(error, 12))
