"""Dates, times and spans of time, which pandas would turn into numbers of nanoseconds."""

import numpy as np
import pandas as pd


def are_times(values: object) -> bool:
    """Whether values (n,) or (n, p) are dates, times, periods or spans of time.

    Example:
        >>> are_times(pd.Series(["2026-01-01"], dtype="datetime64[ns]")), are_times(["2026-01-01"]), are_times([1.5])
        (True, False, False)
    """
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype):
        return are_times(dtype.categories)
    if dtype is not None and (isinstance(dtype, pd.StringDtype) or pd.api.types.is_numeric_dtype(dtype)):
        return False  # The check avoids a copy of all values.
    if isinstance(dtype, pd.PeriodDtype | pd.DatetimeTZDtype):
        return True
    held = np.asarray(values)
    if held.dtype != object:
        return held.dtype.kind in "mM"
    return pd.api.types.infer_dtype(held.ravel(), skipna=True).startswith(("date", "time", "period"))
