"""R itself, version 4.2, wrote the files in base64, with saveRDS and save."""

import base64
import datetime
import gzip

import numpy as np
import pandas as pd
import pytest
from rdata.parser import RObjectType

from ordinate.data.tables.date_forms import DURATION, TIME_OF_DAY, date_form
from ordinate.data.tables.features import unusable_columns
from ordinate.data.tables.files import read_table_samples
from ordinate.data.tables.r_files import read_r
from ordinate.errors import OrdinateError
from tests.data.tables.r_objects import data_frame, of_class, whole
from tests.data.tables.r_objects import write as write_r

# d <- data.frame(x = c(1.5, 2, NA), i = c(1L, NA, 3L), b = c(TRUE, NA, FALSE), s = c("u", NA, "v"))
# d$g <- factor(c("low", "high", NA), levels = c("low", "mid", "high"), ordered = TRUE)
# d$c <- factor(c("b", "a", NA), levels = c("b", "a"))
# d$d <- as.Date(c("2020-01-31", NA, "2021-02-03"))
# d$t <- as.POSIXct(c("2020-01-31 10:30:00", NA, "2021-02-03 01:02:03"), tz = "UTC")
# d$h <- structure(c(1, 2, 9), labels = c(low = 1, high = 2, "don't know" = 9),
#                  class = c("haven_labelled", "vctrs_vctr", "double"))
# d$m <- structure(c(1, 2, 8), labels = c(no = 1, yes = 2, odd = 8), na_values = 8,
#                  class = c("haven_labelled_spss", "haven_labelled", "vctrs_vctr", "double"))
# class(d) <- c("tbl_df", "tbl", "data.frame")
TIBBLE = """
/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4ATxAZtdACwCfBn5r/QdO56YNX7q0PQhTbNFUsa9mj033sLRUOxi94ilD7tIzGdXNohHpAuRJ+7cun
/3z8FhOuMzyAUR9iYlkqI2jSgdBZzBVmmVlqVlsBDUEOJxOV8jZntvo/Ye2GPbZ7wGEmCegAhJ+sZ91mou4IT2FA+BePbvr/APBu0bLzgiV3iI
dKgCPlhl89t3fshtjpb/Pjbz5raB1Jp6oVM0Z7LGDQirPbIN7+HQFiqpODIxRpxpzY70NpEfOy5ubz3Y0Elhb1gpEEZ1VRNIDOr47KUIDECPbw
JdnA1oJeJOUEl3VlQhSpPW1fNKt30s39IJm/464ksB8H9ZDPEwyPJns6PxwFuWeGydp0zQ+m3KRihLGPmOlH7auevWWT9RrvPcWBRkfYieT4Oq
jis+6pnyn99utKUIEIKszPXqeAh1gmlhhLUcunKKh12p/bzNqXNqNmJTLAVNC9taIkEMyAooe3FLL7rWgb/ExHE1hXWv85CQ0XqXW0wr/zSO2S
806PIuJkpV1BMCu3z6knoxwZiFEl/leJi7C9FESgAAODit+gABswPyCQAAdSoVOz4wDYsCAAAAAAFZWg==
"""
# save(d, file = "one.rda"); f <- d[1]; save(d, f, file = "two.rda"); saveRDS(list(1), "list.rds")
ONE = """
/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4AULAatdACkRB1RoEeRuUsqgM8UkXrtrnNeLUzcP1dKbshUqBwT4yAjz5XATtUXAHviuLhu1bg11tc
1zpCPyob9g+bwAfF8KDDovtFhoBZPw1qqIu5HG8TTiqVEyZjQX5yikYzOHf98kNRewCdAqpvG2tgadQnCzM0DEK7TDo4ZYq/yHE3j3nPMVZ4rK
MvpoZRUP7xSzLDVBb1MN3Bf1UZ8I13QWiqdqGtjoruL/elZZy86M5JxB5zqQDX0MHEA16kq31M+G5fuG2gsqmuQsZ+ReLcBhwewAODBiPsTWnm
ut1HwRV1nYqMc2A4Xc0xZ2qk5Br0WqLrYrrv9/MMfn9eItMa7FWQWiDTFbgg4QB/RIuHXoNlZpUQdztbvR3IdY0YBjTk2PffaYUqw86fCspkAx
ZUl75xDAqrpUE+6MJayvn9Ngf27cawOL6WClmQjcvlVnlgmsV+nY/L7jvqBTag/Bqe+AHulKEZ/DauDAjKqdy21HP2pvXRg8ZMeIH3aEpla/0N
DzoYxkuP7iQIxIeDr2WrPWuU15o3tdVi1G1aSBMFxkJf8H3AubDNvcJcEbSAAAACiajmUAAcMDjAoAAEJOkbk+MA2LAgAAAAABWVo=
"""
TWO = """
/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4AW0AbxdACkRB1RoEeRuUsqgM8UkXrtrnNeLUzcP1dKbshUqBwT4yAjz5XATtUXAHviuLhu1bg11tc
1zpCPyob9g+bwAfF8KDDovtFhoBZPw1qqIu5HG8TTiqVEyZjQX5yikYzOHf98kNRewCdAqpvG2tgadQnCzM0DEK7TDo4ZYq/yHE3j3nPMVZ4rK
MvpoZRUP7xSzLDVBb1MN3Bf1UZ8I13QWiqdqGtjoruL/elZZy86M5JxB5zqQDX0MHEA16kq31M+G5fuG2gsqmuQsZ+ReLcBhwewAODBiPsTWnm
ut1HwRV1nYqMc2A4Xc0xZ2qk5Br0WqLrYrrv9/MMfn9eItMa7FWQWiDTFbgg4QB/RIuHXoNlZpUQdztbvR3IdY0YBjTk2PffaYUqw86fCspkAx
ZUl75xDAqrpUE+6MJayvn9Ngf27cawOL6WClmQjcvlVnlgmsV+nY/L7jvqBTag/Bqe+AHulKEZ/DauDAjKqdy21HP2pvXRg8ZMeIH3aEpla/0N
DzoYxkuP7iQIxIeDr2WrPWuU15o3tdVi1G1aSBMFxkJf8H3AubDNvg7hVUgy1PN0+lEKxzSi2QJayDD7g5xgAtNFqkAAHUA7ULAAB9oaMrPjAN
iwIAAAAAAVla
"""
LIST = "H4sIAAAAAAAAA4vgYmBgYGZgYWJiYGYFMhlYQ0PcdC2ADGEgZgRiPhBt/4EBDACCl7pKLwAAAA=="

