import re

import numpy as np
import pandas as pd
import pytest
from scipy.io import arff

from ordinate.data.tables.arff_files import read_arff
from ordinate.data.tables.features import unusable_columns
from ordinate.errors import OrdinateError

WEKA = r"""% a comment
@RELATION 'visits of a clinic'
@ATTRIBUTE 'age at visit' NUMERIC
@attribute grade {'very low', low, medium, 'very high'}
@attribute "b c" {0,1}
@attribute side{right,'left, or both'}
@attribute note string
@attribute seen date "yyyy-MM-dd"

@DATA
1.5, 'very low', 0, 'left, or both', 'it\'s fine', 2020-01-31
?, ?, 1, right, "a, b", 2020-01-30
% another comment
3,'very high',0,"left, or both",?,?,{2}
"""


@pytest.fixture
def write(tmp_path):
    def write(text, encoding="utf-8"):
        (tmp_path / "a.arff").write_bytes(text.encode(encoding))
        return tmp_path / "a.arff"

    return write


def test_attributes_are_numbers_text_dates_and_ranks(write):
    read = read_arff(write(WEKA))
    assert list(read) == ["age at visit", "grade", "b c", "side", "note", "seen"]
    assert read["age at visit"].tolist()[::2] == [1.5, 3.0]
    assert np.isnan(read["age at visit"][1])
    assert read["grade"].dtype.categories.tolist() == ["very low", "low", "medium", "very high"]
    assert read["grade"].astype(object).where(read["grade"].notna(), None).tolist() == [
        "very low",
        None,
        "very high",
    ]
    assert read["grade"].dtype.ordered
    assert read["b c"].tolist() == [0, 1, 0]
    assert read["side"].tolist() == ["left, or both", "right", "left, or both"]
    assert not read["side"].dtype.ordered
    assert read["note"].tolist() == ["it's fine", "a, b", None]
    assert read["seen"].tolist()[:2] == [pd.Timestamp("2020-01-31"), pd.Timestamp("2020-01-30")]
    assert read["seen"].isna().tolist() == [False, False, True]


def test_numbers_and_values_are_those_that_scipy_reads(write):
    random = np.random.default_rng(0)
    levels = ["none", "some", "much"]
    table = pd.DataFrame({"x": random.normal(size=50), "g": random.choice(levels, 50)})
    lines = "\n".join(f"{x!r},{g}" for x, g in table.itertuples(index=False))
    path = write(f"@relation r\n@attribute x real\n@attribute g {{{','.join(levels)}}}\n@data\n{lines}\n")
    theirs = pd.DataFrame(arff.loadarff(path)[0])
    ours = read_arff(path)
    np.testing.assert_array_equal(ours["x"], theirs["x"])
    assert ours["g"].tolist() == theirs["g"].str.decode("utf-8").tolist()


@pytest.mark.parametrize(
    ("values", "are_ranks"),
    [("low,high", True), ("mild,moderate,severe", True), ("soft,hard,none", False), ("a,b", False)],
)
def test_values_are_ranks_in_the_order_of_a_known_scale_alone(write, values, are_ranks):
    first = values.partition(",")[0]
    read = read_arff(write(f"@relation r\n@attribute x real\n@attribute g {{{values}}}\n@data\n1,{first}\n2,?\n"))
    assert read["g"].dtype.ordered == are_ranks
    assert read["g"].dtype.categories.tolist() == values.split(",")


def test_a_sparse_row_names_its_cells_that_are_not_zero(write):
    head = "@relation r\n@attribute a numeric\n@attribute g {no, yes}\n@attribute b numeric\n@data\n"
    read = read_arff(write(head + "{0 2.5, 2 -1}\n{1 yes}\n{}\n{0 ?}\n"))
    assert read["a"].tolist()[:3] == [2.5, 0, 0]
    assert np.isnan(read["a"][3])
    assert read["g"].tolist() == ["no", "yes", "no", "no"]
    assert read["b"].tolist() == [-1, 0, 0, 0]


def test_cells_may_be_separated_by_tabs(write):
    path = write("@relation r\n@attribute a real\n@attribute b real\n@data\n1\t2\n3\t4\n")
    assert read_arff(path).to_numpy().tolist() == [
        [1, 2], [3, 4],
    ]  # fmt: skip


def test_a_file_of_windows_is_read(write):
    path = write("@relation r\n@attribute 'gr\u00f6\u00dfe' real\n@attribute b real\n@data\n1,2\n", "cp1252")
    assert list(read_arff(path)) == ["gr\u00f6\u00dfe", "b"]


@pytest.mark.parametrize("data", ["@data", "@DATA", "@Data % of a clinic"])
def test_comments_may_stand_behind_what_they_are_about(write, data):
    head = "@relation r % a\n@attribute a real % mm\n@attribute g {'a % b', c%} % grade, of two\n"
    rows = "1, 'a % b' % first, low\n2,c% %second\n3,?\t% it's\n% none\n{0 4} % sparse\n"
    read = read_arff(write(f"{head}{data}\n{rows}"))
    assert read["a"].tolist() == [1, 2, 3, 4]
    assert read["g"].astype(object).where(read["g"].notna(), None).tolist() == ["a % b", "c%", None, "a % b"]


