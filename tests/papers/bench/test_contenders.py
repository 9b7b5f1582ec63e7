"""What runs, and on what."""

import pytest
import torch
from pytorch_metric_learning.losses import SupConLoss, TripletMarginLoss

from ordinate_papers.bench import contenders
from ordinate_papers.bench.contenders import CONTENDERS, LOSSES, PRODUCTS, SUPCON, TRIPLET, draw, line_up
from ordinate_papers.commands import catalogue


def test_the_command_line_offers_the_losses():
    assert tuple(LOSSES) == catalogue.LOSSES


def test_a_loss_runs_beside_its_published_loop_the_peers_and_the_products():
    assert line_up(["mmnp"]) == ["mmnp", "mmnp published", SUPCON, TRIPLET, PRODUCTS]
    assert set(line_up(list(LOSSES))) == set(CONTENDERS)


def test_without_pytorch_metric_learning_its_losses_are_left_out(monkeypatch):
    monkeypatch.setattr(contenders, "find_spec", lambda name: None)
    assert line_up(["mmnp"]) == ["mmnp", "mmnp published", PRODUCTS]


@pytest.mark.parametrize(("name", "peer"), [(SUPCON, SupConLoss), (TRIPLET, TripletMarginLoss)])
def test_the_peers_are_those_of_pytorch_metric_learning(name, peer):
    embeddings, labels = draw(16, 4, torch.float32, "cpu", ranks=True)
    assert CONTENDERS[name].loss(embeddings, labels) == peer()(embeddings, labels)


@pytest.mark.parametrize("rows", [4, 1024])
def test_the_products_are_the_gram_matrix_and_a_gradient_for_rows_and_columns(rows, monkeypatch):
    monkeypatch.setattr(contenders, "PRODUCT_ROWS", rows)
    embeddings, labels = draw(10, 3, torch.float64, "cpu", ranks=True)
    loss = CONTENDERS[PRODUCTS].loss(embeddings, labels)
    loss.backward()
    gram = embeddings.detach() @ embeddings.detach().T
    torch.testing.assert_close(embeddings.grad, 2 * gram @ embeddings.detach(), rtol=1e-12, atol=0)


def test_ranks_have_equal_sizes_and_targets_fill_their_range():
    embeddings, ranks = draw(100, 8, torch.float64, "cpu", ranks=True)
    _, targets = draw(100, 8, torch.float64, "cpu", ranks=False)
    assert embeddings.requires_grad
    assert (embeddings.shape, embeddings.dtype) == ((100, 8), torch.float64)
    assert ranks.bincount().tolist() == [20] * 5
    assert 0 <= targets.min() < 10
    assert 90 < targets.max() <= 100
    assert len(targets.unique()) == 100
