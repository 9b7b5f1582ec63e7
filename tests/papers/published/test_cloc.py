import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, softplus

from ordinate.functional import mmnp
from ordinate_papers.published.cloc import cloc_loop, inverse_softplus, margin_loss, starting_margins
from tests.functional.brute_force import embeddings
from tests.papers.published.toy import toy

RANKS = {
    "all have pairs": [0, 0, 1, 1, 1, 3, 3, 0],
    "one is alone": [0, 0, 1, 1, 1, 3, 3, 2],
}


def loops(x, ranks, margins):
    """The mean over anchors, one hinge after the other."""
    cosine = torch.nn.functional.cosine_similarity
    n, total = len(x), 0.0
    for i in range(n):
        positives = [j for j in range(n) if j != i and ranks[j] == ranks[i]]
        negatives = [k for k in range(n) if ranks[k] != ranks[i]]
        for j in positives:
            for k in negatives:
                low, high = sorted([int(ranks[i]), int(ranks[k])])
                hinge = margins[low:high].sum() + cosine(x[i], x[k], dim=0) - cosine(x[i], x[j], dim=0)
                total = total + hinge.clamp(min=0) / (len(positives) * len(negatives) ** 2)
    return total / n


@pytest.mark.parametrize("ranks", RANKS.values(), ids=RANKS)
def test_the_loss_is_that_of_loops(ranks):
    x, margins = embeddings(8), torch.tensor([0.5, 0.7, 0.9], dtype=torch.float64, requires_grad=True)
    ours, theirs = margin_loss(x, torch.tensor(ranks), margins), loops(x, ranks, margins)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    for one, other in zip(*(torch.autograd.grad(loss, [x, margins]) for loss in (ours, theirs)), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
        assert one.norm() > 1e-3


def test_where_all_samples_have_pairs_it_is_the_published_reduction():
    x, margins = embeddings(8), torch.tensor([0.5, 0.7, 0.9], dtype=torch.float64)
    ranks = torch.tensor(RANKS["all have pairs"])
    published = mmnp(x, ranks, margins, reduction="published")
    torch.testing.assert_close(margin_loss(x, ranks, margins), published, rtol=0, atol=1e-15)


@pytest.mark.parametrize("ranks", [[0, 1, 2], [1, 1, 1]], ids=["no positives", "no negatives"])
def test_a_batch_without_pairs_gives_zero(ranks):
    x = embeddings(3)
    loss = margin_loss(x, torch.tensor(ranks), torch.tensor([0.5, 0.5]))
    assert loss.item() == 0
    assert torch.equal(torch.autograd.grad(loss, x)[0], torch.zeros(3, 3, dtype=torch.float64))


def test_margins_start_between_a_half_and_one():
    margins = softplus(starting_margins(2001))
    assert len(margins) == 2000
    assert margins.min() >= 0.5 - 1e-6
    assert margins.max() <= 1 + 1e-6
    assert abs(margins.mean() - 0.75) < 0.02
    torch.testing.assert_close(softplus(inverse_softplus(margins)), margins)


def train(seed=0, epochs=30, **options):
    x, y, _, _ = toy()
    ranks = (y / 2).long().clamp(max=3)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4))
    options |= {"batch_size": 20, "learning_rate": 0.01}
    return cloc_loop(network, x, ranks, 4, epochs=epochs, seed=seed, **options), ranks


def test_the_loop_learns_the_ranks_and_its_margins():
    (trained, ranks) = train()
    assert trained.history[-1].loss < 0.5 * trained.history[0].loss
    assert (trained.network(toy()[0]).argmax(1) == ranks).double().mean() > 0.8
    assert not trained.network.training
    early, _ = train(epochs=1)
    assert (trained.margins < early.margins).all()  # A hinge only shrinks them.


def test_given_margins_stay():
    margins = torch.tensor([0.3, 0.6, 0.9])
    (trained, _) = train(epochs=2, margins=margins)
    assert torch.equal(trained.margins, margins)
    assert {epoch.stage for epoch in trained.history} == {"margins fixed"}


def test_the_loop_contrasts_the_logits():
    x, y = (part[:24] for part in toy()[:2])
    ranks = (y / 2).long().clamp(max=3)
    network = nn.Linear(2, 4)
    logits, margins = network(x), torch.tensor([0.3, 0.6, 0.9])
    expected = cross_entropy(logits, ranks) + loops(logits, ranks, margins)
    trained = cloc_loop(network, x, ranks, 4, epochs=1, batch_size=80, margins=margins)
    assert trained.history[0].loss == pytest.approx(expected.item(), abs=1e-5)


def test_the_loop_reproduces_from_its_seed():
    first, again, other = (train(seed, epochs=3)[0].history for seed in (0, 0, 1))
    assert first == again != other
