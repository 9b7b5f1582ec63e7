"""Dates, times of day and durations of SPSS, Stata and SAS, which store numbers and say by a format what they count."""

import re

import numpy as np
import pandas as pd

SPSS_ORIGIN, STATA_ORIGIN = np.datetime64("1582-10-14", "us"), np.datetime64("1960-01-01", "us")
LONGEST = 9e9  # Seconds; pandas has no longer durations in nanoseconds.
DAY = 86_400
# What the numbers of a format count, by the name of the format. "clock" are seconds since midnight, or of a duration.
SPSS_FORMATS = {"seconds": r"[AEJS]?DATE|DATETIME|YMDHMS|MOYR|QYR|WKYR", "clock": "TIME", "duration": "[DM]TIME"}
SAS_FORMATS = {
    "days": (
        r"(WEEK|WORD)DAT[EX]|(MMDDYY|DDMMYY|YYMMDD|MMYY|YYMM)[BCDNPS]?|DATE|(IS|E|B)8601DA|MONYY|YYMON|JULIAN"
        r"|YYQR?[CDNPS]?|NLDATE[A-Z]*"
    ),
    "seconds": r"DATETIME|DATEAMPM|MDYAMPM|DT(DATE|MONYY|YEAR|WKDATX|YYQC)|(IS|E|B)8601D[TNXZ]|NLDATM[A-Z]*",
    "clock": r"TIME|TIMEAMPM|TOD|HHMM|MMSS|(IS|E|B)8601T[MXZ]|NLTIM(E|AP)",
}
STATA_FORMATS = {
    "days": r"%-?t?d.*", "clock of milliseconds": r"%-?t[cC][HhMSs:.,_ aApPmM]+", "milliseconds": r"%-?t[cC].*",
    "weeks": r"%-?tw.*", "months": r"%-?tm.*", "quarters": r"%-?tq.*", "halves": r"%-?th.*",
}  # fmt: skip
FORMATS = {"SPSS": SPSS_FORMATS, "SAS": SAS_FORMATS, "Stata": STATA_FORMATS}


def counted_by(written: str | None, program: str) -> str | None:
    """Return what the numbers of a column count, such as "days", by its format; None for other numbers.

    Example:
        >>> counted_by("DTIME11.2", "SPSS"), counted_by("%tdDD/NN/CCYY", "Stata"), counted_by("F8.2", "SPSS")
        ('duration', 'days', None)
    """
    name = written or ""
    if program != "Stata":
        name = re.sub(r"\d*(\.\d*)?$", "", name.upper())
    for unit, pattern in FORMATS[program].items():
        if re.fullmatch(pattern, name):
            return unit
    return None


def as_times(numbers: pd.Series, unit: str, program: str) -> pd.Series:
    """Return numbers as the dates, times of day or durations that they stand for.

    Numbers of a clock are times of day if all are, and durations if one is negative or reaches 24 hours.

    Raises:
        OverflowError: a date outside of the years 1 to 9999, or a duration of centuries.

    Example:
        >>> as_times(pd.Series([60.0, 108_000.0]), "clock", "SPSS").tolist()
        [Timedelta('0 days 00:01:00'), Timedelta('1 days 06:00:00')]
        >>> as_times(pd.Series([60.0, 3600.0]), "clock", "SPSS").tolist()
        [datetime.time(0, 1), datetime.time(1, 0)]
    """
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    if unit in ("clock", "duration", "clock of milliseconds"):
        seconds = values / 1000 if unit == "clock of milliseconds" else values
        times = _as_clock(seconds, is_duration=unit == "duration")
    else:
        times = _as_dates(values, unit, SPSS_ORIGIN if program == "SPSS" else STATA_ORIGIN)
    return pd.Series(times.array, index=numbers.index, name=numbers.name)


def _as_clock(seconds: np.ndarray, *, is_duration: bool) -> pd.Series:
    present = seconds[~np.isnan(seconds)]
    if (np.abs(present) > LONGEST).any():
        raise OverflowError("durations of centuries")
    spans = pd.Series(_spans(seconds))
    if is_duration or (present < 0).any() or (present >= DAY).any():
        return spans
    times = (STATA_ORIGIN + spans).dt.time
    return times.astype(object).where(spans.notna(), None)


def _as_dates(values: np.ndarray, unit: str, origin: np.datetime64) -> pd.Series:
    if unit in ("weeks", "months", "quarters", "halves"):
        days = _days_of(values, unit)
    else:
        days = values / {"days": 1, "seconds": DAY, "milliseconds": 1000 * DAY}[unit]
    ends = np.array(["0001-01-01", "9999-12-31"], dtype="datetime64[us]")
    first, last = (ends - origin) / np.timedelta64(1, "D")
    if ((days < first) | (days > last)).any():
        raise OverflowError("dates out of range")
    return pd.Series(origin + _spans(days * DAY))


def _days_of(values: np.ndarray, unit: str, largest: float = 1e6) -> np.ndarray:
    """Return the days from 1960 to the start of Stata's weeks, of which a year has 52, months, quarters or halves."""
    if (np.abs(values) > largest).any():
        return values * np.inf
    is_missing = np.isnan(values)
    counts = np.where(is_missing, 0, np.floor(values)).astype(np.int64)
    weeks = np.zeros(len(counts))
    if unit == "weeks":
        counts, weeks = np.divmod(counts, 52)
    months = counts * {"weeks": 12, "months": 1, "quarters": 3, "halves": 6}[unit]
    days = (np.datetime64("1960-01", "M") + months).astype("datetime64[D]") - STATA_ORIGIN.astype("datetime64[D]")
    return np.where(is_missing, np.nan, days.astype(np.float64) + 7 * weeks)


def _spans(seconds: np.ndarray) -> np.ndarray:
    """Return seconds as spans of time, rounded to milliseconds, as decimal fractions of seconds are not exact."""
    spans = np.where(np.isnan(seconds), 0, np.round(seconds * 1000) * 1000).astype("timedelta64[us]")
    spans[np.isnan(seconds)] = np.timedelta64("NaT")
    return spans
