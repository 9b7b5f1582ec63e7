"""Columns and labels that hold numbers, whatever their type: it tells how values are stored, not what they are."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

NUMBER = re.compile(r"\s*[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")  # A code such as 007 is none.
# A sign of a currency before a number, or a unit after it; one letter alone, as in 12A, is mostly part of a code, and
# letters after a point, as in 12.png, are the ending of a file.
UNIT = re.compile(
    r"\s*([-+]?)\s*([$€£¥₹]?)\s*([-+]?[\d.,]+(?:[eE][-+]?\d+)?)"
    r"(\s?[%‰]|\s?°[CF]?|[ghmsl]|(?:\s|(?<![.,]))[^\W\d_]{2,8}[²³]?(?:/[^\W\d_]{1,8}[²³]?)?|\s[^\W\d_]|)\s*"
)

# 1.234,5 or 1.234 with a sign or a currency before it, and a unit after it.
DECIMAL_COMMA = re.compile(
    r"[^\w.,]{0,3}"
    r"((?:[1-9]\d{0,2}(?:\.\d{3})+|\d*),\d+(?:[eE][-+]?\d+)?|[1-9]\d{0,2}(?:\.\d{3})+|\d+)"
    r"\s?[^\d.,]{0,10}"
)
MISSING_WORDS = {
    "?", "-", "--", "'--", ".", "missing", "unknown", "unk", "nd", "n.d.", "not available", "not done", "not known",
    "not measured", "not recorded",
}  # fmt: skip
DECIMAL_POINT = re.compile(r"\d\.\d|^\.\d")
LIMIT = re.compile(r"\s*[<>≤≥]=?\s*(?=[-+.\d])")  # The true value lies below or above it.


def as_numbers(values: pd.Series) -> pd.Series:
    """Return a column of objects or text that are all numbers, except missing values, as numbers; others as they are.

    Decimals of a database are numbers, and so is text such as ``"1.5"``; ``"007"`` is a code.

    Example:
        >>> as_numbers(pd.Series([Decimal("1.5"), None, 2])).tolist(), as_numbers(pd.Series(["7", "12"])).tolist()
        ([1.5, nan, 2.0], [7, 12])
    """
    if not _may_hold_text(values):
        return values
    found = _Different.of(values)
    return found.as_numbers() if found.are_numbers else values


def as_label_numbers(values: pd.Series) -> pd.Series:
    """Return a column of the label as :func:`as_numbers` does, also where all numbers have decimal commas.

    Example:
        >>> as_label_numbers(pd.Series(["10,03", None, "9,5"])).tolist()
        [10.03, nan, 9.5]
    """
    if not _may_hold_text(values):
        return values
    found = _Different.of(values)
    found = replace(found, values=_with_points(found.values))
    return found.as_numbers() if found.are_numbers else values


def read_numbers(values: pd.Series, other_words: float = 0.0, misspelt: float = 0.0) -> tuple[pd.Series, str]:
    """Return a column as numbers, and their unit, where its text holds numbers and words for missing values alone.

    Up to half of the numbers may be limits, such as "<0.1". Other columns are returned as :func:`as_numbers` returns
    them.

    Args:
        values: Column (n,).
        other_words: Largest share of the values that may be other text without a digit; it is missing then.
        misspelt: Largest share that may be text with a digit, such as "7O", where there are many numbers.

    Example:
        >>> read_numbers(pd.Series(["1.5 mm", "Unknown"]))[0].tolist(), read_numbers(pd.Series(["b", "?"]))[0].tolist()
        ([1.5, nan], ['b', '?'])
        >>> read_numbers(pd.Series(["7", "<0.1"]))[0].tolist(), read_numbers(pd.Series(["<5", ">5"]))[0].tolist()
        ([7.0, 0.1], ['<5', '>5'])
        >>> read_numbers(pd.Series(["7", "5", "refused"]), other_words=0.4)[0].tolist()
        [7.0, 5.0, nan]
    """
    numbers, unit = bare_numbers(values, other_words, misspelt)
    if not pd.api.types.is_numeric_dtype(numbers.dtype):
        return values, ""
    if 2 * len(limits_of(values)) <= numbers.notna().sum():
        return numbers, unit
    return values, ""


def bare_numbers(
    values: pd.Series, other_words: float = 0.0, misspelt: float = 0.0, many: int = 20
) -> tuple[pd.Series, str]:
    """Return a column of text without words for missing values, signs of limits, and the unit, and this unit.

    Other text that is at most a share ``other_words`` of the values is missing too, and so are misspelt numbers that
    are at most a share ``misspelt`` of them, in a column of ``many`` different numbers.
    """
    if not _may_hold_text(values):
        return values, ""
    found = _Different.of(values)
    if found.are_numbers:
        return found.as_numbers(), ""
    if not found.values and isinstance(values.dtype, pd.StringDtype):
        return values.astype(np.float64), ""
    inferred = values.infer_objects()
    if pd.api.types.is_numeric_dtype(inferred.dtype):
        return inferred, ""  # They are all true or false, or NaN.
    missing = np.array([is_missing_word(value) for value in found.values], dtype=bool)
    others = np.array([_is_other_word(value) for value in found.values], dtype=bool)
    if others.any() and (np.all(missing | others) or found.share(others, ~missing) > other_words):
        return values, ""
    left_out = missing | others
    if misspelt > 0:
        wrong = np.array([_is_misspelt(value) for value in found.values], dtype=bool)
        if wrong.any() and found.share(wrong, ~missing) <= misspelt and np.sum(~(left_out | wrong)) >= many:
            left_out |= wrong
    bare: list[object] = []
    for value, is_left_out in zip(found.values, left_out, strict=True):
        if is_left_out:
            bare.append(None)
        elif isinstance(value, str) and _is_limit(value):
            bare.append(LIMIT.sub("", value))
        else:
            bare.append(value)
    without, unit = _split_unit(_with_points(bare))
    if without == found.values:  # This saves the time to write all rows.
        return values, ""
    found = replace(found, values=without)
    return found.as_numbers() if found.are_numbers else found.as_objects(), unit


def other_words_of(values: pd.Series) -> list[str]:
    """Return the values that are text without a digit, except words for missing values such as "unknown"."""
    return _Different.of(values).chosen(_is_other_word) if _may_hold_text(values) else []


def misspelt_numbers(values: pd.Series) -> list[str]:
    """Return the values that are text with a digit which is no number, such as "7O"; "007" may be a code."""
    return _Different.of(values).chosen(_is_misspelt) if _may_hold_text(values) else []


def limits_of(values: pd.Series) -> list[str]:
    """Return the values that are limits, such as "<0.1"."""
    return _Different.of(values).chosen(_is_limit) if _may_hold_text(values) else []


def split_unit(values: pd.Series) -> tuple[pd.Series, str]:
    """Return a column of text whose numbers all have one unit without it, and the unit; others as they are, and "".

    Example:
        >>> split_unit(pd.Series(["45%", None, "7.5%"])), split_unit(pd.Series(["$1,200", "$80"]))[1]
        ((0     45
        1    NaN
        2    7.5
        dtype: object, '%'), '$')
    """
    if not _may_hold_text(values):
        return values, ""
    found = _Different.of(values)
    bare, unit = _split_unit(found.values)
    return values if bare is found.values else replace(found, values=bare).as_objects(), unit


@dataclass(frozen=True)
class _Different:
    """The different values of a column (n,): what a text means is found once for all rows that have it."""

    column: pd.Series
    values: list[Any]
    is_text: bool

    @classmethod
    def of(cls, column: pd.Series) -> Self:
        is_text = isinstance(column.dtype, pd.StringDtype) or pd.api.types.infer_dtype(column, skipna=True) == "string"
        # Equal objects may have several types, such as 1 and True: every row counts as different.
        values = pd.Series(column.unique()) if is_text else column
        return cls(column, values.dropna().tolist(), is_text)

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """The place of each row's value among the different ones, -1 if it is missing."""
        if self.is_text:
            return pd.factorize(self.column)[0]
        missing = self.column.isna().to_numpy()
        return np.where(missing, -1, np.cumsum(~missing) - 1)

    def share(self, some: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
        """Return the number of rows that have some of the values, over that of others."""
        return float(self.counts[some].sum() / self.counts[of].sum())

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows have each value."""
        return np.bincount(self.places + 1, minlength=len(self.values) + 1)[1:]

    @property
    def are_numbers(self) -> bool:
        """Whether all values that are not missing are numbers, and there are some."""
        present = [value for value in self.values if value is not None]
        return len(present) > 0 and all(map(_is_number, present))

    def as_numbers(self) -> pd.Series:
        """Return the rows of the column as numbers, whole ones if all are, and none is missing."""
        numbers = np.array([np.nan if value is None else float(value) for value in self.values] + [np.nan])
        rows = numbers[self.places]
        are_whole = all(map(_is_whole, self.values)) and not (self.places < 0).any()
        if are_whole and np.abs(rows).max() < 2**53:
            rows = rows.astype(np.int64)
        return pd.Series(rows, index=self.column.index, name=self.column.name)

    def as_objects(self) -> pd.Series:
        """Return the rows of the column as objects."""
        values = [np.nan if value is None else value for value in self.values]
        rows = np.array([*values, np.nan], dtype=object)[self.places]
        return pd.Series(rows, self.column.index, object, self.column.name)

    def chosen(self, is_chosen: Callable[[object], bool]) -> list[Any]:
        """Return the values of the rows that are chosen by their value."""
        rows: list[Any] = []
        for value, count in zip(self.values, self.counts, strict=True):
            if is_chosen(value):
                rows += [value] * count
        return rows


def _with_points(values: list[Any]) -> list[Any]:
    """Return different values with decimal points; the same list if they have no clear decimal comma."""
    found = {value: DECIMAL_COMMA.fullmatch(value) for value in values if isinstance(value, str)}
    if not any(each and _is_clear_comma(each[0]) for each in found.values()):
        return values
    if any(each is None and DECIMAL_POINT.search(value) for value, each in found.items()):
        return values
    written = {value: value.replace(".", "").replace(",", ".") for value, each in found.items() if each}
    return [written.get(value, value) if isinstance(value, str) else value for value in values]


def _is_clear_comma(text: str) -> bool:
    """Return whether the comma of a number as text is a decimal one, and not one between thousands."""
    return re.search(r"\.\d{3},|(?<!\d)0?,\d|,(?!\d{3}(?!\d))\d", text) is not None


def _split_unit(values: list[Any]) -> tuple[list[Any], str]:
    """Return different values without their one unit, and the unit; the same list, and "", if they have none."""
    unit = ""
    bare: list[str | None] = []
    for text in values:
        if text is None:
            bare.append(None)
            continue
        found = UNIT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            return values, ""
        sign, before, number, after = found.groups()
        this, number = before + after.strip(), sign + number
        if len(this) > 3:
            this = this.removesuffix("s")  # One year, two years.
        if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", number):
            number = number.replace(",", "")
        if not this or unit not in ("", this) or NUMBER.fullmatch(number) is None:
            return values, ""
        unit = this
        bare.append(number)
    return bare, unit


def plain_text(value: object) -> str:
    """Return a value as text, a whole float as the integer that it equals.

    Example:
        >>> plain_text(1000001.0), plain_text(0.5), plain_text("mild")
        ('1000001', '0.5', 'mild')
    """
    if not isinstance(value, float | np.floating):
        return str(value)
    if float(value).is_integer():
        return str(int(value))
    return repr(float(value))


def quoted_text(label: object) -> str:
    """Return a label for a sentence: a number as :func:`plain_text` has it, other text in quotes.

    Example:
        >>> quoted_text(3.0), quoted_text("3"), quoted_text("good")
        ('3', '3', "'good'")
    """
    text = plain_text(label)
    try:
        float(text)
    except ValueError:
        return repr(text)
    return text


def is_constant(deviation: np.ndarray | float, largest: np.ndarray | float, tolerance: float = 1e-12) -> np.ndarray:
    """Return whether deviations are no larger than what rounding makes of equal values, the ``largest`` in size."""
    return np.asarray(deviation <= tolerance * largest)


def _may_hold_text(values: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(values.dtype) or isinstance(values.dtype, pd.StringDtype)


def _is_limit(value: object) -> bool:
    return isinstance(value, str) and LIMIT.match(value) is not None


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return NUMBER.fullmatch(value) is not None
    return isinstance(value, int | float | np.integer | np.floating | Decimal) and not isinstance(value, bool)


def is_missing_word(value: object) -> bool:
    """Return whether a value is a word for a missing one, such as "unknown"."""
    return isinstance(value, str) and value.strip().casefold() in MISSING_WORDS


def _is_other_word(value: object) -> bool:
    return isinstance(value, str) and re.search(r"\d", value) is None and not is_missing_word(value)


def _is_misspelt(value: object) -> bool:
    if not isinstance(value, str) or re.search(r"\d", value) is None or re.fullmatch(r"\s*[-+]?\d+\s*", value):
        return False
    forms = [NUMBER, UNIT]
    if "," in value:
        forms.append(DECIMAL_COMMA)
    return not any(form.fullmatch(LIMIT.sub("", value)) for form in forms)


def _is_whole(value: object) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r"\s*[-+]?\d+\s*", value) is not None
    return isinstance(value, int | np.integer) or (isinstance(value, Decimal) and value == value.to_integral_value())
