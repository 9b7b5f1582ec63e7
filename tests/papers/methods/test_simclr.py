"""NT-Xent is SimCLR's formula, and views of one sample come together."""

import pytest
import torch

from ordinate.methods import Optimization
from ordinate_papers.methods.pair_views import TableViews
from ordinate_papers.methods.representation import Representation
from ordinate_papers.methods.simclr import NTXentLoss
from tests.functional.brute_force import embeddings
from tests.methods.examples import DIM, encoder, ranks, train


def formula(x, temperature):
    """SimCLR, eq. 1, averaged over both views of all samples; the views of a sample are rows 2i and 2i + 1."""
    units = x / x.norm(dim=1, keepdim=True)
    losses = []
    for i in range(len(x)):
        scores = torch.stack([units[i] @ units[k] / temperature for k in range(len(x)) if k != i])
        losses.append(scores.logsumexp(0) - units[i] @ units[i ^ 1] / temperature)
    return sum(losses) / len(losses)


@pytest.mark.parametrize("temperature", [0.07, 0.5, 1.0])
def test_the_loss_and_its_gradient_are_those_of_the_formula(temperature):
    x = embeddings(12)
    actual, expected = NTXentLoss(temperature)(x), formula(x, temperature)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)
    gradients = [torch.autograd.grad(value, x)[0] for value in (actual, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-9)


def method(**options):
    torch.manual_seed(0)
    return Representation(
        encoder(), DIM, NTXentLoss(), **{"draw": TableViews([1, 1, 1]), "projection_dim": 4, **options}
    )


def test_the_batch_is_seen_as_two_projected_views():
    simclr, data = method(), ranks(12)
    torch.manual_seed(3)
    actual = simclr.batch_loss(data.x, data.y)
    torch.manual_seed(3)
    views = simclr.draw(data.x)
    projected = [simclr.projection(simclr.encoder(view)) for view in views]
    expected = formula(torch.stack(projected, 1).flatten(0, 1), 0.5)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-5)


def test_the_loss_falls_and_encoder_and_projection_head_are_trained():
    simclr = method(epochs=30, draw=TableViews([1, 1, 1], rate=0.2), optimization=Optimization("adam", 0.01, 0.0))
    start = {name: value.clone() for name, value in simclr.state_dict().items()}
    history = train(simclr, ranks(), ranks(seed=1))
    assert history[-1]["train_loss"] < 0.9 * history[0]["train_loss"]
    assert all(not torch.equal(start[name], value) for name, value in simclr.state_dict().items())
    assert all("val_loss" not in entry for entry in history)  # validation samples come as one view
