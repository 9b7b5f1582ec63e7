"""Embeddings beside a linear path: what the head predicts of them, and how little they move for that."""

import pytest
import torch
from ordinate.heads.linear_path import LinearPath, reachable
from torch import nn

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


@pytest.mark.parametrize("shares", [[0.0, 0.0, 0.0], [0.3, 0.3, 0.3], [1.0, 0.0, 0.6]])
@pytest.mark.parametrize("targets", [1, 3])
def test_the_head_predicts_the_blend_of_embeddings_that_moved_least(targets, shares):
    network, head, model, x = parts(targets)
    path, share = LinearPath(network, 6, 5, targets).double(), torch.tensor(shares[:targets]).double()
    path.blend(head, model, share)
    moved, wanted = path(x), (1 - share) * head(network(x)) + share * model(x)
    assert (head(moved) - wanted).abs().max() < 1e-10
    weight = (head.linear.weight / head.embedding_scale) * head.target_scale[:, None]  # of the head as one affine map
    least = torch.linalg.lstsq(weight, (wanted - head(network(x))).T).solution.T  # of least length
    assert (moved - network(x) - least).abs().max() < 1e-10


def test_training_does_not_touch_it():
    network, head, model, _ = parts(1)
    path = LinearPath(network, 6, 5).double()
    path.blend(head, model, torch.tensor([0.5]))
    assert {name for name, value in path.named_parameters() if value.requires_grad} == {
        f"network.{name}" for name, _ in network.named_parameters()
    }


def test_what_a_head_can_be_made_to_predict_is_what_its_directions_allow():
    head, changes = parts(2)[1], torch.randn(9, 2).double()
    assert (reachable(head, changes) - changes).abs().max() < 1e-10
    with torch.no_grad():  # both predictions in proportion, in deviations of the targets
        head.linear.weight[1] = 2 * head.linear.weight[0]
    both = torch.stack([changes[:, 0], changes[:, 0] * 2 * head.target_scale[1] / head.target_scale[0]], 1)
    assert (reachable(head, both) - both).abs().max() < 1e-10
    assert (reachable(head, changes) - changes).abs().max() > 0.1
    head.linear.weight.data.zero_()
    assert (reachable(head, changes) == 0).all()


def test_units_of_targets_do_not_matter():
    network, head, model, x = parts(2)
    for one in (head, model):
        one.target_mean.copy_(torch.tensor([0.0, 1e13]))
        one.target_scale.copy_(torch.tensor([1e-10, 1e10]))
    path = LinearPath(network, 6, 5, 2).double()
    path.blend(head, model, torch.tensor([1.0, 1.0]))
    path.float().double()  # as a saved model holds it
    assert ((head(path(x)) - model(x)) / head.target_scale).abs().max() < 1e-5
