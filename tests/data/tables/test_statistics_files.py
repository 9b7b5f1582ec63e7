import datetime

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from ordinate.data.tables.date_forms import DURATION, TIME_OF_DAY, date_form
from ordinate.data.tables.files import read_labelled, read_table_samples
from ordinate.data.tables.statistics_files import read_statistics
from ordinate.data.typed import Reading
from tests.data.tables.sas_table import write_iris

SURVEY = pd.DataFrame(
    {
        "hours": [1.5, 2.0, 3.25, 4.0],
        "trust": [1.0, 3.0, 2.0, 9.0],
        "member": [1.0, np.nan, 2.0, 1.0],
        "town": ["a", "", "b", "a"],
    }
)
LABELS = {"trust": {1: "not at all", 2: "somewhat", 3: "fully", 9: "refused"}, "member": {1: "yes", 2: "no"}}
RANKS = ["not at all", "fully", "somewhat", None]


def as_none(values):
    return values.astype(object).where(values.notna(), None).tolist()


@pytest.mark.parametrize("name", ["a.sav", "a.zsav", "a.dta"])
def test_a_blank_cell_of_a_labelled_column_is_missing(tmp_path, name):
    path = tmp_path / name
    if name.endswith("dta"):
        pyreadstat.write_dta(SURVEY, path, variable_value_labels=LABELS)
    else:
        pyreadstat.write_sav(SURVEY, path, variable_value_labels=LABELS, compress=name.endswith("zsav"))
    said = []
    X, y = read_labelled(path, "trust", say=said.append)
    assert as_none(y) == RANKS
    assert (y.dtype.ordered, y.dtype.categories.tolist()) == (True, ["not at all", "somewhat", "fully"])
    assert as_none(X["member"]) == ["yes", None, "no", "yes"]
    assert as_none(X["town"]) == ["a", None, "b", "a"]
    assert said == [f"{path}: read as missing in trust: 9 (refused) in 1 row (keep_missing=True reads them as values)"]


def test_what_spss_declares_as_missing_is_missing(tmp_path):
    path = tmp_path / "a.sav"
    codes = SURVEY[["hours"]].assign(g=[1.0, 97.0, 2.0, -1.0], t=["x", "y", "z", "x"])
    ranges = {"g": [{"lo": 90, "hi": 99}, -1], "t": ["z"]}
    labels = {"g": {1: "low", 2: "high", 97: "other"}}
    pyreadstat.write_sav(codes, path, missing_ranges=ranges, variable_value_labels=labels)
    read = read_table_samples(path, lambda _: None)
    assert as_none(read["g"]) == ["low", None, "high", None]
    assert as_none(read["t"]) == ["x", "y", None, "x"]
    kept = read_table_samples(path, how=Reading(keep_missing=True, labels=frozenset("g")))
    assert as_none(kept["g"]) == ["low", "other", "high", "-1"]
    assert as_none(kept["t"]) == ["x", "y", "z", "x"]


@pytest.mark.parametrize("measure", ["nominal", "ordinal", "scale", "unknown"])
def test_ends_of_a_scale_may_have_labels_alone(tmp_path, measure):
    path = tmp_path / "a.sav"
    frame = pd.DataFrame({"x": np.arange(5.0), "agree": np.arange(1.0, 6)})
    pyreadstat.write_sav(
        frame, path, variable_value_labels={"agree": {1: "no", 5: "fully"}}, variable_measure={"agree": measure}
    )
    assert read_table_samples(path)["agree"].tolist() == [1, 2, 3, 4, 5]


def test_missing_values_of_stata_are_missing(tmp_path):
    path = tmp_path / "a.dta"
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "g": [1, 2, "a"], "income": [900, 800, "z"]})
    labels = {"g": {1: "low", 2: "high", "a": "lost"}, "income": {"z": "see codebook"}}
    pyreadstat.write_dta(frame, path, missing_user_values={"g": ["a"], "income": ["z"]}, variable_value_labels=labels)
    read = read_table_samples(path)
    assert as_none(read["g"]) == ["low", "high", None]
    assert read["g"].dtype.ordered
    assert as_none(read["income"]) == [900, 800, None]


