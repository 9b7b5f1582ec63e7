"""Embeddings beside a linear path: what the head predicts of them, and how little they move for that."""

import pytest
import torch
from torch import nn

from ordinate.encoders.linear_path import LinearPath, directions
from ordinate.heads import LinearHead


def parts(targets, width=6, dim=5):
    """A network, a head of several targets that has seen embeddings, a linear model of the columns, and samples."""
    torch.manual_seed(targets)
    network = nn.Sequential(nn.Linear(width, 7), nn.Tanh(), nn.Linear(7, dim)).double()
    head, model = LinearHead(dim, targets).double(), LinearHead(width, targets).double()
    for one in (head, model):
        one.standardise(3 + 4 * torch.randn(20, targets).double())
    x = torch.randn(9, width).double()
    head.standardise_embeddings(network(x).detach())
    return network, head, model, x


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("targets", [1, 3])
def test_the_head_predicts_the_blend_of_embeddings_that_moved_least(targets, share):
    network, head, model, x = parts(targets)
    path = LinearPath(network, 6, 5).double()
    path.blend(head, model, share)
    moved, wanted = path(x), (1 - share) * head(network(x)) + share * model(x)
    assert (head(moved) - wanted).abs().max() < 1e-10
    weight = (head.linear.weight / head.embedding_scale) * head.target_scale[:, None]  # of the head as one affine map
    least = torch.linalg.lstsq(weight, (wanted - head(network(x))).T).solution.T  # of least length
    assert (moved - network(x) - least).abs().max() < 1e-10


def test_training_does_not_touch_it():
    network, head, model, _ = parts(1)
    path = LinearPath(network, 6, 5).double()
    path.blend(head, model, 0.5)
    assert {name for name, value in path.named_parameters() if value.requires_grad} == {
        f"network.{name}" for name, _ in network.named_parameters()
    }


def test_a_head_that_sees_nothing_has_no_direction():
    head = LinearHead(5, 2).double()
    assert directions(head, 5) == 2
    with torch.no_grad():
        head.linear.weight[1] = 2 * head.linear.weight[0]
    assert directions(head, 5) == 1
    head.linear.weight.data.zero_()
    assert directions(head, 5) == 0
