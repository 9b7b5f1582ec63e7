"""What is measured of a step, and that measuring changes nothing."""

import copy

import pytest
import torch
from torch import nn

from ordinate.training.step_cost import measure_step


def test_memory_is_the_batch_what_the_backward_pass_keeps_and_the_weights_four_times():
    encoder = nn.Sequential(nn.Linear(10, 20, bias=False), nn.Tanh(), nn.Linear(20, 5, bias=False))
    cost = measure_step(encoder, torch.zeros(100, 10)[:7])  # of a larger set
    assert cost.bytes == 4 * (7 * 10 + 7 * 20 + 4 * (10 * 20 + 20 * 5))
    assert cost.seconds > 0


def test_a_chunk_is_measured_in_the_place_of_the_batch():
    encoder = nn.Sequential(nn.Linear(10, 20, bias=False), nn.Tanh(), nn.Linear(20, 5, bias=False))
    small = measure_step(encoder, torch.zeros(3, 10))
    assert measure_step(encoder, torch.zeros(30, 10), chunk_size=3).bytes - small.bytes == 4 * 27 * 10  # the batch


def test_the_encoder_and_the_random_numbers_stay_as_they_are():
    encoder = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 2))
    before = copy.deepcopy(encoder.state_dict())
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    measure_step(encoder, torch.randn(6, 4, generator=torch.Generator().manual_seed(1)))
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert all(parameter.grad is None for parameter in encoder.parameters())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_says_what_it_allocated():
    encoder = nn.Linear(1000, 1000, bias=False)
    assert measure_step(encoder, torch.zeros(8, 1000), gpu=True).bytes >= 4 * 4_000_000
    assert next(encoder.parameters()).device.type == "cpu"
