"""The estimator of MWR: what all promise, and what is its own."""

import numpy as np
import pytest

from ordinate_papers.estimators.mwr import MWRClassifier
from tests.estimators.conformity import parametrize_with_essential_checks, run_check
from tests.estimators.examples import SMALL, in_groups
from tests.papers.estimators.classifier_promises import RANKS, X, assert_refused, for_typical_promises


def mwr(**options):
    return MWRClassifier(**in_groups(MWRClassifier, {**SMALL, "epochs": 6, **options}))


@for_typical_promises
def test_it_keeps_the_promises_of_a_classifier(promise, tmp_path):
    promise(mwr, tmp_path)


@pytest.mark.thorough
@parametrize_with_essential_checks([MWRClassifier(epochs=15, decision="mode")])
def test_scikit_learn_checks_the_estimator(estimator, check):
    run_check(estimator, check)


def test_a_setting_that_cannot_be_is_refused():
    assert_refused(mwr, {"n_references": 0}, "n_references: got 0, expected a whole number of at least 1")


def test_each_window_has_its_references_among_the_training_samples():
    model = mwr(n_references=3).fit(X, RANKS)
    references = model.predictor_.references.numpy()
    assert references.shape == (3, 3, 2)
    for window, (low, high) in zip(references, [(0, 1), (0, 2), (1, 2)], strict=True):
        assert set(RANKS[window[:, 0]]) == {low}
        assert set(RANKS[window[:, 1]]) == {high}


def test_the_predicted_rank_is_the_one_nearest_to_the_estimate():
    model = mwr().fit(X, RANKS)
    estimates = model.predictor_.estimates(model.fitted.embed(model.fitted.read(X))).mean(1).numpy()
    np.testing.assert_array_equal(model.predict(X), np.floor(estimates + 0.5))
