"""Reduced training data: nested subsets, and scores that are those of training on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error

from ordinate_papers.protocols.reduced_data import nested_subsets, reduced_data
from tests.estimators.examples import draw_table


@given(
    y=st.lists(st.integers(0, 4), min_size=8, max_size=60),
    sizes=st.lists(st.integers(5, 8), min_size=2, max_size=3),
    seed=st.integers(0, 9),
    stratify=st.booleans(),
)
def test_a_subset_lies_within_every_larger_one(y, sizes, seed, stratify):
    subsets = nested_subsets(y, [*sizes, len(y)], seed, stratify=stratify)
    assert [len(subset) for subset in subsets] == [*sizes, len(y)]
    for small, large in zip(*[sorted(subsets, key=len)[i:] for i in (0, 1)], strict=False):
        assert set(small) <= set(large)
    assert all((np.diff(subset) > 0).all() for subset in subsets)


@given(y=st.lists(st.integers(0, 4), min_size=8, max_size=200), share=st.floats(0.3, 1), seed=st.integers(0, 9))
def test_stratified_subsets_keep_the_ranks_shares_and_all_ranks(y, share, seed):
    y = np.array(y)
    size = max(len(set(y)), round(share * len(y)))
    [subset] = nested_subsets(y, [size], seed, stratify=True)
    kept, all_of = np.bincount(y[subset], minlength=5), np.bincount(y, minlength=5)
    assert (kept[all_of > 0] >= 1).all()
    assert np.abs(kept - size * all_of / len(y)).max() <= len(set(y))


def test_the_scores_are_those_of_models_trained_on_the_subsets():
    X, y = draw_table(60)
    X_test, y_test = draw_table(30, seed=1)
    figures = reduced_data(LinearRegression(), X, y + X[:, 2] ** 2, X_test, y_test, sizes=[40, 10], seed=3)
    for row, subset in zip(figures["rows"], nested_subsets(y, [40, 10], 3), strict=True):
        model = LinearRegression().fit(X[subset], (y + X[:, 2] ** 2)[subset])
        assert row["size"] == len(subset)
        assert row["mae"] == pytest.approx(mean_absolute_error(y_test, model.predict(X_test)), rel=1e-12)
