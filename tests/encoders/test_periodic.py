import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate.encoders import PeriodicEmbedding

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def by_hand(embedding, x):
    """The formula, one number at a time."""
    outputs = []
    for i, column in enumerate(embedding.numeric.tolist()):
        phases = [2 * math.pi * c * x[column].item() for c in embedding.frequencies[i].tolist()]
        waves = torch.tensor([*map(math.sin, phases), *map(math.cos, phases)], dtype=torch.float64)
        outputs.append((waves @ embedding.weight[i] + embedding.bias[i]).clamp(min=0))
    return torch.cat([x, *outputs])


@pytest.mark.parametrize("numeric", [[0], [1, 3], [3, 0, 2], [0, 1, 2, 3]])
def test_each_number_becomes_itself_and_its_waves(numeric):
    embedding = PeriodicEmbedding(4, numeric, frequencies=5, features=3).double()
    with torch.no_grad():
        embedding.bias.normal_()
    expected = torch.stack([by_hand(embedding, x) for x in X])
    torch.testing.assert_close(embedding(X), expected, rtol=0, atol=1e-12)
    assert embedding.out_features == expected.shape[1] == 4 + 3 * len(numeric)


@given(period=st.integers(-5, 5))
def test_whole_frequencies_repeat_with_period_1(period):
    embedding = PeriodicEmbedding(4, [0, 2]).double()
    with torch.no_grad():
        embedding.frequencies.copy_(torch.arange(32).reshape(2, 16))
    torch.testing.assert_close(embedding(X + period)[:, 4:], embedding(X)[:, 4:], rtol=0, atol=1e-10)
