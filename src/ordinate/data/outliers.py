"""Single values of a column that lie so far from all others that they may be errors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FAR = 10.0  # A value is far if its distance from the median is at least so many times that of every other value.
FAR_FROM = "far from its other values"  # What notes say of such values.


@dataclass(frozen=True)
class Outliers:
    """A few values of a column, far from the others.

    Args:
        rows: Rows of the values.
        values: The values.
        low, high: Lowest and highest of the others.
    """

    rows: list[int]
    values: list[float]
    low: float
    high: float

    def __str__(self) -> str:
        return self.described([f"row {row}" for row in self.rows])

    def described(self, names: Sequence[str]) -> str:
        """Return what the column holds, with names of the rows."""
        named = " and ".join(f"{value:g} in {name}" for value, name in zip(self.values, names, strict=True))
        return f"holds {named}, {FAR_FROM}, {self.low:g} to {self.high:g}"


def find_outliers(values: pd.Series, *, most: int = 3) -> Outliers | None:
    """Return the highest or lowest values of a column, or some of both, at most so many, if far from the others.

    The others say how far is unusual: beyond a high threshold, the distances from the median have about a Pareto
    distribution, whose exponent they give (Hill, 1975). A column in which values like these may occur by chance, such
    as a log-normal one, has no outliers.

    Example:
        >>> bmi = pd.Series([*np.linspace(15, 60, 200), 4000])
        >>> str(find_outliers(bmi))
        'holds 4000 in row 200, far from its other values, 15 to 60'
        >>> find_outliers(np.exp(bmi[:200] / 5)) is None
        True
    """
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return None
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    rows = np.flatnonzero(np.isfinite(numbers))
    numbers = numbers[rows]
    if len(numbers) <= 2 * most:
        return None
    distances = np.abs(numbers - np.partition(numbers, len(numbers) // 2)[len(numbers) // 2])
    count = _isolated(np.partition(distances, range(-most - 1, 0))[: -most - 2 : -1])
    if count == 0:
        return None
    order = np.argsort(-distances, kind="stable")
    if _chance(distances[order], count) > 1e-3:
        return None
    others = numbers[order[count:]]
    found = np.sort(order[:count])
    return Outliers(rows[found].tolist(), numbers[found].tolist(), float(others.min()), float(others.max()))


def _isolated(distances: NDArray[np.float64]) -> int:
    """Return how many of the largest distances from the median, in falling order, are far beyond all others."""
    for count in range(len(distances) - 1, 0, -1):
        if distances[count - 1] >= FAR * distances[count] > 0:
            return count
    return 0


def _chance(distances: NDArray[np.float64], count: int, *, least: int = 12) -> float:
    """Return how often so many distances, in falling order, are as far beyond the rest; 1 where too few tell."""
    rest = distances[count:]
    rest = rest[rest > 0]
    if len(rest) < least:
        return 1.0
    tail = max(10, len(rest) // 5)
    logs = np.log(rest[:tail] / rest[tail])
    if logs.mean() == 0:
        return 0.0
    return float((rest[0] / distances[count - 1]) ** (1 / logs.mean()))
