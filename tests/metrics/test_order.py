"""The order of embeddings against loops over triples and pairs."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from ordinate.errors import OrdinateError
from ordinate.metrics import distance_rank_correlation, ordered_triples

MEASURES = [ordered_triples, distance_rank_correlation]
sizes = st.integers(3, 12)
seeds = st.integers(0, 10_000)


def draw(n, seed, p=1, grid=3):
    """Embeddings and labels on a small grid, so that both have ties."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-grid, grid + 1, (n, 2)).astype(float)
    return points + (points == 0).all(axis=1, keepdims=True), rng.integers(0, 4, (n, p)).astype(float)


def pair_distances(points, labels, similarity="neg_l2", label_distance="l1"):
    """Embedding and label distances (n, n), plainly from their definitions; ties made exact by rounding."""
    apart = labels[:, None] - labels
    apart = np.abs(apart).sum(2) if label_distance == "l1" else np.sqrt((apart**2).sum(2))
    gap = points[:, None] - points
    units = points / np.linalg.norm(points, axis=1, keepdims=True)
    far = {"neg_l2": np.sqrt((gap**2).sum(2)), "neg_l1": np.abs(gap).sum(2), "cosine": -(units @ units.T)}[similarity]
    return np.round(far, 10), np.round(apart, 10)


def triples(apart):
    """All (i, j, k) with j nearer to i than k is, by label."""
    return [(i, j, k) for i, j, k in permutations(range(len(apart)), 3) if apart[i, j] < apart[i, k]]


# the share of ordered triples


@settings(deadline=None)
@given(sizes, seeds, st.sampled_from(["neg_l2", "neg_l1", "cosine"]), st.sampled_from(["l1", "l2"]))
def test_ordered_triples_are_those_of_a_loop_over_triples(n, seed, similarity, label_distance):
    points, labels = draw(n, seed, p=2)
    labels[0, 0] += 5  # so that there is a triple
    far, apart = pair_distances(points, labels, similarity, label_distance)
    wanted = triples(apart)
    if not wanted:
        return
    expected = np.mean([far[i, j] < far[i, k] for i, j, k in wanted])
    measured = ordered_triples(points, labels, similarity=similarity, label_distance=label_distance)
    assert measured == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("measure", MEASURES)
def test_scaling_embeddings_or_labels_changes_no_order(measure):
    points, labels = draw(30, seed=1)
    expected = measure(points, labels)
    assert measure(points * 0.1, labels * 0.1) == expected
    assert measure(points + 100, labels - 0.3) == expected


def test_angular_label_distance_orders_by_the_angle():
    yaw = np.array([0.0, 0.5, 1.2, 2.0])
    gaze = np.stack([np.zeros(4), yaw], axis=1)
    circle = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    assert ordered_triples(circle, gaze, label_distance="angular") == 1.0
    assert ordered_triples(circle[::-1] * [[1], [2], [1], [1]], gaze, label_distance="angular") < 1.0
    assert distance_rank_correlation(circle, gaze, label_distance="angular") == pytest.approx(1, abs=1e-14)


def test_some_anchors_give_the_mean_over_those_anchors_and_nearly_that_over_all():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 50, 200)
    points = np.column_stack([labels / 10 + rng.normal(size=200), rng.normal(size=200)])
    for measure in (ordered_triples, distance_rank_correlation):
        whole = measure(points, labels)
        assert measure(points, labels, anchors=100, seed=1) == pytest.approx(whole, abs=0.05)
        assert measure(points, labels, anchors=100, seed=1) == measure(points, labels, anchors=100, seed=1)
        assert measure(points, labels, anchors=100, seed=1) != measure(points, labels, anchors=100, seed=2)
        assert measure(points, labels, anchors=10_000) == whole


# the correlation of distances


@settings(deadline=None)
@given(sizes, seeds, st.sampled_from(["neg_l2", "neg_l1", "cosine"]), st.sampled_from(["l1", "l2"]))
def test_the_rank_correlation_is_that_of_scipy_over_all_pairs(n, seed, similarity, label_distance):
    points, labels = draw(n, seed, p=2)
    far, apart = pair_distances(points, labels, similarity, label_distance)
    pairs = tuple(np.array(list(combinations(range(n), 2))).T)
    varies = np.ptp(far[pairs]) > 0 and np.ptp(apart[pairs]) > 0
    expected = spearmanr(apart[pairs], far[pairs]).statistic if varies else 0.0
    measured = distance_rank_correlation(points, labels, similarity=similarity, label_distance=label_distance)
    assert measured == pytest.approx(expected, abs=1e-12)


# what cannot be used

GOOD = np.eye(3)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [0, 1]}, "labels: got 2 samples, expected 3, as many as embeddings"),
        ({"embeddings": [0.0, 1.0, 2.0]}, r"embeddings: got shape \(3,\), expected \(n, d\)"),
        ({"embeddings": [[0.0]], "labels": [1]}, "embeddings: got 1 sample, expected at least 2"),
        ({"labels": [0.0, 1.0, np.nan]}, "labels: got NaN"),
        ({"similarity": "dot"}, "similarity: got 'dot', expected one of 'neg_l2', 'neg_l1', 'cosine'"),
        ({"label_distance": "l3"}, "label_distance: got 'l3', expected one of 'l1', 'l2', 'angular'"),
        ({"label_distance": "angular"}, r"labels: got 1 dimension, 'angular' takes \(pitch, yaw\)"),
        ({"anchors": 0}, "anchors: got 0, expected a whole number"),
    ],
)
def test_input_that_cannot_be_used_is_named(measure, arguments, message):
    with pytest.raises(OrdinateError, match=message):
        measure(**{"embeddings": GOOD, "labels": [0.0, 1.0, 2.0]} | arguments)


def test_labels_without_a_triple_are_named():
    with pytest.raises(OrdinateError, match="labels: got none that lie at different distances"):
        ordered_triples(GOOD, [1, 1, 1])
