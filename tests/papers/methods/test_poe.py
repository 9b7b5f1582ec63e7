"""POE: Gaussians that lie apart in the order of their ranks, and a classifier on draws from them."""

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal, kl_divergence
from torch.nn.functional import cross_entropy

from ordinate.errors import OrdinateError
from ordinate.training.optimization import Optimization
from ordinate_papers.methods.poe import (
    POE,
    GaussianEncoder,
    divergence_from_standard_normal,
    ordinal_constraint,
    symmetric_divergence,
)
from tests.methods.examples import DIM, encoder, ranks, train

FAST = Optimization("adam", 0.01, 0.0)


def poe(**options):
    return POE(GaussianEncoder(encoder(), DIM // 2), 4, **{"epochs": 30, "optimization": FAST, **options})


def gaussians(n=12, d=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    draw = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    return (3 * draw[0]).requires_grad_(), draw[1].requires_grad_()


def normal(mean, log_variance):
    return Independent(Normal(mean, (0.5 * log_variance).exp()), 1)


def brute_constraint(distances, labels, margin):
    costs = [distances[0, 0] * 0]
    n = len(labels)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if len({i, j, k}) == 3 and abs(labels[i] - labels[j]) < abs(labels[i] - labels[k]):
                    cost = distances[i, j] - distances[i, k] + margin
                    if cost > 0:
                        costs.append(cost)
    return sum(costs) / max(len(costs) - 1, 1)


def test_the_distance_is_the_sum_of_both_divergences():
    mean, log_variance = gaussians()
    expected = torch.stack(
        [
            torch.stack([kl_divergence(a, b) + kl_divergence(b, a) for b in map(normal, mean, log_variance)])
            for a in map(normal, mean, log_variance)
        ]
    )
    actual = symmetric_divergence(mean, log_variance)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)
    weights = torch.linspace(-1, 1, 144, dtype=torch.float64).view(12, 12)
    for one, other in zip(
        torch.autograd.grad((weights * actual).sum(), (mean, log_variance)),
        torch.autograd.grad((weights * expected).sum(), (mean, log_variance)),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_the_divergence_is_that_from_the_standard_normal():
    mean, log_variance = gaussians()
    standard = normal(torch.zeros_like(mean), torch.zeros_like(mean))
    expected = kl_divergence(normal(mean, log_variance), standard).mean()
    torch.testing.assert_close(divergence_from_standard_normal(mean, log_variance), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("margin", [0.0, 5.0, 1e3])
@pytest.mark.parametrize("labels", ["ranks", "two ranks", "with gaps", "all different"])
def test_the_constraint_is_the_mean_over_triplets_that_cost_something(labels, margin):
    random = np.random.default_rng(3)
    labels = {
        "ranks": random.integers(0, 4, 12), "two ranks": random.integers(0, 2, 12),
        "with gaps": random.choice([0, 1, 7], 12), "all different": random.permutation(12),
    }[labels]  # fmt: skip
    distances = symmetric_divergence(*gaussians(12, 2)).detach().requires_grad_()
    actual = ordinal_constraint(distances, torch.from_numpy(labels), margin)
    expected = brute_constraint(distances, labels.tolist(), margin)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)
    gradients = (torch.autograd.grad(value, distances)[0] for value in (actual, expected))
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("labels", [[2, 2, 2], [0, 1]])
def test_labels_without_a_triplet_are_refused(labels):
    with pytest.raises(OrdinateError, match=f"labels: got {len(labels)} without a triplet"):
        ordinal_constraint(torch.zeros(len(labels), len(labels)), torch.tensor(labels))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 0}, "draws: got 0"),
        ({"margin": -1.0}, "margin: got -1.0"),
        ({"ordinal_weight": float("nan")}, "ordinal_weight: got nan"),
        ({"divergence_weight": -1.0}, "divergence_weight: got -1.0"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        poe(**options)


def test_the_loss_is_the_cross_entropy_of_draws_and_the_two_weighted_constraints():
    method, data = poe(draws=3, ordinal_weight=0.5, divergence_weight=0.25, margin=2.0), ranks()
    mean, log_variance = method.encoder.network(data.x).chunk(2, dim=1)
    log_variance = (log_variance - log_variance.mean(0)) / (log_variance.var(0, correction=0) + 1e-3).sqrt()
    torch.manual_seed(1)
    noise = torch.randn(3, len(data), DIM // 2)
    expected = sum(
        cross_entropy(method.classifier(mean + (0.5 * log_variance).exp() * drawn), data.y) / 3 for drawn in noise
    )
    expected = expected + 0.5 * ordinal_constraint(symmetric_divergence(mean, log_variance), data.y, 2.0)
    expected = expected + 0.25 * divergence_from_standard_normal(mean, log_variance)
    torch.manual_seed(1)
    torch.testing.assert_close(method.batch_loss(data.x, data.y), expected, rtol=0, atol=1e-5)


def test_the_loss_chunk_by_chunk_is_that_of_the_batch():
    method, data = poe(), ranks()
    losses = []
    for size in (None, 7):
        method.chunk_size = size
        torch.manual_seed(1)
        method.zero_grad()
        losses.append(method.batch_loss(data.x, data.y))
        losses[-1].backward()
        losses.append(method.encoder.network[0].weight.grad.clone())
    torch.testing.assert_close(losses[:2], losses[2:], rtol=0, atol=1e-6)


def test_easy_ranks_are_classified_and_their_gaussians_lie_in_order():
    method, data, held_out = poe(epochs=40, draws=10, ordinal_weight=0.01), ranks(96), ranks(seed=1)
    history = train(method, data, held_out)
    assert history[-1]["train_loss"] < 0.5 * history[0]["train_loss"]
    assert history[-1]["val_accuracy"] > 0.6  # its boundaries are a little elsewhere
    assert (method.classifier(method(data.x)).argmax(1) == data.y).double().mean() > 0.9
    scores = method.classifier(method(held_out.x))
    assert history[-1]["val_loss"] == pytest.approx(cross_entropy(scores, held_out.y).item(), abs=1e-6)
    centres = torch.stack([method(data.x)[data.y == rank].mean(0) for rank in range(4)])
    distances = torch.cdist(centres, centres)
    assert all((distances[0].diff() > 0).tolist() + (distances[3].diff() < 0).tolist())
