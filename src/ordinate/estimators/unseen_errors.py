"""Candidates beside each other by their errors on the same samples, none of which they have seen."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

NORMAL = 1.96  # standard errors on either side of a mean: its 95% interval


@dataclass
class UnseenErrors:
    """Absolute errors of candidates on n samples, NaN for samples that a candidate has not been measured on.

    Args:
        weights: (n,), by which samples count; None for equal ones.
        groups: (n,) of samples that belong together, whose errors are alike; None for samples that do not.
        of: errors (n,) by candidate, the simplest first.

    Example:
        >>> errors = UnseenErrors()
        >>> errors.of = {"simple": np.array([1.0, 0.0, 1.0, 0.0]), "other": np.array([0.0, 1.0, 0.0, 0.9])}
        >>> errors.choose(), round(errors.mean("other")[0], 3)
        ('simple', 0.475)
    """

    weights: NDArray[np.float64] | None = None
    groups: ArrayLike | None = None
    of: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def mean(self, name: str, beside: str | None = None) -> tuple[float, float]:
        """Return the mean error of a candidate and its standard error; ``beside`` another, those of the difference.

        The difference is over the samples that both were measured on.
        """
        errors = self.of[name] if beside is None else self.of[name] - self.of[beside]
        measured = np.isfinite(errors)
        errors = errors[measured]
        weights = np.ones(len(errors)) if self.weights is None else self.weights[measured]
        units = np.arange(len(errors)) if self.groups is None else pd.factorize(np.asarray(self.groups)[measured])[0]
        mean = float(np.average(errors, weights=weights))
        deviations = np.bincount(units, weights * (errors - mean))  # of all samples of a group together
        count = len(deviations)
        variance = float(np.square(deviations).sum()) * count / max(1, count - 1)
        return mean, float(np.sqrt(variance) / weights.sum())

    def behind(self, name: str, best: str, errors: float) -> bool:
        """Return whether a candidate's mean error is more than so many standard errors above another's."""
        difference, error = self.mean(name, best)
        return difference > errors * error

    def choose(self, among: Iterable[str] | None = None) -> str:
        """Return the first candidate whose mean error is within one standard error of the lowest."""
        names = list(self.of if among is None else among)
        best = min(names, key=lambda name: self.mean(name)[0])
        return next(name for name in names if name == best or not self.behind(name, best, 1.0))

    def intervals(self) -> dict[str, dict[str, float]]:
        """Return ``mae`` of every candidate, ``low`` and ``high`` end of its 95% interval."""
        found = {}
        for name in self.of:
            mean, error = self.mean(name)
            found[name] = {"mae": mean, "low": max(0.0, mean - NORMAL * error), "high": mean + NORMAL * error}
        return found
