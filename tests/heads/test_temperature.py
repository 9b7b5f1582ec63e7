"""Temperature scaling against NumPy and SciPy in float64."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from torch import nn

from ordinate.heads import NeighbourVote
from ordinate.heads.ranks import RankLogits, Temperature, VoteProbabilities, scores_of_votes
from ordinate.model.saving import describe_predictor, restore_predictor

SCORES = np.random.default_rng(0).normal(size=(80, 4)) * 5


def test_probabilities_are_those_of_the_formula():
    shares = softmax(0.25 * SCORES, axis=1) + 1e-7
    expected = shares / shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Temperature(0.25)(torch.from_numpy(SCORES)).numpy(), expected, rtol=1e-12)


def test_no_probability_is_0_however_large_scores_are():
    probabilities = Temperature(30.0)(torch.tensor([[1e4, 0.0, -1e4, 0.0]]).double())
    assert probabilities.min() >= 9e-8
    np.testing.assert_allclose(probabilities.sum().item(), 1, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_temperature_is_the_most_likely_one(weighted):
    rng = np.random.default_rng(1)
    ranks = np.array([rng.choice(4, p=row) for row in softmax(0.3 * SCORES, axis=1)])
    weights = rng.uniform(0.5, 2, 80) if weighted else np.ones(80)

    def loss(log_scale):
        likelihood = log_softmax(np.exp(log_scale) * SCORES, axis=1)[np.arange(80), ranks]
        return 0.05 * log_scale**2 - weights @ likelihood

    best = minimize_scalar(loss, bracket=(-3, 1), options={"xtol": 1e-10})
    given = torch.from_numpy(weights) if weighted else None
    found = Temperature.fit(torch.from_numpy(SCORES), torch.from_numpy(ranks), given)
    assert loss(np.log(found.scale.item())) == pytest.approx(best.fun, abs=1e-6)
    assert 0.15 < found.scale.item() < 0.6


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_that_are_always_right_or_always_wrong_have_a_finite_temperature(sign):
    scores = sign * 9.0 * torch.eye(3)
    found = Temperature.fit(scores, torch.arange(3)).scale
    assert 0 < found.item() < 100


def test_one_more_vote_is_spread_around_the_rank_with_the_most():
    known, ranks = torch.randn(30, 5).double(), torch.arange(30) % 3
    vote = NeighbourVote(known, ranks, num_classes=3, k=7)
    queries = torch.randn(20, 5).double()
    shares = torch.zeros(20, 3).double()
    for row, each in enumerate(vote(queries)):
        added = np.exp(-np.abs(np.arange(3) - int(each.argmax())))
        shares[row] = (7 * each + torch.from_numpy(added / added.sum())) / 8
    powers = shares**0.5
    scaled = powers / powers.sum(1, keepdim=True) + 1e-7
    expected = scaled / scaled.sum(1, keepdim=True)
    found = VoteProbabilities(vote, Temperature(0.5))(queries)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    assert torch.equal(found.argmax(1), vote(queries).argmax(1))


def test_of_ranks_with_equal_votes_up_to_rounding_the_vote_that_is_added_is_spread_around_the_lowest():
    shares = torch.tensor([[0.0, 0.5, 0.0, 0.5]]).double()
    above = shares + torch.tensor([0.0, 0.0, 0.0, 1e-15])
    torch.testing.assert_close(scores_of_votes(above, 9), scores_of_votes(shares, 9), rtol=0, atol=1e-12)
    assert scores_of_votes(above, 9).argmax() == 1


def test_restored_predictors_give_the_same_probabilities():
    x = torch.randn(6, 3).double()
    head = nn.Linear(3, 4).double()
    vote = NeighbourVote(torch.randn(9, 3).double(), torch.arange(9) % 3, num_classes=3, k=5)
    for predictor in (
        RankLogits(head, Temperature(0.3)),
        RankLogits(head),
        VoteProbabilities(vote, Temperature(0.3)),
    ):
        again = restore_predictor(describe_predictor(predictor), predictor.state_dict())
        assert torch.equal(again(x), predictor(x))
