"""One column of a table as numbers: standardised and scored, or a column per category."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from ordinate.counts import counted
from ordinate.data.findings import Finding, MoreThan, any_row, every_row
from ordinate.data.numbers import bare_numbers, is_constant, misspelt_numbers, other_words_of, plain_text
from ordinate.data.outliers import FAR, find_outliers
from ordinate.data.times import are_times
from ordinate.errors import OrdinateError

ROWS_AT_ONCE = 1 << 16  # This many rows are in float64 at a time.
MIN_VALUES_TO_SCORE = 10  # A normal score adds nothing to a column of so few different values.
MOST_MISSPELT = 0.1  # And text with a digit in this share.
MOST_WORDS = 0.5  # Other text than numbers is missing, and not a mistake, in at most this share of the values.
MAX_QUANTILES = 200  # At most this many quantiles of a column are kept.


@dataclass(frozen=True)
class NumericColumn:
    """A number: standardised, and as a normal score; a missing one becomes the median and is marked in a column.

    The ``count`` training values lie from ``low`` to ``high``. One that had a single value in training has ``scale`` 0
    and is always 0: no weight has learned from it. The normal score is the standard normal quantile of the value's
    place among the training values. It spreads what a skewed column crowds together; columns of few values have none.
    In text, such as "45%" or "$1,200", its numbers have the ``unit``. ``words`` stood in training where values were
    missing.
    """

    name: str
    median: float
    mean: float
    scale: float
    indicator: bool
    quantiles: tuple[float, ...]
    low: float
    high: float
    count: int
    unit: str = ""
    words: tuple[str, ...] = ()

    @property
    def numbers(self) -> int:
        """Columns that are numbers: they come first."""
        return 1 + bool(self.quantiles)

    @property
    def width(self) -> int:
        return self.numbers + self.indicator

    @property
    def features(self) -> list[str]:
        """Names of the columns that it becomes."""
        names = [self.name]
        if self.quantiles:
            names.append(f"{self.name}, normal score")
        if self.indicator:
            names.append(f"{self.name}, missing")
        return names

    def fill(self, values: pd.Series, out: NDArray[np.float32]) -> set[str]:
        """Write the columns (n, width) of values; return those that a column of a single value had not in training."""
        if are_times(values) or pd.api.types.is_complex_dtype(values):
            raise OrdinateError(f"column {self.name!r}", values.dtype, "numbers, as in training")
        numbers = self._read(values)
        if np.isinf(numbers).any():
            raise OrdinateError(f"column {self.name!r}", "infinity", "finite numbers or missing values")
        quantiles = np.array(self.quantiles)
        unseen: set[str] = set()
        for start in range(0, len(numbers), ROWS_AT_ONCE):
            part = numbers[start : start + ROWS_AT_ONCE]
            rows = out[start : start + ROWS_AT_ONCE]
            missing = np.isnan(part)
            filled = np.where(missing, self.median, part)
            if self.scale == 0:
                unseen |= set(map(plain_text, np.unique(filled[filled != self.median])[:5]))
                standardised = np.zeros_like(filled)
            else:
                standardised = (filled - self.mean) / self.scale
            if np.abs(standardised).max() > np.finfo(np.float32).max:
                problem = "its numbers exceed the range of float32 once standardised"
                raise OrdinateError(f"column {self.name!r}", problem=problem)
            rows[:, 0] = standardised
            if self.quantiles:
                rows[:, 1] = _normal_score(filled, quantiles, rows[:, 0])
            if self.indicator:
                rows[:, -1] = missing
        return unseen

    def _read(self, values: pd.Series) -> NDArray[np.float64]:
        """Return values as numbers, NaN where they are missing."""
        values = _decoded(values)
        if self.words and not pd.api.types.is_numeric_dtype(values.dtype):
            values = values.mask(values.map(lambda value: isinstance(value, str) and value in self.words).astype(bool))
        numbers, unit = bare_numbers(values, MOST_WORDS, MOST_MISSPELT, many=1)
        if unit not in ("", self.unit):
            expected = f"the unit {self.unit}" if self.unit else "no unit"
            raise OrdinateError(f"column {self.name!r}", f"numbers with the unit {unit}", f"{expected}, as in training")
        try:
            return pd.to_numeric(numbers).to_numpy(dtype=np.float64, na_value=np.nan)
        except (ValueError, TypeError) as error:
            others = numbers[numbers.notna() & pd.to_numeric(numbers, errors="coerce").isna()]
            got = f"{others.iloc[0]!r} in {len(others):,} of {counted(len(values), 'row')}"
            hint = "leave cells without a number empty"
            raise OrdinateError(f"column {self.name!r}", got, "numbers, as in training", hint) from error

    def findings(self, values: pd.Series, coded: NDArray[np.float32], unseen: set[str]) -> list[Finding]:
        """Return in what respects values (n,), and their columns (n, width), lie outside of those of training."""
        if self.scale == 0:
            numbers = self._read(values)
            others = int(np.count_nonzero(~np.isnan(numbers) & (numbers != self.median)))
            is_notable = MoreThan(1, self.count) if self.count else any_row
            return [new_values(self.name, frozenset(unseen), others, len(values), is_notable)]
        values = _decoded(values)
        read = values if pd.api.types.is_numeric_dtype(values.dtype) else pd.Series(self._read(values))
        missing = missing_values(self.name, read, f"; replaced by the median {self.median:g}")
        text = f"values lie outside the range of training, {self.low:g} to {self.high:g}; check the unit"
        texts = [*other_words_of(values), *misspelt_numbers(values)]
        words = [word for word in texts if word not in self.words]
        unread = new_values(self.name, frozenset(words), len(words), len(values))
        far = self._far_outside(values, coded)
        return [missing, unread, far, self.outside_range(coded, f"column {self.name!r}: {text}")]

    def _far_outside(self, values: pd.Series, coded: NDArray[np.float32]) -> Finding:
        """Return which values lie so far outside the range of training that a single one is worth a look."""
        reach = FAR * max(self.high - self.median, self.median - self.low)
        rows = np.flatnonzero(np.abs(coded[:, 0] * self.scale + (self.mean - self.median)) > reach)
        first, shown = None, frozenset[str]()
        if len(rows):
            first, shown = int(rows[0]), frozenset(map(plain_text, values.iloc[rows[:5]]))
        text = f"column {self.name!r}: {{}} far from the other values of training, {self.low:g} to {self.high:g}"
        return Finding(text, len(rows), len(coded), any_row, shown, first)

    def outside_range(self, coded: NDArray[np.float32], text: str) -> Finding:
        """Return how many values lie outside the range of training, given their columns (n, width)."""
        low = np.float32((self.low - self.mean) / self.scale)
        high = np.float32((self.high - self.mean) / self.scale)
        outside = int(np.count_nonzero((coded[:, 0] < low) | (coded[:, 0] > high)))
        return Finding(text, outside, len(coded), MoreThan(2, self.count - 1))


@dataclass(frozen=True)
class CategoricalColumn:
    """One of a few values: a column each, all zero where it is missing or was never seen in training."""

    name: str
    categories: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.categories)

    @property
    def features(self) -> list[str]:
        """Names of the columns that it becomes."""
        return [f"{self.name} is {category}" for category in self.categories]

    def fill(self, values: pd.Series, out: NDArray[np.float32]) -> set[str]:
        """Write the columns (n, width) of a column's values, and return the values never seen in training."""
        places, texts = texts_of(values)
        known = {category: place for place, category in enumerate(self.categories)}
        if not known.keys() >= set(texts):
            texts = self._as_written(texts)
        columns = [known.get(text, -1) for text in texts]
        column = np.array([*columns, -1])[places]  # A missing value has the place -1, which is the last one.
        rows = np.flatnonzero(column >= 0)
        out[:] = 0
        out[rows, column[rows]] = 1
        return set(texts).difference(known)

    def findings(self, values: pd.Series, coded: NDArray[np.float32], unseen: set[str]) -> list[Finding]:
        """Return in what respects values (n,), and their columns (n, width), lie outside of those of training."""
        new = int(np.count_nonzero(values.notna().to_numpy() & ~coded.any(axis=1)))
        found = [new_values(self.name, frozenset(unseen), new, len(values))]
        return [missing_values(self.name, values), *found] if self.categories else found

    def _as_written(self, texts: Sequence[str]) -> list[str]:
        """Return values as training had them, 1.5 as ``1.50``, True as ``true``, where one category alone means it."""
        are_truths = {_meaning(category) for category in self.categories} <= {"true", "false"}
        by_meaning: dict[str, list[str]] = {}
        for category in self.categories:
            by_meaning.setdefault(_meaning(category), []).append(category)
        written = []
        for text in texts:
            meaning = _meaning(text)
            if are_truths:
                meaning = {"0": "false", "1": "true"}.get(meaning, meaning)
            same = by_meaning.get(meaning, [])
            is_other_form = len(same) == 1 and text not in self.categories
            written.append(same[0] if is_other_form else text)
        return written


