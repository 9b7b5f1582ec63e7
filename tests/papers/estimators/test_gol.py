"""The estimator of GOL: what all promise, and what is its own."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from ordinate_papers.estimators.gol import GOLClassifier
from tests.estimators.conformity import UNWEIGHTED, parametrize_with_essential_checks, run_check
from tests.estimators.examples import SMALL, in_groups
from tests.papers.estimators.classifier_promises import RANKS, X, assert_refused, for_typical_promises


def gol(**options):
    return GOLClassifier(**in_groups(GOLClassifier, {**SMALL, "epochs": 6, **options}))


@for_typical_promises
def test_it_keeps_the_promises_of_a_classifier(promise, tmp_path):
    promise(gol, tmp_path)


@pytest.mark.thorough
@parametrize_with_essential_checks([GOLClassifier(epochs=15, decision="mode")], lambda _: UNWEIGHTED)
def test_scikit_learn_checks_the_estimator(estimator, check):
    run_check(estimator, check)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors: got 0, expected a whole number of at least 1"),
        ({"margin": -1.0}, "margin: got -1.0, expected a finite number of at least 0"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(options, message):
    assert_refused(gol, options, message)


def test_the_rank_is_the_rounded_mean_of_the_nearest_on_the_unit_sphere():
    model = gol(n_neighbors=5).fit(X, RANKS)  # of five ranks, no mean lies halfway
    embeddings = model.transform(X)
    on_sphere = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    means = KNeighborsRegressor(5).fit(on_sphere, RANKS).predict(on_sphere)
    np.testing.assert_array_equal(model.predict(X), np.round(means))
    probability = model.predict_proba(X)
    assert probability[means == np.round(means)].max(axis=1).min() > 0.4
    assert probability[means != np.round(means)].max() < 1
