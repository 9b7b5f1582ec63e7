"""Losses of pairs and tuples: each is its formula, and none is silent where nothing can be compared."""

import itertools
import math

import pytest
import torch
from pytorch_metric_learning.distances import CosineSimilarity, LpDistance
from pytorch_metric_learning.losses import NPairsLoss, TripletMarginLoss

from ordinate.errors import OrdinateError
from ordinate_papers.methods.pairs import PAIR_LOSSES, build_pair_loss, deal_tuples
from tests.functional.brute_force import embeddings

LABELS = torch.tensor([0, 2, 1, 0, 1, 3, 2, 0, 2, 1, 0])  # 3 stands alone


def cosine(a, b):
    return a @ b / (a.norm() * b.norm())


def squared(a, b):
    return 2 - 2 * cosine(a, b)


def pairs_of(labels):
    same = [(i, j) for i, j in itertools.permutations(range(len(labels)), 2) if labels[i] == labels[j]]
    other = [(i, j) for i, j in itertools.permutations(range(len(labels)), 2) if labels[i] != labels[j]]
    return same, other


def mean_of_violated(values):
    violated = [value for value in values if value > 0]
    return sum(violated) / len(violated)


def supcon(x, labels, temperature=0.1):
    anchors = []
    for i in range(len(x)):
        others = [k for k in range(len(x)) if k != i]
        total = torch.stack([cosine(x[i], x[k]) / temperature for k in others]).logsumexp(0)
        positives = [cosine(x[i], x[k]) / temperature - total for k in others if labels[k] == labels[i]]
        anchors += [-sum(positives) / len(positives)] if positives else []
    return sum(anchors) / len(anchors)


def siamese(x, labels):
    same, other = ([squared(x[i], x[j]).sqrt() for i, j in pairs] for pairs in pairs_of(labels))
    return mean_of_violated(same) + mean_of_violated([1 - distance for distance in other])


def triplet(x, labels, margin=0.2):
    same, other = pairs_of(labels)
    return mean_of_violated(
        [squared(x[a], x[p]) - squared(x[a], x[n]) + margin for a, p in same for b, n in other if a == b]
    )


def quadruplet(x, labels):
    same, other = pairs_of(labels)
    second = [
        squared(x[a], x[p]) - squared(x[m], x[n]) + 0.1
        for a, p in same for m, n in other if labels[a] not in (labels[m], labels[n])
    ]  # fmt: skip
    return triplet(x, labels) + mean_of_violated(second)


def n_pair(x, labels):
    pairs = [(0, 3), (2, 4), (1, 6)]  # of each rank the first two; of what is left, only rank 0 has a pair
    losses = []
    for anchor, positive in pairs:
        scores = torch.stack([cosine(x[anchor], x[other]) for _, other in pairs])
        losses.append(scores.logsumexp(0) - cosine(x[anchor], x[positive]))
    return sum(losses) / len(losses)


FORMULAS = {formula.__name__: formula for formula in (supcon, siamese, triplet, quadruplet, n_pair)}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", PAIR_LOSSES)
def test_the_loss_and_its_gradient_are_those_of_the_formula(name, seed):
    x = embeddings(len(LABELS), seed=seed)
    actual, expected = build_pair_loss(name)(x, LABELS), FORMULAS[name](x, LABELS)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)
    gradients = [torch.autograd.grad(value, x)[0] for value in (actual, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-9)


def test_the_triplet_loss_is_that_of_pytorch_metric_learning_over_all_triplets():
    x = embeddings(60, d=8)
    labels = torch.randint(0, 4, (60,), generator=torch.Generator().manual_seed(0))
    theirs = TripletMarginLoss(margin=0.2, distance=LpDistance(power=2))
    torch.testing.assert_close(build_pair_loss("triplet")(x, labels), theirs(x, labels), rtol=0, atol=1e-12)


def test_tuples_are_dealt_until_one_rank_is_left():
    labels = torch.tensor([5] * 7 + [2] * 4 + [8] * 2 + [9])
    anchors, positives, tuples = deal_tuples(labels)
    assert torch.equal(labels[anchors], labels[positives])
    assert [sorted(labels[anchors[tuples == index]].tolist()) for index in range(3)] == [[2, 5, 8], [2, 5], []]
    assert len(set(anchors.tolist() + positives.tolist())) == 10


def test_the_loss_of_one_tuple_is_that_of_pytorch_metric_learning():
    x, labels = embeddings(8), torch.tensor([3, 1, 0, 3, 2, 0, 1, 2])
    theirs = NPairsLoss(distance=CosineSimilarity())
    torch.testing.assert_close(build_pair_loss("n_pair")(x, labels), theirs(x, labels), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", PAIR_LOSSES)
@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]], ids=["one rank", "no rank twice"])
def test_labels_with_nothing_to_compare_are_an_error_not_a_zero(name, labels):
    with pytest.raises(OrdinateError, match="labels: got a batch of"):
        build_pair_loss(name)(embeddings(4), torch.tensor(labels))


@pytest.mark.parametrize(
    ("name", "temperature", "message"),
    [
        ("margin", None, "loss: got 'margin', expected"),
        ("supcon", 0.0, "temperature: got 0.0"),
        ("supcon", math.nan, "temperature: got nan"),
        ("triplet", 0.1, "temperature: got 0.1 for the loss 'triplet', which has none"),
    ],
)
def test_a_loss_that_cannot_be_built_is_refused(name, temperature, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        build_pair_loss(name, temperature)