def _decoded(values: pd.Series) -> pd.Series:
    """Return text that is stored as codes, as parquet files have it, as text; other values as they are."""
    is_coded = isinstance(values.dtype, pd.CategoricalDtype) and not pd.api.types.is_numeric_dtype(
        values.cat.categories.dtype
    )
    return values.astype(object) if is_coded else values


def missing_values(name: str, values: pd.Series, instead: str = "") -> Finding:
    """Return how many values of a column are missing that had values in training."""
    text = f"column {name!r}: all values are missing, though training had values{instead}"
    return Finding(text, int(values.isna().sum()), len(values), every_row)


def new_values(
    name: str, values: frozenset[str], count: int, rows: int, is_notable: Callable[[int, int], bool] = any_row
) -> Finding:
    """Return how many values of a column training had not seen."""
    return Finding(f"column {name!r}: {{}} not seen in training, treated as missing", count, rows, is_notable, values)


def _normal_score(
    values: NDArray[np.float64], quantiles: NDArray[np.float64], standardised: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the standard normal quantile of each value's place among the training quantiles, within 3 of 0."""
    # Values are about in their order, by their first 16 bits: interpolation searches from where the last value stood.
    first_bits = (np.ascontiguousarray(standardised).view(np.uint32) >> 16).astype(np.uint16)
    order = np.argsort(first_bits, kind="stable")
    values = values[order]
    share = np.linspace(0, 1, len(quantiles))
    from_left = np.interp(values, quantiles, share)
    from_right = 1 - np.interp(-values, -quantiles[::-1], share)  # Repeated values get the middle of their places.
    scores = np.empty_like(values)
    scores[order] = ndtri((from_left + from_right) / 2).clip(-3, 3)
    return scores


def is_number(values: pd.Series) -> bool:
    """Return whether a column holds real numbers; truth values are none."""
    if pd.api.types.is_complex_dtype(values):
        raise OrdinateError(f"column {values.name!r}", "complex numbers", "real ones")
    return bool(pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values))


