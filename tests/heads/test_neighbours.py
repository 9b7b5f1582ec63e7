"""Prediction from neighbours against scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from ordinate.heads import NeighbourMean, NeighbourVote, neighbours

TIE_BREAK = 1e-5  # what a nearer neighbour may count more


def draw(n, seed, d=4):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d)))


RANKS = torch.arange(40) % 3
TARGETS = torch.stack([torch.arange(40.0).double(), draw(40, 2)[:, 0]], 1)


@pytest.fixture(params=[1024, 7], ids=["at once", "in parts"])
def queries(request, monkeypatch):
    monkeypatch.setattr(neighbours, "QUERIES", request.param)
    return draw(30, seed=1)


@pytest.mark.parametrize("k", [1, 3, 8, 40])
def test_shares_of_the_votes_are_those_of_scikit_learn(queries, k):
    refs = draw(40, seed=0)
    expected = KNeighborsClassifier(k, metric="cosine").fit(refs, RANKS).predict_proba(queries)
    shares = NeighbourVote(refs, RANKS, num_classes=3, k=k)(queries).numpy()
    np.testing.assert_allclose(shares, expected, rtol=0, atol=k * TIE_BREAK)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=0, atol=1e-12)


def fan(*ranks):
    """Neighbours of (1, 0), the nearest first."""
    angles = torch.linspace(0.1, 1.0, len(ranks)).double()
    return torch.stack([angles.cos(), angles.sin()], 1), torch.tensor(ranks)


@pytest.mark.parametrize(
    ("ranks", "winner"),
    [
        ([2, 1, 0], 2),
        ([0, 1, 2], 0),
        ([1, 0], 1),
        ([2, 2, 0, 0], 2),
        ([2, 0, 2, 0], 2),
        ([0, 1, 2, 1, 2], 1),
        ([2, 0, 0], 0),
        ([2, 0, 0, 2], 2),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_of_equal_votes_the_nearer_rank_wins_and_a_majority_always_does(ranks, winner, dtype):
    embeddings, ranks = fan(*ranks)
    shares = NeighbourVote(embeddings.to(dtype), ranks, num_classes=3, k=len(ranks))(
        torch.tensor([[1, 0]], dtype=dtype)
    )
    assert shares.argmax() == winner
    assert shares.dtype == dtype


@pytest.mark.parametrize("k", [1, 5, 40])
def test_the_mean_is_that_of_scikit_learn_weighted_by_inverse_distance(queries, k):
    refs = draw(40, seed=0)
    expected = KNeighborsRegressor(k, weights="distance").fit(refs, TARGETS).predict(queries)
    np.testing.assert_allclose(NeighbourMean(refs, TARGETS, k=k)(queries).numpy(), expected, rtol=0, atol=1e-12)


def test_a_query_on_training_samples_has_the_mean_of_their_targets():
    refs = draw(40, seed=0)
    refs[7] = refs[3]
    expected = KNeighborsRegressor(5, weights="distance").fit(refs, TARGETS).predict(refs)
    means = NeighbourMean(refs, TARGETS)(refs).numpy()
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(means[3], (TARGETS[3] + TARGETS[7]) / 2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("distance", [1e-30, 1e-12, 1e30])
def test_distances_of_every_size_weigh(distance):
    refs = torch.tensor([[0.0], [3 * distance]], dtype=torch.float64)
    mean = NeighbourMean(refs, torch.tensor([[0.0], [1.0]]).double())(torch.tensor([[distance]], dtype=torch.float64))
    torch.testing.assert_close(mean, torch.tensor([[1 / 3]], dtype=torch.float64), rtol=1e-9, atol=0)


def test_k_is_at_most_the_number_of_training_samples():
    refs, queries = draw(3, seed=0), draw(4, seed=1)
    for few, many in [
        (NeighbourVote(refs, RANKS[:3], 3, k=3), NeighbourVote(refs, RANKS[:3], 3, k=9)),
        (NeighbourMean(refs, TARGETS[:3], k=3), NeighbourMean(refs, TARGETS[:3], k=9)),
    ]:
        assert torch.equal(few(queries), many(queries))
