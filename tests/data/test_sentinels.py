import numpy as np
import pandas as pd
import pytest

from ordinate.data.sentinels import sentinel_problem

ANSWERS = [1, 2, 3, 4, 5] * 4


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ([99], "99 in 1 row"), ([-9, -9], "-9 in 2 rows"), ([-3], "-3 in 1 row"), ([98, 99, 99],
        "98 in 1 row and 99 in 2 rows"),
        ([-9, -8], "-9 in 1 row and -8 in 1 row"), ([-99, 999], "-99 in 1 row and 999 in 1 row"),
        ([9, 9, 9], "9 in 3 rows"), ([8, 8, 8, 9, 9, 9], "8 in 3 rows and 9 in 3 rows"), ([77, 88],
        "77 in 1 row and 88 in 1 row"),
    ],
)  # fmt: skip
def test_codes_far_from_the_answers_are_noticed_together(codes, said):
    assert sentinel_problem(pd.Series(ANSWERS + codes)) == f"holds {said}, far from its other values, 1 to 5"


@pytest.mark.parametrize(
    "values",
    [
        ANSWERS, [-2, -1, 0, 1, 2] * 4, [-1, 0, 1] * 4, [*range(10)] * 3, [*range(100)], [20, 70, 99],
        [0, 1, 2, 3, 9], [3] * 9,
        [99] * 9, [-9.5, 1, 2], [0.5, 1.5, 8, 8, 8], ["-9", "1"], [True, False], [np.nan], [],
    ],
)  # fmt: skip
def test_other_numbers_are_not(values):
    assert sentinel_problem(pd.Series(values)) is None
