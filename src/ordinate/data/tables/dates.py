"""Columns of dates, times of day and durations as numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.findings import Finding
from ordinate.data.tables.columns import NumericColumn, fit_numeric, missing_values
from ordinate.data.tables.date_forms import DURATION, TIME_OF_DAY, read_dates


@dataclass(frozen=True)
class DateColumn:
    """A date or time as numbers: days since the earliest one of training, year, month, day, weekday, hour.

    A time of day without a date becomes hours alone, and a duration seconds. Those that had a single value in training
    are left out. A missing date is marked in the column of days.

    Args:
        name: Name of the column.
        form: Form of dates that are text, as in ``strftime``; or ``"time of day"`` or ``"duration"``.
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
        places = {}
        start = 0
        for part in self.parts:
            places[part.name] = part, slice(start, start + part.width)
            start += part.width
        for name, numbers in DatesOfColumn(self.name, values, self.form).numbers(pd.Timestamp(self.origin)):
            if f"{self.name}, {name}" in places:
                part, place = places[f"{self.name}, {name}"]
                part.fill(numbers, out[:, place])
        return set()

    def findings(self, values: pd.Series, coded: NDArray[np.float32], unseen: set[str]) -> list[Finding]:
        """Return in what respects dates (n,), and their columns (n, width), lie outside of those of training."""
        first = self.parts[0]
        found = [missing_values(self.name, values)]
        if not first.scale or self.form == TIME_OF_DAY:
            return found
        if self.form == DURATION:
            text = f"durations lie outside those of training, {first.low:g} to {first.high:g} seconds"
        else:
            origin = pd.Timestamp(self.origin)
            last = origin + pd.Timedelta(days=first.high)
            text = f"dates lie outside those of training, {origin:%Y-%m-%d} to {last:%Y-%m-%d}"
        return [*found, first.outside_range(coded, f"column {self.name!r}: {text}")]


class DatesOfColumn:
    """The different dates of a column (n,), read in their form, and where each stands."""

    def __init__(self, name: str, values: pd.Series, form: str) -> None:
        if isinstance(values.dtype, pd.PeriodDtype):
            values = values.dt.to_timestamp()
        self.form = form
        self.places, different = pd.factorize(values)
        self.read = read_dates(name, pd.Series(different), form)

    @property
    def earliest(self) -> pd.Timestamp:
        """The earliest date, from which days are counted."""
        if self.form in (TIME_OF_DAY, DURATION) or len(self.read) == 0:
            return pd.Timestamp(0)
        return self.read.min()

    def numbers(self, origin: pd.Timestamp) -> Iterator[tuple[str, pd.Series]]:
        """Yield the names and the numbers (n,) of the dates; those of a missing date are NaN."""
        if self.form == TIME_OF_DAY:
            parts = {"hour": self.read / 3600}
        elif self.form == DURATION:
            parts = {"seconds": self.read}
        else:
            of_date = self.read.dt
            parts = {
                "days": (self.read - origin) / pd.Timedelta(days=1), "year": of_date.year, "month": of_date.month,
                "day": of_date.day, "weekday": of_date.day_of_week,
                "hour": of_date.hour + of_date.minute / 60 + of_date.second / 3600,
            }  # fmt: skip
        for name, part in parts.items():
            with_missing = np.append(part.astype(np.float64), np.nan)  # A missing date has the place -1, the last one.
            yield name, pd.Series(with_missing[self.places])


def fit_date(name: str, values: pd.Series, form: str) -> tuple[DateColumn, str]:
    """Learn a column of dates (n,), and return it with a note on what it became."""
    dates = DatesOfColumn(name, values, form)
    origin = dates.earliest
    columns = [fit_numeric(f"{name}, {part}", numbers) for part, numbers in dates.numbers(origin)]
    if form == TIME_OF_DAY:
        note = f"{name}: times of day, converted to hours"
    elif form == DURATION:
        note = f"{name}: durations, converted to seconds"
    else:
        columns = [columns[0], *(replace(column, indicator=False) for column in columns[1:] if column.scale)]
        parts = [column.name.removeprefix(f"{name}, ") for column in columns]
        note = f"{name}: dates from {origin:%Y-%m-%d} on, converted to {', '.join(parts)}"
        if "%y" in form:
            note += "; years of two digits are 1969 to 2068"
    if values.isna().any():
        note += f"; {values.isna().sum()} of {len(values)} are missing, and marked in a column of their own"
    return DateColumn(name, form, origin.isoformat(), tuple(columns)), note
