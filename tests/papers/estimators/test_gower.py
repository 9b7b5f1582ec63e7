"""Gower's coefficient on ranks with ties against Podani's formula, a pair at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from ordinate_papers.estimators.gower import gower_distances


def brute_force(X):
    """1 less the mean similarity, from ranks and tie counts of all samples (Podani, 1999, eq. 2b)."""
    n, d = X.shape
    similarity = np.zeros((n, n))
    for column in X.T:
        ranks = rankdata(column)
        ties = [int(np.sum(column == value)) for value in column]
        low, high = np.argmin(ranks), np.argmax(ranks)
        widest = ranks[high] - ranks[low] - (ties[high] - 1) / 2 - (ties[low] - 1) / 2
        for i in range(n):
            for j in range(n):
                gap = abs(ranks[i] - ranks[j]) - (ties[i] - 1) / 2 - (ties[j] - 1) / 2
                similarity[i, j] += 1 if ranks[i] == ranks[j] else 1 - gap / widest
    return 1 - similarity / d


tables = st.integers(2, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=n, max_size=n)
)


@given(tables)
def test_distances_are_those_of_the_formula(rows):
    X = np.array(rows, dtype=np.float64)
    np.testing.assert_allclose(gower_distances(X, X, X), brute_force(X), atol=1e-14)


def test_a_value_that_training_has_not_seen_lies_between_its_neighbours():
    reference = np.array([[0.0], [1.0], [3.0], [3.0]])
    near, far = gower_distances(np.array([[2.0]]), reference, reference)[0, [1, 0]]
    assert 0 < near < far
    assert gower_distances(np.array([[9.0]]), reference, reference)[0, 0] == 2.0