@pytest.mark.parametrize("version", [114, 117, 118, 119])
def test_stata_of_every_version_is_read(tmp_path, version):
    frame = pd.DataFrame({"x": [1.5, 2.5], "g": pd.Categorical(["low", "high"], ["low", "high"], ordered=True)})
    frame.to_stata(tmp_path / "a.dta", write_index=False, version=version)
    read = read_table_samples(tmp_path / "a.dta")
    assert read["x"].tolist() == [1.5, 2.5]
    assert (read["g"].tolist(), read["g"].dtype.ordered) == (["low", "high"], True)


def test_a_transport_file_of_sas_is_read(tmp_path):
    pyreadstat.write_xport(SURVEY, tmp_path / "a.xpt")
    read = read_table_samples(tmp_path / "a.xpt")
    assert list(read) == ["hours", "trust", "member", "town"]
    assert as_none(read["member"]) == [1, None, 2, 1]
    assert as_none(read["town"]) == ["a", None, "b", "a"]


def test_a_table_of_sas_is_read(tmp_path):
    write_iris(tmp_path / "a.sas7bdat")
    read = read_table_samples(tmp_path / "a.sas7bdat")
    assert read.shape == (150, 5)
    assert (read["Sepal_Length"].min(), read["Sepal_Length"].max()) == (4.3, 7.9)
    assert read["Species"].value_counts().tolist() == [50, 50, 50]


def test_a_portable_file_of_spss_is_read(tmp_path):
    pyreadstat.write_por(SURVEY.rename(columns=str.upper), tmp_path / "a.por")
    assert read_table_samples(tmp_path / "a.por")["HOURS"].tolist() == SURVEY["hours"].tolist()


def test_dates_are_dates(tmp_path):
    frame = pd.DataFrame({"d": [datetime.date(2020, 1, 31), datetime.date(1899, 5, 1)], "x": [1.0, 2.0]})
    for name, write in (("a.sav", pyreadstat.write_sav), ("a.dta", pyreadstat.write_dta)):
        write(frame, tmp_path / name)
        assert read_table_samples(tmp_path / name)["d"].dt.year.tolist() == [2020, 1899]


HOURS_30 = 30 * 3600.0


@pytest.mark.parametrize("form", ["TIME8", "TIME11.2", "DTIME11", "DTIME17.2", "MTIME8"])
@pytest.mark.parametrize("ending", ["sav", "por"])
def test_durations_of_spss_keep_their_days(tmp_path, form, ending):
    path = tmp_path / f"a.{ending}"
    frame = pd.DataFrame({"D": [5.0, HOURS_30, -60.5, np.nan], "X": range(4)})
    write = {"sav": pyreadstat.write_sav, "por": pyreadstat.write_por}[ending]
    write(frame, path, variable_format={"D": form})
    read = read_table_samples(path)["D"]
    assert date_form(read) == DURATION
    assert read.dt.total_seconds().tolist()[:3] == [5, HOURS_30, -60.5]
    assert read.isna().tolist() == [False, False, False, True]


@pytest.mark.parametrize("name", ["a.sav", "a.xpt", "a.dta"])
def test_numbers_of_a_clock_below_24_hours_are_times_of_day(tmp_path, name):
    seconds = pd.DataFrame({"t": [0.0, 86399.5, np.nan], "x": range(3)})
    if name == "a.dta":
        pyreadstat.write_dta(seconds * 1000, tmp_path / name, variable_format={"t": "%tcHH:MM:SS"})
    elif name == "a.sav":
        pyreadstat.write_sav(seconds, tmp_path / name, variable_format={"t": "TIME11.2"})
    else:
        pyreadstat.write_xport(seconds, tmp_path / name, variable_format={"t": "HHMM5"})
    read = read_table_samples(tmp_path / name)["t"]
    assert date_form(read) == TIME_OF_DAY
    assert as_none(read) == [datetime.time(0), datetime.time(23, 59, 59, 500_000), None]


