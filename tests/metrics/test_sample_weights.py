"""A metric of weighted samples is that of samples repeated so often."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, mean_absolute_error, r2_score

from ordinate.errors import OrdinateError
from ordinate.metrics import continuous_report, mae, quadratic_weighted_kappa, r2, rank_report

RNG = np.random.default_rng(0)
RANKS, PREDICTED = RNG.integers(0, 4, (2, 40))
TARGETS = RNG.normal(size=(40, 2)).round(1)
GUESSES = (TARGETS + RNG.normal(size=(40, 2))).round(1)
WEIGHTS = RNG.integers(0, 4, 40)
REPEATED = np.repeat(np.arange(40), WEIGHTS)


@pytest.mark.parametrize("factor", [1, 0.3, 1e300])
def test_whole_weights_are_repetitions_and_only_ratios_matter(factor):
    weights = factor * WEIGHTS
    weighted = continuous_report(TARGETS, GUESSES, sample_weight=weights)
    assert weighted == pytest.approx(continuous_report(TARGETS[REPEATED], GUESSES[REPEATED]), rel=1e-12)
    weighted, repeated = (
        rank_report(RANKS, PREDICTED, 4, sample_weight=weights),
        rank_report(RANKS[REPEATED], PREDICTED[REPEATED], 4),
    )
    assert weighted.pop("adjacent_error_rates") == pytest.approx(repeated.pop("adjacent_error_rates"), rel=1e-12)
    assert weighted == pytest.approx(repeated, rel=1e-12)


def test_they_are_those_of_scikit_learn():
    assert mae(TARGETS, GUESSES, sample_weight=WEIGHTS) == pytest.approx(
        mean_absolute_error(TARGETS, GUESSES, sample_weight=WEIGHTS)
    )
    assert r2(TARGETS, GUESSES, sample_weight=WEIGHTS) == pytest.approx(
        r2_score(TARGETS, GUESSES, sample_weight=WEIGHTS)
    )
    kappa = cohen_kappa_score(RANKS, PREDICTED, weights="quadratic", sample_weight=WEIGHTS)
    assert quadratic_weighted_kappa(RANKS, PREDICTED, sample_weight=WEIGHTS) == pytest.approx(kappa)


def test_equal_weights_change_no_digit():
    assert continuous_report(TARGETS, GUESSES, sample_weight=np.full(40, 2)) == continuous_report(TARGETS, GUESSES)
    assert rank_report(RANKS, PREDICTED, 4, sample_weight=np.full(40, 2)) == rank_report(RANKS, PREDICTED, 4)


@pytest.mark.parametrize("weights", [-WEIGHTS, np.zeros(40), np.full(40, np.nan), WEIGHTS[1:]])
def test_weights_that_cannot_be_are_refused(weights):
    with pytest.raises(OrdinateError, match="sample_weight: got"):
        mae(RANKS, PREDICTED, sample_weight=weights)
