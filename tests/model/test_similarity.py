"""Every model knows by which similarity its embeddings are near each other, and everything that searches uses it."""

import json

import numpy as np
import pytest
import torch

import ordinate
from ordinate.data.training_batches import ArrayBatches
from ordinate.errors import OrdinateError
from ordinate.estimators.method import preferred_similarity
from ordinate.metrics import nearest_neighbours
from tests.estimators.examples import cloc, draw_table, otd, ranks_of, supcr, supremix

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)


@pytest.mark.parametrize(
    ("make", "labels", "expected"),
    [
        (cloc, RANKS, "cosine"),
        (otd, RANKS, "cosine"),
        (supremix, TARGET, "cosine"),
        (supcr, TARGET, "neg_l2"),
        (lambda: supcr(similarity="neg_l1"), TARGET, "neg_l1"),
        (lambda: supcr(similarity="cosine"), TARGET, "cosine"),
    ],
    ids=["cloc", "otd", "supremix", "supcr", "supcr l1", "supcr cosine"],
)
def test_a_model_has_the_similarity_of_its_loss_and_keeps_it(make, labels, expected, tmp_path):
    model = make().fit(X, labels)
    assert model.fitted.similarity == expected
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    assert loaded.fitted.similarity == expected
    _, rows = loaded.similar(X[:5], X, k=3)
    embeddings = model.transform(X)
    np.testing.assert_array_equal(rows, nearest_neighbours(embeddings[:5], embeddings, 3, similarity=expected))


def test_a_similarity_that_there_is_not_is_refused(tmp_path):
    cloc().fit(X, RANKS).save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"similarity": "haversine"}))
    with pytest.raises(OrdinateError):
        ordinate.load(tmp_path / "model")


class OfNumbers:
    """A fit whose embeddings are given, as are those of the samples held out."""

    def __init__(self, embeddings, labels, held_out=None):

        def batches(points, y):
            return ArrayBatches(torch.as_tensor(points), torch.as_tensor(y))

        self.training = batches(embeddings, labels)
        self.validation = None if held_out is None else batches(*held_out)

    def embed_rows(self, x, rows):
        return x[rows].double()


LENGTHS = np.linspace(1, 2, 40)
ANGLES = np.linspace(0, 3, 40)
BY_LENGTH = LENGTHS[:, None] * np.array([[0.6, 0.8]])  # All have one direction.
RANDOM_LENGTHS = np.random.default_rng(0).uniform(1, 50, 40)[:, None]
BY_ANGLE = RANDOM_LENGTHS * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])


@pytest.mark.parametrize(
    ("embeddings", "labels", "expected"),
    [(BY_LENGTH, LENGTHS, "neg_l2"), (BY_ANGLE, ANGLES, "cosine")],
    ids=["length", "angle"],
)
@pytest.mark.parametrize("usual", ["cosine", "neg_l2"])
def test_a_plain_loss_is_read_by_the_similarity_that_finds_near_labels(embeddings, labels, expected, usual):
    validated = OfNumbers(embeddings[::2], labels[::2], (embeddings[1::2], labels[1::2]))
    assert preferred_similarity(validated, usual) == expected
    assert preferred_similarity(OfNumbers(embeddings, labels), usual) == usual


def test_embeddings_that_are_not_finite_have_a_similarity_too():
    nothing = np.full((5, 2), np.nan), np.arange(5.0)
    assert preferred_similarity(OfNumbers(*nothing, nothing), "neg_l2") == "neg_l2"
