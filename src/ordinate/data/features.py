"""From a table's columns to the numbers that an encoder takes."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from ordinate.errors import OrdinateError

FEW_VALUES = 10  # different values up to which a column gets no normal score: it would add nothing
CONSTANT = 1e-12  # deviation, relative to the largest value, below which a column counts as constant
KNOTS = 200  # quantiles kept of a column


@dataclass(frozen=True)
class NumericColumn:
    """A number: standardised, and as a normal score; a missing one becomes the median and is marked in a column.

    The normal score is the standard normal quantile of the value's place among the training values. It spreads
    what a skewed column crowds together; columns of few values have none.
    """

    name: str
    median: float
    mean: float
    scale: float
    indicator: bool
    quantiles: tuple[float, ...]

    @property
    def numbers(self) -> int:
        """Columns that are numbers: they come first."""
        return 1 + bool(self.quantiles)

    @property
    def width(self) -> int:
        return self.numbers + self.indicator

    def transform(self, values: pd.Series) -> NDArray[np.float64]:
        if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_complex_dtype(values):
            raise OrdinateError(f"column {self.name!r}: got {values.dtype}, takes numbers, as in training")
        try:
            numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
        except (ValueError, TypeError) as error:
            raise OrdinateError(f"column {self.name!r}: takes numbers, as in training: {error}") from error
        if np.isinf(numbers).any():
            raise OrdinateError(f"column {self.name!r}: got infinity, takes finite numbers or missing values")
        missing = np.isnan(numbers)
        filled = np.where(missing, self.median, numbers)
        columns = [(filled - self.mean) / self.scale]
        if self.quantiles:
            columns.append(_normal_score(filled, np.array(self.quantiles)))
        if self.indicator:
            columns.append(missing.astype(np.float64))
        return np.column_stack(columns)


@dataclass(frozen=True)
class CategoricalColumn:
    """One of a few values: a column each, all zero where it is missing or was never seen in training."""

    name: str
    categories: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.categories)

    def transform(self, values: pd.Series) -> NDArray[np.float64]:
        text = _text(values)
        codes: NDArray[np.float64] = (text[:, None] == np.array(self.categories, dtype=object)).astype(np.float64)
        unseen = {str(value) for value in text[codes.sum(axis=1) == 0] if value is not None}
        if unseen:
            shown = ", ".join(sorted(unseen)[:5])
            warnings.warn(f"column {self.name!r}: {shown} not seen in training, taken as missing", UserWarning, 2)
        return codes


Column = NumericColumn | CategoricalColumn


class TableFeatures:
    """Turns tables into float32 matrices, fitted once on the training rows.

    Numbers are standardised and scored; booleans, text and pandas categories become one column a value. Missing
    values are kept apart, not guessed: see :attr:`notes` for what was done.

    Example:
        >>> frame = pd.DataFrame({"size": [1.0, 2.0, None], "colour": ["red", "blue", "red"]})
        >>> features = TableFeatures.fit(frame)
        >>> features.transform(frame).shape
        (3, 4)
        >>> features.notes
        ['size: 1 of 3 values missing, set to the median 1.5 and marked in a column of their own']
    """

    def __init__(self, columns: Sequence[Column], notes: Sequence[str] = ()) -> None:
        self.columns = tuple(columns)
        self.notes = list(notes)

    @classmethod
    def fit(cls, frame: pd.DataFrame) -> "TableFeatures":
        """Learn the columns of ``frame`` (n, columns); those with a single value are kept as zeros."""
        columns: list[Column] = []
        notes: list[str] = []
        twice = frame.columns[frame.columns.duplicated()].tolist()
        if twice:
            raise OrdinateError(f"columns: got {twice[:5]} twice, takes a name a column")
        for name, values in frame.items():
            missing = int(values.isna().sum())
            if _is_number(values):
                column, note = _fit_numeric(str(name), values)
                columns.append(column)
                notes += [note] if note else []
            else:
                categories = tuple(sorted(set(_text(values.dropna()))))
                if len(categories) > max(50, len(frame) // 10):
                    raise OrdinateError(
                        f"column {name!r}: got text with {len(categories)} different values in {len(frame)} rows, "
                        "takes numbers or categories; drop identifiers and free text"
                    )
                columns.append(CategoricalColumn(str(name), categories))
                if missing:
                    notes.append(f"{name}: {missing} of {len(frame)} values missing, no category set")
        return cls(columns, notes)

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float32]:
        """Return (n, width) float32 for a frame with the same columns, in any order."""
        absent = [column.name for column in self.columns if column.name not in frame.columns]
        if absent:
            raise OrdinateError(f"columns: missing {absent}, takes those of the training data: {self.names}")
        if not self.columns:
            return np.zeros((len(frame), 0), dtype=np.float32)
        parts = [column.transform(frame[column.name]) for column in self.columns]
        for column, part in zip(self.columns, parts, strict=True):
            if np.abs(part).max(initial=0) > np.finfo(np.float32).max:
                raise OrdinateError(f"column {column.name!r}: its numbers pass the range of float32 once standardised")
        return np.concatenate(parts, axis=1).astype(np.float32)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return sum(column.width for column in self.columns)

    @property
    def numeric_positions(self) -> list[int]:
        """Where in the matrix the numbers stand, standardised or scored."""
        starts = np.cumsum([0, *(column.width for column in self.columns)])
        return [
            int(start) + offset
            for start, column in zip(starts, self.columns, strict=False)
            if isinstance(column, NumericColumn)
            for offset in range(column.numbers)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what :meth:`from_dict` takes, ready for JSON."""
        return {"columns": [asdict(column) for column in self.columns], "notes": self.notes}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "TableFeatures":
        columns: list[Column] = []
        for column in state["columns"]:
            if "categories" in column:
                columns.append(CategoricalColumn(column["name"], tuple(column["categories"])))
            else:
                columns.append(NumericColumn(**{**column, "quantiles": tuple(column["quantiles"])}))
        return cls(columns, state["notes"])


