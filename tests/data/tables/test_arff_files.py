import re

import numpy as np
import pandas as pd
import pytest
from scipy.io import arff

from ordinate.data.tables.arff_files import read_arff
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
    assert read["seen"].tolist() == ["2020-01-31", "2020-01-30", None]


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
        ("@relation r\n@attribute a relational\n@data\n1\n", "'a' holds tables"),
        ("@relation r\n@attribute a matrix\n@data\n1\n", "'a' is of the type matrix"),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n1,2\n", "several columns are named 'a'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(write, text, message):
    with pytest.raises(OrdinateError, match=re.escape(message)):
        read_arff(write(text))
