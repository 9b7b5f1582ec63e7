"""A search finds the nearest by the similarity of the model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import OrdinateError
from ordinate.model.neighbour_index import NeighbourIndex
from tests.estimators.examples import cloc, draw_frame, labels_for, otd, supcr


class Itself:
    """A model whose embeddings are its samples."""

    data = None

    def __init__(self, similarity="cosine"):
        self.similarity = similarity

    def transform(self, X):
        return np.asarray(X, dtype=np.float64)


def cosine(query, row):
    norms = np.linalg.norm(query) * np.linalg.norm(row)
    return float(query @ row / norms) if norms > 0 else 0.0


SIMILARITIES = {
    "cosine": cosine,
    "neg_l2": lambda query, row: -float(np.sqrt(np.square(query - row).sum())),
    "neg_l1": lambda query, row: -float(np.abs(query - row).sum()),
}


def search_by_brute_force(queries, embeddings, k, similarity):
    """Similarities and rows of the k nearest, one pair at a time; of equally near rows the first."""
    found = []
    for query in queries:
        values = [round(SIMILARITIES[similarity](query, row), 11) for row in embeddings]
        order = sorted(range(len(values)), key=lambda row: (-values[row], row))[:k]
        found.append([(values[row], row) for row in order])
    return np.array(found)[..., 0], np.array(found)[..., 1].astype(int)


def assert_finds_the_nearest(queries, embeddings, k, similarity="cosine"):
    values, rows = search_by_brute_force(queries, embeddings, k, similarity)
    found = NeighbourIndex(Itself(similarity), embeddings).search(queries, k)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.similarity, values, rtol=0, atol=2e-11)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("k", [1, 10, 200])
def test_the_nearest_are_those_of_brute_force(k, similarity):
    random = np.random.default_rng(0)
    assert_finds_the_nearest(random.normal(size=(20, 5)), random.normal(size=(200, 5)), k, similarity)


def test_what_float32_cannot_tell_apart_is_decided_in_float64():
    random = np.random.default_rng(0)
    embeddings = np.ones(4) + 1e-7 * random.normal(size=(150, 4))  # a rank that has collapsed
    assert_finds_the_nearest(np.ones((3, 4)) + 1e-7 * random.normal(size=(3, 4)), embeddings, k=5)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@given(rows=st.lists(st.tuples(*[st.integers(-1, 1)] * 2), min_size=1, max_size=96), k=st.integers(1, 5))
def test_equally_near_samples_are_found_from_the_first(rows, k, similarity):
    queries = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [0.0, 0.0]])
    assert_finds_the_nearest(queries, np.array(rows, dtype=float), min(k, len(rows)), similarity)


@pytest.mark.parametrize("make", [cloc, otd, supcr], ids=lambda make: make.__name__)
def test_training_samples_find_themselves_with_their_labels(make):
    frame, target = draw_frame()
    labels = labels_for(make, target)
    model = make().fit(frame, labels)
    index = NeighbourIndex.build(model.fitted, frame, labels)
    found = index.search(frame, k=3)
    assert len(index) == 48
    assert found.rows[:, 0].tolist() == list(range(48))
    np.testing.assert_array_equal(found.labels, np.asarray(labels)[found.rows])
    np.testing.assert_allclose(found.similarity[:, 0], 0 if make is supcr else 1, rtol=0, atol=1e-12)
    assert (np.diff(found.similarity) <= 0).all()


def test_samples_without_labels_are_found_without():
    assert NeighbourIndex(Itself(), np.eye(3)).search(np.eye(3), k=2).labels is None


def test_what_cannot_be_used_is_named():
    with pytest.raises(OrdinateError, match="labels: got 2 for 3 samples, expected one per sample"):
        NeighbourIndex(Itself(), np.eye(3), [0, 1])
    with pytest.raises(OrdinateError, match=r"embeddings: got shape \(3,\), expected finite \(m, d\)"):
        NeighbourIndex(Itself(), np.ones(3))
    with pytest.raises(OrdinateError, match="k: got 4, expected a whole number from 1 to 3"):
        NeighbourIndex(Itself(), np.eye(3)).search(np.eye(3), k=4)
