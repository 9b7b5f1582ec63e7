"""Permuted labels: what stays equal, and what the order of an embedding says of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, RegressorMixin

from ordinate.errors import OrdinateError
from ordinate_papers.protocols.label_permutation import label_permutation, permute_labels
from tests.estimators.examples import draw_table


class Itself(RegressorMixin, BaseEstimator):
    """Embeds samples as they are, whatever the labels."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]

    def transform(self, X):
        return X


@given(y=st.lists(st.integers(0, 9), min_size=3, max_size=40).filter(lambda y: len(set(y)) > 2), seed=st.integers(0, 9))
def test_equal_labels_stay_equal_and_different_ones_different_out_of_order(y, seed):
    permuted = permute_labels(y, seed)
    pairs = set(zip(y, permuted.tolist(), strict=True))
    assert len(pairs) == len(set(y)) == len({new for _, new in pairs})
    assert set(permuted.tolist()) == set(y)
    order = [new for _, new in sorted(pairs)]
    assert order not in (sorted(order), sorted(order, reverse=True))


def test_an_embedding_that_knows_no_labels_keeps_its_genuine_order():
    X, _ = draw_table(40)
    y = X[:, 0] ** 3
    genuine, permuted = label_permutation(Itself(), X, y, X, y)["rows"]
    upper = np.triu_indices(40, 1)
    between = np.linalg.norm(X[:, None] - X[None], axis=2)[upper]
    expected = spearmanr(np.abs(y[:, None] - y[None])[upper], between).statistic
    assert (
        genuine["order"] == genuine["genuine_order"] == permuted["genuine_order"] == pytest.approx(expected, abs=1e-12)
    )
    assert abs(permuted["order"]) < 0.15
    both = permute_labels(np.concatenate([y, y]))[40:]
    assert permuted["mae"] == pytest.approx(np.abs(both - X[:, 0]).mean(), rel=1e-12)


def test_pictures_hold_the_labels_of_training():
    X, _ = draw_table(20)
    y = np.arange(20.0)
    pictures = label_permutation(Itself(), X, y, X, y, seed=2)["pictures"]
    assert pictures["genuine"]["labels"] == y.tolist()
    assert pictures["permuted"]["labels"] == permute_labels(y, 2).tolist()
    assert np.shape(pictures["genuine"]["places"]) == (20, 2)
    assert pictures["genuine"]["places"] == pictures["permuted"]["places"]  # one embedding, one picture


@pytest.mark.parametrize(
    ("y", "message"),
    [([0, 1, 1, 0], "y: got 2 different labels"), ([[0], [1], [2], [3]], r"y: got shape \(4, 1\)")],
)
def test_labels_that_cannot_lose_their_order_are_an_error(y, message):
    X = np.zeros((4, 1))
    with pytest.raises(OrdinateError, match=f"^{message}"):
        label_permutation(Itself(), X, y, X, y)


def test_an_embedding_that_has_collapsed_is_one_point_in_the_picture():
    X, _ = draw_table(40)
    found = label_permutation(Itself(), np.ones_like(X), X[:, 0], np.ones_like(X), X[:, 0])
    assert not np.any(found["pictures"]["genuine"]["places"])
    assert [row["order"] for row in found["rows"]] == [0, 0]
