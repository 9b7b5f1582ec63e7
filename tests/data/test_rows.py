import numpy as np
import pytest

from ordinate.data.rows import random_part, random_part_of_ranks


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
