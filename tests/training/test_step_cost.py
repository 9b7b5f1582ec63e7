"""The cost of a step follows from its operations, and its memory from what the backward pass needs."""

import copy

import pytest
import torch
from torch import nn

from ordinate.training import step_cost
from ordinate.training.step_cost import bytes_per_sample, nominal_seconds


def test_the_encoder_and_the_random_numbers_stay_as_they_are():
    encoder = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 2))
    before = copy.deepcopy(encoder.state_dict())
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    training, embedding = nominal_seconds(encoder, torch.zeros(6, 4))
    assert 0 < embedding < training
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert all(parameter.grad is None for parameter in encoder.parameters())


def test_a_cost_is_that_of_the_operations_whatever_the_machine_does(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    encoder = nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 20))
    batch = torch.zeros(2, 40)
    operations, moved = 2 * (40 * 80 + 80 * 20), bytes_per_sample(encoder, batch)
    expected = step_cost.SECONDS_PER_OPERATION * operations + step_cost.SECONDS_PER_BYTE * moved
    training, embedding = nominal_seconds(encoder, batch)
    assert training == pytest.approx(expected)
    assert nominal_seconds(encoder, batch) == (training, embedding)
    assert nominal_seconds(encoder, batch, gpu=True)[0] < training / 10
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    assert training / 4 < nominal_seconds(encoder, batch)[0] < training / 2


def test_the_memory_is_that_of_what_the_backward_pass_needs():
    """The input and the hidden units, which the second layer gets as they are; weights are there in any case."""
    encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    assert bytes_per_sample(encoder, torch.zeros(6, 4)) == 4 * (4 + 8)
    assert all(parameter.grad is None for parameter in encoder.parameters())
