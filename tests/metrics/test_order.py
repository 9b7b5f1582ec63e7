"""The order of embeddings against SciPy, over all pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from ordinate.errors import OrdinateError
from ordinate.metrics import distance_rank_correlation

sizes = st.integers(3, 12)
seeds = st.integers(0, 10_000)


def draw(n, seed, p=1, grid=3):
    """Embeddings and labels on a small grid, so that both have ties."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-grid, grid + 1, (n, 2)).astype(float)
    return points + (points == 0).all(axis=1, keepdims=True), rng.integers(0, 4, (n, p)).astype(float)


def pair_distances(points, labels, similarity="neg_l2"):
    """Embedding and label distances (n, n), plainly from their definitions; ties made exact by rounding."""
    apart = np.abs(labels[:, None] - labels).sum(2)
    gap = points[:, None] - points
    units = points / np.linalg.norm(points, axis=1, keepdims=True)
    far = {"neg_l2": np.sqrt((gap**2).sum(2)), "neg_l1": np.abs(gap).sum(2), "cosine": -(units @ units.T)}[similarity]
    return np.round(far, 10), np.round(apart, 10)


@settings(deadline=None)
@given(sizes, seeds, st.sampled_from(["neg_l2", "neg_l1", "cosine"]))
def test_the_rank_correlation_is_that_of_scipy_over_all_pairs(n, seed, similarity):
    points, labels = draw(n, seed, p=2)
    far, apart = pair_distances(points, labels, similarity)
    pairs = tuple(np.array(list(combinations(range(n), 2))).T)
    varies = np.ptp(far[pairs]) > 0 and np.ptp(apart[pairs]) > 0
    expected = spearmanr(apart[pairs], far[pairs]).statistic if varies else 0.0
    assert distance_rank_correlation(points, labels, similarity=similarity) == pytest.approx(expected, abs=1e-12)


def test_scaling_embeddings_or_labels_changes_no_order():
    points, labels = draw(30, seed=1)
    expected = distance_rank_correlation(points, labels)
    assert distance_rank_correlation(points * 0.1, labels * 0.1) == expected
    assert distance_rank_correlation(points + 100, labels - 0.3) == expected


def test_some_anchors_give_nearly_the_correlation_over_all():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 50, 200)
    points = np.column_stack([labels / 10 + rng.normal(size=200), rng.normal(size=200)])
    whole = distance_rank_correlation(points, labels)
    some = distance_rank_correlation(points, labels, anchors=100, seed=1)
    assert some == pytest.approx(whole, abs=0.05)
    assert some == distance_rank_correlation(points, labels, anchors=100, seed=1)
    assert some != distance_rank_correlation(points, labels, anchors=100, seed=2)
    assert distance_rank_correlation(points, labels, anchors=10_000) == whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [0, 1]}, "labels: got 2 samples, expected 3, as many as embeddings"),
        ({"embeddings": [0.0, 1.0, 2.0]}, r"embeddings: got shape \(3,\), expected \(n, d\)"),
        ({"embeddings": [[0.0]], "labels": [1]}, "embeddings: got 1 sample, expected at least 2"),
        ({"labels": [0.0, 1.0, np.nan]}, "labels: got NaN"),
        ({"similarity": "dot"}, "similarity: got 'dot', expected one of 'neg_l2', 'neg_l1', 'cosine'"),
        ({"anchors": 0}, "anchors: got 0, expected a whole number"),
    ],
)
def test_input_that_cannot_be_used_is_named(arguments, message):
    with pytest.raises(OrdinateError, match=message):
        distance_rank_correlation(**{"embeddings": np.eye(3), "labels": [0.0, 1.0, 2.0]} | arguments)
