"""Columns of dates and times as numbers."""

import re
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.findings import Finding
from ordinate.data.tables.columns import NumericColumn, fit_numeric, missing_values
from ordinate.data.times import are_times
from ordinate.errors import OrdinateError

ISO, AMBIGUOUS = "ISO8601", "ambiguous"
TIMES_OF_DAY = ("%H:%M", "%H:%M:%S")
ISO_DATE = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}(:?\d{2})?)?)?\s*")


@dataclass(frozen=True)
class DateColumn:
    """A date or time as numbers: days since the earliest one of training, year, month, day, weekday, hour.

    A time of day without a date becomes hours alone. Those that had a single value in training are left out. A missing
    date is marked in the column of days.

    Args:
        name: Name of the column.
        form: Form of dates that are text, as in ``strftime``, or ``"ISO8601"``.
        origin: Earliest date of training.
        parts: Columns of the numbers.
    """

    name: str
    form: str
    origin: str
    parts: tuple[NumericColumn, ...]

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    @property
    def features(self) -> list[str]:
        """Names of the columns that it becomes."""
        return [feature for part in self.parts for feature in part.features]

    def fill(self, values: pd.Series, out: NDArray[np.float32]) -> set[str]:
        """Write the columns (n, width) of dates, which may be text in the form of the training data."""
        numbers = _numbers(_times(self.name, values, self.form), pd.Timestamp(self.origin))
        start = 0
        for part in self.parts:
            part.fill(numbers[part.name.removeprefix(f"{self.name}, ")], out[:, start : start + part.width])
            start += part.width
        return set()

    def findings(self, values: pd.Series, coded: NDArray[np.float32], unseen: set[str]) -> list[Finding]:
        """Return in what respects dates (n,), and their columns (n, width), lie outside of those of training."""
        days = self.parts[0]
        found = [missing_values(self.name, values)]
        if days.scale and self.form not in TIMES_OF_DAY:
            first = pd.Timestamp(self.origin)
            last = first + pd.Timedelta(days=days.high)
            text = f"dates lie outside those of training, {first:%Y-%m-%d} to {last:%Y-%m-%d}"
            found.append(days.outside_range(coded, f"column {self.name!r}: {text}"))
        return found


def date_form(values: pd.Series) -> str | None:
    """Return the form of a column of dates, None for another; ``"ambiguous"`` if day and month are ambiguous.

    Example:
        >>> date_form(pd.Series(["31/01/2020", "01/02/2020"])), date_form(pd.Series(["01/02/2020"]))
        ('%d/%m/%Y', 'ambiguous')
    """
    if are_times(values):
        return ISO
    present = values.dropna()
    is_other = pd.api.types.is_numeric_dtype(values.dtype) or isinstance(values.dtype, pd.CategoricalDtype)
    if is_other or len(present) == 0 or not all(isinstance(value, str) for value in present):
        return None
    texts = pd.Series(present.unique())
    may_be = r"\s*(\d{1,4}[-/. ]+\w{1,9}[-/. ]+\d{1,4}|[A-Za-z]{3,9} \d{1,2}, \d{4}|\d{1,2}:\d{2}).*"
    if re.fullmatch(may_be, texts[0]) is None:
        return None
    if all(map(ISO_DATE.fullmatch, texts)):
        return ISO if _fits(texts, ISO) else None
    for form in TIMES_OF_DAY:
        if _fits(texts, form):
            return form
    for of_day in ("", " %H:%M", " %H:%M:%S"):
        for form in ("%Y/%m/%d", "%d.%m.%Y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"):
            if _fits(texts, form + of_day):
                return form + of_day
        for forms in (("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y")):
            fitting = [form + of_day for form in forms if _fits(texts, form + of_day)]
            if fitting:
                return fitting[0] if len(fitting) == 1 else AMBIGUOUS
    return None


def fit_date(name: str, values: pd.Series, form: str) -> tuple[DateColumn, str]:
    """Learn a column of dates (n,), and return it with a note on what it became."""
    times = _times(name, values, form)
    origin = pd.Timestamp(0) if times.isna().all() else times.min()
    if form in TIMES_OF_DAY:
        hours = fit_numeric(f"{name}, hour", _numbers(times, origin)["hour"])
        return DateColumn(name, form, origin.isoformat(), (hours,)), f"{name}: times of day, converted to hours"
    columns = [fit_numeric(f"{name}, {part}", numbers) for part, numbers in _numbers(times, origin).items()]
    columns = [columns[0], *(replace(column, indicator=False) for column in columns[1:] if column.scale)]
    parts = [column.name.removeprefix(f"{name}, ") for column in columns]
    note = f"{name}: dates from {origin:%Y-%m-%d} on, converted to {', '.join(parts)}"
    if values.isna().any():
        note += f"; {values.isna().sum()} of {len(values)} are missing, and marked in a column of their own"
    return DateColumn(name, form, origin.isoformat(), tuple(columns)), note


def _numbers(times: pd.Series, origin: pd.Timestamp) -> dict[str, pd.Series]:
    """Return the numbers of dates by their names; those of a missing date are NaN."""
    parts = {"year": times.dt.year, "month": times.dt.month, "day": times.dt.day, "weekday": times.dt.day_of_week}
    hours = times.dt.hour + times.dt.minute / 60
    return {"days": (times - origin) / pd.Timedelta(days=1), **parts, "hour": hours}


def _times(name: str, values: pd.Series, form: str) -> pd.Series:
    """Return dates, or text of a form, as local times without a zone."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    if are_times(values):
        if isinstance(values.dtype, pd.PeriodDtype):
            return values.dt.to_timestamp()
        try:
            times = pd.to_datetime(values)
        except (TypeError, ValueError) as error:
            problem = f"times without dates, or in several time zones ({error})"
            raise OrdinateError(f"column {name!r}", problem, "dates, numbers or categories") from error
        return times.dt.tz_localize(None)
    times = _parsed(values, form)
    wrong = values[times.isna() & values.notna()]
    if len(wrong):
        example = "2020-01-31" if form == ISO else date(2020, 1, 31).strftime(form)
        kind = "times" if form in TIMES_OF_DAY else "dates"
        raise OrdinateError(f"column {name!r}", repr(wrong.iloc[0]), f"{kind} such as {example}, as in training")
    return times


def _fits(texts: pd.Series, form: str) -> bool:
    """Return whether all texts are dates of a form; the first ones mostly tell."""
    return all(bool(_parsed(part, form).notna().all()) for part in (texts[:100], texts))


def _parsed(values: pd.Series, form: str) -> pd.Series:
    texts = values.astype("str").str.strip()
    if form == ISO:
        texts = texts.where(texts.map(lambda text: ISO_DATE.fullmatch(str(text)) is not None))
        offset = r"(:\d\d(?:\.\d+)?)\s*(?:Z|[+-]\d\d(?::?\d\d)?)$"  # It is left out: hours are local ones.
        texts = texts.str.replace(offset, r"\1", regex=True)
    return pd.to_datetime(texts, format=form, errors="coerce")
