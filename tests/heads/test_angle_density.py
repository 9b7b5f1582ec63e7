"""Positions on the half circle and their densities against NumPy and SciPy in float64."""

import numpy as np
import pytest
import torch
from scipy.stats import norm, uniform

from ordinate.estimators.predictors import describe_predictor, restore_predictor
from ordinate.heads.angle_density import AngleDensity, Arc, PositionDensity


def draw_density(classes=4, seed=0):
    """A density with parameters at random."""
    torch.manual_seed(seed)
    density = PositionDensity(torch.rand(classes) + 0.1)
    with torch.no_grad():
        for parameter in density.parameters():
            parameter.add_(torch.randn_like(parameter) / 4)
    return density.requires_grad_(False)


def half_circle(positions, classes):
    """Points at positions in ranks on a half circle in three dimensions."""
    angle = np.pi * np.asarray(positions) / (classes - 1)
    turned = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    return torch.from_numpy(np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], 1) @ turned)


def test_probabilities_are_bayes_rule_on_densities_of_scipy():
    density = draw_density()
    positions = np.linspace(-0.2, 3.2, 40)
    share = torch.sigmoid(density.uniform_logit).item()
    width = density.log_width.exp().item()
    prior = density.log_weights.softmax(0).numpy()
    joint = np.zeros((40, 4))
    for rank in range(4):
        normal = norm(rank + density.shifts[rank].item(), width).pdf(positions)
        joint[:, rank] = prior[rank] * ((1 - share) * normal + share * uniform(0, 3).pdf(1.5))
    expected = joint / joint.sum(axis=1, keepdims=True)
    found = density(torch.from_numpy(positions)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_positions_on_the_half_circle_are_those_that_points_were_put_at():
    positions = np.linspace(0, 3, 13)
    arc = Arc.of(half_circle([0, 0, 1, 3], 4), torch.tensor([0, 0, 1, 3]))
    np.testing.assert_allclose(arc(half_circle(positions, 4)).numpy(), positions, atol=1e-6)


def test_positions_depend_neither_on_the_length_nor_on_the_rotation_of_embeddings():
    torch.manual_seed(0)
    embeddings, ranks = torch.randn(30, 5).double(), torch.arange(30) % 3
    rotation = torch.linalg.qr(torch.randn(5, 5).double())[0]
    positions = Arc.of(embeddings, ranks)(embeddings)
    other = 3 * embeddings @ rotation
    np.testing.assert_allclose(Arc.of(other, ranks)(other).numpy(), positions.numpy(), atol=1e-6)
    assert positions.min() >= 0
    assert positions.max() <= 2


def test_where_an_extreme_rank_has_no_samples_the_arc_ends_at_the_next_one():
    arc = Arc.of(half_circle([1, 2, 3], 4), torch.tensor([1, 2, 3]))
    assert arc.places.tolist() == [1, 3]
    np.testing.assert_allclose(arc(half_circle([1, 3], 4)).numpy(), [1, 3], atol=1e-6)


def test_weights_move_the_ends():
    embeddings, ranks = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]).double(), torch.tensor([0, 0, 1])
    arc = Arc.of(embeddings, ranks, torch.tensor([1.0, 3.0, 1.0]))
    np.testing.assert_allclose(arc.ends[0].numpy(), np.array([1, 3]) / np.sqrt(10), rtol=1e-6)


@pytest.mark.parametrize("embedding", [[0.0, 0.0], [1e-300, 0.0], [1e150, 1e150], [-1.0, 0.0]])
def test_no_probability_is_0_for_any_embedding(embedding):
    collapsed = Arc(torch.tensor([[1.0, 0.0], [1.0, 0.0]]).double(), torch.tensor([0.0, 2.0]).double())
    probabilities = AngleDensity(collapsed, draw_density(3))(torch.tensor([embedding], dtype=torch.float64))
    assert (probabilities > 0).all()
    np.testing.assert_allclose(probabilities.sum().item(), 1, rtol=1e-12)


def test_a_restored_density_gives_the_same_probabilities():
    arc = Arc(torch.eye(2).double(), torch.tensor([0.0, 3.0]).double())
    predictor = AngleDensity(arc, draw_density())
    again = restore_predictor(describe_predictor(predictor), predictor.state_dict())
    x = torch.randn(9, 2).double()
    assert torch.equal(again(x), predictor(x))
