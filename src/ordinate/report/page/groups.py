"""Errors by label: a group a rank, or a range of targets, beside the number of training samples."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ordinate.report.page.contents import Contents

MANY, FEW = 100, 20  # shots: above, and below (Yang et al., Delving into Deep Imbalanced Regression, ICML 2021)
RANGES = 10  # of a target, at most
SAMPLES_A_RANGE = 5  # on average, at least


@dataclass(frozen=True)
class Groups:
    """Groups of samples with labels alike.

    Args:
        names: (g,).
        of: (n,), the group of every sample.
        trained_on: (g,), training samples; None where they are not known.
    """

    names: list[str]
    of: NDArray[np.int64]
    trained_on: NDArray[np.int64] | None

    @property
    def shots(self) -> list[str]:
        """How many training samples, in a word; empty where it is not known."""
        counts = [] if self.trained_on is None else self.trained_on.tolist()
        return ["many" if count > MANY else "few" if count < FEW else "medium" for count in counts]


def group_by_label(contents: Contents) -> Groups:
    """Return a group for every rank, or for ranges of equal width between round numbers."""
    known = contents.training_labels
    if contents.names:
        count = len(contents.names)
        return Groups(contents.names, contents.true, None if known is None else np.bincount(known, minlength=count))
    edges = _edges(contents.true)
    inner = edges[1:-1]
    names = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
    trained_on = None if known is None else np.bincount(np.digitize(known, inner), minlength=len(names))
    return Groups(names, np.digitize(contents.true, inner), trained_on)


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round numbers from below the lowest value to above the highest."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.array([low, high])
    wanted = (high - low) / max(2, min(RANGES, len(values) // SAMPLES_A_RANGE))
    power = 10.0 ** np.floor(np.log10(wanted))
    step = float(next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= wanted * (1 - 1e-9)))
    first, last = np.floor(low / step), np.ceil(high / step)
    return np.arange(first, max(last, first + 1) + 0.5) * step
