from collections import Counter

import numpy as np
import pandas as pd
import pytest

from ordinate.data.typed import Declared, Reading, says_more_than_the_alphabet, typed, without_missing

LIKERT = {1: "disagree", 2: "neutral", 3: "agree"}


def column(values, said=None, **reading):
    """Return a column named "g" as what it is, and what was found."""
    declared = {} if said is None else {"g": said}
    frame, found = typed(pd.DataFrame({"g": values}), declared, Reading(**reading))
    return frame["g"], found


def is_ranks(values):
    return isinstance(values.dtype, pd.CategoricalDtype) and values.dtype.ordered


def is_categories(values):
    return isinstance(values.dtype, pd.CategoricalDtype) and not values.dtype.ordered


# ranks


def test_labelled_codes_are_ranks_in_the_order_of_the_codes():
    values, _ = column([3.0, 1.0, np.nan, 2.0], Declared(LIKERT))
    assert is_ranks(values)
    assert values.dtype.categories.tolist() == ["disagree", "neutral", "agree"]
    assert values.isna().tolist() == [False, False, True, False]
    assert values.dropna().tolist() == ["agree", "disagree", "neutral"]


@pytest.mark.parametrize("code", [int, float, str])
def test_codes_may_be_numbers_of_any_type(code):
    values, _ = column([code(3), code(1), code(2)], Declared({code(key): label for key, label in LIKERT.items()}))
    assert is_ranks(values)
    assert values.tolist() == ["agree", "disagree", "neutral"]


def test_an_order_of_codes_along_the_alphabet_says_nothing():
    values, _ = column([0, 1, 2], Declared({0: "high", 1: "low", 2: "medium"}))
    assert is_categories(values)
    assert values.tolist() == ["high", "low", "medium"]


def test_codes_that_are_text_have_no_order():
    values, _ = column(["L", "M", "H", "M"], Declared({"L": "Low", "M": "Medium", "H": "High"}))
    assert is_categories(values)
    assert values.tolist() == ["Low", "Medium", "High", "Medium"]


@pytest.mark.parametrize(
    ("labels", "says_more"),
    [
        (["low", "mid", "high"], True), (["high", "low", "medium"], False), (["High", "low", "Medium"], False),
        (["1. Excellent", "2. Good", "3. Poor"], True), (["Stage I", "Stage II", "Stage III"], True), (["A", "B",
        "C"], False),
        (["no", "yes"], True), (["yes", "no"], True), (["a", "b"], False), (["b", "a"], True),
    ],
)  # fmt: skip
def test_only_an_order_that_somebody_chose_is_one(labels, says_more):
    assert says_more_than_the_alphabet(labels) == says_more


def test_codes_of_one_label_stay_apart():
    values, _ = column([1, 2, 3], Declared({1: "bad", 2: "bad", 3: "good"}))
    assert values.tolist() == ["bad (1)", "bad (2)", "good"]


def test_a_stray_code_without_a_label_is_a_category_of_its_own():
    values, _ = column([1, 2, 3, 4], Declared(LIKERT))
    assert values.dtype.categories.tolist() == ["disagree", "neutral", "agree", "4"]


# numbers


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1, 2, 3, 4, 5], {1: "not at all", 5: "extremely"}),
        ([1, 2, 3, 4, 5, 6, 7], {1: "never", 4: "sometimes", 7: "always"}),
        ([1, 2, 3, 4, 5], {1: "low", 3: "middle", 5: "high"}),
        ([18, 40, 63, 89], {89: "89 or older"}),
        ([0.5, 1.0, 1.5, 2.0], {0.5: "a half", 1.0: "one", 1.5: "more", 3.0: "three"}),
        ([1, 2, 3], {1: "1", 2: "2", 3: "3"}),
    ],
)
def test_codes_most_of_which_have_no_label_are_numbers(values, labels):
    found, _ = column([float(value) for value in values], Declared(labels))
    assert pd.api.types.is_numeric_dtype(found.dtype)
    assert found.tolist() == values


def test_whole_numbers_of_a_statistics_program_are_integers():
    values, _ = column([1.0, 2.0], Declared())
    assert values.dtype == np.int64
    with_gap, _ = column([1.0, np.nan], Declared())
    assert with_gap.dtype == np.float64


def test_the_labels_of_a_number_that_is_the_target_are_told():
    _, found = column([1.0, 2.0, 3.0, 4.0, 5.0], Declared({1: "low", 5: "high"}), targets=("g",))
    assert found.notes(Reading(targets=("g",))) == ["the codes of 'g' are its values: 1 = low, 5 = high"]


def test_a_target_whose_numbers_are_wanted_keeps_its_codes():
    values, _ = column([1.0, 3.0, 2.0], Declared(LIKERT), numbers=frozenset(["g"]))
    assert values.tolist() == [1, 3, 2]


def test_a_column_that_a_model_knows_as_labels_has_them_however_few():
    values, _ = column([1.0, 4.0, 5.0], Declared({1: "low"}), labels=frozenset(["g"]))
    assert values.tolist() == ["low", "4", "5"]


def test_dates_stay_dates():
    dates = pd.Series(pd.to_datetime(["2020-01-31", None]))
    values, _ = column(dates, Declared())
    assert values.equals(dates.rename("g"))


# missing


def test_labels_that_say_no_answer_are_missing_and_counted():
    said = Declared(LIKERT | {-9: "-9. Refused", 8: "Don't know"})
    values, found = column([1.0, -9.0, 8.0, 3.0, -9.0], said)
    assert values.dropna().tolist() == ["disagree", "agree"]
    assert values.dtype.categories.tolist() == ["disagree", "neutral", "agree"]
    assert found.missing == {"g": Counter({"-9. Refused": 2, "8 (Don't know)": 1})}


