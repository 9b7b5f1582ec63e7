"""Prediction from neighbours against scikit-learn, and with ties against plain loops."""

import math

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from ordinate.functional import numerics
from ordinate.heads import NeighbourMean, NeighbourVote, neighbours

TIE_BREAK = 1e-5  # what a nearer neighbour may count more


def draw(n, seed, d=4):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d)))


RANKS = torch.arange(40) % 3
DTYPES = (torch.float64, torch.float32)
TARGETS = torch.stack([torch.arange(40.0).double(), draw(40, 2)[:, 0]], 1)


@pytest.fixture(params=[2**20, 300], ids=["at once", "in parts"])
def queries(request, monkeypatch):
    monkeypatch.setattr(neighbours, "ENTRIES", request.param)
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


# equally near neighbours


def drawn_whole(n, seed, d=3):
    """Rows of small whole numbers, many of them equal or equally far from others."""
    return torch.from_numpy(np.random.default_rng(seed).integers(-1, 2, (n, d)).astype(float))


def places_left(nearness, k, tie):
    """The votes of every neighbour: one for each nearer than the k-th, and the rest shared by those as near."""
    kth = sorted(nearness, reverse=True)[k - 1]
    nearer = [near > kth + tie for near in nearness]
    as_near = [abs(near - kth) <= tie for near in nearness]
    share = (k - sum(nearer)) / sum(as_near)
    return [1.0 if first else share if last else 0.0 for first, last in zip(nearer, as_near, strict=True)]


def cosine(a, b):
    norms = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / norms if norms else 0.0


def vote_by_loops(query, refs, ranks, k, weights, classes=3):
    nearness = [cosine(query, ref) for ref in refs]
    of_rank, nearest = [0.0] * classes, [-2.0] * classes
    for near, place, weight, rank in zip(nearness, places_left(nearness, k, 1e-12), weights, ranks, strict=True):
        of_rank[rank] += place * weight
        if place > 0:
            nearest[rank] = max(nearest[rank], near)
    for each in range(classes):
        of_rank[each] *= 1 + 1e-6 * 0.5 ** sum(other > nearest[each] + 1e-12 for other in nearest)
    return [votes / sum(of_rank) for votes in of_rank]


def mean_by_loops(query, refs, targets, k, weights):
    distances = [math.dist(query, ref) for ref in refs]
    places = places_left([-(distance**2) for distance in distances], k, 1e-12)
    if min(distances) == 0:
        shares = [float(distance == 0) for distance in distances]
    else:
        shares = [1 / distance for distance in distances]
    shares = [share * place * weight for share, place, weight in zip(shares, places, weights, strict=True)]
    return sum(share * target for share, target in zip(shares, targets, strict=True)) / sum(shares)


@pytest.mark.parametrize("weights", [None, torch.linspace(0.5, 2, 40).double()], ids=["equal", "weighted"])
@pytest.mark.parametrize("k", [1, 3, 8, 39, 40])
def test_equally_near_neighbours_share_the_votes_that_nearer_ones_leave(k, weights):
    refs, queries = drawn_whole(40, seed=0), torch.cat([drawn_whole(20, seed=1), drawn_whole(20, seed=2) / 4 + 1])
    ranks, targets = RANKS.tolist(), TARGETS[:, 1]
    counted = [1.0] * 40 if weights is None else weights.tolist()
    shares = [vote_by_loops(query, refs.tolist(), ranks, k, counted) for query in queries.tolist()]
    vote = NeighbourVote(refs, RANKS, num_classes=3, k=k, weights=weights)
    np.testing.assert_allclose(vote(queries), shares, rtol=0, atol=1e-14)
    means = [mean_by_loops(query, refs.tolist(), targets.tolist(), k, counted) for query in queries.tolist()]
    mean = NeighbourMean(refs, targets, k=k, weights=weights)
    np.testing.assert_allclose(mean(queries)[:, 0], means, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_training_samples_changes_nothing(seed):
    refs, queries, ranks = drawn_whole(40, seed=0), drawn_whole(30, seed=1), torch.arange(40) % 7 % 3
    order = torch.from_numpy(np.random.default_rng(seed).permutation(40))
    votes = [NeighbourVote(refs[rows], ranks[rows], 3, k=5)(queries) for rows in (torch.arange(40), order)]
    torch.testing.assert_close(*votes, rtol=0, atol=1e-14)
    means = [NeighbourMean(refs[rows], TARGETS[rows])(queries) for rows in (torch.arange(40), order)]
    torch.testing.assert_close(*means, rtol=0, atol=1e-12)


def test_in_float32_the_same_ranks_win():
    refs, queries = drawn_whole(200, seed=0), drawn_whole(300, seed=1)
    ranks = torch.from_numpy(np.random.default_rng(2).integers(0, 4, 200))
    wide, narrow = (NeighbourVote(refs.to(dtype), ranks, 4, k=9)(queries.to(dtype)) for dtype in DTYPES)
    torch.testing.assert_close(narrow.double(), wide, rtol=0, atol=1e-6)
    most = wide >= wide.amax(1, keepdim=True) - 1e-9
    assert bool(most.gather(1, narrow.argmax(1, keepdim=True)).all())


def test_on_a_device_without_float64_equally_near_neighbours_share_as_well(monkeypatch):
    refs, queries = drawn_whole(200, seed=0, d=6), drawn_whole(100, seed=1, d=6)
    ranks, targets = torch.arange(200) % 3, torch.arange(200.0)
    expected = NeighbourVote(refs, ranks, 3, k=9)(queries), NeighbourMean(refs, targets.double(), k=9)(queries)
    monkeypatch.setattr(numerics, "DEVICES_WITHOUT_FLOAT64", ("cpu",))
    vote, mean = NeighbourVote(refs.float(), ranks, 3, k=9), NeighbourMean(refs.float(), targets, k=9)
    assert vote.directions.dtype == torch.float32
    torch.testing.assert_close(vote(queries.float()).double(), expected[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(mean(queries.float()).double(), expected[1], rtol=1e-4, atol=0)


def test_rounding_of_the_training_embeddings_breaks_no_tie():
    refs, queries = draw(12, seed=0, d=64).repeat(3, 1), draw(30, seed=1, d=64)
    ranks = torch.arange(36) // 12
    generator = torch.Generator().manual_seed(0)
    moved = refs * (1 + 2**-52 * torch.randint(-1, 2, refs.shape, generator=generator))
    shares = NeighbourVote(moved, ranks, 3, k=2)(queries)
    torch.testing.assert_close(shares, torch.full((30, 3), 1 / 3, dtype=torch.float64), rtol=0, atol=1e-12)


def test_many_copies_of_a_query_give_the_mean_of_all_their_targets():
    refs, targets = torch.cat([draw(1, seed=0).repeat(30, 1), draw(20, seed=1)]), torch.arange(50.0).double()
    mean = NeighbourMean(refs, targets, k=5)(refs[:1] * (1 + 1e-9))
    torch.testing.assert_close(mean, torch.tensor([[14.5]]).double(), rtol=1e-12, atol=0)
