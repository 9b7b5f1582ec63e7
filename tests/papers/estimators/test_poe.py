"""The estimator of POE: what all promise, and what is its own."""

import numpy as np
import pytest

from ordinate_papers.estimators.poe import POEClassifier
from tests.estimators.conformity import parametrize_with_essential_checks, run_check
from tests.estimators.examples import SMALL, in_groups
from tests.papers.estimators.classifier_promises import RANKS, X, assert_refused, for_every_promise


def poe(**options):
    return POEClassifier(**in_groups(POEClassifier, {**SMALL, "epochs": 6, **options}))


@for_every_promise
def test_it_keeps_the_promises_of_a_classifier(promise, tmp_path):
    promise(poe, tmp_path)


@pytest.mark.thorough
@parametrize_with_essential_checks([POEClassifier(epochs=15, decision="mode")])
def test_scikit_learn_checks_the_estimator(estimator, check):
    run_check(estimator, check)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0}, "draws: got 0, expected a whole number of at least 1"),
        ({"margin": -1.0}, "margin: got -1.0, expected a finite number of at least 0"),
        ({"ordinal_weight": "much"}, "ordinal_weight: got 'much'"),
        ({"divergence_weight": float("inf")}, "divergence_weight: got inf"),
        ({"embedding_dim": 0}, "embedding_dim: got 0"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(options, message):
    assert_refused(poe, options, message)


def test_the_variance_is_learned_and_saved_beside_the_mean():
    model = poe().fit(X, RANKS)
    embeddings = model.transform(X)
    assert embeddings.shape == (48, 8)
    outputs = model.encoder_.network(model.fitted.read(X).double()).detach().numpy()
    np.testing.assert_array_equal(outputs[:, :8], embeddings)
    assert outputs.shape == (48, 16)
    assert np.ptp(outputs[:, 8:], axis=0).min() > 0
