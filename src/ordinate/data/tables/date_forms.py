"""How dates, times of day and durations are written, as the values of a column tell."""

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

import numpy as np
import pandas as pd

from ordinate.data.numbers import plain_text
from ordinate.data.times import are_times
from ordinate.errors import OrdinateError

ISO, TIME_OF_DAY, DURATION, AMBIGUOUS, UNCLEAR = "%Y-%m-%d", "time of day", "duration", "ambiguous", "unclear"
# What to say of a column that stays text though it seems to hold dates.
NOT_TOLD = {
    AMBIGUOUS: "day and month of its dates are ambiguous; write them as 2020-01-31",
    UNCLEAR: "seems to hold dates or times of no one known form; write them as 2020-01-31, 13:45 or 1 days 02:30:00",
}
COMPACT = "%Y%m%d"  # Such dates are numbers.
FORMS = (
    "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d %b %Y", "%d-%b-%Y", "%d%b%Y", "%b %d, %Y", "%b %d %Y", "%d %B %Y",
    "%B %d, %Y", "%B %d %Y", "%d/%b/%Y", "%Y-%b-%d", "%Y %b %d", "%d.%m.%y", "%d %b %y", "%d-%b-%y", "%b %d, %y",
)  # fmt: skip
# Of these, day and month are ambiguous unless one form alone fits.
ALTERNATIVES = (
    ("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"),
    ("%d/%m/%y", "%m/%d/%y"), ("%y/%m/%d",), ("%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
)  # fmt: skip
EXAMPLES = {TIME_OF_DAY: "times such as 13:45", DURATION: "durations such as 26:30:00 or 1 days 02:30:00"}

CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d(?:\.\d+)?))?(?:\s*(?P<half>[aApP])\.?[mM]\.?)?"
ZONES = (
    "Z UTC UT GMT WET WEST BST CET CEST EET EEST MSK IST SGT HKT JST KST AWST ACST ACDT AEST AEDT NZST NZDT "
    "AST ADT EST EDT CST CDT MST MDT PST PDT AKST AKDT HST"
).replace(" ", "|")
REGIONS = "Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific"
ZONE = rf"\s*(?:{ZONES}|(?:{REGIONS})/[\w/]+)?\s*(?:[+-]\d{{1,2}}(?::?\d\d)?)?\s*(?:\[[\w/]+\]|\([\w ]+\))?"
TIME = re.compile(CLOCK)
# A day of the week, the date, and the time of day with its zone, which is left out: hours are local ones.
DATED = re.compile(
    rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?,?\s+)?(?P<date>\S.*?)(?:(?:,?\s+|(?<=\d)[T:]){CLOCK}{ZONE})?"
)
DATE = re.compile(r"\d{1,4}[-/. ]+\w{1,9}[-/. ]+\d{1,4}|[A-Za-z]{3,9} \d{1,2},? \d{2,4}|\d{1,2}[A-Za-z]{3}\d{4}")
SPAN = re.compile(
    r"(?P<before>-)?(?:(?P<days>\d+) days?,?\s*)?(?P<sign>[-+])?"
    r"(?P<hours>\d+):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d(?:\.\d+)?)"
)


def date_form(values: pd.Series) -> str | None:
    """Return the form of a column of dates, times of day or durations, None for another.

    Dates are ``"ambiguous"`` if their day and month are, and ``"unclear"`` if no one form fits all of them.

    Example:
        >>> date_form(pd.Series(["31/01/2020", "01/02/2020"])), date_form(pd.Series(["01/02/2020"]))
        ('%d/%m/%Y', 'ambiguous')
        >>> date_form(pd.Series(["5:30 PM", "11:05"])), date_form(pd.Series(["02:30:00", "26:00:00"]))
        ('time of day', 'duration')
    """
    if are_times(values):
        return _form_of_times(values)
    if pd.api.types.is_numeric_dtype(values.dtype):
        return COMPACT if _are_compact(values) else None
    if isinstance(values.dtype, pd.CategoricalDtype):
        return None
    looked_at = _different_texts(values.iloc[:1000])[:100]  # The first ones mostly tell.
    if 2 * sum(map(_looks_like_date, looked_at)) < max(1, len(looked_at)):
        return None
    texts = _different_texts(values)
    for form in (TIME_OF_DAY, DURATION):
        if _fits(texts, form):
            return form
    dates = _different_dates(texts)
    for form in (ISO, *FORMS):
        if _fits(dates, form):
            return form
    for forms in ALTERNATIVES:
        fitting = [form for form in forms if _fits(dates, form)]
        if fitting:
            return fitting[0] if len(fitting) == 1 else AMBIGUOUS
    return UNCLEAR if _are_mostly_dates(looked_at) else None


