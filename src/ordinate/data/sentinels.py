"""Numbers that often stand for missing values."""

from collections.abc import Sequence

import numpy as np
import pandas as pd


def sentinel_problem(values: pd.Series, sentinels: Sequence[int] = (-9999, -999, -99, -9, 99, 999, 9999)) -> str | None:
    """Return which sentinels are among numbers, further from the others than these from each other; None without any.

    Example:
        >>> sentinel_problem(pd.Series([0, 1, 2, 3, -9, -9]))
        'holds -9 in 2 rows, far from its other values, 0 to 3'
        >>> sentinel_problem(pd.Series([20, 70, 99]))
    """
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return None
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    ends = {np.fmin.reduce(numbers, initial=np.inf), np.fmax.reduce(numbers, initial=-np.inf)}
    if ends.isdisjoint((*sentinels, np.inf, -np.inf)):
        return None  # No sentinel lies outside of the others.
    numbers = numbers[np.isfinite(numbers)]
    others = numbers[~np.isin(numbers, sentinels)]
    if len(others) == 0 or others.min() == others.max():
        return None
    low, high = others.min(), others.max()
    counts = {number: int((numbers == number).sum()) for number in sentinels}
    found = [n for n, count in counts.items() if count and not 2 * low - high <= n <= 2 * high - low]
    if not found:
        return None
    shown = " and ".join(f"{number} in {counts[number]} rows" for number in found).replace(" in 1 rows", " in 1 row")
    return f"holds {shown}, far from its other values, {low:g} to {high:g}"
