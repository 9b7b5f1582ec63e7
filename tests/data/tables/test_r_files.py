"""R itself wrote the files, version 4.2 of it, with saveRDS and save."""

import base64

import numpy as np
import pandas as pd
import pytest

from ordinate.data.tables.features import unusable_columns
from ordinate.data.tables.files import read_samples
from ordinate.data.tables.r_files import read_r
from ordinate.errors import OrdinateError

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
    read = read_samples(write("d.rds", TIBBLE), lambda _: None)
    assert as_none(read["h"]) == ["low", "high", None]
    assert as_none(read["m"]) == ["no", "yes", None]


def test_zones_long_integers_levels_of_na_and_ranges_of_missing_values_are_those_of_r(write):
    read = read_samples(write("more.rds", MORE), lambda _: None)
    assert read["t"].dt.hour.tolist()[::2] == [10, 10]
    assert as_none(read["n"])[:2] == [1, 5]
    assert as_none(read["a"]) == ["low", None, "high"]
    assert read["a"].dtype.categories.tolist() == ["low", "high"]
    assert as_none(read["r"]) == ["no", None, "yes"]
    assert read["f.u"].tolist() == [4, 5, 6]


def test_a_column_of_lists_does_not_stop_a_file(write):
    assert list(unusable_columns(read_samples(write("more.rds", MORE), lambda _: None))) == ["l"]


def test_several_data_frames_or_none_are_an_error(write):
    with pytest.raises(OrdinateError, match="holds 2 data frames: d, f, expected one; saveRDS writes one"):
        read_r(write("two.rda", TWO))
    with pytest.raises(OrdinateError, match="holds no data frame"):
        read_r(write("list.rds", LIST))


def test_a_damaged_file_is_an_error_that_names_it(write, tmp_path):
    path = write("d.rds", TIBBLE)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(OrdinateError, match=r"d\.rds: could not be read: "):
        read_samples(path)
    (tmp_path / "e.rds").write_bytes(np.arange(100, dtype=np.uint8).tobytes())
    with pytest.raises(OrdinateError, match=r"e\.rds: could not be read: "):
        read_samples(tmp_path / "e.rds")
