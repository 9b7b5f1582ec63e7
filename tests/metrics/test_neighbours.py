"""Metrics of neighbours against scikit-learn's and a full sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

from ordinate.errors import OrdinateError
from ordinate.metrics import knn_accuracy, knn_accuracy_curve, nearest_neighbours, neighbours


def draw(n, num_classes, seed, d=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, num_classes, n)


def neighbours_by_sorting(cosines, k):
    """The k largest cosines of each row, ties in the order they come, by a full stable sort."""
    return np.argsort(-np.round(cosines, 12), axis=1, kind="stable")[:, :k]


@pytest.fixture(params=[1 << 22, 50], ids=["one chunk", "many chunks"])
def chunk(request, monkeypatch):
    monkeypatch.setattr(neighbours, "VALUES_AT_A_TIME", request.param)


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


grid_points = arrays(np.int8, st.tuples(st.integers(5, 20), st.just(2)), elements=st.integers(-2, 2))


@given(grid_points, grid_points, st.integers(1, 5), st.randoms(use_true_random=False))
def test_neighbours_that_tie_are_settled_as_documented(refs, points, k, random):
    ref_ranks = np.array([random.choice([0, 2, 7]) for _ in refs])
    ranks = np.array([random.choice([0, 1, 2, 7]) for _ in points])
    nearest = neighbours_by_sorting(cosine_similarity(points, refs), k)
    accuracy = knn_accuracy(points, ranks, k, ref_emb=refs, ref_labels=ref_ranks)
    assert accuracy == pytest.approx(np.mean(ref_ranks[nearest] == ranks[:, None]), abs=1e-15)


# several k in one pass


@pytest.mark.parametrize("with_references", [False, True])
def test_the_curve_is_knn_accuracy_at_every_k(chunk, with_references):
    points, ranks = draw(40, 3, seed=7)
    refs, ref_ranks = draw(40, 3, seed=8)
    among = {"ref_emb": refs, "ref_labels": ref_ranks} if with_references else {}
    ks = range(1, 41 if with_references else 40)
    curve = knn_accuracy_curve(points, ranks, ks, **among)
    assert curve.tolist() == [knn_accuracy(points, ranks, k, **among) for k in ks]
    nearest = NearestNeighbors(metric="cosine").fit(refs if with_references else points)
    found = nearest.kneighbors(points if with_references else None, n_neighbors=ks[-1], return_distance=False)
    hits = (ref_ranks if with_references else ranks)[found] == ranks[:, None]
    np.testing.assert_allclose(curve, [hits[:, :k].mean() for k in ks], rtol=0, atol=1e-15)


# image search


@pytest.mark.parametrize("k", [1, 4, 25])
def test_nearest_neighbours_are_those_of_scikit_learn(chunk, k):
    points, _ = draw(40, 3, seed=10)
    refs, _ = draw(25, 3, seed=11)
    among = NearestNeighbors(n_neighbors=k, metric="cosine")
    expected = among.fit(refs).kneighbors(points, return_distance=False)
    np.testing.assert_array_equal(nearest_neighbours(points, refs, k), expected)
    np.testing.assert_array_equal(
        nearest_neighbours(refs, None, min(k, 24)),
        among.fit(refs).kneighbors(n_neighbors=min(k, 24), return_distance=False),
    )


GOOD, RANKS = np.eye(3), [0, 1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: knn_accuracy(GOOD, RANKS, 3), "k: got 3, expected a whole number from 1 to 2"),
        (lambda: knn_accuracy(GOOD, RANKS, 0), "k: got 0"),
        (lambda: knn_accuracy(GOOD, RANKS, 1, ref_emb=GOOD), "ref_labels: got None"),
        (lambda: knn_accuracy(GOOD, RANKS, 1, ref_labels=RANKS), "ref_emb: got None"),
        (lambda: knn_accuracy(GOOD, [0, 1], 1), "labels: got 2 samples, expected 3, as many as embeddings"),
        (lambda: knn_accuracy(GOOD[0], RANKS, 1), "embeddings: got shape"),
        (lambda: knn_accuracy(GOOD * np.nan, RANKS, 1), "embeddings: got NaN"),
        (lambda: knn_accuracy_curve(GOOD, RANKS, [1, 2, 3]), "k: got 3, expected a whole number from 1 to 2"),
        (lambda: knn_accuracy_curve(GOOD, RANKS, []), "ks: got none"),
        (lambda: knn_accuracy_curve(GOOD, RANKS, [1], ref_emb=GOOD), "ref_labels: got None"),
        (lambda: nearest_neighbours(GOOD, None, 3), "k: got 3, expected a whole number from 1 to 2"),
        (lambda: nearest_neighbours(GOOD, GOOD, 4), "k: got 4, expected a whole number from 1 to 3"),
        (lambda: nearest_neighbours(GOOD, GOOD[:, :2], 1), "ref_emb: got 2 dimensions, expected 3"),
        (lambda: nearest_neighbours(np.full((3, 3), np.inf), None, 1), "embeddings: got NaN or infinity"),
        (lambda: nearest_neighbours(GOOD, GOOD[0], 1), "ref_emb: got shape"),
        (lambda: nearest_neighbours([], None, 1), "embeddings: got shape"),
        (lambda: nearest_neighbours([[1.0], [1.0, 2.0]], None, 1), "embeddings: got rows of different lengths"),
    ],
)
def test_input_that_cannot_be_used_is_named(call, message):
    with pytest.raises(OrdinateError, match=message):
        call()
