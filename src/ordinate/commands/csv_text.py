"""Tables of numbers as the text of a csv file, fast."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def csv_text(frame: pd.DataFrame, *, header: bool) -> str:
    r"""Return a table as csv, with 12 digits of each number: by pyarrow if it can, seven times as fast as by pandas.

    More digits would show the batch size; fewer would lose small differences between large targets.

    Example:
        >>> csv_text(pd.DataFrame({"grade": ["low"], "probability": [1 / 3]}), header=False)
        'low,0.333333333333\n'
    """
    kinds = {kind.kind for kind in frame.dtypes}
    if not kinds <= set("iuf") or find_spec("pyarrow") is None:
        return frame.to_csv(header=header, index=False, float_format="{:z.12g}".format)
    import pyarrow as pa
    from pyarrow.csv import WriteOptions, write_csv

    columns = []
    for place in range(frame.shape[1]):
        numbers = frame.iloc[:, place].to_numpy()
        if numbers.dtype.kind == "f":
            numbers = with_digits(numbers.astype(np.float64))
        columns.append(pa.array(numbers, from_pandas=True))
    text = pa.BufferOutputStream()
    options = WriteOptions(include_header=False, quoting_style="needed")
    write_csv(pa.table(columns, names=[str(place) for place in range(len(columns))]), text, options)
    names = frame.head(0).to_csv(index=False) if header else ""
    return names + text.getvalue().to_pybytes().decode("utf-8")


def with_digits(values: NDArray[np.float64], digits: int = 12) -> NDArray[np.float64]:
    """Return numbers (n,) rounded to so many digits, so that their shortest text has no more.

    Example:
        >>> with_digits(np.array([2 / 3, -2e9 / 3, 0.0, 2e-30 / 3]), 3).tolist()
        [0.667, -667000000.0, 0.0, 6.67e-31]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        places = digits - 1 - np.floor(np.log10(np.abs(values)))
    is_exact = (places >= 0) & (places <= 22)  # These powers of ten are numbers of double precision.
    scale = 10.0 ** np.where(is_exact, places, 0)
    found = np.where(is_exact, np.round(values * scale) / scale, values) + 0.0  # No zero has a sign.
    others = np.flatnonzero(~is_exact & np.isfinite(values) & (values != 0))
    found[others] = [float(f"{value:.{digits}g}") for value in values[others]]
    return found
