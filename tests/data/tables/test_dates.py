"""Dates in tables become numbers, whether they are times or text."""

import datetime
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from ordinate.data.tables.features import TableFeatures, check_unseen
from ordinate.data.tables.files import read_table_samples
from ordinate.errors import OrdinateError

TIMES = pd.Series(pd.date_range("2019-11-30 21:30", periods=40, freq="37h"))
DATES = TIMES.dt.normalize()
OTHER_TIMES = [
    " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S", ", %I:%M%p", " %H:%M:%S GMT+2", " %I:%M:%S %p GMT+2", " %H:%M:%S.000",
]  # fmt: skip
ZONES = ["Z", " UTC", " CEST", " EST", "+0200", " -05:30", " +2", " Europe/Berlin", "+02:00[Europe/Berlin]"]
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


@pytest.mark.parametrize("form", [*FORMS, "%d%b%Y", "%b %d %Y"])
@pytest.mark.parametrize("of_day", OTHER_TIMES)
def test_and_its_time_of_day_in_any_form(form, of_day):
    pd.testing.assert_frame_equal(numbers_of(TIMES.dt.strftime(form + of_day)), numbers_of(TIMES))


@pytest.mark.parametrize("zone", ZONES)
def test_zones_are_left_out_as_hours_are_local_ones(zone):
    for form in ("%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M", "%Y/%m/%d %I:%M:%S %p", "%a, %d %b %Y %H:%M:%S"):
        pd.testing.assert_frame_equal(numbers_of(TIMES.dt.strftime(form) + zone), numbers_of(TIMES))
    browser = TIMES.dt.strftime("%a %b %d %Y %H:%M:%S GMT+0200 (Central European Summer Time)")
    pd.testing.assert_frame_equal(numbers_of(browser), numbers_of(TIMES))


@pytest.mark.parametrize("form", ["%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y", "%d %b %y", "%b %d, %y"])
def test_years_of_two_digits_are_those_from_1969_on(form):
    dates = pd.Series(pd.date_range("1969-01-01", "2068-12-31", freq="97D"))
    texts = dates.dt.strftime(form)
    pd.testing.assert_frame_equal(numbers_of(texts), numbers_of(dates))
    (note,) = TableFeatures.fit(pd.DataFrame({"seen": texts})).notes
    assert "; years of two digits are 1969 to 2068" in note


def test_some_times_may_lack():
    pd.testing.assert_frame_equal(
        numbers_of(pd.Series(["31.01.2020", "01.02.2020 12:30", "7.3.2021 1:05 pm"])),
        numbers_of(pd.to_datetime(pd.Series(["2020-01-31 00:00", "2020-02-01 12:30", "2021-03-07 13:05"]))),
    )


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


def test_a_later_date_of_iso_is_clear_in_any_form():
    trained = pd.Series(["31.12.2020", "01.02.2020", "05.06.2021"])
    clear = pd.Series(["2020-02-01 10:30", "05.06.2021"])
    same = pd.Series(["01.02.2020 10:30", "05.06.2021"])
    pd.testing.assert_frame_equal(numbers_of(trained, clear), numbers_of(trained, same))


@pytest.mark.parametrize("wrong", ["12/31/2020", "soon", 7])
def test_another_form_is_an_error_that_shows_that_of_training(wrong):
    features = TableFeatures.fit(pd.DataFrame({"seen": ["31.12.2020", "01.02.2020"]}))
    with pytest.raises(OrdinateError, match=r"column 'seen': got .*, expected dates such as 31\.01\.2020, as in train"):
        features.transform(pd.DataFrame({"seen": [wrong]}))
    table = pd.DataFrame({"seen": ["31.12.2020", "01.02.2020", wrong]})
    with pytest.raises(OrdinateError, match="expected dates"):
        check_unseen(table, np.array([0, 1]), np.array([2]))


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


HOURS = pd.Series(pd.date_range("2020-01-01", periods=40, freq="37min"))
OF_DAY = {
    "hours and minutes": HOURS.dt.strftime("%H:%M"),
    "seconds": HOURS.dt.strftime("%H:%M:%S"),
    "fractions": HOURS.dt.strftime("%H:%M:%S.%f"),
    "halves": HOURS.dt.strftime("%I:%M %p"),
    "halves with points": HOURS.dt.strftime("%I:%M:%S %p").str.replace("AM", "a.m.").str.replace("PM", "p.m."),
    "objects": HOURS.dt.time,
    "categories": HOURS.dt.time.astype("category"),
    "arrow": HOURS.dt.time.astype(pd.ArrowDtype(pa.time64("us"))),
    "arrow, seconds": HOURS.dt.time.astype(pd.ArrowDtype(pa.time32("s"))),
}


