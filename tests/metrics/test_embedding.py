"""Metrics of embeddings against scikit-learn's neighbours and loops over pairs."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from ordinate.errors import OrdinateError
from ordinate.metrics import embedding, is_rank_ordered, knn_accuracy, knn_error, rank_cosine_matrix


def draw(n, num_classes, seed, d=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, num_classes, n)


def neighbours_by_sorting(cosines, k):
    """The k largest cosines of each row, ties in the order they come, by a full stable sort."""
    return np.argsort(-np.round(cosines, 12), axis=1, kind="stable")[:, :k]


@pytest.fixture(params=[1 << 22, 50], ids=["one chunk", "many chunks"])
def chunk(request, monkeypatch):
    monkeypatch.setattr(embedding, "CHUNK", request.param)


@pytest.mark.parametrize("k", [1, 4, 39])
def test_knn_accuracy_leaves_each_query_out_of_its_own_neighbours(chunk, k):
    points, ranks = draw(40, 3, seed=0)
    nearest = NearestNeighbors(n_neighbors=k, metric="cosine").fit(points).kneighbors(return_distance=False)
    expected = np.mean(ranks[nearest] == ranks[:, None])
    assert knn_accuracy(points, ranks, k) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("k", [1, 4, 25])
def test_knn_accuracy_among_references(chunk, k):
    points, ranks = draw(40, 3, seed=1)
    refs, ref_ranks = draw(25, 3, seed=2)
    nearest = NearestNeighbors(n_neighbors=k, metric="cosine").fit(refs).kneighbors(points, return_distance=False)
    expected = np.mean(ref_ranks[nearest] == ranks[:, None])
    actual = knn_accuracy(points, ranks, k, ref_emb=refs, ref_labels=ref_ranks)
    assert actual == pytest.approx(expected, abs=1e-15)


def test_references_that_are_the_queries_are_not_left_out():
    points, ranks = draw(20, 3, seed=3)
    assert knn_accuracy(points, ranks, 1, ref_emb=points, ref_labels=ranks) == 1.0


@pytest.mark.parametrize("k", [1, 3, 7])  # odd votes of two ranks cannot tie
def test_knn_error_is_that_of_scikit_learn(chunk, k):
    points, ranks = draw(60, 2, seed=4)
    refs, ref_ranks = draw(50, 2, seed=5)
    classifier = KNeighborsClassifier(n_neighbors=k, metric="cosine").fit(refs, ref_ranks)
    assert knn_error(refs, ref_ranks, points, ranks, k) == pytest.approx(1 - classifier.score(points, ranks), abs=1e-15)


grid_points = arrays(np.int8, st.tuples(st.integers(5, 20), st.just(2)), elements=st.integers(-2, 2))


@given(grid_points, grid_points, st.integers(1, 5), st.randoms(use_true_random=False))
def test_neighbours_and_votes_that_tie_are_settled_as_documented(refs, points, k, random):
    ref_ranks = np.array([random.choice([0, 2, 7]) for _ in refs])
    ranks = np.array([random.choice([0, 1, 2, 7]) for _ in points])
    nearest = neighbours_by_sorting(cosine_similarity(points, refs), k)
    wrong = 0
    for rank, voted in zip(ranks, ref_ranks[nearest].tolist(), strict=True):
        wrong += rank != Counter(voted).most_common(1)[0][0]  # of equal counts the one met first
    assert knn_error(refs, ref_ranks, points, ranks, k) == wrong / len(points)
    accuracy = knn_accuracy(points, ranks, k, ref_emb=refs, ref_labels=ref_ranks)
    assert accuracy == pytest.approx(np.mean(ref_ranks[nearest] == ranks[:, None]), abs=1e-15)


def test_three_ranks_with_a_vote_each_go_to_the_nearest():
    refs = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.1]]
    assert knn_error(refs, [0, 1, 2], [[1.0, 0.0]], [2], k=3) == 0.0


def test_the_scale_of_an_embedding_does_not_change_its_neighbours():
    points, ranks = draw(30, 3, seed=6)
    scale = np.logspace(-200, 100, 30)[:, None]
    assert knn_accuracy(points * scale, ranks, 3) == knn_accuracy(points, ranks, 3)


@given(st.integers(0, 1000), st.integers(1, 25))
def test_rank_cosine_matrix_is_the_mean_over_pairs(seed, n):
    points, ranks = draw(n, 4, seed)
    points[0] = 0  # a zero embedding has cosine 0 with every other
    cosines = cosine_similarity(points)
    matrix = rank_cosine_matrix(points, ranks, 4)
    for a in range(4):
        for b in range(4):
            pairs = [cosines[i, j] for i in range(n) for j in range(n) if (ranks[i], ranks[j]) == (a, b) and i != j]
            assert matrix[a, b] == pytest.approx(np.mean(pairs) if pairs else np.nan, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("num_classes", [2, 3, 6])
def test_ranks_spread_over_a_half_circle_are_ordered_and_shuffled_ones_are_not(num_classes):
    rng = np.random.default_rng(0)
    ranks = np.repeat(range(num_classes), 20)
    angles = np.pi * ranks / (num_classes - 1) + rng.normal(scale=0.05, size=len(ranks))
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert is_rank_ordered(rank_cosine_matrix(points, ranks, num_classes))
    if num_classes > 2:
        swapped = np.where(ranks == 0, 1, np.where(ranks == 1, 0, ranks))
        assert not is_rank_ordered(rank_cosine_matrix(points, swapped, num_classes))


def test_uneven_steps_between_ranks_are_ordered():
    assert is_rank_ordered(np.cos(np.subtract.outer([0, 0.1, 3], [0, 0.1, 3])))


def test_a_collapsed_embedding_is_not_ordered():
    rng = np.random.default_rng(0)
    points = np.ones((40, 3)) / 3 * rng.uniform(0.5, 2, (40, 1))
    assert not is_rank_ordered(rank_cosine_matrix(points, np.arange(40) % 4, 4))


def test_a_rank_without_samples_is_passed_over():
    points = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    matrix = rank_cosine_matrix(points, [0, 0, 2, 2], 3)
    assert np.isnan(matrix[1]).all()
    assert np.isnan(matrix[:, 1]).all()
    assert is_rank_ordered(matrix)


GOOD, RANKS = np.eye(3), [0, 1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: knn_accuracy(GOOD, RANKS, 3), "k: got 3, takes a whole number from 1 to 2"),
        (lambda: knn_accuracy(GOOD, RANKS, 0), "k: got 0"),
        (lambda: knn_accuracy(GOOD, RANKS, 1, ref_emb=GOOD), "ref_labels: got None"),
        (lambda: knn_accuracy(GOOD, RANKS, 1, ref_labels=RANKS), "ref_emb: got None"),
        (lambda: knn_accuracy(GOOD, [0, 1], 1), "labels: got 2 samples, takes 3, as many as embeddings"),
        (lambda: knn_accuracy(GOOD[0], RANKS, 1), "embeddings: got shape"),
        (lambda: knn_accuracy(GOOD * np.nan, RANKS, 1), "embeddings: got NaN"),
        (lambda: knn_error(GOOD, RANKS, GOOD[:, :2], RANKS), "ref_emb: got 3 dimensions, takes 2"),
        (lambda: knn_error(GOOD, [0, 1, 0.5], GOOD, RANKS), "ref_labels: got fractions"),
        (lambda: knn_error(GOOD, RANKS, GOOD, RANKS, k=4), "k: got 4, takes a whole number from 1 to 3"),
        (lambda: rank_cosine_matrix(GOOD, [0, 1, 2], 2), "labels: got ranks 0 to 2, takes 0 to 1"),
        (lambda: rank_cosine_matrix(GOOD, RANKS, 1), "num_classes: got 1"),
        (lambda: is_rank_ordered(GOOD[:2]), "matrix: got shape"),
    ],
)
def test_input_that_cannot_be_used_is_named(call, message):
    with pytest.raises(OrdinateError, match=message):
        call()
