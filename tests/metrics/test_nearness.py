"""Measures of neighbours by distance agree with brute force, one pair at a time."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from ordinate.errors import OrdinateError
from ordinate.metrics import knn_accuracy, mean_average_precision, ndcg, nearest_neighbours
from ordinate.metrics.nearness import similarities

RANDOM = np.random.default_rng(0)
QUERIES, REFS = RANDOM.normal(size=(12, 4)), 3 + RANDOM.normal(size=(40, 4))
LABELS, REF_LABELS = np.arange(12) % 3, np.arange(40) % 3
APART = {"neg_l2": cdist(QUERIES, REFS), "neg_l1": cdist(QUERIES, REFS, "cityblock")}
by_distance = pytest.mark.parametrize("similarity", APART)


@by_distance
def test_the_nearest_are_those_at_the_smallest_distance(similarity):
    expected = np.argsort(APART[similarity], axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(nearest_neighbours(QUERIES, REFS, 7, similarity=similarity), expected)
    found = similarities(QUERIES, REFS[expected], similarity)
    np.testing.assert_allclose(found, -np.take_along_axis(APART[similarity], expected, axis=1), rtol=1e-12)


@by_distance
def test_accuracy_and_precision_are_those_of_the_nearest(similarity):
    order = np.argsort(APART[similarity], axis=1)
    hits = REF_LABELS[order] == LABELS[:, None]
    known = {"ref_emb": REFS, "ref_labels": REF_LABELS, "similarity": similarity}
    assert knn_accuracy(QUERIES, LABELS, 5, **known) == pytest.approx(hits[:, :5].mean())
    precisions = [np.mean(np.cumsum(row)[row] / (np.flatnonzero(row) + 1)) for row in hits]
    assert mean_average_precision(QUERIES, LABELS, **known) == pytest.approx(np.mean(precisions))
    gains = 1 - np.abs(REF_LABELS[order] - LABELS[:, None]) / 2
    discounts = 1 / np.log2(np.arange(40) + 2)
    best = np.sort(gains, axis=1)[:, ::-1] @ discounts
    assert ndcg(QUERIES, LABELS, **known) == pytest.approx(np.mean((gains @ discounts) / best))


def test_points_far_from_the_origin_are_told_apart():
    line = 1e6 + np.array([[0.0], [0.001], [0.003], [0.007], [0.015]])
    assert nearest_neighbours(line, None, 1, similarity="neg_l2")[:, 0].tolist() == [1, 0, 1, 2, 3]


def test_another_similarity_is_refused():
    with pytest.raises(OrdinateError, match="similarity: got 'l2'"):
        nearest_neighbours(QUERIES, REFS, 1, similarity="l2")