@pytest.mark.parametrize("texts", OF_DAY.values(), ids=OF_DAY)
def test_times_of_day_become_hours(texts):
    features = TableFeatures.fit(pd.DataFrame({"seen": texts}))
    assert features.notes == ["seen: times of day, converted to hours"]
    assert features.features[0] == "seen, hour"
    hours = pd.DataFrame({"seen, hour": HOURS.dt.hour + HOURS.dt.minute / 60})
    expected = TableFeatures.fit(hours).transform(hours)
    for other in OF_DAY.values():  # New data may have times in any form.
        np.testing.assert_allclose(numbers_of(texts, other), expected, rtol=1e-6)
    with pytest.raises(OrdinateError, match="'noon', expected times such as 13:45"):
        features.transform(pd.DataFrame({"seen": ["noon"]}))


def test_seconds_count_in_hours():
    features = TableFeatures.fit(pd.DataFrame({"lap": ["00:01:10", "00:01:30", None]}))
    (column,) = features.columns
    (part,) = column.parts
    assert (part.low, part.high) == (70 / 3600, 90 / 3600)
    assert features.features == ["lap, hour", "lap, hour, missing"]


SPANS = pd.Series(pd.to_timedelta(np.arange(-5, 60) * 3217.25, unit="s"))


def clock(span):
    hours, seconds = divmod(abs(span.total_seconds()), 3600)
    minutes, seconds = divmod(seconds, 60)
    return f"{'-' * (span < pd.Timedelta(0))}{int(hours):02}:{int(minutes):02}:{seconds:05.2f}"


LASTING = {
    "timedelta": SPANS,
    "objects": pd.Series(list(SPANS), dtype=object),
    "text of pandas": SPANS.astype(str),
    "text of Python": pd.Series([str(span.to_pytimedelta()) for span in SPANS]),
    "more than 24 hours": SPANS.map(clock),
    "categories": SPANS.astype("category"),
    "arrow": SPANS.astype(pd.ArrowDtype(pa.duration("us"))),
}


@pytest.mark.parametrize("name", LASTING)
def test_durations_become_seconds(name):
    stored = LASTING[name]
    features = TableFeatures.fit(pd.DataFrame({"lasted": stored}))
    assert features.notes == ["lasted: durations, converted to seconds"]
    seconds = pd.DataFrame({"lasted": SPANS.dt.total_seconds()})
    expected = TableFeatures.fit(seconds)
    assert features.features == ["lasted, seconds", "lasted, seconds, normal score"]
    np.testing.assert_allclose(
        features.transform(pd.DataFrame({"lasted": stored})), expected.transform(seconds), rtol=1e-6
    )
    restored = TableFeatures.from_dict(json.loads(json.dumps(features.to_dict())))
    new = pd.DataFrame({"lasted": ["2 days 03:00:00", "51:00:00", pd.NaT]})
    found = restored.transform(new)
    assert found[0].tolist() == found[1].tolist()
    with pytest.raises(OrdinateError, match="'long', expected durations such as 26:30:00"):
        features.transform(pd.DataFrame({"lasted": ["long"]}))


UNITS = ["timedelta64[s]", "timedelta64[ms]", "timedelta64[ns]", "duration[s][pyarrow]", "duration[ns][pyarrow]"]


@pytest.mark.parametrize("trained", UNITS)
@pytest.mark.parametrize("new", [*UNITS, "str"])
def test_the_unit_of_a_duration_makes_no_difference(tmp_path, trained, new):
    whole = SPANS.dt.round("s")
    features = TableFeatures.fit(pd.DataFrame({"lasted": whole.astype(trained)}))
    seconds = pd.DataFrame({"lasted": whole.dt.total_seconds()})
    expected = TableFeatures.fit(seconds).transform(seconds)
    frame = pd.DataFrame({"lasted": whole.astype(new)})
    np.testing.assert_allclose(features.transform(frame), expected, rtol=1e-6)
    for name, write in {"a.parquet": frame.to_parquet, "a.feather": frame.to_feather, "a.csv": frame.to_csv}.items():
        write(tmp_path / name)
        np.testing.assert_allclose(features.transform(read_table_samples(tmp_path / name)), expected, rtol=1e-6)