@pytest.mark.parametrize("missing", [((9, 9),), ((8, 99),), ((-np.inf, -1), (9, 9))])
def test_codes_that_a_file_declares_as_missing_are(missing):
    values, _ = column([1.0, 9.0, 3.0, 2.0], Declared(LIKERT | {9: "other"}, missing))
    assert values.isna().tolist() == [False, True, False, False]


def test_text_that_a_file_declares_as_missing_is():
    values, _ = column(["a", "X", "b"], Declared({}, (("X", "X"),)))
    assert values.isna().tolist() == [False, True, False]


def test_values_that_may_not_be_missing_are_kept():
    said = Declared(LIKERT | {9: "Refused"}, ((9, 9),))
    values, found = column([1.0, 9.0], said, keep_missing=True)
    assert values.tolist() == ["disagree", "Refused"]
    assert not found.missing


def test_a_column_of_two_labels_keeps_both():
    values, _ = column([1.0, 2.0], Declared({1: "accepted", 2: "refused"}))
    assert values.tolist() == ["accepted", "refused"]
    text, _ = column(["accepted", "refused"], targets=("g",))
    assert text.tolist() == ["accepted", "refused"]


def test_a_rank_that_the_order_names_is_not_missing():
    said = Declared(LIKERT | {9: "unknown"})
    values, _ = column([1.0, 9.0, 2.0], said, targets=("g",), order=("unknown", "disagree", "neutral", "agree"))
    assert values.tolist() == ["disagree", "unknown", "neutral"]
    text, _ = column(["low", "unknown", "high"], targets=("g",), order=("unknown", "low", "high"))
    assert text.tolist() == ["low", "unknown", "high"]


def test_labels_in_text_that_say_no_answer_are_missing_in_the_target_alone():
    texts = ["low", "refused", "high", "not reported"]
    assert column(texts, targets=("g",))[0].isna().tolist() == [False, True, False, True]
    assert column(texts)[0].tolist() == texts


@pytest.mark.parametrize(
    ("values", "missing", "expected"),
    [
        ([1, 98, 2, 99], ("98", "99"), [1, None, 2, None]),
        ([1.5, -9.0], ("-9",), [1.5, None]),
        ([1.5, -9.0], ("-9.0",), [1.5, None]),
        (["1", "x", "2"], ("x",), [1, None, 2]),
        (["low", " n.k. "], ("n.k.",), ["low", None]),
        ([True, False], ("1",), [True, False]),
        ([1, 2], ("refused",), [1, 2]),
    ],
)
def test_values_that_are_named_as_missing_are(values, missing, expected):
    found = without_missing(pd.Series(values), missing)
    assert found.astype(object).where(found.notna(), None).tolist() == expected


@pytest.mark.parametrize("named", ["9", "odd", "g=9", "g=odd"])
def test_codes_are_named_as_missing_by_code_or_label(named):
    values, _ = column([1.0, 9.0, 3.0], Declared(LIKERT | {9: "odd"}), missing=(named,))
    assert values.dropna().tolist() == ["disagree", "agree"]


def test_a_value_may_be_missing_in_one_column_alone():
    frame = pd.DataFrame({"rooms": [1, 9, 3], "grade": [9, 1, 2]})
    table, found = typed(frame, {}, Reading(missing=("grade=9", "x=3")))
    assert table["rooms"].tolist() == [1, 9, 3]
    assert table["grade"].isna().tolist() == [True, False, False]
    assert found.notes(Reading()) == [
        "values that missing= names are missing in grade in 1 row",
        "no value is 'x=3', named as missing",
    ]


def test_categories_lose_those_that_are_missing():
    values = without_missing(pd.Series(pd.Categorical(["a", "b", "c"], ["c", "b", "a"], ordered=True)), ("b",))
    assert values.dtype.categories.tolist() == ["c", "a"]
    assert values.isna().tolist() == [False, True, False]


def test_one_note_names_the_missing_values_of_all_columns_the_target_first():
    said = Declared({1: "a", 2: "b", 9: "Refused"})
    names = ["v1", "v2", "v3", "v4", "g"]
    frame = pd.DataFrame({name: [1.0, 2.0, 9.0] for name in names})
    reading = Reading(targets=("g",))
    _, found = typed(frame, dict.fromkeys(names, said), reading)
    assert found.notes(reading) == [
        "read as missing in g: 9 (Refused) in 1 row; v1: 9 (Refused) in 1 row; v2: 9 (Refused) in 1 row; "
        "2 other columns: 9 (Refused) in 2 rows (keep_missing=True reads them as values)"
    ]


def test_a_column_none_of_whose_values_has_a_label_is_a_number():
    labels = dict(zip(range(1, 10), "abcdefghi", strict=True))
    assert column([15.0, 20.0, 40.0], Declared(labels))[0].tolist() == [15, 20, 40]


def test_declared_codes_are_missing_even_if_one_value_is_left():
    values, _ = column([50.0, 999.0, 50.0], Declared({}, ((999, 999),)))
    assert values.tolist()[::2] == [50, 50]
    assert np.isnan(values[1])


def test_far_codes_of_a_labelled_target_are_noticed():
    _, found = column([1.0, 2.0, 3.0, 99.0] * 3, Declared(LIKERT), targets=("g",))
    assert found.notes(Reading()) == [
        "the label holds 99 in 3 rows, far from its other values, 1 to 3; if these codes mean missing labels, "
        "missing= names them"
    ]
