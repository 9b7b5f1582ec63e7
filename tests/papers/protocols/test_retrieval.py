"""Retrieval as a protocol: its measures are those of the metrics, between training and test embeddings."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from ordinate.metrics import mean_average_precision, ndcg
from ordinate_papers.protocols.retrieval import retrieval

RANDOM = np.random.default_rng(0)
X, X_TEST = RANDOM.normal(size=(60, 2)), RANDOM.normal(size=(30, 2))


def angle(x):
    return np.arctan2(x[:, 1], x[:, 0])


class Itself:
    """The embedding of a sample is the sample."""

    def transform(self, X):
        return X


class Ranks(Itself, KNeighborsClassifier):
    pass


class Targets(Itself, KNeighborsRegressor):
    pass


class Angles(RegressorMixin, BaseEstimator):
    """A half circle by the target, which is the sample."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]

    def transform(self, X):
        return np.stack([np.cos(X[:, 0]), np.sin(X[:, 0])], 1)


def test_ranks_are_relevant_where_they_are_equal_and_targets_within_a_quarter_deviation():
    y, y_test = angle(X), angle(X_TEST)
    [row] = retrieval(Targets(), X, y, X_TEST, y_test)["rows"]
    found = {"ref_emb": X, "ref_labels": y}
    assert row["average_precision"] == mean_average_precision(X_TEST, y_test, within=y.std() / 4, **found)
    assert row["ndcg"] == ndcg(X_TEST, y_test, 10, **found)
    names = np.array([-5, 7, 30])
    ranks, ranks_test = np.digitize(y, [-1, 1]), np.digitize(y_test, [-1, 1])
    [row] = retrieval(Ranks(), X, names[ranks], X_TEST, names[ranks_test])["rows"]
    assert row["average_precision"] == mean_average_precision(X_TEST, ranks_test, ref_emb=X, ref_labels=ranks)
    assert row["accuracy"] == np.mean(Ranks().fit(X, ranks).predict(X_TEST) == ranks_test)


def test_an_arc_has_full_order_and_direction():
    x, x_test = (np.sort(RANDOM.uniform(0, 3, n))[:, None] for n in (80, 40))
    [row] = retrieval(Angles(), x, x[:, 0], x_test, x_test[:, 0])["rows"]
    assert row["order"] == pytest.approx(1) == row["direction"]
    assert row["mae"] == 0


def test_a_search_by_predictions_ranks_training_samples_by_their_labels():
    y, y_test = angle(X), angle(X_TEST)
    [row] = retrieval(Targets(), X, y, X_TEST, y_test)["rows"]
    precisions = []
    for predicted, true in zip(Targets().fit(X, y).predict(X_TEST), y_test, strict=True):
        relevant = np.abs(y - true)[np.argsort(np.abs(y - predicted))] <= y.std() / 4
        if relevant.any():
            precisions.append(np.mean((np.cumsum(relevant) / np.arange(1, 61))[relevant]))
    assert row["average_precision_of_predictions"] == pytest.approx(np.mean(precisions))
    assert "average_precision_of_predictions" not in retrieval(Ranks(), X, X[:, 0] > 0, X, X[:, 0] > 0)["rows"][0]