def test_longer_durations_than_in_training_are_said():
    features = TableFeatures.fit(pd.DataFrame({"lasted": SPANS}))
    with pytest.warns(UserWarning, match="durations lie outside those of training, -16086.2 to 189818 seconds"):
        features.transform(pd.DataFrame({"lasted": SPANS + pd.Timedelta(days=9)}))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("-1 days +21:30:00", -9000),
        ("-1 day, 21:30:00", -9000),
        ("-02:30:00", -9000),
        ("1 day 00:00:01.5", 86401.5),
        ("-1 days -02:30:00", -95400),
        ("100:00:00", 360000),
    ],
)
def test_a_duration_as_text_has_these_seconds(text, seconds):
    features = TableFeatures.fit(pd.DataFrame({"lasted": [text, "1 days 01:00:00"]}))
    (part,) = features.columns[0].parts
    assert seconds in (part.low, part.high)


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".xlsx", ".sav"])
def test_times_of_files_are_those_of_the_frame(tmp_path, ending):
    frame = pd.DataFrame({"seen": TIMES, "at": HOURS.dt.time, "size": np.sqrt(np.arange(40.0))})
    path = tmp_path / f"table{ending}"
    if ending == ".sav":
        pyreadstat.write_sav(frame, path)
    else:
        getattr(frame, {".xlsx": "to_excel"}.get(ending, f"to_{ending[1:]}"))(path)
    features = TableFeatures.fit(frame)
    read = read_table_samples(path)
    np.testing.assert_allclose(features.transform(read), features.transform(frame), rtol=1e-6)
    assert TableFeatures.fit(read[list(frame)]).notes == features.notes


def test_missing_times_and_durations_are_noted_and_marked():
    frame = pd.DataFrame({"at": HOURS.dt.time, "lasted": SPANS[:40].to_numpy()})
    frame.loc[3, :] = None
    features = TableFeatures.fit(frame)
    missing = "; 1 of 40 are missing, and marked in a column of their own"
    assert features.notes == [
        f"at: times of day, converted to hours{missing}", f"lasted: durations, converted to seconds{missing}"
    ]  # fmt: skip
    found = pd.DataFrame(features.transform(frame), columns=features.features)
    for name in ("at, hour, missing", "lasted, seconds, missing"):
        assert found[name].to_numpy().nonzero()[0].tolist() == [3]


def test_dates_of_several_forms_stay_text_with_a_note():
    for texts in (["31.01.2020", "2020-01-31"] * 9, ["31 Jan 2020 10:30", "31.01.2020 10:30"]):
        notes = TableFeatures.fit(pd.DataFrame({"seen": texts})).notes
        assert notes[0].startswith("seen: seems to hold dates or times of no one known form; write them as 2020-01-31")


COMPACT = [20200131, 20191130, 20210401, 20200229]


@pytest.mark.parametrize(
    "stored", [COMPACT, list(map(float, COMPACT)), list(map(str, COMPACT)), [*COMPACT[:3], None, 20200229]]
)
def test_numbers_of_eight_digits_become_dates(stored):
    features = TableFeatures.fit(pd.DataFrame({"seen": stored}))
    dates = pd.to_datetime(pd.Series(stored).astype("Int64").astype("string"), format="%Y%m%d")
    expected = TableFeatures.fit(pd.DataFrame({"seen": dates}))
    assert features.notes == expected.notes
    assert features.features == expected.features
    new = features.transform(pd.DataFrame({"seen": [20200301, np.nan]}))
    usual = expected.transform(pd.DataFrame({"seen": [pd.Timestamp("2020-03-01"), pd.NaT]}))
    np.testing.assert_array_equal(new, usual)
    with pytest.raises(OrdinateError, match=r"column 'seen': got 20209999, expected dates such as 20200131"):
        features.transform(pd.DataFrame({"seen": [20209999]}))


def test_held_out_numbers_that_are_no_dates_are_found_before_training():
    table = pd.DataFrame({"seen": [*COMPACT, 7]})
    with pytest.raises(OrdinateError, match="column 'seen': got 7, expected dates such as 20200131, as in training"):
        check_unseen(table, np.arange(4), np.array([4]))