# d <- data.frame(x = 1:3)
# d$t <- as.POSIXct(c("2020-01-31 10:30:00", NA, "2020-07-31 10:30:00"), tz = "Europe/Berlin")
# d$n <- structure(c(4.94065645841247e-324, 2.470328e-323, NA), class = "integer64")  # 1 and 5
# d$a <- addNA(factor(c("low", NA, "high"), levels = c("low", "high"), ordered = TRUE))
# d$r <- structure(c(1, -1, 2), labels = c(no = 1, yes = 2, odd = -1), na_range = c(-Inf, 0),
#                  class = c("haven_labelled_spss", "haven_labelled", "vctrs_vctr", "double"))
# d$l <- list(1, c(2, 3), "a")
# d$f <- data.frame(u = 4:6, v = c("p", "q", "r"))
MORE = """
/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4ATFAatdACwCfBn5r/QdO56YNX7q0PQhTbNFUsa9mj0VOx4A3MzX/kmiVJIFIonX53u93+ZMeBaJQx
cdL8uqznd8GSKZmfueFmCRp2p/SKKJKEG7dblog+khImq6I93s4Zek3BV5svkbyW+P4EW6oAO4lhY+K7k82LyeRTlmCgBml4TeM66IxygT23B/
0kxZCqVdIdsoXVBp64P6T0QrECkocwfK0VkBvXra35unVwW7xWe1TOvZnDmOYqMUVXnOzplVoTCBP41g13eHcqjRpUytBVEpd9/8sgjg7/kydD
5FnWReHx61afTFSAh6J2h8ydoQ7q+g1a9lo5cL2t9wyOsFGZuxfJ6nzS4emifar4pX8pOo1bnZiThCckPA4lZwv/qOjoP/+NZ42Njfk/rym1l1
b3y9ys+AXEL1CQNlrJH7NBIgXJKhzJjixNM24cM4ODUKegAvWepwRLSjx52oN5vdvfF3h1A2ozn1h8XwZFgOAq8foKKkLvI8+rh+19NOgNtHwf
yMZiuzQBWfBMjswseY+zBJcxat2LQlOems2wz6o+5sq+XML5H9zIBEQjcNIAAAALvx2BAAAcMDxgkAAEJIfk8+MA2LAgAAAAABWVo=
"""


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(base64.b64decode(content))
        return tmp_path / name

    return write


