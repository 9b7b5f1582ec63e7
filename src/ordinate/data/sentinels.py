"""Numbers that often stand for missing values."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.counts import counted

# Codes of missing answers: repeated nines, and next to them the codes of other reasons.
BELOW_ZERO = (*range(-9, 0), -66, -77, -88, *range(-99, -94), -888, *range(-999, -994), -8888, *range(-9999, -9994))
ABOVE = (66, 77, 88, *range(95, 100), 666, 777, 888, *range(995, 1000), 7777, 8888, *range(9995, 10000))
ONE_DIGIT = (7, 8, 9)  # Codes of scales of up to six ranks.


def sentinel_problem(values: pd.Series) -> str | None:
    """Return which numbers are codes of missing values, far from all others; None without any.

    A code is as far from the others as these reach, or further. Codes of one digit above 0 count in columns of few
    whole numbers, and where some rows share one.

    Example:
        >>> sentinel_problem(pd.Series([0, 1, 2, 3, -9, -9, -8]))
        'holds -9 in 2 rows and -8 in 1 row, far from its other values, 0 to 3'
        >>> sentinel_problem(pd.Series([20, 70, 99]))
    """
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return None
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    low, high = numbers.min(initial=np.inf), numbers.max(initial=-np.inf)
    if np.isnan(low):  # Missing values take longer.
        low, high = np.fmin.reduce(numbers, initial=np.inf), np.fmax.reduce(numbers, initial=-np.inf)
    ends = {low, high}
    if ends.isdisjoint((*BELOW_ZERO, *ABOVE, *ONE_DIGIT, np.inf, -np.inf)):
        return None  # No code lies outside of the others.
    different, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    codes = [*BELOW_ZERO, *ABOVE]
    if len(different) <= 12 and bool((different % 1 == 0).all()):
        codes += [code for code, count in zip(different, counts, strict=True) if code in ONE_DIGIT and count > 2]
    far = _far_codes(different, np.isin(different, codes))
    if not far.any():
        return None
    others = different[~far]
    found = dict(zip(different[far].astype(np.int64).tolist(), counts[far].tolist(), strict=True))
    shown = " and ".join(f"{number} in {counted(count, 'row')}" for number, count in found.items())
    return f"holds {shown}, far from its other values, {others.min():g} to {others.max():g}"


def _far_codes(values: NDArray[np.float64], is_code: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of different values, in their order, are codes away from the range of the others.

    On either side of it, one code has to be as far away as the range is long; those next to the range belong to it.
    """
    far = np.zeros(len(values), dtype=bool)
    inside = np.flatnonzero(~is_code)
    if len(inside) == 0:
        return far
    first, last = inside[0], inside[-1]
    while first > 0 and values[first] - values[first - 1] <= 1:
        first -= 1
    while last < len(values) - 1 and values[last + 1] - values[last] <= 1:
        last += 1
    length = values[last] - values[first]
    if length == 0:
        return far
    far[:first] = values[first] - values[0] >= length
    far[last + 1 :] = values[-1] - values[last] >= length
    return far & is_code