def almost_numbers(texts: Sequence[str], max_share: float = 0.1) -> str | None:
    """Return a description of different texts of which at most such a share are no numbers, None for others."""
    values = pd.Series(texts, dtype=object)
    plain = pd.to_numeric(values, errors="coerce").notna()
    if plain.all():
        return None  # They are codes, such as 007.
    points = pd.to_numeric(values.str.replace(",", ".", regex=False), errors="coerce").notna()
    if points.all():
        return "numbers with a decimal comma"
    rest = values[~points].tolist()
    if len(rest) > max_share * len(values):
        return None
    commas = ", some with a decimal comma," if (points & ~plain).any() else ""
    return f"{counted(points.sum(), 'number')}{commas} and {', '.join(map(repr, rest[:5]))}"


def _meaning(text: str) -> str:
    """Return what the ways to write a number, or true and false, have in common; other text as it is."""
    if text.lower() in ("false", "true"):
        return text.lower()
    try:
        return plain_text(float(text))
    except (ValueError, OverflowError):  # Infinity is no whole number.
        return text


def texts_of(values: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return the place of each value among the different ones, -1 if it is missing, and these as text."""
    places, different = pd.factorize(_as_categories(values))
    return places, [plain_text(value) for value in different]


def different_texts(values: pd.Series) -> tuple[str, ...]:
    """Return the different values as text, sorted."""
    return tuple(sorted({plain_text(value) for value in pd.Series(_as_categories(values).unique()).dropna()}))


def _as_categories(values: pd.Series) -> pd.Series:
    """Return values that may be categories, objects as text; others are an error."""
    if are_times(values):
        raise OrdinateError(f"column {values.name!r}", "dates or times", "numbers or categories")
    if values.dtype != object:
        return values
    several = next((value for value in values if pd.api.types.is_list_like(value)), None)
    if several is not None:
        raise OrdinateError(f"column {values.name!r}", repr(several), "a number or a category in every row")
    return values.map(plain_text, na_action="ignore")  # Among objects, 1 and True are equal.


def fit_numeric(name: str, values: pd.Series) -> NumericColumn:
    """Learn a column of numbers (n,)."""
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    ordered = np.sort(numbers)
    present = ordered[: np.searchsorted(ordered, np.nan)]  # Missing ones come last.
    missing = len(numbers) - len(present)
    if len(present):
        median = float(present[[(len(present) - 1) // 2, len(present) // 2]].mean())
        low, high = float(present[0]), float(present[-1])
    else:
        median = low = high = 0.0
    if np.isinf([low, high]).any():
        raise OrdinateError(f"column {name!r}", "infinity", "finite numbers or missing values")
    filled = np.where(np.isnan(numbers), median, numbers) if missing else numbers
    mean = float(filled.mean())
    scale = float(filled.std())
    if not np.isfinite(scale):
        problem = "its numbers exceed the range of float64 when squared"
        raise OrdinateError(f"column {name!r}", problem=problem, hint="rescale them")
    if is_constant(scale, max(abs(low), abs(high))):
        scale = 0.0
    quantiles: tuple[float, ...] = ()
    if np.count_nonzero(present[1:] != present[:-1]) >= MIN_VALUES_TO_SCORE:
        ends = present
        if len(present) > MAX_QUANTILES:  # They are values that occur, so that equal ones stay equal.
            ends = present[np.rint(np.linspace(0, 1, MAX_QUANTILES) * (len(present) - 1)).astype(np.int64)]
        quantiles = tuple(ends.tolist())
    outliers = find_outliers(pd.Series(present))
    if outliers is not None:  # Other values as far outside are worth a warning.
        low, high = outliers.low, outliers.high
    return NumericColumn(name, median, mean, scale, missing > 0, quantiles, low, high, len(present))
