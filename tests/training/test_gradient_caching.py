"""Gradient caching: a chunk at a time, the loss and the gradient of the whole batch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from ordinate.errors import OrdinateError
from ordinate.methods import CLOC, OTD, SupCR, SupReMix
from ordinate.training.gradient_caching import embed_in_chunks
from tests.methods.examples import DIM, encoder, ranks, targets, train

N = 20
CASES = {
    "cloc": lambda **options: CLOC(encoder(), DIM, 4, phase_epochs=(2, 2), target_accuracy=1.0, **options),
    "otd": lambda **options: OTD(encoder(), 4, epochs=4, **options),
    "supcr": lambda **options: SupCR(encoder(), DIM, epochs=(2, 2), **options),
    "supcr, regularise": lambda **options: SupCR(encoder(), DIM, epochs=(4, 1), scheme="regularise", **options),
    "supcr, fine-tuning": lambda **options: SupCR(encoder(), DIM, epochs=(2, 2), scheme="fine_tune", **options),
    "supremix": lambda **options: SupReMix(encoder(), DIM, window=1.0, epochs=(2, 2), **options),
}
for_every_method = pytest.mark.parametrize("name", CASES)
for_every_stage = pytest.mark.parametrize(
    ("name", "stage"), [*((name, 0) for name in CASES), ("cloc", 1), ("supcr", 1), ("supcr, fine-tuning", 1)]
)


def build(name, **options):
    torch.manual_seed(0)
    return CASES[name](**options)


def data_for(name, dtype, n=N):
    data = ranks(n) if name in ("cloc", "otd") else targets(n)
    return type(data)(data.x.to(dtype), data.y.to(dtype) if data.y.is_floating_point() else data.y)


def loss_and_gradients(method, data, stage=0):
    """Of one batch, from the same random state."""
    method.to(data.x.dtype)
    method.stage_index = stage
    method.log_mean = lambda *_: None
    torch.manual_seed(1)
    loss = method.batch_loss(data.x, data.y)
    loss.backward()
    return {"loss": loss.detach()} | gradients(method)


def gradients(module):
    return {name: value.grad for name, value in module.named_parameters() if value.grad is not None}


def assert_close(actual, expected, tolerance):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(actual[name], value, rtol=0, atol=tolerance, msg=lambda m, name=name: f"{name}: {m}")


# every method


@pytest.mark.pairwise
@for_every_stage
@pytest.mark.parametrize("chunk_size", [1, 3, 7, 10, N, N + 5])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-10)])
def test_loss_and_gradients_are_those_of_the_whole_batch(name, stage, chunk_size, dtype, tolerance):
    data = data_for(name, dtype)
    plain = loss_and_gradients(build(name), data, stage)
    assert len(plain) > 2
    assert_close(loss_and_gradients(build(name, chunk_size=chunk_size), data, stage), plain, tolerance)


@for_every_method
def test_training_passes_chunks_and_validation_the_whole(name):
    method = build(name, chunk_size=6)
    sizes = record_sizes(method.encoder)
    train(method, data_for(name, torch.float32, 48), data_for(name, torch.float32, 17))
    assert set(sizes) <= {4, 5, 6, 17}
    assert sizes.count(17) == 4


@pytest.mark.parametrize("chunk_size", [0, -1, 2.5, 8.0, True, "all"])
@for_every_method
def test_a_chunk_size_that_cannot_be_is_refused_when_the_method_is_built(name, chunk_size):
    with pytest.raises(OrdinateError, match=f"chunk_size: got {chunk_size!r}, expected a whole number of at least 1"):
        build(name, chunk_size=chunk_size)


# one encoder


def record_sizes(module):
    """The sizes of the batches that a module gets from now on."""
    sizes = []
    module.register_forward_hook(lambda _, inputs, __: sizes.append(len(inputs[0])))
    return sizes


def chunk_sizes(n, chunk_size):
    module = nn.Identity()
    sizes = record_sizes(module)
    with torch.no_grad():
        embed_in_chunks(module, torch.zeros(n, 3), chunk_size)
    return sizes


def in_a_loop(module, x, chunk_size):
    """Plain chunks, whose activations are all held."""
    return torch.cat([module(part) for part in x.split(chunk_sizes(len(x), chunk_size))])


def after_a_step(embed, *layers, n=N, chunk_size=6):
    """Embeddings, gradients and buffers after one pass and its gradient, in float64, from the same random state."""
    module = encoder(0, *layers).double()
    torch.manual_seed(1)
    x = torch.randn(n, 3, dtype=torch.float64)
    embeddings = embed(module, x, chunk_size)
    (embeddings.square().sum() + embeddings.prod(dim=0).sum()).backward()
    return {"embeddings": embeddings.detach()} | gradients(module) | dict(module.named_buffers())


@given(n=st.integers(1, 60), chunk_size=st.integers(1, 70))
def test_chunks_are_nearly_equal_and_no_larger_than_asked_for(n, chunk_size):
    sizes = chunk_sizes(n, chunk_size)
    assert sum(sizes) == n
    assert max(sizes) <= chunk_size
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == -(-n // chunk_size)
    assert n == 1 or chunk_size < 3 or min(sizes) >= 2


@pytest.mark.parametrize("chunk_size", [3, 6, 19, N])
@pytest.mark.parametrize(
    "layers",
    [
        [],
        [nn.Dropout(0.5)],
        [nn.BatchNorm1d(32)],
        [nn.BatchNorm1d(32, momentum=None)],
        [nn.Dropout(0.3), nn.BatchNorm1d(32), nn.Dropout(0.3)],
        [nn.BatchNorm1d(32).eval()],
    ],
    ids=["plain", "dropout", "batch norm", "batch norm with cumulative statistics", "both", "frozen batch norm"],
)
def test_masks_and_statistics_are_those_of_a_plain_loop_over_the_chunks(layers, chunk_size):
    def fresh():
        return [type(layer)(**options_of(layer)).train(layer.training) for layer in layers]

    cached = after_a_step(embed_in_chunks, *fresh(), chunk_size=chunk_size)
    assert_close(cached, after_a_step(in_a_loop, *fresh(), chunk_size=chunk_size), 1e-12)


def options_of(layer):
    return {"p": layer.p} if isinstance(layer, nn.Dropout) else {"num_features": 32, "momentum": layer.momentum}


def test_a_buffer_that_every_pass_moves_is_in_the_second_as_it_was_in_the_first():
    """Spectral norm divides by what its buffers say, and moves them on by an iteration."""
    cached = after_a_step(embed_in_chunks, spectral_norm(nn.Linear(32, 32)))
    assert_close(cached, after_a_step(in_a_loop, spectral_norm(nn.Linear(32, 32))), 1e-12)


@pytest.mark.parametrize("n", [4, 7, 10])
def test_no_sample_is_left_alone_with_batch_norm(n):
    assert after_a_step(embed_in_chunks, nn.BatchNorm1d(32), n=n, chunk_size=3)["embeddings"].shape == (n, DIM)


def test_the_random_state_afterwards_is_that_of_a_plain_loop():
    after_a_step(in_a_loop, nn.Dropout(0.5))
    expected = torch.rand(1)
    after_a_step(embed_in_chunks, nn.Dropout(0.5))
    assert torch.rand(1) == expected


class Alive(TorchDispatchMode):
    """Counts the bytes of the tensors made within that are alive, and keeps their peak."""

    def __init__(self):
        super().__init__()
        self.peak, self.sizes = 0, WeakIdKeyDictionary()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, torch.Tensor):
                self.sizes[tensor.untyped_storage()] = tensor.untyped_storage().nbytes()
        self.peak = max(self.peak, sum(self.sizes.values()))
        return out


@pytest.mark.parametrize("gradient", [False, True], ids=["embedding", "embedding and gradient"])
def test_the_activations_of_no_more_than_one_chunk_are_alive(gradient):
    layers = [layer for _ in range(20) for layer in (nn.Tanh(), nn.Dropout(0.1))]

    def peak(embed, n, chunk_size):
        module = nn.Sequential(nn.Linear(3, 1000), *layers, nn.Linear(1000, 2))
        with Alive() as alive:
            embeddings = embed(module, torch.randn(n, 3), chunk_size)
            if gradient:
                embeddings.square().sum().backward()
        return alive.peak

    one_chunk = peak(embed_in_chunks, 8, 8)
    assert one_chunk > 8 * 1000 * 4 * 40
    assert peak(in_a_loop, 80, 8) > 8 * one_chunk
    assert peak(embed_in_chunks, 80, 8) < 1.1 * one_chunk
