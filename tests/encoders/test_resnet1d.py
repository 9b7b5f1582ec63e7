import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import batch_norm, conv1d, pad, relu

from ordinate.encoders import ResNet1d


def small(**options):
    """A small network with normalisations that do something, ready to predict."""
    torch.manual_seed(0)
    encoder = ResNet1d(3, embedding_dim=5, **{"blocks": (1, 2), "width": 4} | options).double()
    for layer in encoder.modules():
        if isinstance(layer, nn.BatchNorm1d):
            for values in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
                nn.init.uniform_(values, 0.5, 1.5)
    return encoder.eval()


def series(n, length, channels=3):
    return torch.randn(n, channels, length, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def by_hand(state, x, blocks):
    """He et al.'s network in one dimension, read off its weights."""

    def normalise(x, name):
        statistics = (state[f"{name}.{key}"] for key in ("running_mean", "running_var", "weight", "bias"))
        return batch_norm(x, *statistics)

    x = relu(normalise(conv1d(x, state["stem.0.weight"], stride=2, padding=3), "stem.1"))
    firsts = [sum(blocks[:stage]) for stage in range(1, len(blocks))]
    for block in range(sum(blocks)):
        name, stride = f"stages.{block}", 2 if block in firsts else 1
        inside = conv1d(x, state[f"{name}.body.0.weight"], stride=stride, padding=1)
        inside = conv1d(relu(normalise(inside, f"{name}.body.1")), state[f"{name}.body.3.weight"], padding=1)
        if block in firsts:
            x = normalise(conv1d(x, state[f"{name}.shortcut.0.weight"], stride=2), f"{name}.shortcut.1")
        x = relu(normalise(inside, f"{name}.body.4") + x)
    pooled = torch.cat([x.mean(2), x.amax(2)], dim=1)
    return pooled @ state["embedding.weight"].T + state["embedding.bias"]


@pytest.mark.parametrize("blocks", [(1,), (1, 2), (2, 1, 1)])
@pytest.mark.parametrize("length", [1, 8, 33])
def test_the_embedding_is_that_of_a_residual_network(blocks, length):
    encoder, x = small(blocks=blocks), series(2, length)
    torch.testing.assert_close(encoder(x), by_hand(encoder.state_dict(), x, blocks), rtol=0, atol=1e-12)


def test_the_default_has_the_18_layers_and_the_widths_of_resnet_18():
    layers = [layer for name, layer in ResNet1d(3, 16).named_modules() if "shortcut" not in name]
    weights = [layer.weight for layer in layers if isinstance(layer, nn.Conv1d | nn.Linear)]
    assert len(weights) == 18
    assert [weight.shape[0] for weight in weights] == [64] * 5 + [128] * 4 + [256] * 4 + [512] * 4 + [16]


def test_a_series_is_embedded_whatever_the_others_are():
    encoder, x = small(), series(4, 20)
    torch.testing.assert_close(encoder(x[2:3]), encoder(x)[2:3], rtol=0, atol=1e-12)


def padded(x, length):
    return pad(x, (0, length - x.shape[-1]), value=torch.nan)


def uneven(lengths):
    """One series of each length, and all in one batch."""
    alone = [series(1, length) + length for length in lengths]
    return alone, torch.cat([padded(x, max(lengths)) for x in alone])


def trained(encoder, x):
    """Embeddings, gradients and running statistics after a forward and a backward pass in training."""
    encoder.train().zero_grad()
    embeddings = encoder(x)
    (embeddings * torch.linspace(-1, 1, embeddings.numel()).reshape(embeddings.shape)).square().sum().backward()
    gradients = [parameter.grad.clone() for parameter in encoder.parameters()]
    return [embeddings.detach(), *gradients, *(buffer.clone() for buffer in encoder.buffers())]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=4))
def test_a_series_has_its_embedding_whatever_longer_ones_share_its_batch(lengths):
    encoder = small()
    alone, together = uneven(lengths)
    torch.testing.assert_close(encoder(together), torch.cat([encoder(x) for x in alone]), rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(9, 40), min_size=1, max_size=4), st.integers(1, 30))
def test_padding_more_changes_neither_embeddings_nor_gradients_nor_statistics_in_training(lengths, more):
    together = uneven(lengths)[1]
    further = padded(together, max(lengths) + more)
    for actual, expected in zip(trained(small(), further), trained(small(), together), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def test_statistics_are_those_of_the_points_that_are_there():
    encoder = small()
    alone, together = uneven([12, 31, 20])
    encoder.train()(together)
    points = torch.cat([encoder.stem[0](x)[0] for x in alone], dim=1)
    mean = 0.9 * small().stem[1].running_mean + 0.1 * points.mean(1)
    torch.testing.assert_close(encoder.stem[1].running_mean, mean, rtol=0, atol=1e-12)


def test_a_missing_value_beside_others_is_zero():
    encoder, x = small(), series(2, 20)
    missing, zero = x.clone(), x.clone()
    missing[0, 1, 4], zero[0, 1, 4] = torch.nan, 0
    torch.testing.assert_close(encoder(missing), encoder(zero), rtol=0, atol=0)
