"""Columns and labels that hold numbers, whatever their type: it tells how values are stored, not what they are."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd


def as_numbers(values: pd.Series) -> pd.Series:
    """Return a column of objects or text that are all numbers, except missing values, as numbers; others as they are.

    Decimals of a database are numbers, and so is text such as ``"1.5"``; ``"007"`` is a code.

    Example:
        >>> as_numbers(pd.Series([Decimal("1.5"), None, 2])).tolist(), as_numbers(pd.Series(["7", "12"])).tolist()
        ([1.5, nan, 2.0], [7, 12])
    """
    if not (pd.api.types.is_object_dtype(values.dtype) or isinstance(values.dtype, pd.StringDtype)):
        return values
    missing = values.isna().to_numpy()
    present = values[~missing].tolist()
    if not present or not all(map(_is_number, present)):
        return values
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = [float(value) for value in present]
    if not missing.any() and all(map(_is_whole, present)) and np.abs(numbers).max() < 2**53:
        return pd.Series(numbers.astype(np.int64), index=values.index, name=values.name)
    return pd.Series(numbers, index=values.index, name=values.name)


def is_constant(deviation: np.ndarray | float, largest: np.ndarray | float, tolerance: float = 1e-12) -> np.ndarray:
    """Return whether deviations are no larger than what rounding makes of equal values, the ``largest`` in size."""
    return np.asarray(deviation <= tolerance * largest)


def _is_number(value: object) -> bool:
    if isinstance(value, str):  # A code such as 007 is no number.
        return re.fullmatch(r"\s*[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", value) is not None
    return isinstance(value, int | float | np.integer | np.floating | Decimal) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r"\s*[-+]?\d+\s*", value) is not None
    return isinstance(value, int | np.integer) or (isinstance(value, Decimal) and value == value.to_integral_value())
