"""Encoders under a loss of embeddings and labels: ranks, or bins of a target."""

import pytest
import torch

from ordinate.methods import Optimization
from ordinate_papers.methods.pair_views import TableViews
from ordinate_papers.methods.pairs import PAIR_LOSSES, build_pair_loss
from ordinate_papers.methods.representation import (
    Representation,
    RepresentationRegression,
    bins_of,
    usual_bins,
)
from ordinate_papers.methods.simclr import NTXentLoss
from ordinate_papers.protocols.classifiers import knn_error
from tests.methods.examples import DIM, encoder, ranks, targets, train, watch

FAST = Optimization("adam", 0.01, 0.0)


@pytest.mark.parametrize("name", PAIR_LOSSES)
def test_the_neighbours_of_new_samples_come_to_share_their_rank(name):
    method = Representation(encoder(), DIM, build_pair_loss(name), epochs=25, optimization=FAST)
    drawn = ranks(160)
    data, new = (type(drawn)(drawn.x[rows], drawn.y[rows]) for rows in (slice(0, 100), slice(100, 160)))
    train(method, data, batch_size=50)
    with torch.no_grad():
        error = knn_error(method(data.x).numpy(), data.y.numpy(), method(new.x).numpy(), new.y.numpy(), 3)
    assert error < 0.25  # by chance 0.75


def test_the_loss_sees_the_projection_head_and_the_neighbours_the_encoder():
    torch.manual_seed(0)
    method, data = Representation(encoder(), DIM, build_pair_loss("supcon"), projection_dim=5), ranks(12)
    projected = method.projection(method.encoder(data.x))
    assert projected.shape == (12, 5)
    assert method.batch_loss(data.x, data.y) == build_pair_loss("supcon")(projected, data.y)
    assert torch.equal(method(data.x), method.encoder(data.x))


def test_patience_watches_the_validation_loss_where_pairs_are_held_out():
    still = Optimization("sgd", 1e-12)
    method = Representation(encoder(), DIM, build_pair_loss("triplet"), epochs=20, patience=2, optimization=still)
    held_out = ranks(seed=1)
    history = train(method, ranks(), held_out)
    expected = build_pair_loss("triplet")(method(held_out.x), held_out.y).item()
    assert history[0]["val_loss"] == pytest.approx(expected, abs=1e-6)
    assert len(history) <= 4


def regression(loss=None, **options):
    torch.manual_seed(0)
    loss = build_pair_loss("supcon") if loss is None else loss
    options = {"epochs": (2, 3), "optimization": FAST, "head_optimization": FAST, "bin_size": 0.5, **options}
    method = RepresentationRegression(encoder(), DIM, loss, **options)
    method.head.standardise(targets().y)
    method.fit_bins(targets().y)
    return method


def test_the_stages_of_each_scheme():
    assert watch(regression(), targets()).changes("encoder") == [True, True, False, False, False]
    assert watch(regression(scheme="fine_tune"), targets()).changes("encoder") == [True] * 5
    both = watch(regression(scheme="regularise", projection_dim=4), targets())
    assert both.changes("encoder") == both.changes("projection") == both.changes("head.linear") == [True] * 2


def test_simclr_beside_the_loss_of_the_head():
    simclr = {"loss": NTXentLoss(), "draw": TableViews([1, 1, 1], rate=0.0)}
    method, data = regression(**simclr, scheme="regularise", contrast_weight=0.3), targets(12)
    embedded = method.encoder(data.x)
    doubled = embedded.repeat_interleave(2, 0)
    expected = method.head.loss(embedded, data.y) + 0.3 * NTXentLoss()(doubled)
    torch.testing.assert_close(method.batch_loss(data.x, data.y), expected, rtol=0, atol=1e-5)


def test_bins_are_widened_until_two_of_them_hold_two_samples():
    apart = torch.tensor([[0.0], [1.0], [20.0], [21.5], [90.0], [127.0]])
    lowest, size = usual_bins(apart)
    assert size.tolist() == [4.0]
    assert bins_of(apart, lowest, size).tolist() == [0, 0, 1, 1, 2, 3]
    assert bins_of(apart, lowest, size / 2).tolist() == [0, 0, 1, 2, 3, 4]


def test_bins_of_several_dimensions_are_cells():
    y = torch.tensor([[0.0, 0.0], [0.1, 0.0], [0.0, 3.0], [5.0, 3.0]])
    bins = bins_of(y, *usual_bins(y, [1.0, 2.0]))
    assert bins[0] == bins[1]
    assert len(bins.unique()) == 3
