"""Retrieval against scikit-learn's precision and gain, which share the places of equal scores in the same way."""

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, ndcg_score
from sklearn.metrics.pairwise import cosine_similarity

from ordinate.errors import OrdinateError
from ordinate.metrics import distance_rank_correlation, mean_average_precision, ndcg

DRAWS = pytest.mark.parametrize(("seed", "ties"), [(0, False), (1, True), (2, True)])


def draw(seed, ties, n=40):
    """Return embeddings, some of them equal where there are ties, and half steps as labels."""
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 3)).round(0 if ties else 9) + 0.5, random.integers(0, 7, n) / 2


def searches(points, labels, refs, ref_labels):
    """Yield cosines and label distances of every query, among references or the other queries."""
    for row, (point, label) in enumerate(zip(points, labels, strict=True)):
        others, other_labels = (refs, ref_labels) if refs is not None else (
            np.delete(points, row, 0), np.delete(labels, row)
        )  # fmt: skip
        yield cosine_similarity(point[None], others)[0].round(12), np.abs(other_labels - label)


@DRAWS
@pytest.mark.parametrize("among_references", [False, True])
def test_measures_are_those_of_scikit_learn(seed, ties, among_references):
    points, labels = draw(seed, ties)
    refs, ref_labels = draw(seed + 10, ties, 25) if among_references else (None, None)
    found = list(searches(points, labels, refs, ref_labels))
    given = {"ref_emb": refs, "ref_labels": ref_labels}
    farthest = max(apart.max() for _, apart in found)
    for within in (0, 0.5):
        expected = [average_precision_score(apart <= within, cosine) for cosine, apart in found if min(apart) <= within]
        assert mean_average_precision(points, labels, within=within, **given) == pytest.approx(np.mean(expected))
    for k in (None, 1, 7):
        expected = [ndcg_score([1 - apart / farthest], [cosine], k=k) for cosine, apart in found]
        assert ndcg(points, labels, k, **given) == pytest.approx(np.mean(expected), abs=1e-12)


def test_a_collapsed_embedding_gains_nothing_from_the_order_of_the_samples():
    labels, shuffled = np.repeat([0, 1, 2], 10), np.random.default_rng(0).permutation(30)
    for measure in (mean_average_precision, ndcg):
        assert measure(np.ones((30, 2)), labels) == pytest.approx(measure(np.ones((30, 2)), labels[shuffled]))
    assert mean_average_precision(np.ones((30, 2)), labels) == pytest.approx(9 / 29)


def test_labels_of_several_dimensions_and_steps_that_are_no_binary_fractions():
    angles = np.linspace(0, 1, 11)
    arc, labels = np.stack([np.cos(angles), np.sin(angles)], 1), angles.round(1)
    assert ndcg(arc, np.stack([labels, labels], 1)) == pytest.approx(ndcg(arc, labels))
    assert mean_average_precision(arc, labels, within=0.1) == 1.0


@pytest.mark.parametrize(
    ("measure", "given", "message"),
    [
        (mean_average_precision, {"labels": [0, 1, 2]}, "labels: got no query with a sample of its label"),
        (mean_average_precision, {"within": -1}, "within"),
        (ndcg, {"labels": [1, 1, 1]}, "labels: got all equal"),
        (ndcg, {"k": 3}, "k: got 3"),
        (ndcg, {"ref_emb": [[1.0, 0.0]]}, "ref_labels: got None"),
        (ndcg, {"ref_emb": [[1.0]], "ref_labels": [1]}, "ref_emb"),
        (ndcg, {"embeddings": [[1.0]], "labels": [1]}, "embeddings: got 1 sample"),
    ],
)
def test_what_cannot_be_measured_is_an_error(measure, given, message):
    arguments = {"embeddings": [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], "labels": [0, 0, 1]} | given
    with pytest.raises(OrdinateError, match=message):
        measure(**arguments)


@pytest.mark.parametrize("kind", ["numpy", "torch", "lists"])
def test_labels_of_float32_are_the_decimals_that_they_stand_for(kind):
    """0.1 steps of float32 differ by a little more or less than 0.1, and a reach of 0.1 would miss half of them."""
    random = np.random.default_rng(0)
    points, steps = random.normal(size=(80, 4)), random.integers(0, 10, 80)
    labels = (steps * 0.1).astype(np.float32)
    given = {"numpy": labels, "torch": torch.tensor(labels), "lists": (steps / 10).tolist()}[kind]
    expected = mean_average_precision(points, steps, within=1)
    assert mean_average_precision(points, given, within=0.1) == pytest.approx(expected, abs=1e-12)
    assert distance_rank_correlation(points, given) == pytest.approx(
        distance_rank_correlation(points, steps), abs=1e-12
    )
