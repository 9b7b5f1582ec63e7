"""Ranks end to end: cross-entropy, OR, CORN and CORAL."""

import pytest
import torch

from ordinate.methods import Optimization
from ordinate.methods.plain import CrossEntropy
from ordinate_papers.methods.ordinal import Ordinal
from tests import processes
from tests.methods.examples import DIM, encoder, ranks, train, watch
from tests.papers.heads import brute_force

FAST = Optimization("adam", 0.01, 0.0)
BRUTE = {
    "cross_entropy": brute_force.dex,
    "or": brute_force.extended_binary,
    "corn": brute_force.corn,
    "coral": brute_force.extended_binary,
}
for_every_loss = pytest.mark.parametrize("loss", BRUTE)


def ordinal(loss="or", **options):
    torch.manual_seed(0)
    options = {"epochs": 4, "optimization": FAST, **options}
    if loss == "cross_entropy":
        return CrossEntropy(encoder(), DIM, 4, **options)
    return Ordinal(encoder(), DIM, 4, loss=loss, **options)


@for_every_loss
def test_encoder_and_head_are_trained_from_the_start_to_the_end(loss):
    watched = watch(ordinal(loss), ranks())
    assert watched.stages == [0, 0, 0, 0]
    assert watched.changes("encoder") == watched.changes("head") == [True] * 4


@for_every_loss
def test_the_loss_of_a_batch_is_the_mean_of_its_formula(loss):
    method, data = ordinal(loss).double(), ranks()
    logits = method.head(method.encoder(data.x.double()))
    expected = torch.stack([BRUTE[loss](row, int(rank)) for row, rank in zip(logits, data.y, strict=True)]).mean()
    torch.testing.assert_close(method.batch_loss(data.x.double(), data.y), expected, rtol=0, atol=1e-10)


@for_every_loss
def test_probabilities_sum_to_1_whatever_the_logits(loss):
    method = ordinal(loss)
    embeddings = 100 * torch.randn(50, DIM, generator=torch.Generator().manual_seed(0))
    probability = method.probabilities(embeddings)
    assert probability.shape == (50, 4)
    assert (probability >= 0).all()
    torch.testing.assert_close(probability.sum(1), torch.ones(50), rtol=0, atol=1e-5)


def test_the_rank_predicted_is_the_papers():
    """As many ranks up as thresholds are likelier passed than not; CORN's thresholds one after another."""
    embeddings = torch.randn(200, DIM, generator=torch.Generator().manual_seed(0)).double()
    for loss in ("or", "coral"):
        method = ordinal(loss).double()
        passed = (method.head(embeddings) > 0).sum(1)
        assert torch.equal(method.decide(method.probabilities(embeddings)), passed)
        assert len(passed.unique()) > 1
    method = ordinal("corn").double()
    passed = (method.head(embeddings).sigmoid().cumprod(1) > 0.5).sum(1)
    assert torch.equal(method.decide(method.probabilities(embeddings)), passed)
    method = ordinal("cross_entropy").double()
    assert torch.equal(method.decide(method.probabilities(embeddings)), method.head(embeddings).argmax(1))


def test_validation_logs_loss_accuracy_and_error():
    method, held_out = ordinal("corn", epochs=2), ranks(seed=1)
    last = train(method, ranks(), held_out)[-1]
    with torch.no_grad():
        embeddings = method(held_out.x)
        predicted = method.decide(method.probabilities(embeddings))
        loss = method.sample_losses(embeddings, held_out.y).mean().item()
    assert last["val_loss"] == pytest.approx(loss, abs=1e-6)
    assert last["val_accuracy"] == pytest.approx((predicted == held_out.y).double().mean().item(), abs=1e-6)
    assert last["val_mae"] == pytest.approx((predicted - held_out.y).abs().double().mean().item(), abs=1e-6)


def batch_gradients(rank, count):
    """The loss and the gradients of a share of one batch, averaged over the processes as DDP does."""
    data = ranks(13)
    own = torch.arange(13).tensor_split([5])[rank] if count == 2 else torch.arange(13)
    outcomes = {}
    for loss in BRUTE:
        method = ordinal(loss).double()
        value = method.batch_loss(data.x[own].double(), data.y[own])
        gradients = torch.autograd.grad(value, method.parameters_of_stage(0))
        if count > 1:
            for gradient in gradients:
                torch.distributed.all_reduce(gradient)
        outcomes[loss] = [value.detach(), *(gradient / count for gradient in gradients)]
    return outcomes


def test_two_processes_have_the_loss_and_the_gradient_of_the_joined_batch(tmp_path):
    expected = batch_gradients(0, 1)
    for outcome in processes.together(2, batch_gradients, tmp_path / "meeting", 2):
        for loss in BRUTE:
            torch.testing.assert_close(outcome[loss], expected[loss], rtol=0, atol=1e-10)
