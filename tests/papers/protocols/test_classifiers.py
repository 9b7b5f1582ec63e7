"""Classifiers on embeddings against scikit-learn's."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from ordinate.errors import OrdinateError
from ordinate_papers.protocols.classifiers import knn_error, svm_accuracy


def noisy_arc(n, seed, noise=0.4, num_classes=4):
    """Ranks along a half circle in 5 dimensions, near enough to one another to be mistaken."""
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, num_classes, n)
    angles = np.pi * ranks / (num_classes - 1)
    points = np.stack([np.cos(angles), np.sin(angles), *np.zeros((3, n))], axis=1)
    return points + rng.normal(scale=noise, size=(n, 5)), ranks


@pytest.mark.parametrize("seed", range(3))
def test_svm_accuracy_is_that_of_scikit_learn_on_normalised_embeddings(seed):
    refs, ref_ranks = noisy_arc(80, seed)
    points, ranks = noisy_arc(60, seed + 100)
    unit = normalize(refs)
    machine = SVC(C=1, kernel="rbf", gamma=1 / (unit.shape[1] * unit.var())).fit(unit, ref_ranks)
    expected = machine.score(normalize(points), ranks)
    assert 0.4 < expected < 0.95
    assert svm_accuracy(points, ranks, ref_emb=refs, ref_labels=ref_ranks) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("k", [1, 3, 7])  # odd votes of two ranks cannot tie
def test_knn_error_is_that_of_scikit_learn(k):
    points, ranks = noisy_arc(60, 4, num_classes=2)
    refs, ref_ranks = noisy_arc(50, 5, num_classes=2)
    classifier = KNeighborsClassifier(n_neighbors=k, metric="cosine").fit(refs, ref_ranks)
    assert knn_error(refs, ref_ranks, points, ranks, k) == pytest.approx(1 - classifier.score(points, ranks), abs=1e-15)


grid_points = arrays(np.int8, st.tuples(st.integers(5, 20), st.just(2)), elements=st.integers(-2, 2))


@given(grid_points, grid_points, st.integers(1, 5), st.randoms(use_true_random=False))
def test_votes_that_tie_are_settled_as_documented(refs, points, k, random):
    ref_ranks = np.array([random.choice([0, 2, 7]) for _ in refs])
    ranks = np.array([random.choice([0, 1, 2, 7]) for _ in points])
    nearest = np.argsort(-np.round(cosine_similarity(points, refs), 12), axis=1, kind="stable")[:, :k]
    wrong = 0
    for rank, voted in zip(ranks, ref_ranks[nearest].tolist(), strict=True):
        wrong += rank != Counter(voted).most_common(1)[0][0]  # of equal counts the one met first
    assert knn_error(refs, ref_ranks, points, ranks, k) == wrong / len(points)


GOOD, RANKS = np.eye(3), [0, 1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: svm_accuracy(GOOD, RANKS, ref_emb=GOOD, ref_labels=[2, 2, 2]), "ref_labels: got the rank 2 alone"),
        (lambda: svm_accuracy(GOOD, RANKS, ref_emb=GOOD[:, :2], ref_labels=RANKS), "ref_emb: got 2 dimensions"),
        (lambda: svm_accuracy(GOOD, RANKS[:2], ref_emb=GOOD, ref_labels=RANKS), "labels: got 2 samples, expected 3"),
        (lambda: knn_error(GOOD, RANKS, GOOD[:, :2], RANKS), "ref_emb: got 3 dimensions, expected 2"),
        (lambda: knn_error(GOOD, [0, 1, 0.5], GOOD, RANKS), "ref_labels: got fractions"),
        (lambda: knn_error(GOOD, RANKS, GOOD, RANKS, k=4), "k: got 4, expected a whole number from 1 to 3"),
    ],
)
def test_input_that_cannot_be_used_is_named(call, message):
    with pytest.raises(OrdinateError, match=message):
        call()
