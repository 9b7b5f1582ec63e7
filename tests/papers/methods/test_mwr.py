"""MWR: relative ranks between two references, and the window that moves to a sample's rank."""

import numpy as np
import pytest
import torch
from scipy.stats import truncnorm
from torch import nn

from ordinate.training.optimization import Optimization
from ordinate_papers.methods.mwr import (
    MWR,
    MovingWindow,
    choose_references,
    draw_triplets,
    relative_rank,
)
from tests.methods.examples import DIM, encoder, ranks, train

FAST = Optimization("adam", 0.01, 0.0)


class Oracle(nn.Module):
    """Reads ranks off embeddings (n, 1) that are the ranks themselves, plus what a reference's second column adds."""

    def __init__(self):
        super().__init__()
        self.windows = []

    def forward(self, lower, higher, x):
        a, b, y = lower[:, 0], higher[:, 0], x[:, 0]
        self.windows.append(torch.stack([a, b], dim=1))
        return ((2 * y - a - b) / (b - a)).clamp(-1, 1) + lower[:, 1] + higher[:, 1]


def brute_relative_rank(rank, low, high):
    if rank <= low:
        return -1.0
    if rank >= high:
        return 1.0
    half = (high - low) / 2
    return (rank - (low + half)) / half


def search(training_ranks, classes=None, off=0.0, k=1, error=0.0):
    """A search whose regressor knows all, among embeddings that are the ranks."""
    known = torch.tensor(training_ranks)
    embeddings = torch.stack([known.double(), torch.full(known.shape, off, dtype=torch.float64)], dim=1)
    references = choose_references(Oracle(), embeddings, known, k)
    return MovingWindow(Oracle(), embeddings, known, classes or int(known.max()) + 1, references, error)


def queries(*values):
    return torch.tensor([[value, 0.0] for value in values], dtype=torch.float64)


def test_relative_ranks_are_linear_between_references_and_end_at_them():
    random = np.random.default_rng(0)
    low = random.integers(0, 5, 200)
    high, rank = low + random.integers(1, 5, 200), random.integers(0, 10, 200)
    expected = [brute_relative_rank(*map(int, triple)) for triple in zip(rank, low, high, strict=True)]
    actual = relative_rank(*map(torch.from_numpy, (rank, low, high)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("labels", [[0, 1], [3, 0, 0, 1, 5, 1, 1], [2, 9]])
def test_triplets_are_of_a_window_and_every_sample_comes_as_often(labels):
    y = torch.tensor(labels)
    triplets = draw_triplets(y, 400, torch.Generator().manual_seed(0))
    assert torch.equal(triplets[:, 2].bincount(), torch.full((len(y),), 400))
    distinct = sorted(set(labels))
    windows = {(distinct[max(p - 1, 0)], distinct[min(p + 1, len(distinct) - 1)]) for p in range(len(distinct))}
    assert set(map(tuple, y[triplets[:, :2]].tolist())) == windows
    assert set(triplets[:, 0].tolist()) == {i for i, rank in enumerate(labels) if any(rank == w[0] for w in windows)}
    assert set(triplets[:, 1].tolist()) == {i for i, rank in enumerate(labels) if any(rank == w[1] for w in windows)}


def test_the_loss_is_the_mean_squared_error_of_relative_ranks():
    method, data = MWR(encoder(), DIM).double(), ranks()
    x, y = data.x.double(), data.y
    triplets = draw_triplets(y, 2, torch.Generator().manual_seed(0))
    h = method(x)
    errors = []
    for low, high, sample in triplets.tolist():
        (predicted,) = method.regressor.layers(torch.cat([h[low], h[high], h[sample]]))
        errors.append((predicted - brute_relative_rank(int(y[sample]), int(y[low]), int(y[high]))) ** 2)
    expected, actual = sum(errors) / len(errors), method.loss(h, y, triplets)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)
    for one, other in zip(
        *(torch.autograd.grad(v, list(method.parameters()), retain_graph=True) for v in (actual, expected)),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("training_ranks", [[0, 1], [0, 1, 2], list(range(9)), [0, 2, 3, 8], [1, 1, 4, 4]])
def test_a_regressor_that_knows_all_finds_every_rank_that_occurs(training_ranks):
    found = search(training_ranks, classes=10)(queries(*training_ranks))
    assert found.argmax(1).tolist() == training_ranks


def test_a_search_that_never_settles_ends():
    class Restless(Oracle):
        def forward(self, lower, higher, x):
            super().forward(lower, higher, x)
            return torch.ones(len(x), dtype=torch.float64) if len(self.windows) % 2 else -torch.ones(len(x)).double()

    moving = search(list(range(9)))
    moving.regressor = Restless()
    assert torch.isfinite(moving(queries(4.0))).all()
    assert len(moving.regressor.windows) == 11


@pytest.mark.parametrize("error", [0.0, 0.04, 2.0])
def test_probabilities_are_those_of_a_normal_distribution_cut_off_at_the_ends(error):
    moving = search(list(range(5)), error=error)
    probability = moving(queries(1.3, 0.0, 3.8))
    spread = max(np.sqrt(error), 0.05)
    for estimate, row in zip(moving.estimates(queries(1.3, 0.0, 3.8))[:, 0].tolist(), probability, strict=True):
        bounds = (-0.5 - estimate) / spread, (4.5 - estimate) / spread
        shares = np.diff(truncnorm(*bounds, loc=estimate, scale=spread).cdf(np.arange(6) - 0.5))
        np.testing.assert_allclose(row, shares, rtol=0, atol=1e-9)
        assert row.sum() == pytest.approx(1, abs=1e-12)
    assert probability.argmax(1).tolist() == [1, 0, 4]


def test_the_references_chosen_are_those_that_err_least():
    known = torch.tensor([0] * 4 + [1] * 4 + [2] * 4)
    embeddings = torch.stack([known.double(), torch.tensor([0.5, 0.0, 0.4, 0.3] * 3, dtype=torch.float64)], dim=1)
    references = choose_references(Oracle(), embeddings, known, 1)
    assert references.tolist() == [[[1, 5]], [[1, 9]], [[5, 9]]]


def test_easy_ranks_are_found():
    method, data, held_out = MWR(encoder(), DIM, epochs=40, optimization=FAST), ranks(96), ranks(seed=1)
    history = train(method, data, held_out)
    assert history[-1]["train_loss"] < 0.2 * history[0]["train_loss"]
    with torch.no_grad():
        triplets = draw_triplets(held_out.y, 8, torch.Generator().manual_seed(0))
        loss = method.loss(method(held_out.x), held_out.y, triplets)
        assert history[-1]["val_loss"] == pytest.approx(loss.item(), abs=1e-6)
        embeddings = method(data.x)
        references = choose_references(method.regressor, embeddings, data.y, 5)
        found = MovingWindow(method.regressor, embeddings, data.y, 4, references)(method(held_out.x)).argmax(1)
    assert (found - held_out.y).abs().max() <= 1  # its boundaries are a little elsewhere
    assert (found == held_out.y).double().mean() > 0.6
