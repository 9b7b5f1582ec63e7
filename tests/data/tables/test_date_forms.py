"""The form of dates, times of day and durations: one that fits all values, or none."""

import numpy as np
import pandas as pd
import pytest

from ordinate.data.tables.date_forms import AMBIGUOUS, DURATION, ISO, TIME_OF_DAY, UNCLEAR, date_form


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["01/02/2020", "03/04/2020"], AMBIGUOUS),
        (["01-02-2020 10:30"], AMBIGUOUS),
        (["01/02/2020", "13/04/2020"], "%d/%m/%Y"),
        (["01/02/2020", "04/13/2020"], "%m/%d/%Y"),
        (["13/04/2020", "04/13/2020"], UNCLEAR),
        (["2020-01-31", "unknown"], UNCLEAR),
        (["2020-01-31", "now"], UNCLEAR),
        (["2020-01-31", "31.01.2020", "low"], UNCLEAR),
        (["10:30", "26:30"], UNCLEAR),
        (["10:30", "low", "high"], None),
        (["now"], None),
        (["01/02/20", "03/04/20"], AMBIGUOUS),
        (["01/02/20", "13/04/20"], "%d/%m/%y"),
        (["01/02/20", "04/13/20"], "%m/%d/%y"),
        (["99/12/31"], "%y/%m/%d"),
        (["20-01-31", "20-02-28"], AMBIGUOUS),
        (["31-12-99", "01-02-03"], "%d-%m-%y"),
        (["99-01-31", "20-02-28"], "%y-%m-%d"),
        (["31.12.99"], "%d.%m.%y"),
        (["31.12.99", "31.12.2001"], UNCLEAR),
        (["45-67-89", "12-99-00"], None),
        (["10.11.12.13", "1.2.3.4"], None),
        (["10:30", "5:07 PM"], TIME_OF_DAY),
        (["13:30 PM"], None),
        (["10:30:59", "26:30:00"], DURATION),
        (["10:30-12:00"], None),
        (["2020-01-31 10:30 HIGH"], None),
        (["2020"], None),
        (["2020-01"], None),
        (["2020-01-31 10:00+00"], ISO),
        (["2020-01-31T10:00:00.5 -05:30"], ISO),
        (["2020-W05", "2020-W06-7"], None),
        (["2020-13-31"], None),
        (["12-34", "1.2.3", "a-b-c"], None),
        (["grade 1, 2"], None),
        (["31-Jan-2020", "01-Feb-2020"], "%d-%b-%Y"),
        (["Jan 31, 2020", "Feb 1, 2020"], "%b %d, %Y"),
        (["2020/01/31"], "%Y/%m/%d"),
        (["2020-01-31T14:30:00.000Z"], ISO),
        (["1/31/2020 2:30:00 PM", "2/1/2020 11:05:00 AM"], "%m/%d/%Y"),
        (["31/Jan/2020"], "%d/%b/%Y"),
        (["2020-Jan-31 10:30"], "%Y-%b-%d"),
        (["2020 Jan 31"], "%Y %b %d"),
        ([None, None], None),
    ],
)
def test_what_may_be_two_dates_is_none(texts, form):
    assert date_form(pd.Series(texts, dtype=object)) == form


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "int64[pyarrow]"])
@pytest.mark.parametrize(
    ("numbers", "form"),
    [
        ([20200131, 20191201, 19000101], "%Y%m%d"),
        ([20200131, 20200230], None),
        ([20200131, 20201301], None),
        ([20200131, 18991231], None),
        ([20200131, 21010101], None),
        ([20200131, 7], None),
        ([43861, 43862], None),
    ],
)
def test_numbers_of_eight_digits_are_dates_if_all_are(numbers, form, dtype):
    assert date_form(pd.Series(numbers).astype(dtype)) == form


def test_other_numbers_are_no_dates():
    for values in ([20200131.5], [np.nan], [], [True], [1j], [np.inf, 20200131]):
        assert date_form(pd.Series(values)) is None
