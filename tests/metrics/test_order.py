"""The order of embeddings against loops over triples, pairs and windows."""

from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.linear_model import LinearRegression

from ordinate import functional
from ordinate.errors import OrdinateError
from ordinate.metrics import delta_order, distance_rank_correlation, local_linearity, ordered_triples

MEASURES = [ordered_triples, distance_rank_correlation, delta_order]
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


def test_noise_orders_half_of_the_triples_and_a_point_none():
    rng = np.random.default_rng(0)
    labels = rng.normal(size=400)
    assert ordered_triples(rng.normal(size=(400, 8)), labels) == pytest.approx(0.5, abs=0.01)
    assert ordered_triples(np.full((400, 8), 0.1), labels) == 0.0


@pytest.mark.parametrize("measure", [ordered_triples, distance_rank_correlation])
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
    labels = rng.integers(0, 50, 600)
    points = np.column_stack([labels / 10 + rng.normal(size=600), rng.normal(size=600)])
    for measure in (ordered_triples, distance_rank_correlation):
        whole = measure(points, labels)
        assert measure(points, labels, anchors=150, seed=1) == pytest.approx(whole, abs=0.03)
        assert measure(points, labels, anchors=150, seed=1) == measure(points, labels, anchors=150, seed=1)
        assert measure(points, labels, anchors=150, seed=1) != measure(points, labels, anchors=150, seed=2)
        assert measure(points, labels, anchors=10_000) == whole


def test_one_anchor_is_compared_with_all_samples():
    points, labels = draw(9, seed=4)
    far, apart = pair_distances(points, labels)
    shares, correlations = [], []
    for i in range(9):
        own = [triple for triple in triples(apart) if triple[0] == i]
        shares.append(np.mean([far[i, j] < far[i, k] for i, j, k in own]))
        correlations.append(spearmanr(np.delete(apart[i], i), np.delete(far[i], i)).statistic)
    assert any(ordered_triples(points, labels, anchors=1) == pytest.approx(share, abs=1e-14) for share in shares)
    measured = distance_rank_correlation(points, labels, anchors=1)
    assert any(measured == pytest.approx(correlation, abs=1e-14) for correlation in correlations)


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


# delta-order


@settings(deadline=None)
@given(sizes, seeds, st.floats(0.5, 2), st.booleans())
def test_embeddings_are_delta_ordered_by_definition_above_the_value_and_not_below(n, seed, temperature, order):
    points, labels = draw(n, seed)
    if order:  # along a line that stretches, so that some of them are delta-ordered
        points = 20 * labels + np.random.default_rng(seed).uniform(0, 0.2, (n, 1))
    least = delta_order(points, labels, temperature=temperature)
    _, apart = pair_distances(points, labels)
    s = -np.sqrt(((points[:, None] - points) ** 2).sum(2)) / temperature
    assert least == np.inf or least >= 0

    def ordered(delta):
        return all(
            s[i, j] > s[i, k] + 1 / delta if apart[i, j] < apart[i, k] else abs(s[i, j] - s[i, k]) < delta
            for i, j, k in permutations(range(n), 3)
            if apart[i, j] <= apart[i, k]
        )

    if least == np.inf:
        assert not ordered(1e6)
    else:
        assert ordered(least * (1 + 1e-9) + 1e-12)
        assert least == 0 or not ordered(least * (1 - 1e-9))


def test_a_supcr_loss_near_its_lower_bound_means_delta_ordered():
    """Theorem 3, on the embeddings its proof of Theorem 2 builds: the wider the gaps, the nearer the bound."""
    labels = np.array([0.0, 0.0, 1.0, 3.0, 3.0, 7.0])
    sizes = [np.unique(np.abs(np.delete(labels, i) - labels[i]), return_counts=True)[1] for i in range(6)]
    bound = sum(float(np.sum(k * np.log(k))) for k in sizes) / 30
    values = []
    for scale in (1.0, 5.0, 25.0):
        points = scale * labels[:, None]
        loss = functional.supcr(torch.tensor(points), torch.tensor(labels), temperature=2.0).item()
        values.append((loss - bound, delta_order(points, labels)))
    excesses, deltas = zip(*values, strict=True)
    assert excesses[0] > excesses[1] > excesses[2] > 0
    assert deltas[0] > 1 > deltas[1] > deltas[2] > 0
    assert excesses[2] < 1e-4


# local linearity


def windowed_r2(points, labels, window):
    units = points / np.linalg.norm(points, axis=1, keepdims=True)
    shares = []
    for label in labels:
        rows = np.abs(labels - label) <= window + 1e-9
        if np.ptp(labels[rows]) == 0:
            continue
        x, z = labels[rows, None], units[rows]
        residual = np.sum((z - LinearRegression().fit(x, z).predict(x)) ** 2)
        total = np.sum((z - z.mean(axis=0)) ** 2)
        shares.append(1 - residual / total if total > 1e-20 else 0.0)
    return np.mean(shares)


@settings(deadline=None, max_examples=30)
@given(st.integers(4, 25), seeds, st.sampled_from([0.1, 0.2, 1.0]))
def test_local_linearity_is_the_mean_r2_of_a_line_in_every_window(n, seed, window):
    points, labels = draw(n, seed)
    labels = labels[:, 0] * 0.1
    labels[:2] = 0.0, 0.1
    assert local_linearity(points, labels, window) == pytest.approx(windowed_r2(points, labels, window), abs=1e-9)


def test_a_straight_line_is_linear_and_a_shuffled_one_is_not():
    rng = np.random.default_rng(0)
    labels = rng.uniform(0, 1, 300)
    angles = 0.02 * labels  # so short an arc is straight
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert local_linearity(points, labels, 0.2) == pytest.approx(1, abs=1e-4)
    assert local_linearity(rng.permutation(points), labels, 0.2) < 0.1


def test_a_half_circle_is_linear_in_small_windows_only():
    labels = np.linspace(0, 1, 200)
    points = np.stack([np.cos(np.pi * labels), np.sin(np.pi * labels)], axis=1)
    shares = [local_linearity(points, labels, window) for window in (0.05, 0.25, 1.0)]
    assert shares[0] > 0.99
    assert shares[0] > shares[1] > shares[2]


def test_a_collapsed_embedding_is_not_linear():
    assert local_linearity(np.full((20, 3), 0.1), np.arange(20), window=2) == 0.0


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
        ({"label_distance": "angular"}, r"labels: got 1 dimensions, 'angular' takes \(pitch, yaw\)"),
        ({"anchors": 0}, "anchors: got 0, expected a whole number"),
    ],
)
def test_input_that_cannot_be_used_is_named(measure, arguments, message):
    with pytest.raises(OrdinateError, match=message):
        measure(**{"embeddings": GOOD, "labels": [0.0, 1.0, 2.0]} | arguments)


def test_labels_without_a_triple_are_named():
    with pytest.raises(OrdinateError, match="labels: got none that lie at different distances"):
        ordered_triples(GOOD, [1, 1, 1])
    with pytest.raises(OrdinateError, match="temperature: got 0"):
        delta_order(GOOD, [0, 1, 2], temperature=0)
    with pytest.raises(OrdinateError, match=r"window: got 0\.5, expected one that two different labels lie within"):
        local_linearity(GOOD, [0, 1, 2], 0.5)
    with pytest.raises(OrdinateError, match="labels: got 2 dimensions, expected one"):
        local_linearity(GOOD, GOOD[:, :2], 0.5)