def read_dates(name: str, values: pd.Series, form: str) -> pd.Series:
    """Return values of a column, none missing, as local times; times of day and durations as seconds.

    Raises:
        OrdinateError: a value that has another form.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    if isinstance(values.dtype, pd.PeriodDtype):
        values = values.dt.to_timestamp()
    if form in (TIME_OF_DAY, DURATION):
        read = _seconds(values, form)
    elif are_times(values):
        read = _local_times(name, values)
    elif form == COMPACT:
        read = _days(values.map(plain_text), form)
    else:
        read = _dates(values, form)
    wrong = values[read.isna()]
    if len(wrong):
        expected = EXAMPLES.get(form) or f"dates such as {date(2020, 1, 31).strftime(form)}"
        raise OrdinateError(f"column {name!r}", repr(wrong.tolist()[0]), f"{expected}, as in training")
    return read


def _are_compact(values: pd.Series) -> bool:
    """Return whether all numbers are dates of the years 1900 to 2100, such as 20200131."""
    if values.dtype.kind not in "iuf":
        return False
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    low, high = np.fmin.reduce(numbers, initial=np.inf), np.fmax.reduce(numbers, initial=-np.inf)
    if not 19000101 <= low <= high <= 21001231:
        return False
    different = pd.Series(pd.unique(numbers[~np.isnan(numbers)]))
    return bool(_days(different.map(plain_text), COMPACT).notna().all())


def _form_of_times(values: pd.Series) -> str:
    """Return the form of values that are dates, times or durations by their type."""
    kind = pd.api.types.infer_dtype(values.dropna(), skipna=True)
    if isinstance(values.dtype, pd.CategoricalDtype):
        kind = pd.api.types.infer_dtype(values.dtype.categories, skipna=True)
    if kind.startswith("timedelta"):
        return DURATION
    return TIME_OF_DAY if kind == "time" else ISO


def _different_texts(values: pd.Series) -> list[str]:
    """Return the different values of a column of text without spaces around; none of a column of anything else."""
    is_text = isinstance(values.dtype, pd.StringDtype) or pd.api.types.infer_dtype(values, skipna=True) == "string"
    return [text.strip() for text in values.unique() if isinstance(text, str)] if is_text else []


def _looks_like_date(text: str) -> bool:
    return _date_and_seconds(text)[0] != "" or any(form.match(text) for form in (TIME, SPAN))


def _different_dates(texts: Sequence[str]) -> list[str]:
    """Return the different dates of texts, without the times of day; those of a text that holds no date are empty."""
    return list(dict.fromkeys(_date_and_seconds(text)[0] for text in texts))


def _fits(texts: Sequence[str], form: str) -> bool:
    """Return whether all texts are dates of a form; the first ones mostly tell."""
    return all(bool(_read_texts(part, form).notna().all()) for part in (texts[:100], texts))


def _read_texts(texts: Sequence[str], form: str) -> pd.Series:
    values = pd.Series(texts, dtype=object)
    return _seconds(values, form) if form in (TIME_OF_DAY, DURATION) else _days(values, form)


def _are_mostly_dates(texts: Sequence[str]) -> bool:
    """Return whether at least half of the texts are dates, times or durations, of whichever forms."""
    forms = (ISO, *FORMS, *(form for forms in ALTERNATIVES for form in forms), TIME_OF_DAY, DURATION)
    dates = [_date_and_seconds(text)[0] or text for text in texts]
    are_dates = np.any([_read_texts(dates, form).notna().to_numpy() for form in forms], axis=0)
    return bool(2 * are_dates.sum() >= len(texts))


def _local_times(name: str, values: pd.Series) -> pd.Series:
    """Return dates and times as they are on the clock, without a zone."""
    try:
        return pd.to_datetime(values).dt.tz_localize(None)
    except (TypeError, ValueError) as error:
        problem = f"times in several zones, or out of range ({error})"
        raise OrdinateError(f"column {name!r}", problem, "dates, numbers or categories") from error


def _dates(values: pd.Series, form: str) -> pd.Series:
    """Return text of a form, or of ISO's, with a time of day or without one, as local times; NaT for others."""
    split = [_date_and_seconds(str(value).strip()) for value in values]
    texts = pd.Series([text for text, _ in split], dtype=object)
    days = _days(texts, form)
    if days.isna().any():
        days = days.fillna(_days(texts, ISO))
    return days + pd.to_timedelta([seconds for _, seconds in split], unit="s")


def _days(texts: pd.Series, form: str) -> pd.Series:
    """Return text of a form without a time of day as dates; NaT for others."""
    return pd.to_datetime(texts, format=form, errors="coerce")


def _date_and_seconds(text: str) -> tuple[str, float]:
    """Return the date of a text, and the seconds since midnight; an empty date if it looks like none."""
    found = DATED.fullmatch(text)
    if found is None or DATE.fullmatch(found["date"]) is None:  # Pandas reads "now" in any form.
        return "", 0.0
    seconds = 0.0 if found["hour"] is None else _seconds_of_clock(found)
    if np.isnan(seconds):
        return "", 0.0
    return found["date"], seconds


def _seconds(values: pd.Series, form: str) -> pd.Series:
    """Return times of day or durations as seconds, NaN for other values."""
    if values.dtype.kind == "m":
        return values.dt.total_seconds()
    read = _time_of_day if form == TIME_OF_DAY else _duration
    return pd.Series([read(value) for value in values], dtype=np.float64)


def _time_of_day(value: object) -> float:
    if isinstance(value, datetime):
        value = value.time()
    if isinstance(value, time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    found = TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    return np.nan if found is None else _seconds_of_clock(found)


def _seconds_of_clock(found: re.Match[str]) -> float:
    """Return the seconds since midnight of a time, with AM or PM or without; NaN for an hour that there is not."""
    hour = int(found["hour"])
    if found["half"] is not None:
        if not 1 <= hour <= 12:
            return np.nan
        hour = hour % 12 + 12 * (found["half"] in "pP")
    if hour > 23:
        return np.nan
    return hour * 3600 + int(found["minute"]) * 60 + float(found["second"] or 0)


def _duration(value: object) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, time):
        return _time_of_day(value)
    found = SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return np.nan
    before = -1 if found["before"] else 1
    of_clock = int(found["hours"]) * 3600 + int(found["minutes"]) * 60 + float(found["seconds"])
    if found["days"] is None:
        return before * of_clock
    # -1 days +21:30:00 is two and a half hours before: the sign belongs to the days alone.
    return before * 86400 * int(found["days"]) + (-1 if found["sign"] == "-" else 1) * of_clock