@pytest.mark.parametrize(
    "form", ["DATE11", "ADATE10", "EDATE10", "JDATE7", "SDATE10", "QYR8", "MOYR8", "WKYR10", "DATETIME20", "YMDHMS19.2"]
)
@pytest.mark.parametrize("ending", ["sav", "por"])
def test_every_format_of_dates_of_spss_is_a_date(tmp_path, form, ending):
    times = [datetime.datetime(2020, 1, 31, 10, 30), datetime.datetime(1899, 5, 1)]
    since_1582 = [(each - datetime.datetime(1582, 10, 14)).total_seconds() for each in times]
    frame = pd.DataFrame({"D": [*since_1582, np.nan], "X": range(3)})
    write = {"sav": pyreadstat.write_sav, "por": pyreadstat.write_por}[ending]
    write(frame, tmp_path / f"a.{ending}", variable_format={"D": form})
    assert as_none(read_table_samples(tmp_path / f"a.{ending}")["D"]) == [*times, None]


@pytest.mark.parametrize("form", ["WKDAY9", "MONTH9", "F8.2"])
def test_days_of_the_week_and_months_of_the_year_are_numbers(tmp_path, form):
    frame = pd.DataFrame({"d": [1.0, 7.0], "x": range(2)})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_format={"d": form})
    assert read_table_samples(tmp_path / "a.sav")["d"].tolist() == [1, 7]


@pytest.mark.parametrize("form", ["%td", "%d", "%tw", "%tm", "%tq", "%th", "%tc", "%tdDD/NN/CCYY", "%tmMon_CCYY"])
def test_dates_of_stata_are_those_that_pandas_reads(tmp_path, form):
    frame = pd.DataFrame({"d": [0.0, 725.0, -53.0, np.nan], "x": range(4)})
    pyreadstat.write_dta(frame, tmp_path / "a.dta", variable_format={"d": form})
    theirs = pd.read_stata(tmp_path / "a.dta")["d"]
    assert theirs.dtype.kind == "M"
    assert as_none(read_table_samples(tmp_path / "a.dta")["d"]) == as_none(theirs)


@pytest.mark.parametrize(
    ("form", "per_day"), [("DATE9", 1), ("MONYY7", 1), ("YYMMDD10", 1), ("DATETIME20", 86_400), ("DTDATE9", 86_400)]
)
def test_dates_of_sas_are_dates(tmp_path, form, per_day):
    frame = pd.DataFrame({"d": [0.0, 21_945.0 * per_day, np.nan], "x": range(3)})
    pyreadstat.write_xport(frame, tmp_path / "a.xpt", variable_format={"d": form})
    assert as_none(read_table_samples(tmp_path / "a.xpt")["d"]) == [
        pd.Timestamp("1960-01-01"),
        pd.Timestamp("2020-01-31"),
        None,
    ]


def test_dates_out_of_range_stay_numbers_and_the_other_columns_dates(tmp_path):
    frame = pd.DataFrame({"d": [13_714_531_200.0, 1e15], "e": [13_714_531_200.0] * 2, "x": range(2)})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_format={"d": "DATE11", "e": "DATE11"})
    with pytest.warns(UserWarning, match=r"a\.sav: dates of 'd' are out of range; their numbers are read"):
        read = read_table_samples(tmp_path / "a.sav")
    assert read["d"].tolist() == frame["d"].tolist()
    assert read["e"].dt.year.tolist() == [2017, 2017]


def test_codes_that_mean_missing_or_have_a_label_are_no_dates(tmp_path):
    frame = pd.DataFrame({"d": [13_714_531_200.0, -1.0, 9.0], "x": range(3)})
    pyreadstat.write_sav(
        frame, tmp_path / "a.sav", variable_format={"d": "DATE11"}, missing_ranges={"d": [-1]},
        variable_value_labels={"d": {9: "does not remember"}},
    )  # fmt: skip
    assert as_none(read_table_samples(tmp_path / "a.sav")["d"]) == [pd.Timestamp("2017-05-19"), None, None]


def test_columns_to_drop_are_not_read(tmp_path):
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(SURVEY, path, variable_value_labels=LABELS)
    frame, declared = read_statistics(path, drop=["member", "hours"])
    assert list(frame) == ["trust", "town"]
    assert set(declared) == set(SURVEY)
    X, _ = read_labelled(path, "trust", drop=["member"], say=lambda _: None)
    assert list(X) == ["hours", "town"]


@pytest.mark.parametrize("name", ["a.sav", "a.por", "a.dta", "a.sas7bdat", "a.xpt"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x01garbage\xff" * 20)
    with pytest.raises(ValueError, match=rf"{name}: could not be read: "):
        read_table_samples(tmp_path / name)
