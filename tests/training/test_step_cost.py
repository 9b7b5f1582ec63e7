"""Measuring a step changes nothing."""

import copy

import torch
from torch import nn

from ordinate.training.step_cost import seconds_per_sample


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