def test_quotes_and_escapes_are_those_of_weka(write):
    head = r"""@relation r
@attribute g {'a, b', 'it\'s', "say \"x\"", '{c}', ' d '}
@attribute s string
@data
"""
    rows = r"""'a, b', 'one\ttwo'
'it\'s', "x, 'y'"
"say \"x\"", '50 %'
'{c}', 'back\\slash'
' d ', ?
"""
    read = read_arff(write(head + rows))
    assert read["g"].tolist() == ["a, b", "it's", 'say "x"', "{c}", " d "]
    assert read["s"].tolist() == ["one\ttwo", "x, 'y'", "50 %", "back\\slash", None]


def test_weights_of_rows_are_left_out(write):
    read = read_arff(write(HEAD + "@data\n1,low,{2}\n2,high, {0.5}\n3,low\n{0 4, 1 high}, {2.5}\n{1 high},{1e-3}\n"))
    assert read["a"].tolist() == [1, 2, 3, 4, 0]
    assert read["g"].tolist() == ["low", "high", "low", "high", "high"]


def test_sparse_rows_may_have_quoted_text_and_lack_some(write):
    head = "@relation r\n@attribute a real\n@attribute s string\n@attribute d date 'yyyy'\n@data\n"
    read = read_arff(write(head + "{0 1, 1 'x, 2 y', 2 2020}\n{1\tz}\n{}\n"))
    assert read["a"].tolist() == [1, 0, 0]
    assert read["s"].tolist() == ["x, 2 y", "z", None]
    assert read["d"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ('"dd.MM.yyyy HH:mm:ss"', "'01.02.2020 10:30:00'", "2020-02-01 10:30:00"),
        ("'yyyyMMdd'", "20200201", "2020-02-01"),
        ("MM/dd/yy", "02/01/20", "2020-02-01"),
        ('"d MMM yyyy hh:mm a"', "'1 Feb 2020 02:05 PM'", "2020-02-01 14:05"),
        ("", "2020-02-01T10:30:00", "2020-02-01 10:30"),
        ("\"yyyy-MM-dd'T'HH:mm:ss.SSS\"", "2020-02-01T10:30:00.250", "2020-02-01 10:30:00.250"),
    ],
)
def test_dates_are_read_in_the_format_that_they_declare(write, form, text, expected):
    read = read_arff(write(f"@relation r\n@attribute x real\n@attribute d date {form}\n@data\n1,{text}\n2,?\n"))
    assert read["d"][0] == pd.Timestamp(expected)
    assert read["d"].isna().tolist() == [False, True]


def test_dates_in_letters_that_are_not_known_stay_text(write):
    read = read_arff(write('@relation r\n@attribute d date "yyyy-DDD"\n@data\n2020-031\n'))
    assert read["d"].tolist() == ["2020-031"]


def test_tables_within_a_table_are_a_column_that_is_left_out(write):
    head = "@relation r\n@attribute a real\n@attribute bag relational\n  @attribute u real\n  @attribute a real\n"
    rows = "@end bag\n@attribute m matrix\n@data\n1,'1,2\\n3,4',x\n2,\"5,6\",y\n"
    read = read_arff(write(head + rows))
    assert read["a"].tolist() == [1, 2]
    assert list(unusable_columns(read)) == ["bag", "m"]


def test_blanks_ranges_and_nan_are_read(write):
    read = read_arff(write("@relation r\n@attribute a integer [0,10]\n@attribute b real[0,1]\n@data\n1 NaN\n2  0.5\n"))
    assert read["a"].tolist() == [1, 2]
    assert read["b"].isna().tolist() == [True, False]


HEAD = "@relation r\n@attribute a real\n@attribute g {low,high}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "@data\n1\n", "line 5 has 1 cell, expected 2, one per attribute"),
        (HEAD + "@data\n1,low,3\n", "line 5 has 3 cells, expected 2"),
        (HEAD + "@data\n1,mid\n", "'g' holds 'mid', expected one of the declared values, low, high"),
        (HEAD + "@data\nx,low\n", "'a' holds 'x', expected numbers"),
        (HEAD + "1,low\n", "has no line @data"),
        (HEAD + "@data\n{7 2}\n", "line 5 names the attribute '7', expected a number from 0 to 1"),
        ("@relation r\n@attribute a\n@data\n1\n", "line 2 is no attribute, expected @attribute NAME TYPE"),
        (HEAD + "@data\n{low}\n", "line 5 names the attribute 'low', expected a number from 0 to 1"),
        (
            "@relation r\n@attribute a date 'dd.MM.yyyy'\n@data\n2020-01-31\n",
            "'a' holds '2020-01-31', expected dates as dd.MM.yyyy, as its type says",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(write, text, message):
    with pytest.raises(OrdinateError, match=re.escape(message)):
        read_arff(write(text))
