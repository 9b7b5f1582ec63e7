"""The estimator of GOL: what all promise, and what is its own."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsRegressor

from ordinate.papers.estimators.gol import GOLClassifier
from tests.estimators.conformity import parametrize_with_essential_checks
from tests.estimators.examples import SMALL
from tests.papers.estimators.classifier_promises import RANKS, X, assert_refused, for_every_promise


def gol(**options):
    return GOLClassifier(**{**SMALL, "epochs": 6, **options})


@pytest.mark.typical(  # the rest is code shared with POE
    "the_same_seed_gives_the_same_weights_and_another_seed_others",
    "ranks_that_are_easy_are_learned",
    "probabilities_are_those_of_the_predicted_classes",
    "a_prediction_does_not_depend_on_the_samples_beside_it",
    "pictures_are_learned_and_kept_over_a_save",
    "a_loaded_model_is_the_saved_one",
    "a_class_without_samples_is_never_predicted_as_nan",
    "a_fit_killed_twice_ends_with_the_weights_of_one_that_was_not",
)
@for_every_promise
def test_it_keeps_the_promises_of_a_classifier(promise, tmp_path):
    promise(gol, tmp_path)


@parametrize_with_essential_checks([GOLClassifier(epochs=15)])
@pytest.mark.filterwarnings("ignore:y holds text without an order:UserWarning")
def test_scikit_learn_checks_the_estimator(estimator, check):
    check(estimator)


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


def test_a_half_is_rounded_towards_the_nearest():
    model = gol(n_neighbors=2).fit(X, RANKS)
    ties = np.array([2 * x for x in model.neighbours_.embeddings.numpy()])
    shares = model.neighbours_(torch.from_numpy(ties)).numpy()
    halves = (np.abs(shares - 0.5) < 1e-3).sum(axis=1) == 2
    halves &= np.abs(shares.argsort(axis=1)[:, -1] - shares.argsort(axis=1)[:, -2]) == 1
    assert halves.any()
    predicted = model._probabilities(torch.from_numpy(ties)).numpy().argmax(axis=1)
    np.testing.assert_array_equal(predicted[halves], RANKS[halves])  # each sample's nearest is itself


def test_one_neighbour_is_enough():
    model = gol(n_neighbors=1).fit(X, RANKS)
    assert model.score(X, RANKS) == 1.0  # each sample's nearest is itself
