"""Windows are those of the standard, DICOM PS3.3, C.11.2.1.2 and C.11.2.1.3, written out for one value."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.data.images.grey_windows import is_window, windowed


def linear(x, c, w):
    if x <= c - 0.5 - (w - 1) / 2:
        return 0.0
    if x > c - 0.5 + (w - 1) / 2:
        return 1.0
    return (x - (c - 0.5)) / (w - 1) + 0.5


def linear_exact(x, c, w):
    if x <= c - w / 2:
        return 0.0
    if x > c + w / 2:
        return 1.0
    return (x - c) / w + 0.5


def sigmoid(x, c, w):
    return 1 / (1 + math.exp(-4 * (x - c) / w))


@given(
    st.lists(st.integers(-3000, 3000), min_size=1, max_size=20),
    st.integers(-2000, 4000).map(lambda number: number / 2),
    st.integers(1, 2000),
)
def test_windows_are_those_of_the_standard(values, centre, width):
    array = np.array(values, dtype=np.float64)
    for name, formula in (("LINEAR", linear), ("LINEAR_EXACT", linear_exact)):
        expected = [formula(value, centre, width) for value in values]
        np.testing.assert_allclose(windowed(array, centre, width, name), expected, rtol=0, atol=1e-12)
    near = array[np.abs(array - centre) < 100 * width]
    expected = [sigmoid(value, centre, width) for value in near]
    np.testing.assert_allclose(windowed(near, centre, width, "SIGMOID"), expected, rtol=1e-12)


def test_values_far_from_a_sigmoid_are_black_and_white_without_a_warning(recwarn):
    assert windowed(np.array([-1e9, 1e9]), 0, 1, "SIGMOID").tolist() == [0, 1]
    assert not recwarn.list


@pytest.mark.parametrize(
    ("centre", "width", "function", "expected"),
    [
        (40, 1, "LINEAR", True),
        (40, 0.5, "LINEAR", False),
        (40, 0.5, "LINEAR_EXACT", True),
        (40, 0, "LINEAR_EXACT", False),
        (40, 0, "SIGMOID", False),
        (40, -3, "SIGMOID", False),
        (math.nan, 5, "LINEAR", False),
        (40, math.inf, "LINEAR", False),
    ],
)
def test_a_window_has_a_centre_and_a_width_that_the_standard_allows(centre, width, function, expected):
    assert is_window(centre, width, function) is expected
