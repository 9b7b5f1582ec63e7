"""A step on weighted samples is the weighted formula, for every method whose loss is of anchors."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from ordinate.data.samplers import RankBatches
from ordinate.errors import OrdinateError
from ordinate.functional.angular_triangle import angular_triangle
from ordinate.functional.mmnp import mmnp
from ordinate.functional.supcr import supcr as supcr_loss
from ordinate.functional.supremix import supremix as supremix_loss
from ordinate.methods import CLOC, OTD, SupCR, SupReMix
from ordinate.methods.plain import CrossEntropy
from ordinate.methods.regression import EndToEnd
from ordinate.training.loop import ArrayBatches, train
from ordinate_papers.methods.dino import DINO
from ordinate_papers.methods.gol import GOL
from ordinate_papers.methods.mwr import MWR
from ordinate_papers.methods.ordinal import LOSSES, Ordinal
from ordinate_papers.methods.pair_views import TableViews
from ordinate_papers.methods.pairs import build_pair_loss
from ordinate_papers.methods.poe import ordinal_constraint, symmetric_divergence
from ordinate_papers.methods.representation import Representation
from tests import processes
from tests.methods.examples import DIM, encoder, ranks, targets

N = 24
WEIGHTS = torch.rand(N, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 0.1
WEIGHTS /= WEIGHTS.mean()


def mean(values, weights=WEIGHTS):
    return (weights * values).sum() / weights.sum()


def cloc(method, embeddings, y):
    scores = method.classifier(embeddings)
    counts = y.bincount()[y]
    pairs = mmnp(embeddings, y, method.mmnp.margins, reduction="none") / ((counts - 1) * (N - counts))
    return mean(cross_entropy(scores, y, reduction="none")) + mean(pairs)


def otd_by_rank(method, embeddings, y):
    values = angular_triangle(embeddings, y, 4, reduction="none")
    return mean(values, WEIGHTS / y.bincount()[y])


def otd_by_triplet(method, embeddings, y):
    counts = y.bincount().double()
    extremes = torch.where(y == 0, 0, counts[0]) * torch.where(y == 3, counts[3] - 1, counts[3])
    triplets = extremes + (counts[y] - 1) * (counts[y] - 2)
    values = angular_triangle(embeddings, y, 4, reduction="none")
    return mean(values, WEIGHTS * triplets)


def supcr(method, embeddings, y):
    return mean(supcr_loss(embeddings, y, reduction="none"))


def supcr_with_head(method, embeddings, y):
    return supcr(method, embeddings, y) + end_to_end(method, embeddings, y)


def supremix(method, embeddings, y):
    projected = method.projection(embeddings)
    values = supremix_loss(projected, y, temperature=0.2, window=1.0, mix_negatives=False, reduction="none")
    return mean(values, WEIGHTS * (values != 0))  # anchors without a positive have no loss


def end_to_end(method, embeddings, y):
    return mean(method.head.sample_losses(embeddings, y))


def ordinal(method, embeddings, y):
    return mean(LOSSES[method.loss](method.head(embeddings), y))


def plain_ranks(method, embeddings, y):
    return mean(nn.functional.cross_entropy(method.head(embeddings), y, reduction="none"))


def triplet(method, embeddings, y):
    units = nn.functional.normalize(embeddings)
    total, count = 0, 0
    for a in range(N):
        for p in ((y == y[a]) & (torch.arange(N) != a)).nonzero()[:, 0]:
            for n in (y != y[a]).nonzero()[:, 0]:
                cost = (units[a] - units[p]).square().sum() - (units[a] - units[n]).square().sum() + 0.2
                if cost > 0:
                    total, count = total + WEIGHTS[a] * cost, count + WEIGHTS[a]
    return total / count


def supcon(method, embeddings, y):
    cosines = nn.functional.normalize(embeddings) @ nn.functional.normalize(embeddings).T / 0.1
    others = ~torch.eye(N, dtype=torch.bool)
    shares = cosines.masked_fill(~others, -torch.inf).log_softmax(1)
    positives = (y[:, None] == y) & others
    return mean(-torch.where(positives, shares, 0).sum(1) / positives.sum(1))


RANKED, REAL = ranks(N), targets(N)
CASES = {
    "cloc": (lambda: CLOC(encoder(), DIM, 4), RANKED, cloc),
    "otd by rank": (lambda: OTD(encoder(), 4, by_rank=True), RANKED, otd_by_rank),
    "otd by triplet": (lambda: OTD(encoder(), 4), RANKED, otd_by_triplet),
    "supcr": (lambda: SupCR(encoder(), DIM), REAL, supcr),
    "supcr with its head": (lambda: SupCR(encoder(), DIM, scheme="regularise"), REAL, supcr_with_head),
    "supremix": (lambda: SupReMix(encoder(), DIM, window=1.0, mix_negatives=False), REAL, supremix),
    "end to end": (lambda: EndToEnd(encoder(), DIM), REAL, end_to_end),
    "rnc": (lambda: Representation(encoder(), DIM, build_pair_loss("supcon")), RANKED, supcon),
    "triplet": (lambda: Representation(encoder(), DIM, build_pair_loss("triplet")), RANKED, triplet),
    "cross_entropy": (lambda: CrossEntropy(encoder(), DIM, 4), RANKED, plain_ranks),
    **{name: (lambda name=name: Ordinal(encoder(), DIM, 4, loss=name), RANKED, ordinal) for name in LOSSES},
}


def gradients(method, loss):
    return torch.autograd.grad(loss, [p for p in method.parameters() if p.requires_grad], allow_unused=True)


@pytest.mark.parametrize("name", CASES)
def test_a_weighted_step_is_the_weighted_formula(name):
    make, data, formula = CASES[name]
    method = make().double().train()
    x, y = data.x.double(), method.as_labels(data.y.double() if data is REAL else data.y)
    actual, expected = method.batch_loss(x, y, WEIGHTS), formula(method, method.encoder(x), y)
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=0)
    for found, wanted in zip(gradients(method, actual), gradients(method, expected), strict=True):
        assert (found is None) == (wanted is None)
        if found is not None:
            torch.testing.assert_close(found, wanted, rtol=1e-8, atol=1e-12)
    assert not torch.isclose(actual, method.batch_loss(x, y), rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", CASES)
def test_equal_weights_change_nothing_and_validation_is_weighted_by_ratios(name):
    make, data, _ = CASES[name]
    method = make().double().train()
    x, y = data.x.double(), method.as_labels(data.y.double() if data is REAL else data.y)
    torch.testing.assert_close(method.batch_loss(x, y, torch.ones(N)), method.batch_loss(x, y), rtol=1e-12, atol=0)
    method.eval()
    logs = [method.validate_embeddings(method(x), y, weights) for weights in (WEIGHTS, 7 * WEIGHTS)]
    torch.testing.assert_close(*logs, rtol=1e-10, atol=0)
    assert logs[0]["val_loss"] != method.validate_embeddings(method(x), y)["val_loss"]


@pytest.mark.parametrize("name", ["end to end", "cross_entropy", *LOSSES])
def test_whole_weights_are_repetitions_where_a_loss_is_of_samples_alone(name):
    make, data, _ = CASES[name]
    method, counts = make().double().train(), 1 + torch.arange(N) % 3
    x, y = data.x.double(), method.as_labels(data.y.double() if data is REAL else data.y)
    repeated = torch.arange(N).repeat_interleave(counts)
    weighted = method.batch_loss(x, y, counts / counts.double().mean())
    torch.testing.assert_close(weighted, method.batch_loss(x[repeated], y[repeated]), rtol=1e-12, atol=0)


def test_a_triplet_of_poe_counts_by_the_sample_that_two_others_are_compared_with():
    generator = torch.Generator().manual_seed(0)
    mean, variance = torch.randn(2, 9, 3, dtype=torch.float64, generator=generator)
    distances, y, w = symmetric_divergence(mean, variance), torch.arange(9) % 3, WEIGHTS[:9]
    total, count = 0.0, 0.0
    for i in range(9):
        for j in range(9):
            for k in range(9):
                if len({i, j, k}) == 3 and abs(y[i] - y[j]) < abs(y[i] - y[k]):
                    cost = float(distances[i, j] - distances[i, k] + 5)
                    total, count = total + float(w[i]) * max(0.0, cost), count + float(w[i]) * (cost > 0)
    assert float(ordinal_constraint(distances, y, 5.0, w)) == pytest.approx(total / count, rel=1e-10)


def test_mwr_weighs_a_triplet_by_the_sample_whose_rank_it_estimates():
    method = MWR(encoder(), DIM).double()
    embeddings, y = method(RANKED.x.double()), RANKED.y
    triplets = torch.tensor([[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    triplets[:, 0], triplets[:, 1] = (y == 0).nonzero()[0], (y == 3).nonzero()[0]
    each = torch.stack([method.loss(embeddings, y, one[None]) for one in triplets])
    expected = mean(each, WEIGHTS[triplets[:, 2]])
    torch.testing.assert_close(method.loss(embeddings, y, triplets, WEIGHTS), expected, rtol=1e-10, atol=0)


@pytest.mark.parametrize(
    "make", [lambda: GOL(encoder(), DIM, 4), lambda: DINO(encoder(), DIM, draw=TableViews([1, 1, 1]))]
)
def test_a_loss_without_anchors_refuses_weights(make):
    with pytest.raises(OrdinateError, match=r"weights: got some, expected None"):
        make().batch_loss(RANKED.x, RANKED.y, WEIGHTS)


def trained():
    torch.manual_seed(0)
    method = CLOC(encoder().double(), DIM, 4, phase_epochs=(2, 2), target_accuracy=0.3).double()
    data = ArrayBatches(RANKED.x.double(), RANKED.y, WEIGHTS)
    batches = RankBatches(RANKED.y.numpy(), 11, distinct=2)
    train(method, data, batches, data, accelerator="cpu", progress=False)
    return {"weights": method.state_dict(), "history": method.history}


def train_in_one_of(_):
    return trained()


@pytest.mark.thorough
def test_two_processes_train_on_weighted_samples_as_one_does(tmp_path):
    alone = trained()
    for outcome in processes.together(2, train_in_one_of, tmp_path / "meeting"):
        torch.testing.assert_close(outcome["weights"], alone["weights"], rtol=1e-6, atol=1e-8)
        for epoch, expected in zip(outcome["history"], alone["history"], strict=True):
            assert epoch == pytest.approx(expected, rel=1e-5, abs=1e-7)