def as_none(values):
    return values.astype(object).where(values.notna(), None).tolist()


@pytest.mark.parametrize(("name", "content"), [("d.rds", TIBBLE), ("d.rda", ONE), ("d.RData", ONE)])
def test_columns_of_a_data_frame_are_those_of_r(write, name, content):
    frame, declared = read_r(write(name, content))
    assert as_none(frame["x"]) == [1.5, 2.0, None]
    assert as_none(frame["i"]) == [1, None, 3]
    assert as_none(frame["b"]) == [True, None, False]
    assert as_none(frame["s"]) == ["u", None, "v"]
    assert (as_none(frame["g"]), frame["g"].dtype.ordered) == (["low", "high", None], True)
    assert frame["g"].dtype.categories.tolist() == ["low", "mid", "high"]
    assert (as_none(frame["c"]), frame["c"].dtype.ordered) == (["b", "a", None], False)
    assert frame["d"].equals(
        pd.Series(pd.to_datetime(["2020-01-31", None, "2021-02-03"]), name="d").astype(frame["d"].dtype)
    )
    assert frame["t"].dt.hour.tolist()[::2] == [10, 1]
    assert declared["h"].labels == {1: "low", 2: "high", 9: "don't know"}
    assert declared["m"].missing == ((8, 8),)


def test_labelled_columns_are_read_as_those_of_a_statistics_program(write):
    read = read_table_samples(write("d.rds", TIBBLE), lambda _: None)
    assert as_none(read["h"]) == ["low", "high", None]
    assert as_none(read["m"]) == ["no", "yes", None]


def test_zones_long_integers_levels_of_na_and_ranges_of_missing_values_are_those_of_r(write):
    read = read_table_samples(write("more.rds", MORE), lambda _: None)
    assert read["t"].dt.hour.tolist()[::2] == [10, 10]
    assert as_none(read["n"])[:2] == [1, 5]
    assert as_none(read["a"]) == ["low", None, "high"]
    assert read["a"].dtype.categories.tolist() == ["low", "high"]
    assert as_none(read["r"]) == ["no", None, "yes"]
    assert read["f.u"].tolist() == [4, 5, 6]


def test_a_column_of_lists_does_not_stop_a_file(write):
    assert list(unusable_columns(read_table_samples(write("more.rds", MORE), lambda _: None))) == ["l"]


X = np.array([1.0, 2.0, 3.0])


def broken_down(**parts):
    values = [np.array(each, dtype=float) for each in parts.values()]
    return of_class(["POSIXlt", "POSIXt"], values, RObjectType.VEC, names=np.array(list(parts)))


TIMES = {"sec": [5.5, np.nan, 0], "min": [30, np.nan, 0], "hour": [10, np.nan, 0]}
DAYS = {"mday": [31, np.nan, 1], "mon": [0, np.nan, 11], "year": [120, np.nan, 99]}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (of_class(["difftime"], np.array([1.0, 30, np.nan]), units=np.array(["hours"])), [3600, 108_000, None]),
        (of_class(["difftime"], np.array([0.5, 1, np.nan]), units=np.array(["weeks"])), [302_400, 604_800, None]),
        (of_class(["hms", "difftime"], np.array([1.5, 90_000, np.nan]), units=np.array(["secs"])), [1.5, 90_000, None]),
    ],
)
def test_spans_of_time_are_durations(tmp_path, column, expected):
    write_r(tmp_path / "a.rds", data_frame([("x", X), ("t", column)], 3))
    read = read_table_samples(tmp_path / "a.rds")["t"]
    assert date_form(read) == DURATION
    assert as_none(read.dt.total_seconds()) == expected


