"""The cumulative link model against its formula and against logistic regression."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from ordinate.heads.cumulative_fit import fit_cumulative_link
from ordinate.heads.cumulative_link import CumulativeLink

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 3))
SCORES = X @ [1.0, -2.0, 0.5] + RANDOM.logistic(size=80)
RANKS = np.digitize(SCORES, [-1.5, 0.0, 1.5])
WEIGHTS = RANDOM.integers(1, 4, size=80).astype(float)


def fitted(ranks, classes, **options):
    return fit_cumulative_link(torch.from_numpy(X), torch.from_numpy(ranks), classes, **options)


def test_probabilities_are_differences_of_sigmoids_and_sum_to_1():
    link = CumulativeLink(4).double()
    with torch.no_grad():
        link.first.fill_(-1.0)
        link.steps.copy_(torch.tensor([0.3, -0.2]))
        found = link(torch.tensor([[0.7], [-30.0]]).double())
    thresholds = np.cumsum([-1.0, *np.log1p(np.exp([0.3, -0.2]))])
    up_to = 1 / (1 + np.exp(-(thresholds - 0.7)))
    np.testing.assert_allclose(found[0], np.diff([0, *up_to, 1]), atol=1e-8)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-12)
    assert found.min() > 0


def test_two_ranks_are_logistic_regression():
    layer, link = fitted((RANKS > 1).astype(np.int64), 2)
    logistic = LogisticRegression(C=1.0, tol=1e-10).fit(X, RANKS > 1)
    np.testing.assert_allclose(layer.weight[0], logistic.coef_[0], atol=1e-4)
    np.testing.assert_allclose(-link.thresholds, logistic.intercept_, atol=1e-4)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_likelihood_is_the_greatest_that_another_optimizer_finds(weights):
    counted = np.ones(80) if weights is None else weights

    def loss(values):
        thresholds = np.cumsum([values[3], *np.logaddexp(0, values[4:])])
        up_to = 1 / (1 + np.exp(-(thresholds - (X @ values[:3])[:, None])))
        likely = np.diff(np.hstack([np.zeros((80, 1)), up_to, np.ones((80, 1))]))[np.arange(80), RANKS]
        return -counted @ np.log(likely) + 0.5 * (values[:3] ** 2).sum()

    best = minimize(loss, np.r_[np.zeros(3), -1.0, 0.5, 0.5], tol=1e-12)
    layer, link = fitted(RANKS, 4, weights=None if weights is None else torch.from_numpy(weights))
    found = np.r_[layer.weight[0], link.first, link.steps]
    assert loss(found) == pytest.approx(best.fun, abs=1e-6)
    np.testing.assert_allclose(found, best.x, atol=1e-3)


def test_weights_are_as_good_as_repeated_samples():
    times = WEIGHTS.astype(int)
    repeated = fit_cumulative_link(
        torch.from_numpy(X.repeat(times, 0)), torch.from_numpy(RANKS.repeat(times)), 4
    )  # fmt: skip
    weighted = fitted(RANKS, 4, weights=torch.from_numpy(WEIGHTS))
    np.testing.assert_allclose(weighted[0].weight, repeated[0].weight, atol=1e-4)


def test_ranks_without_samples_and_ranks_that_a_column_divides_stay_finite():
    layer, link = fitted(np.where(X[:, 0] > 0, 3, 0), 5)
    assert torch.cat([layer.weight[0], link.thresholds]).isfinite().all()
    predicted = link(layer(torch.from_numpy(X))).argmax(1).numpy()
    assert (predicted == np.where(X[:, 0] > 0, 3, 0)).mean() > 0.9
