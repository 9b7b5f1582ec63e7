"""Distances between all test samples and the neighbours of some: against loops over pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import cosine

from ordinate_papers.protocols.embedding_order import embedding_order


class Turned:
    """An embedding of angles, which are the samples."""

    def transform(self, X):
        return 3 * np.column_stack([np.cos(X), np.sin(X)])


RNG = np.random.default_rng(0)
RANKS, TEST_RANKS = RNG.integers(0, 4, 60), RNG.permutation(np.arange(24) % 4)
SEEN, UNSEEN = RANKS + 0.2 * RNG.normal(size=60), TEST_RANKS + 0.2 * RNG.normal(size=24)


def test_the_matrix_is_that_of_all_pairs_sorted_by_rank():
    figures = embedding_order(Turned(), SEEN, RANKS, UNSEEN, TEST_RANKS)
    order = np.argsort(TEST_RANKS, kind="stable")
    points = Turned().transform(UNSEEN[order])
    expected = [[cosine(a, b) for b in points] for a in points]
    np.testing.assert_allclose(figures["cosine_distances"], expected, atol=1e-4)
    assert figures["cosine_ranks"] == TEST_RANKS[order].tolist()


def test_neighbours_are_the_training_samples_at_the_smallest_angle():
    figures = embedding_order(Turned(), SEEN, RANKS, UNSEEN, TEST_RANKS)
    assert TEST_RANKS[figures["queries"]].tolist() == [0, 1, 2, 3]
    for query, found in zip(figures["queries"], figures["neighbours"], strict=True):
        assert found == np.argsort(np.abs(SEEN - UNSEEN[query]))[:15].tolist()
    right = [RANKS[np.argsort(np.abs(SEEN - x))[:15]] == rank for x, rank in zip(UNSEEN, TEST_RANKS, strict=True)]
    assert figures["neighbour_accuracy"] == pytest.approx(np.mean(right))
