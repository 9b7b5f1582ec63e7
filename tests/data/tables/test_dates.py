"""Dates in tables become numbers, whether they are times or text."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest

from ordinate.data.tables.dates import AMBIGUOUS, ISO, date_form
from ordinate.data.tables.features import TableFeatures
from ordinate.errors import OrdinateError

TIMES = pd.Series(pd.date_range("2019-11-30 21:30", periods=40, freq="37h"))
DATES = TIMES.dt.normalize()
FORMS = ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y", "%B %d, %Y"]


def numbers_of(values, new=None):
    features = TableFeatures.fit(pd.DataFrame({"seen": values}))
    found = features.transform(pd.DataFrame({"seen": values if new is None else new}))
    return pd.DataFrame(found, columns=features.features)


def test_a_date_is_the_days_since_the_first_and_its_parts():
    features = TableFeatures.fit(pd.DataFrame({"seen": TIMES}))
    (column,) = features.columns
    assert column.origin == "2019-11-30T21:30:00"
    names = [part.name for part in column.parts]
    assert names == ["seen, days", "seen, year", "seen, month", "seen, day", "seen, weekday", "seen, hour"]
    expected = {
        "seen, days": np.arange(40) * 37 / 24, "seen, year": TIMES.dt.year, "seen, month": TIMES.dt.month,
        "seen, day": TIMES.dt.day, "seen, weekday": TIMES.dt.day_of_week, "seen, hour": TIMES.dt.hour + 0.5,
    }  # fmt: skip
    found = numbers_of(TIMES)
    for name, values in expected.items():
        standardised = (values - np.mean(values)) / np.std(values)
        np.testing.assert_allclose(found[name], standardised, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of_day", ["", " %H:%M", " %H:%M:%S"])
def test_text_of_a_clear_form_is_the_date_that_it_says(form, of_day):
    times = TIMES if of_day else DATES
    pd.testing.assert_frame_equal(numbers_of(times.dt.strftime(form + of_day)), numbers_of(times))


@pytest.mark.parametrize(
    "stored",
    [
        TIMES.dt.tz_localize("Europe/Berlin"),
        TIMES.dt.strftime("%Y-%m-%dT%H:%M:%S.000+0200"),
        TIMES.dt.strftime("%Y-%m-%d %H:%M:%SZ"),
        TIMES.dt.strftime("%Y-%m-%d %H:%M+00"),
        pd.Series(TIMES.dt.to_pydatetime(), dtype=object),
        TIMES.dt.to_period("min"),
        TIMES.astype("category"),
    ],
    ids=["zone", "offset", "utc", "hours of offset", "objects", "period", "category"],
)
def test_times_are_the_same_however_they_are_stored(stored):
    pd.testing.assert_frame_equal(numbers_of(stored), numbers_of(TIMES))
    pd.testing.assert_frame_equal(numbers_of(TIMES, stored), numbers_of(TIMES))


def test_dates_of_a_calendar_are_dates():
    stored = pd.Series([datetime.date(2020, 1, day) for day in range(1, 30)], dtype=object)
    pd.testing.assert_frame_equal(numbers_of(stored), numbers_of(pd.to_datetime(stored)))


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["01/02/2020", "03/04/2020"], AMBIGUOUS),
        (["01-02-2020 10:30"], AMBIGUOUS),
        (["01/02/2020", "13/04/2020"], "%d/%m/%Y"),
        (["01/02/2020", "04/13/2020"], "%m/%d/%Y"),
        (["13/04/2020", "04/13/2020"], None),
        (["2020-01-31", "unknown"], None),
        (["2020-01-31", "now"], None),
        (["now"], None),
        (["2020"], None),
        (["2020-01"], None),
        (["2020-01-31 10:00+00"], ISO),
        (["2020-01-31T10:00:00.5 -05:30"], ISO),
        (["2020-13-31"], None),
        (["12-34", "1.2.3", "a-b-c"], None),
        (["grade 1, 2"], None),
        ([None, None], None),
    ],
)
def test_what_may_be_two_dates_is_none(texts, form):
    assert date_form(pd.Series(texts, dtype=object)) == form


def test_dates_that_are_not_clear_are_categories_with_a_note():
    features = TableFeatures.fit(pd.DataFrame({"seen": ["01/02/2020", "03/04/2020"] * 4}))
    assert features.categorical == ["seen"]
    assert features.notes == ["seen: day and month of its dates are ambiguous; write them as 2020-01-31"]


def test_a_later_text_is_read_in_the_form_of_training():
    trained = pd.Series(["31/12/2020", "01/02/2020", "05/06/2021"])
    clear = pd.to_datetime(pd.Series(["2020-02-01", "2021-06-05"]))
    pd.testing.assert_frame_equal(
        numbers_of(trained, pd.Series(["01/02/2020", "05/06/2021"])), numbers_of(trained, clear)
    )


@pytest.mark.parametrize("wrong", ["2020-12-31", "soon", 7])
def test_another_form_is_an_error_that_shows_that_of_training(wrong):
    features = TableFeatures.fit(pd.DataFrame({"seen": ["31.12.2020", "01.02.2020"]}))
    with pytest.raises(OrdinateError, match=r"column 'seen': got .*, expected dates such as 31\.01\.2020, as in train"):
        features.transform(pd.DataFrame({"seen": [wrong]}))
    with pytest.raises(OrdinateError, match="expected dates"):
        features.check(pd.DataFrame({"seen": [wrong]}))


@pytest.mark.parametrize("wrong", ["now", "today", "2020", "2020-01", "20200131"])
def test_what_pandas_takes_for_a_date_but_does_not_look_like_one_is_an_error(wrong):
    features = TableFeatures.fit(pd.DataFrame({"seen": ["2020-01-31", "2020-02-01"]}))
    with pytest.raises(OrdinateError, match=f"column 'seen': got '{wrong}', expected dates such as 2020-01-31"):
        features.transform(pd.DataFrame({"seen": ["2020-01-31", wrong]}))


def test_a_missing_date_is_marked_once():
    values = TIMES.where(TIMES.index != 3)
    found = numbers_of(values)
    assert [name for name in found if "missing" in name] == ["seen, days, missing"]
    assert found["seen, days, missing"].to_numpy().nonzero()[0].tolist() == [3]
    assert np.isfinite(found.to_numpy()).all()


def test_what_is_the_same_in_all_rows_is_no_part():
    features = TableFeatures.fit(pd.DataFrame({"seen": pd.date_range("2020-03-01", periods=9)}))
    assert [part.name for part in features.columns[0].parts] == ["seen, days", "seen, day", "seen, weekday"]


def test_a_saved_column_is_the_same():
    frame = pd.DataFrame({"seen": TIMES.dt.strftime("%d.%m.%Y %H:%M"), "size": np.arange(40.0)})
    features = TableFeatures.fit(frame)
    restored = TableFeatures.from_dict(json.loads(json.dumps(features.to_dict())))
    assert restored.columns == features.columns
    assert restored.numeric_positions == features.numeric_positions
    np.testing.assert_array_equal(restored.transform(frame), features.transform(frame))


@pytest.mark.parametrize("form", ["%H:%M", "%H:%M:%S"])
def test_times_of_day_become_hours(form):
    times = pd.Series(pd.date_range("2020-01-01", periods=40, freq="37min"))
    texts = times.dt.strftime(form)
    features = TableFeatures.fit(pd.DataFrame({"seen": texts}))
    assert features.notes == ["seen: times of day, converted to hours"]
    hours = pd.DataFrame({"seen, hour": times.dt.hour + times.dt.minute / 60})
    np.testing.assert_array_equal(numbers_of(texts), TableFeatures.fit(hours).transform(hours))
    with pytest.raises(OrdinateError, match="'noon', expected times such as 00:00"):
        features.transform(pd.DataFrame({"seen": ["noon"]}))
