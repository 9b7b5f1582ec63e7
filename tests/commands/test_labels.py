import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.commands.labels import parse_boundaries, understand_label
from ordinate.errors import OrdinateError

ONE_DAY, NEXT_DAY = pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")


def understand(values, task="auto", order=None):
    return understand_label(pd.Series(values), task, order, "column 'grade'")


def ordered(values, *order):
    return pd.Categorical(values, categories=order, ordered=True)


@pytest.mark.parametrize(
    "dates", [["2020-01-31", "2021-02-28", "2022-03-31"], ["31.01.2020", "28.02.2021", "31.03.2022"]]
)
def test_dates_are_no_label_and_say_what_would_be_one(dates):
    with pytest.raises(OrdinateError, match=r"column 'grade': got dates, expected ranks or numbers; a column of days"):
        understand(dates * 10)


@given(st.lists(st.integers(-9, 9), min_size=2).filter(lambda values: len(set(values)) > 1))
def test_few_whole_numbers_are_ranks_in_their_order(values):
    for dtype in ("int64", "float64", "int8", "Int64"):
        label = understand(pd.Series(values, dtype=dtype))
        assert label.is_ranks
        assert label.classes == sorted(set(values))
        assert label.values.tolist() == values
        assert label.values.dtype == np.int64


@given(st.lists(st.floats(-1e6, 1e6), min_size=2).filter(lambda values: any(value % 1 for value in values)))
def test_fractions_are_a_continuous_target(values):
    if len(set(values)) > 1:
        label = understand(values)
        assert not label.is_ranks
        assert label.values.tolist() == values


def test_many_whole_numbers_are_a_continuous_target():
    assert understand(range(20)).is_ranks
    label = understand(range(21))
    assert not label.is_ranks
    assert label.values.dtype == np.float64


def test_fractions_are_ranks_where_the_task_says_so():
    assert understand([2.0, 1.5, 1.0], "ranks").classes == [1.0, 1.5, 2.0]


def test_digits_as_text_are_numbers():
    assert understand(["2", "10", "9"]).classes == [2, 9, 10]


def test_a_continuous_target_may_have_a_unit():
    texts = [f"{number / 2} mm" for number in range(21)]
    assert understand(texts).values.tolist() == [number / 2 for number in range(21)]
    assert understand(texts[:3], "continuous").values.tolist() == [0, 0.5, 1]


def test_labels_that_differ_only_in_case_or_spaces_are_named_as_such():
    with pytest.raises(OrdinateError, match="2 differ from another only in case or spaces: give them one spelling"):
        understand(["mild", "mild ", "Mild", "severe"])


def test_the_task_decides_where_it_is_given():
    assert len(understand(range(50), "ranks").classes) == 50
    assert understand([0, 1, 1], "continuous").classes is None


@pytest.mark.parametrize("values", [[True, False, True], pd.array([True, False, True], dtype="boolean")])
def test_booleans_are_two_ranks(values):
    label = understand(values)
    assert label.classes == [0, 1]
    assert label.values.tolist() == [1, 0, 1]


def test_an_ordered_categorical_brings_its_order_and_leaves_out_ranks_without_samples():
    label = understand(ordered(["mid", "low", "mid", "high"], "none", "low", "mid", "high"))
    assert label.classes == ["low", "mid", "high"]
    assert label.values.tolist() == ["mid", "low", "mid", "high"]


@pytest.mark.parametrize(
    ("values", "order", "classes"),
    [
        (["low", "high", "mid"], "low,mid,high", ["low", "mid", "high"]),
        (["low", "high", "mid"], " low , mid,high ", ["low", "mid", "high"]),
        (["low", "high"], "none,low,mid,high", ["none", "low", "mid", "high"]),
        ([3, 1, 2], "3,2,1", ["3", "2", "1"]),
        ([3.0, 1.0, 2.0], "3,2,1", ["3", "2", "1"]),
        ([True, False], "True,False", ["True", "False"]),
        (ordered(["low", "high"], "low", "high"), "high,low", ["high", "low"]),
        ([1000001.0, 1000002.0], "1000002,1000001", ["1000002", "1000001"]),
        ([1.0, 1.5, 2.0], "1,1.5,2", ["1", "1.5", "2"]),
        ([1.0, 1.5, 2.0], "1.0,1.5,2.0", ["1", "1.5", "2"]),
        (["a, b", "c"], '["c", "a, b"]', ["c", "a, b"]),
    ],
)
def test_order_names_the_ranks_from_lowest_to_highest(values, order, classes):
    label = understand(values, order=order)
    assert label.classes == classes
    assert set(label.values) <= set(classes)


