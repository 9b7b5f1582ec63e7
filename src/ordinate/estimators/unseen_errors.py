"""Candidates compared by their errors on the same unseen samples."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student


@dataclass
class UnseenErrors:
    """Absolute errors of candidates on n samples, NaN for samples that a candidate has not been measured on.

    Args:
        weights: (n,), by which samples count; None for equal ones.
        groups: Groups (n,) of samples that belong together, whose errors are similar; None without any.
        of: Errors (n,) by candidate.

    Example:
        >>> errors = UnseenErrors()
        >>> errors.of = {"one": np.array([1.0, 0.0, 1.0, 0.0]), "other": np.array([0.0, 1.0, 0.0, 0.9])}
        >>> errors.lowest(errors.of), round(errors.mean("other")[0], 3), errors.behind("one", "other", 1.0)
        ('other', 0.475, False)
    """

    weights: NDArray[np.float64] | None = None
    groups: ArrayLike | None = None
    of: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def mean(self, name: str, beside: str | None = None) -> tuple[float, float]:
        """Return the mean error of a candidate and its standard error; ``beside`` another, those of the difference.

        The difference is over the samples that both were measured on. The standard error of a single sample, or group,
        is infinite.
        """
        errors = self.of[name] if beside is None else self.of[name] - self.of[beside]
        measured = np.isfinite(errors)
        errors = errors[measured]
        weights = np.ones(len(errors)) if self.weights is None else self.weights[measured]
        mean = float(np.average(errors, weights=weights))
        # Deviations are summed over the samples of a group.
        deviations = np.bincount(self._units(measured), weights * (errors - mean))
        count = len(deviations)
        if count == 1:
            return mean, math.inf
        variance = float(np.square(deviations).sum()) * count / (count - 1)
        return mean, float(np.sqrt(variance) / weights.sum())

    def _units(self, measured: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return a number for each measured sample, the same for those of a group."""
        if self.groups is None:
            return np.arange(measured.sum())
        return pd.factorize(np.asarray(self.groups)[measured])[0]

    def behind(self, name: str, best: str, errors: float) -> bool:
        """Return whether a candidate's mean error is more than so many standard errors above another's."""
        difference, error = self.mean(name, best)
        # Rounding aside, two candidates that differ on one sample differ by one standard error.
        return difference > errors * error * (1 + 1e-9)

    def lowest(self, among: Iterable[str]) -> str:
        """Return the candidate with the lowest mean error on the samples that all of them were measured on.

        Of equal ones, rounding aside, it is the first.
        """
        of = {name: self.of[name] for name in among}
        common = np.isfinite(np.stack(list(of.values()))).all(0)
        weights = None if self.weights is None else self.weights[common]
        means = {name: float(np.average(errors[common], weights=weights)) for name, errors in of.items()}
        return next(name for name, mean in means.items() if mean <= min(means.values()) * (1 + 1e-9))

    def intervals(self) -> dict[str, dict[str, float]]:
        """Return ``mae`` of every candidate, the number of ``samples``, ``low`` and ``high`` end of its 95% interval.

        A single sample, or group, has no interval.
        """
        found = {}
        for name, errors in self.of.items():
            measured = np.isfinite(errors)
            mean, error = self.mean(name)
            found[name] = {"mae": mean, "samples": int(measured.sum())}
            units = self._units(measured).max() + 1
            if units > 1:
                half = float(student.ppf(0.975, units - 1)) * error
                high = mean + half
                if error == 0:  # If n samples have no mistake, the error is at most 3/n (rule of three).
                    high = max(mean, 3 / units)
                found[name] |= {"low": max(0.0, mean - half), "high": high}
        return found
