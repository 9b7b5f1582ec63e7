"""Every loss of this folder against its formula, written plainly for one sample after the other."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn.functional import normalize

from ordinate.errors import OrdinateError
from ordinate.metrics import quadratic_weighted_kappa, ranked_probability_score
from ordinate_papers.losses.balanced_mse import balanced_mse_losses
from ordinate_papers.losses.conr import conr_losses
from ordinate_papers.losses.sord import sord_losses
from ordinate_papers.losses.squared_emd import squared_emd_losses
from ordinate_papers.losses.unimodal import UnimodalHead
from ordinate_papers.losses.weighted_kappa import weighted_kappa_loss

N, C = 12, 5


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def some_ranks(seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, C, N))


def brute_sord(logits, ranks):
    losses = []
    for row, rank in zip(logits, ranks.tolist(), strict=True):
        weights = [math.exp(-((k - rank) ** 2)) for k in range(C)]
        log_probability = row - row.exp().sum().log()
        losses.append(-sum(w * log_probability[k] for k, w in enumerate(weights)) / sum(weights))
    return torch.stack(losses)


def brute_squared_emd(logits, ranks):
    losses = []
    for row, rank in zip(logits, ranks.tolist(), strict=True):
        probability = row.exp() / row.exp().sum()
        losses.append(sum((probability[: k + 1].sum() - float(rank <= k)) ** 2 for k in range(C)))
    return torch.stack(losses)


def brute_weighted_kappa(logits, ranks, weights=None):
    weights = torch.ones(N, dtype=torch.float64) if weights is None else weights
    observed, by_chance = 0, 0
    probability = [row.exp() / row.exp().sum() for row in logits]
    for i in range(N):
        for k in range(C):
            observed = observed + weights[i] * probability[i][k] * (k - ranks[i]) ** 2
            for j in range(N):
                by_chance = by_chance + weights[i] * weights[j] * probability[i][k] * (k - ranks[j]) ** 2
    return (observed * weights.sum() / by_chance).log()


def brute_conr(embeddings, targets, predicted, weights, window, push, temperature):
    units, losses = normalize(embeddings), []
    for i in range(N):
        near, far = [], []
        for j in range(N):
            apart = (targets[i] - targets[j]).abs().mean()
            similarity = (units[i] @ units[j] / temperature).exp()
            if i != j and apart <= window:
                near.append(similarity)
            if apart > window and (predicted[i] - predicted[j]).abs().mean() <= window:
                far.append(weights[i] * (push * apart).exp() * similarity)
        loss = 0 * embeddings.sum()
        if near and far:
            loss = -sum((each / (sum(near) + sum(far))).log() for each in near) / len(near)
        losses.append(weights[i] * loss)
    return torch.stack(losses)


def brute_balanced_mse(predicted, targets, noise):
    losses = []
    for i in range(N):
        scores = [-((predicted[i] - each) ** 2).sum() / (2 * noise**2) for each in targets]
        losses.append(-(scores[i] - torch.stack(scores).exp().sum().log()) * 2 * noise.detach() ** 2)
    return torch.stack(losses)


def assert_same(actual, expected, *inputs):
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-12)
    gradients = [torch.autograd.grad(value.sum(), inputs) for value in (actual, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-11)


RANK_LOSSES = [
    (sord_losses, brute_sord),
    (squared_emd_losses, brute_squared_emd),
    (weighted_kappa_loss, brute_weighted_kappa),
]
for_every_rank_loss = pytest.mark.parametrize(("loss", "brute"), RANK_LOSSES, ids=lambda loss: loss.__name__)


@for_every_rank_loss
def test_value_and_gradient_are_those_of_the_formula(loss, brute):
    logits = draw(N, C)
    assert_same(loss(logits, some_ranks()), brute(logits, some_ranks()), logits)


@for_every_rank_loss
def test_a_far_mistake_costs_more_than_a_near_one(loss, brute):
    ranks = torch.tensor([0, 4, 2])
    near, far = (6 * torch.eye(C, dtype=torch.float64)[[first, 4, 2]] for first in (1, 3))
    assert loss(near, ranks).mean() < loss(far, ranks).mean()


@for_every_rank_loss
def test_large_logits_have_a_finite_value_and_gradient(loss, brute):
    logits = (1e4 * draw(N, C).detach()).float().requires_grad_()
    value = loss(logits, some_ranks()).sum()
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(logits.grad).all()


@for_every_rank_loss
@pytest.mark.parametrize("ranks", [torch.full((N,), C), torch.zeros(N - 1, dtype=torch.int64)])
def test_labels_that_are_no_ranks_of_the_logits_are_refused(loss, brute, ranks):
    with pytest.raises(OrdinateError, match="labels"):
        loss(draw(N, C), ranks)


def test_squared_emd_is_the_ranked_probability_score():
    logits, ranks = draw(N, C).detach(), some_ranks()
    expected = ranked_probability_score(ranks.numpy(), logits.softmax(1).numpy())
    assert squared_emd_losses(logits, ranks).mean().item() == pytest.approx(expected, abs=1e-12)


def test_the_kappa_of_certain_predictions_is_the_metric():
    ranks, predicted = some_ranks(), some_ranks(seed=1)
    logits = 1e3 * torch.eye(C, dtype=torch.float64)[predicted]
    expected = 1 - quadratic_weighted_kappa(ranks.numpy(), predicted.numpy())
    assert weighted_kappa_loss(logits, ranks).exp().item() == pytest.approx(expected, abs=1e-12)


def test_the_kappa_counts_samples_by_their_weights():
    logits, weights = draw(N, C), torch.linspace(0.5, 2, N, dtype=torch.float64)
    assert_same(
        weighted_kappa_loss(logits, some_ranks(), weights), brute_weighted_kappa(logits, some_ranks(), weights), logits
    )


def test_the_kappa_of_one_sample_is_refused_and_of_one_rank_finite():
    with pytest.raises(OrdinateError, match="logits: got 1 sample"):
        weighted_kappa_loss(draw(1, C), torch.tensor([0]))
    assert torch.isfinite(weighted_kappa_loss(1e3 * torch.eye(C)[[2, 2]], torch.tensor([2, 2])))


@pytest.mark.parametrize("distribution", ["binomial", "poisson"])
def test_the_unimodal_head_gives_the_probabilities_of_scipy(distribution):
    head = UnimodalHead(3, C, distribution).double()
    embeddings = 3 * draw(50, 3).detach()
    with torch.no_grad():
        head.log_temperature.fill_(math.log(1.7))
        f, probability = head.linear(embeddings)[:, 0].numpy(), head(embeddings).softmax(1).numpy()
    for row, value in zip(probability, f, strict=True):
        if distribution == "binomial":
            mass = stats.binom.pmf(range(C), C - 1, 1 / (1 + math.exp(-value)))
        else:
            mass = stats.poisson.pmf(range(C), math.log1p(math.exp(value)))
        expected = mass ** (1 / 1.7)
        np.testing.assert_allclose(row, expected / expected.sum(), rtol=0, atol=1e-6)  # its constants are float32
        rises = np.diff(row) > 0
        assert not (rises[1:] & ~rises[:-1]).any()  # It never rises after a fall.


@pytest.mark.parametrize("distribution", ["binomial", "poisson"])
@pytest.mark.parametrize("scale", [-1e4, 1e4])
def test_the_unimodal_head_is_finite_far_out(distribution, scale):
    head = UnimodalHead(1, C, distribution)
    with torch.no_grad():
        head.linear.weight.fill_(scale)
    logits = head(torch.ones(1, 1))
    logits.sum().backward()
    assert torch.isfinite(logits).all()
    assert all(torch.isfinite(each.grad).all() for each in head.parameters())


@pytest.mark.parametrize("dims", [1, 2])
def test_balanced_mse_is_its_formula(dims):
    predicted, targets = draw(N, dims), draw(N, dims, seed=1).detach()
    noise = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    actual, expected = (loss(predicted, targets, noise) for loss in (balanced_mse_losses, brute_balanced_mse))
    assert_same(actual, expected, predicted, noise)


def test_balanced_mse_weighs_a_frequent_target_less_than_the_squared_error():
    targets = torch.tensor([[0.0]] * 9 + [[1.0]])
    between = torch.full((10, 1), 0.5, requires_grad=True)
    gradient = torch.autograd.grad(balanced_mse_losses(between, targets, torch.tensor(1.0)).sum(), between)[0]
    assert gradient[9].abs() > gradient[0].abs()


@pytest.mark.parametrize("dims", [1, 2])
def test_conr_is_its_formula(dims):
    embeddings, targets = draw(N, 4), draw(N, dims, seed=1).detach()
    predicted, weights = 0.3 * draw(N, dims, seed=2), torch.linspace(0.5, 2, N, dtype=torch.float64)
    options = {"window": 0.5, "push": 0.3, "temperature": 0.2}
    actual = conr_losses(embeddings, targets, predicted, weights, **options)
    assert 0 < (actual > 0).sum() < N + 1
    assert_same(actual, brute_conr(embeddings, targets, predicted, weights, **options), embeddings)
    assert not torch.autograd.grad(actual.sum(), predicted, allow_unused=True)[0]


def test_conr_asks_nothing_of_predictions_that_are_told_apart():
    embeddings, targets = draw(N, 4), torch.arange(N, dtype=torch.float64)[:, None]
    loss = conr_losses(embeddings, targets, targets, window=1.0, push=0.1)
    assert loss.abs().max() == 0
    assert torch.autograd.grad(loss.sum(), embeddings)[0].abs().max() == 0


@pytest.mark.parametrize(("option", "value"), [("window", -1.0), ("push", -1.0), ("temperature", 0.0)])
def test_an_option_of_conr_outside_its_range_is_refused(option, value):
    options = {"window": 1.0, "push": 0.0, "temperature": 0.2, option: value}
    with pytest.raises(OrdinateError, match=f"{option}: got {value}"):
        conr_losses(draw(N, 4), torch.zeros(N, 1), torch.zeros(N, 1), **options)
