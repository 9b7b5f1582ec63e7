"""Measuring a step changes nothing, and counts what the backward pass needs."""

import copy

import torch
from torch import nn

from ordinate.training.step_cost import bytes_per_sample, seconds_per_sample


def test_the_encoder_and_the_random_numbers_stay_as_they_are():
    encoder = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 2))
    before = copy.deepcopy(encoder.state_dict())
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    training, embedding = seconds_per_sample(encoder, torch.randn(6, 4, generator=torch.Generator().manual_seed(1)))
    assert min(training, embedding) > 0
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert all(parameter.grad is None for parameter in encoder.parameters())


def test_the_memory_is_that_of_what_the_backward_pass_needs():
    """The input and the hidden units, which the second layer gets as they are; weights are there in any case."""
    encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    assert bytes_per_sample(encoder, torch.zeros(6, 4)) == 4 * (4 + 8)
    assert all(parameter.grad is None for parameter in encoder.parameters())