@pytest.mark.parametrize(
    ("values", "task", "order", "message"),
    [
        (["low", "high", "mid"], "auto", None, "column 'grade': holds text without an order: .*--order low,mid,high$"),
        (["cat", "dog"], "auto", None, """.*: 'cat', 'dog'; give their order, .* --order "lowest,...,highest"$"""),
        (
            ["1", "2", "?"],
            "auto",
            None,
            r"column 'grade': holds numbers and the text '\?'; --missing '\?' leaves these rows out",
        ),
        (["low", "high"], "continuous", None, "column 'grade': holds text without an order"),
        (pd.Categorical(["low", "high"]), "auto", None, "column 'grade': holds text without an order"),
        ([f"g{i}" for i in range(8, 22)], "auto", None, r".* and 6 others; .*--order g8,g9,g10,.*,g21$"),
        (
            ["low", "high", "mid"],
            "auto",
            "low,high",
            "--order: column 'grade' also holds mid, expected every rank of the data; if these rows have no label",
        ),
        (
            ["low", "high"],
            "auto",
            "Low,High",
            "--order: column 'grade' also holds high, low, .*; they differ from those of --order in capitals only",
        ),
        (["low", "high"], "auto", "low,high,low", "--order: got low,high,low, expected two or more different ranks"),
        (["low", "high"], "auto", "low", "--order: got low, expected two or more"),
        (["low", "high"], "auto", "low,high,", "--order: got low,high,, expected two or more different ranks"),
        ([1, 2], "auto", "1,1.0,2", "--order: got 1,1,2, expected two or more different ranks"),
        (["low", "high"], "auto", "", "--order: got , expected two or more"),
        ([0, 1], "continuous", "0,1", "--order: is for ranks, expected --task ranks or auto"),
        ([1, 1, 1], "auto", None, "column 'grade': every row has the one value .*1.*, expected a label that differs"),
        (["low", "low"], "ranks", "low,high", "column 'grade': every row has the one value 'low'"),
        ([1.0, np.inf], "auto", None, "column 'grade': holds infinity or numbers past 1e"),
        ([1.0, -np.inf, 0.5], "continuous", None, "column 'grade': holds infinity"),
        (["a", "b"], "auto", '["a", b', "--order: got .*, expected a list such as"),
        ([ONE_DAY, NEXT_DAY], "auto", None, "column 'grade': .*date"),
        ([1.0, 1e300], "ranks", None, "column 'grade'"),
        (ordered(["low", "high"], "low", "high"), "continuous", None, ".*--task"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_label_that_cannot_be_understood_is_an_error_with_the_way_out(values, task, order, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        understand(values, task, order)


# margins

GRADES = ["low", "mid", "high"]


@pytest.mark.parametrize(
    ("margins", "classes", "fixed"),
    [
        ([], GRADES, {}),
        ([], None, {}),
        (["low,mid=0.8"], GRADES, {(0, 1): 0.8}),
        ([" low , mid = .8", "mid,high=1"], GRADES, {(0, 1): 0.8, (1, 2): 1.0}),
        (["3,7=0.5"], [1, 3, 7], {(1, 2): 0.5}),
        (["-1,0=0.5"], [-1, 0, 1], {(0, 1): 0.5}),
        (["<=1,>1=.5"], ["<=1", ">1"], {(0, 1): 0.5}),
        (["a, b , c=.5"], ["a, b", "c"], {(0, 1): 0.5}),
        (["1,1.5=.5"], [1.0, 1.5], {(0, 1): 0.5}),
    ],
)
def test_margins_belong_to_boundaries_between_adjacent_ranks(margins, classes, fixed):
    assert parse_boundaries("--margin", margins, classes) == fixed


@pytest.mark.parametrize(
    ("margins", "classes", "message"),
    [
        (["low,mid=0.8"], None, "--margin: is for ranks, and the label is continuous"),
        (
            ["low,mid=wide"],
            GRADES,
            "--margin: got 'low,mid=wide', expected two adjacent ranks and a number above 0, as in",
        ),
        (["low,mid"], GRADES, "--margin: got 'low,mid', expected two adjacent ranks and a number"),
        ([""], GRADES, "--margin: got '', expected two adjacent ranks and a number"),
        (["low,high=0.8"], GRADES, "--margin: got 'low,high', expected two adjacent ranks of low, mid, high"),
        (["mid,low=0.8"], GRADES, "--margin: got 'mid,low', expected two adjacent ranks"),
        (["mid,mid=0.8"], GRADES, "--margin: got 'mid,mid', expected two adjacent ranks"),
        (["low=0.8"], GRADES, "--margin: got 'low', expected two adjacent ranks"),
        (["low,none=0.8"], GRADES, "--margin: got 'low,none', expected two adjacent ranks"),
        (["low,mid,high=0.8"], GRADES, "--margin: got 'low,mid,high', expected two adjacent ranks"),
        *(([f"low,mid={m}"], GRADES, "--margin") for m in ("-1", "0", "nan", "inf")),
        (["low,mid=1", "low,mid=2"], GRADES, "--margin"),
    ],
)
def test_a_margin_that_cannot_be_used_is_an_error(margins, classes, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        parse_boundaries("--margin", margins, classes)
