"""Encoder and head together on the head's loss alone."""

import pytest
import torch

from ordinate.errors import OrdinateError
from ordinate.methods import Optimization
from ordinate.methods.regression import EndToEnd
from ordinate.options import head_losses
from tests import processes
from tests.methods.examples import DIM, encoder, targets, train, watch

FAST = Optimization("adam", 0.01, 0.0)
for_every_loss = pytest.mark.parametrize("loss", head_losses())


def end_to_end(data, loss="l1", **options):
    torch.manual_seed(0)
    method = EndToEnd(encoder(), DIM, data.y.shape[1], head_loss=loss, **{"epochs": 4, "optimization": FAST, **options})
    method.head.standardise(data.y)
    return method


@for_every_loss
def test_encoder_and_head_are_trained_from_the_start_to_the_end(loss):
    data = targets()
    watched = watch(end_to_end(data, loss), data)
    assert watched.stages == [0, 0, 0, 0]
    assert watched.changes("encoder") == watched.changes("head.linear") == [True] * 4


@for_every_loss
def test_the_loss_of_a_batch_is_the_heads(loss):
    data = targets(dims=2)
    method = end_to_end(data, loss, bin_size=(0.5, 1.0))
    expected = method.head.loss(method.encoder(data.x), data.y)
    assert torch.equal(method.batch_loss(data.x, data.y), expected)


def test_validation_is_logged_and_patience_goes_by_the_errors_of_its_samples():
    data, held_out = targets(), targets(seed=1)
    by_epoch = []

    class Watcher(EndToEnd):
        def validate_embeddings(self, x, y):
            logs = super().validate_embeddings(x, y)
            by_epoch.append((self.head(x) - y).abs().mean(1))
            return logs

    method = Watcher(encoder(), DIM, 1, head_loss="l1", epochs=60, patience=3, optimization=Optimization("adam", 0.1))
    method.head.standardise(data.y)
    history = train(method, data, held_out)
    lowest, best = by_epoch[0], 0
    for epoch, errors in enumerate(by_epoch):
        excess = errors - lowest
        if errors.mean() < lowest.mean():
            lowest, best = errors, epoch
        elif excess.mean() < 0.5 * excess.std(correction=0) / len(errors) ** 0.5:
            best = epoch
    assert 3 < len(history) < 60
    assert len(history) == best + 4
    with torch.no_grad():
        embeddings = method(held_out.x)
        error = (method.head(embeddings) - held_out.y).abs().mean().item()
        assert method.head.loss(embeddings, held_out.y).item() == pytest.approx(history[best]["val_loss"], abs=1e-5)
    assert error == pytest.approx(history[best]["val_mae"], abs=1e-5)


@pytest.mark.parametrize(("name", "value"), [("head_loss", "l3"), ("bin_size", -1.0), ("epochs", 0), ("chunk_size", 0)])
def test_an_option_that_cannot_be_is_refused_when_the_method_is_built(name, value):
    with pytest.raises(OrdinateError, match=f"{name}: got {value!r}"):
        EndToEnd(encoder(), DIM, **{"head_loss": "dex", name: value})


def batch_gradients(rank, count):
    """The loss and the gradients of a share of one batch, averaged over the processes as DDP does."""
    data = targets(13, dims=2)
    own = torch.arange(13).tensor_split([5])[rank] if count == 2 else torch.arange(13)
    outcomes = {}
    for loss in head_losses():
        method = end_to_end(data, loss).double()
        value = method.batch_loss(data.x[own].double(), data.y[own].double())
        gradients = torch.autograd.grad(value, method.parameters_of_stage(0))
        if count > 1:
            for gradient in gradients:
                torch.distributed.all_reduce(gradient)
        outcomes[loss] = [value.detach(), *(gradient / count for gradient in gradients)]
    return outcomes


def test_two_processes_have_the_loss_and_the_gradient_of_the_joined_batch(tmp_path):
    expected = batch_gradients(0, 1)
    for outcome in processes.together(2, batch_gradients, tmp_path / "meeting", 2):
        for loss in head_losses():
            torch.testing.assert_close(outcome[loss], expected[loss], rtol=0, atol=1e-10)
