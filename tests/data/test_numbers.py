"""Numbers that come as text, with and without a unit."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.data.numbers import as_numbers, limits_of, other_words_of, read_numbers, split_unit
from ordinate.data.tables.features import TableFeatures
from ordinate.data.tables.row_columns import find_row_columns
from ordinate.errors import OrdinateError

NUMBERS = [3.5, -2.0, 1200.0, 0.25]
WRITTEN = {
    "%": "{}%", "‰": "{} ‰", "$": "${}", "€": "€ {}", "mm": "{} mm", "kg": "{}kg", "°C": "{} °C", "mg/dl": "{} mg/dl",
    "h": "{}h", "m²": "{} m²", "year": "{} years",
}  # fmt: skip


def column(texts):
    return pd.Series(texts, dtype=object)


@pytest.mark.parametrize("unit", WRITTEN)
def test_numbers_with_one_unit_are_numbers(unit):
    without, found = split_unit(column([WRITTEN[unit].format(number) for number in NUMBERS] + [None]))
    assert found == unit
    np.testing.assert_array_equal(as_numbers(without), [*NUMBERS, np.nan])


def test_one_year_and_two_years_have_the_same_unit():
    assert split_unit(column(["1 year", "2 years"]))[1] == "year"


def test_signs_and_thousands_are_read():
    without, unit = split_unit(column(["-$1,200.50", "$ 3", "+$4,000,000"]))
    assert unit == "$"
    assert as_numbers(without).tolist() == [-1200.5, 3, 4e6]


@pytest.mark.parametrize(
    "texts",
    [["12A", "13A"], ["5 kg", "6 g"], ["1st", "2nd"], ["007 kg"], ["grade 1"], ["1,5 kg"], ["5 kg", 6], ["1,234"], []],
    ids=str,
)
def test_other_text_stays_as_it_is(texts):
    without, unit = split_unit(column(texts))
    assert unit == ""
    assert without.tolist() == texts


def test_a_column_with_a_unit_is_a_number_with_a_note():
    bare = pd.DataFrame({"dose": np.arange(30) / 4})
    frame = pd.DataFrame({"dose": [f"{number} mg" for number in bare["dose"]]})
    features = TableFeatures.fit(frame)
    assert features.notes == ["dose: contains numbers with the unit mg, and is treated as numbers"]
    assert find_row_columns(frame) == {}
    np.testing.assert_array_equal(features.transform(frame), TableFeatures.fit(bare).transform(bare))
    restored = TableFeatures.from_dict(features.to_dict())
    np.testing.assert_array_equal(restored.transform(bare), features.transform(frame))  # Bare numbers have its unit.


def test_words_for_missing_values_among_numbers_are_missing():
    words = ["unknown", "?", " Missing "]
    frame = pd.DataFrame({"dose": [f"{number / 4}" for number in range(30)] + words})
    bare = pd.DataFrame({"dose": [number / 4 for number in range(30)] + [np.nan] * 3})
    features = TableFeatures.fit(frame)
    said = "' Missing ', '?', 'unknown' in 3 of 33 rows, treated as missing"
    assert features.notes[0] == f"dose: contains numbers and {said}"
    assert find_row_columns(frame) == {}
    np.testing.assert_array_equal(features.transform(frame), TableFeatures.fit(bare).transform(bare))
    one = pd.DataFrame({"dose": ["unknown"]})
    np.testing.assert_array_equal(features.transform(one), features.transform(bare[-1:]))
    assert TableFeatures.fit(pd.DataFrame({"kind": ["a", "b", "unknown"]})).categorical == ["kind"]


def test_limits_among_numbers_are_the_number_itself():
    frame = pd.DataFrame({"crp": [f"{number / 4 + 0.1} mg" for number in range(30)] + ["<0.1 mg", "≥ 8 mg", "unknown"]})
    bare = pd.DataFrame({"crp": [number / 4 + 0.1 for number in range(30)] + [0.1, 8.0, np.nan]})
    features = TableFeatures.fit(frame)
    limits = "limits such as '<0.1 mg', treated as the number itself"
    assert features.notes[0] == f"crp: contains numbers and 'unknown' in 1 of 33 rows, treated as missing; and {limits}"
    np.testing.assert_array_equal(features.transform(frame), TableFeatures.fit(bare).transform(bare))
    only = pd.DataFrame({"crp": ["<0.1", "<0.1"]})
    np.testing.assert_array_equal(features.transform(only), features.transform(pd.DataFrame({"crp": [0.1, 0.1]})))


@pytest.mark.parametrize("values", [["<5", ">5"] * 9, ["<5", "5", ">5"] * 9, ["<a", "1"] * 9, ["->", "3"] * 9])
def test_a_column_of_few_numbers_or_other_signs_has_categories(values):
    frame = pd.DataFrame({"kind": values})
    assert TableFeatures.fit(frame).categorical == ["kind"]


@pytest.mark.parametrize(("trained", "expected"), [("{} mg", "the unit mg"), ("{}", "no unit")])
def test_another_unit_than_in_training_is_an_error(trained, expected):
    features = TableFeatures.fit(pd.DataFrame({"dose": [trained.format(number) for number in range(9)]}))
    with pytest.raises(
        OrdinateError, match=f"^column 'dose': got numbers with the unit g, expected {expected}, as in training$"
    ):
        features.transform(pd.DataFrame({"dose": ["1 g"]}))


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,5", "<0,5", "?", "1.234,25", "7"], [1.5, 0.5, np.nan, 1234.25, 7]),
        (["37,5 °C", "-40,0 °C", "38 °C"], [37.5, -40, 38]),
        (["€ 1,50", "€ 0,234"], [1.5, 0.234]),
        ([",5", "-,5", "1.000"], [0.5, -0.5, 1000]),
        ([1.5, "2,5", None], [1.5, 2.5, np.nan]),
        (["1,234", "2,345"], None),
        (["1.5", "2,5"], None),
        (["1,2", "1,2,3"], None),
        (["01.02.2020", "0,5"], None),
    ],
)
def test_decimal_commas_that_are_clear_are_points(texts, numbers):
    found, _ = read_numbers(pd.Series(texts, dtype=object))
    if numbers is None:
        assert found.tolist() == texts
    else:
        np.testing.assert_allclose(found, numbers)


def test_a_column_with_decimal_commas_is_numbers_with_a_note():
    frame = pd.DataFrame({"temp": ["36,5", "37,0", "38,25"] * 4})
    features = TableFeatures.fit(frame)
    assert features.notes == ["temp: contains numbers with a decimal comma, and is treated as numbers"]
    bare = pd.DataFrame({"temp": [36.5, 37.0, 38.25] * 4})
    np.testing.assert_array_equal(features.transform(frame), TableFeatures.fit(bare).transform(bare))


def test_lists_in_cells_are_refused_as_before():
    with pytest.raises(OrdinateError, match="expected a number or a category in every row"):
        TableFeatures.fit(pd.DataFrame({"x": [[1, 2], [3]]}))


TEXTS = st.one_of(
    st.sampled_from(
        ["1", "-2.5", "+.5", "3.", "1e5", " 7 ", "0", "-0.0", "007", "nan", "inf", "1_0", "", "low", "unknown"]
    ),
    st.integers(-(2**60), 2**60).map(str),
    st.none(),
)


def number_of(text):
    """Return the number that a text is by the rules of Python; a code such as 007 and words are none."""
    bare = text.strip().lstrip("+-")
    if "_" in text or (bare[:1] == "0" and bare[1:2].isdigit()):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@given(st.lists(TEXTS, min_size=1, max_size=9), st.sampled_from([object, "str"]))
def test_numbers_found_by_different_values_are_those_of_each_row(texts, dtype):
    column = pd.Series(texts * 3, dtype=dtype, index=range(5, 5 + 3 * len(texts)), name="dose")
    numbers = [None if text is None else number_of(text) for text in texts * 3]
    found = as_numbers(column)
    are_numbers = any(text is not None for text in texts) and all(
        text is None or number is not None for text, number in zip(texts * 3, numbers, strict=True)
    )
    if are_numbers:
        np.testing.assert_array_equal(found, np.array(numbers, dtype=float))
        assert found.index.equals(column.index)
        assert (found.name, found.dtype.kind in "if") == ("dose", True)
    else:
        assert found is column


def test_objects_that_are_equal_but_of_other_types_stay_apart():
    assert as_numbers(column([1, True, 1])).tolist() == [1, True, 1]
    assert as_numbers(column([1, 1.0, Decimal(1), "1"])).tolist() == [1.0, 1.0, 1.0, 1.0]
    assert as_numbers(column([True, False])).tolist() == [True, False]


def test_words_of_rows_are_all_returned():
    values = column(["low", "?", "7", None, "low", "<5"])
    assert sorted(other_words_of(values)) == ["low", "low"]
    assert limits_of(values) == ["<5"]


@pytest.mark.parametrize("ending", ["png", "jpg", "dcm", "nii"])
def test_a_number_before_the_ending_of_a_file_is_no_number(ending):
    names = [f"{place}.{ending}" for place in range(12)]
    assert split_unit(column(names))[1] == ""
    assert read_numbers(column(names))[0].tolist() == names


def test_a_few_misspelt_numbers_among_many_are_missing_and_named():
    ages = column([str(20 + row % 75) for row in range(400)]).rename("age")
    ages[57] = "7O"
    features = TableFeatures.fit(ages.to_frame())
    assert features.notes == ["age: contains numbers and '7O' in 1 of 400 rows, treated as missing"]
    new = column([*map(str, range(20, 50)), "4O"]).rename("age")
    with pytest.warns(UserWarning, match="4O not seen in training, treated as missing"):
        read = features.transform(new.to_frame())
    new[30] = None
    np.testing.assert_array_equal(read, features.transform(new.to_frame()))


@pytest.mark.parametrize("texts", [["1", "2", "3", "2a"] * 30, [*map(str, range(1000, 1090)), "01234"]])
def test_codes_stay_codes(texts):
    values = column(texts)
    assert read_numbers(values, 0.05, 0.01)[0] is values