def _normal_score(values: NDArray[np.float64], quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard normal quantile of each value's place among the training quantiles, within 3 of 0."""
    share = np.linspace(0, 1, len(quantiles))
    from_left = np.interp(values, quantiles, share)
    from_right = 1 - np.interp(-values, -quantiles[::-1], share)  # repeated values: the middle of their places
    return np.asarray(ndtri((from_left + from_right) / 2).clip(-3, 3))


def _is_number(values: pd.Series) -> bool:
    if pd.api.types.is_complex_dtype(values):
        raise OrdinateError(f"column {values.name!r}: got complex numbers, takes real ones")
    return bool(pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values))


def _text(values: pd.Series) -> NDArray[np.object_]:
    """Values as text, whole floats as integers, so that a code read as 1 and as 1.0 is one category."""
    if pd.api.types.is_datetime64_any_dtype(values):
        raise OrdinateError(f"column {values.name!r}: got dates, takes numbers or categories; turn them into numbers")
    return np.array([None if pd.isna(value) else plain_text(value) for value in values], dtype=object)


def plain_text(value: Any) -> str:
    """Return a value as text, a whole float as the integer that it equals.

    Example:
        >>> plain_text(1000001.0), plain_text(0.5), plain_text("mild")
        ('1000001', '0.5', 'mild')
    """
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def _fit_numeric(name: str, values: pd.Series) -> tuple[NumericColumn, str]:
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(numbers).any():
        raise OrdinateError(f"column {name!r}: got infinity, takes finite numbers or missing values")
    missing = np.isnan(numbers)
    present = numbers[~missing]
    median = float(np.median(present)) if len(present) else 0.0
    filled = np.where(missing, median, numbers)
    mean = float(filled.mean())
    scale = float(filled.std())
    if not np.isfinite(scale):
        raise OrdinateError(f"column {name!r}: its numbers pass the range of float64 when squared; rescale them")
    scale = scale if scale > CONSTANT * np.abs(filled).max(initial=0) else 1.0
    quantiles: tuple[float, ...] = ()
    if len(np.unique(present)) > FEW_VALUES:
        quantiles = tuple(np.sort(present).tolist())
        if len(present) > KNOTS:  # values that occur, so that equal ones stay equal
            quantiles = tuple(np.quantile(present, np.linspace(0, 1, KNOTS), method="nearest").tolist())
    column = NumericColumn(name, median, mean, scale, bool(missing.any()), quantiles)
    if not missing.any():
        return column, ""
    return column, (
        f"{name}: {missing.sum()} of {len(values)} values missing, set to the median {median:g} "
        "and marked in a column of their own"
    )