def test_times_of_day_and_broken_down_times_are_times(tmp_path):
    clock = of_class(["hms", "difftime"], np.array([1.5, 3600, np.nan]), units=np.array(["secs"]))
    columns = [("x", X), ("h", clock), ("t", broken_down(**TIMES, **DAYS, zone=[0, 0, 0]))]
    write_r(tmp_path / "a.rds", data_frame(columns, 3, "tbl_df", "tbl"))
    read = read_table_samples(tmp_path / "a.rds")
    assert date_form(read["h"]) == TIME_OF_DAY
    assert as_none(read["h"])[1:] == [datetime.time(1), None]
    assert as_none(read["t"]) == [pd.Timestamp("2020-01-31 10:30:05.5"), None, pd.Timestamp("1999-12-01")]


UNUSABLE = {
    "list": [1.0, [2.0, 3.0], "a"],
    "list of another length": of_class(["record"], [X, X], RObjectType.VEC, names=np.array(["a", "b"])),
    "complex": np.array([1 + 2j, 2, 3]),
    "list_of": of_class(["vctrs_list_of", "list"], [X, X, X], RObjectType.VEC),
    "asis": of_class(["AsIs"], [X, X, X], RObjectType.VEC),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_columns_of_other_things_do_not_stop_a_file(tmp_path, kind):
    write_r(tmp_path / "a.rds", data_frame([("x", X), ("odd", UNUSABLE[kind])], 3))
    read = read_table_samples(tmp_path / "a.rds")
    assert read["x"].tolist() == [1, 2, 3]
    assert list(unusable_columns(read)) == ["odd"]


def test_of_columns_with_the_same_name_the_first_is_read(tmp_path):
    write_r(tmp_path / "a.rds", data_frame([("x", X), ("y", X), ("x", -X)], 3))
    with pytest.warns(UserWarning, match="several columns are named 'x'; the first of each is read"):
        read = read_table_samples(tmp_path / "a.rds")
    assert read.to_dict("list") == {"x": [1, 2, 3], "y": [1, 2, 3]}


def test_the_one_data_frame_among_other_objects_is_read(tmp_path):
    frame = data_frame([("x", X), ("y", -X)], 3)
    others = {"a": [1, 2], "model": of_class(["lm"], [X, 2], RObjectType.VEC), "n": 3.0}
    write_r(tmp_path / "a.rda", {**others, "d": frame, "z": "text"})
    assert read_table_samples(tmp_path / "a.rda").to_dict("list") == {"x": [1, 2, 3], "y": [-1, -2, -3]}


def test_bytes_of_r_are_an_error_that_names_them(tmp_path):
    path = tmp_path / "a.rds"
    write_r(path, data_frame([("x", X), ("r", whole(1, 2, 3))], 3))
    content = bytearray(gzip.decompress(path.read_bytes()))
    place = content.index(b"\0\0\0\x0d\0\0\0\3\0\0\0\1\0\0\0\2")
    content[place + 3] = RObjectType.RAW.value
    path.write_bytes(content)
    with pytest.raises(
        OrdinateError, match=r"a\.rds: holds values of R's type raw, which cannot be read; in R, saveRDS"
    ):
        read_table_samples(path)


def test_several_data_frames_or_none_are_an_error(write):
    with pytest.raises(OrdinateError, match="holds 2 data frames: d, f, expected one; saveRDS writes one"):
        read_r(write("two.rda", TWO))
    with pytest.raises(OrdinateError, match="holds no data frame"):
        read_r(write("list.rds", LIST))


def test_a_damaged_file_is_an_error_that_names_it(write, tmp_path):
    path = write("d.rds", TIBBLE)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(OrdinateError, match=r"d\.rds: could not be read: "):
        read_table_samples(path)
    (tmp_path / "e.rds").write_bytes(np.arange(100, dtype=np.uint8).tobytes())
    with pytest.raises(OrdinateError, match=r"e\.rds: could not be read: "):
        read_table_samples(tmp_path / "e.rds")
