"""Suspicion of labels: against the formula in plain loops, scikit-learn's neighbours, and what it should obey."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from ordinate.decisions.label_errors import (
    neighbour_shares,
    residual_suspicion,
    suggested_ranks,
    suspicion,
)
from ordinate.errors import OrdinateError

votes = st.integers(2, 6).flatmap(
    lambda classes: st.tuples(
        st.lists(st.integers(0, 5), min_size=classes, max_size=classes).filter(any), st.integers(0, classes - 1)
    )
)


def probabilities_of(counts):
    return np.array([counts]) / sum(counts)


def exact(label, counts):
    """The suspicion in exact fractions, and the ranks with the smallest expected distance."""
    distances = [
        sum(Fraction(count, sum(counts)) * abs(rank - true) for true, count in enumerate(counts))
        for rank in range(len(counts))
    ]
    least = min(distances)
    best = [rank for rank, distance in enumerate(distances) if distance == least]
    return (distances[label] - least) / (1 + 2 * least), best


# ranks


@given(votes)
def test_suspicion_is_the_formula(case):
    counts, label = case
    expected, _ = exact(label, counts)
    assert suspicion([label], probabilities_of(counts))[0] == pytest.approx(float(expected), abs=1e-11)


@given(votes)
def test_the_suggested_rank_is_the_median_and_the_label_where_that_is_one(case):
    counts, label = case
    _, best = exact(label, counts)
    suggested = suggested_ranks([label], probabilities_of(counts))[0]
    assert suggested == (label if label in best else best[0])
    assert np.median(np.repeat(np.arange(len(counts)), counts)) in (np.mean(best), *best)


def test_where_the_truth_is_certain_suspicion_is_the_distance_in_ranks():
    certain = np.tile([0.0, 1.0, 0.0, 0.0, 0.0], (5, 1))
    assert suspicion(np.arange(5), certain).tolist() == [1, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("labels", "probabilities", "message"),
    [
        ([0, 2], [[0.5, 0.5], [0.5, 0.5]], r"labels: got ranks 0 to 2, expected 0 to 1"),
        ([0, -1], [[0.5, 0.5], [0.5, 0.5]], r"labels: got ranks -1 to 0, expected 0 to 1"),
        ([0, 0.5], [[0.5, 0.5], [0.5, 0.5]], r"labels: got fractions such as 0.5, expected whole ranks"),
        ([0], [[0.5, 0.5], [0.5, 0.5]], r"labels: got 1 sample, expected 2, as many as probabilities"),
        ([0], [[0.5, 0.6]], r"probabilities: got a row that sums to 1.1"),
        ([0], [[-0.5, 1.5]], r"probabilities: got -0.5"),
        ([0], [[np.nan, 1.0]], r"probabilities: got NaN or infinity"),
        ([0], [0.5, 0.5], r"probabilities: got shape \(2,\), expected \(n, C\)"),
    ],
)
def test_labels_and_probabilities_that_do_not_fit_are_errors(labels, probabilities, message):
    for function in (suspicion, suggested_ranks):
        with pytest.raises(OrdinateError, match=f"^{message}"):
            function(labels, probabilities)


# neighbours


def draw_embeddings(n=60, d=4, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)), random.integers(0, 4, n)


def test_neighbour_shares_are_those_of_scikit_learn():
    refs, ranks = draw_embeddings()
    queries, _ = draw_embeddings(20, seed=1)
    nearest = NearestNeighbors(n_neighbors=7, metric="cosine").fit(refs).kneighbors(queries, return_distance=False)
    expected = [np.bincount(ranks[row], minlength=5) / 7 for row in nearest]
    assert neighbour_shares(queries, refs, ranks, 5, k=7) == pytest.approx(np.array(expected), abs=1e-6)


def test_neighbour_shares_do_not_depend_on_the_order_of_equally_near_references():
    random = np.random.default_rng(0)
    refs, ranks, queries = random.integers(0, 2, (80, 3)), random.integers(0, 4, 80), random.integers(0, 3, (30, 3))
    shares = neighbour_shares(queries, refs, ranks, 4, k=7)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(80)
        np.testing.assert_allclose(neighbour_shares(queries, refs[order], ranks[order], 4, k=7), shares, atol=1e-14)


def test_a_neighbour_of_a_rank_past_the_last_is_an_error():
    with pytest.raises(OrdinateError, match=r"^ref_labels: got ranks 0 to 2, expected 0 to 1"):
        neighbour_shares(np.eye(3), np.eye(3), [0, 1, 2], num_classes=2, k=1)


# continuous targets


@given(st.integers(1, 30), st.integers(0, 10**6))
def test_the_spread_is_the_median_residual_of_the_k_samples_around(k, seed):
    random = np.random.default_rng(seed)
    targets, predictions = random.normal(size=(2, 30))
    order = np.argsort(predictions)
    expected = np.empty(30)
    for place, row in enumerate(order):
        start = min(max(place - k // 2, 0), 30 - k)
        around = order[start : start + k]
        expected[row] = abs(targets[row] - predictions[row]) / np.median(np.abs(targets - predictions)[around])
    assert residual_suspicion(targets, predictions, k) == pytest.approx(expected, rel=1e-12)


def test_exact_predictions_suspect_nothing_but_what_differs():
    assert residual_suspicion([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0], k=3).tolist() == [0, 0, 0, np.inf]


@pytest.mark.parametrize(
    ("targets", "predictions", "k", "message"),
    [
        ([0.0, 1.0], [0.0], 1, r"predictions: got 1 sample, expected 2, as many as targets"),
        ([0.0, np.nan], [0.0, 1.0], 1, r"targets: got NaN, infinity or more than 1e\+150"),
        ([0.0, 1.0], [0.0, np.inf], 1, r"predictions: got NaN, infinity or more than 1e\+150"),
        ([[0.0, 1.0]], [[0.0, 1.0]], 1, r"targets: got float64 of shape \(1, 2\), expected real numbers, \(n,\)"),
        (["a"], ["b"], 1, r"targets: got <U1 of shape \(1,\), expected real numbers"),
        ([], [], 1, r"targets: got float64 of shape \(0,\), expected real numbers"),
        ([0.0, 1.0], [0.0, 1.0], 3, r"k: got 3, expected a whole number from 1 to 2"),
    ],
)
def test_targets_and_predictions_that_do_not_fit_are_errors(targets, predictions, k, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        residual_suspicion(targets, predictions, k)
