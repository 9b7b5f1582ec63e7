import datetime

import numpy as np
import pandas as pd
import pytest

from ordinate.data.rows import random_part, random_part_of_ranks, row_codes


@pytest.mark.parametrize(("n", "most"), [(10, 10), (10, 20), (0, 3)])
def test_few_rows_are_all_returned(n, most):
    np.testing.assert_array_equal(random_part(n, most), np.arange(n))
    np.testing.assert_array_equal(random_part_of_ranks(np.zeros(n, dtype=int), most, 3), np.arange(n))


def test_a_part_is_random_ascending_and_the_same_each_time():
    part = random_part(1000, 100)
    assert len(part) == 100
    assert (np.diff(part) > 0).all()
    assert 400 < part.mean() < 600
    np.testing.assert_array_equal(part, random_part(1000, 100))


def test_a_part_of_ranks_keeps_their_shares_and_some_of_the_rarest():
    ranks = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [9000, 990, 10]))
    part = random_part_of_ranks(ranks, most=1000, least=5)
    assert np.bincount(ranks[part]).tolist() == [900, 99, 5]
    assert (np.diff(part) > 0).all()


def test_codes_of_rows_are_equal_where_all_values_are():
    frame = pd.DataFrame(
        {
            "size": [1.5, 1.5, 1.5, np.nan, np.nan],
            "count": [1, 1, 2, 3, 3],
            "kind": ["a", "a", "a", None, None],
            "lasted": pd.to_timedelta([5, 5, 5, 7, 7], unit="h"),
            "at": [datetime.time(5), datetime.time(5), datetime.time(5), datetime.time(7), datetime.time(7)],
            "seen": pd.to_datetime(["2020-01-31", "2020-01-31", "2020-01-31", None, None]),
        }
    )
    codes = row_codes(frame)
    assert pd.factorize(codes)[0].tolist() == [0, 0, 1, 2, 2]
    assert row_codes(frame[3:])[0] == codes[3]
    for name in frame:
        changed = frame.copy()
        changed.loc[0, name] = frame.loc[3, name]
        assert row_codes(changed)[0] != codes[0]
