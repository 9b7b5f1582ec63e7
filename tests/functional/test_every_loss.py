"""What every loss promises, whatever its formula."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.functional.both_ways import compiled_and_not  # noqa: F401
from tests.functional.brute_force import embeddings
from tests.functional.every_loss import for_every_cosine_loss, for_every_loss, supcr

RANKS = torch.tensor([0, 1, 2, 3, 4, 0, 2, 4, 1, 4])
REFERENCE_RANKS = torch.tensor([4, 0, 1, 2, 2, 4, 0])
batches = st.tuples(st.integers(0, 999), st.permutations(range(10)))
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
few = settings(max_examples=10)  # Each has an order, a rotation or lengths of its own for all samples.
for_every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def rotation(d, seed):
    return torch.linalg.qr(embeddings(d, d, seed=seed).detach())[0]


@for_every_loss
@few
@given(batch=batches)
def test_the_order_of_the_batch_does_not_change_the_loss(loss, batch):
    seed, order = batch
    z = embeddings(10, seed=seed)
    torch.testing.assert_close(loss(z[order], RANKS[order]), loss(z, RANKS), rtol=0, atol=1e-12)
    permuted, values = loss(z[order], RANKS[order], reduction="none"), loss(z, RANKS, reduction="none")
    torch.testing.assert_close(permuted, values[order], rtol=0, atol=1e-11)
    contrasted = loss(z[:3], RANKS[:3], ref_emb=z[order], ref_labels=RANKS[order])
    torch.testing.assert_close(contrasted, loss(z[:3], RANKS[:3], ref_emb=z, ref_labels=RANKS), rtol=0, atol=1e-12)


@for_every_loss
@few
@given(seed=st.integers(0, 999), d=st.integers(2, 7))
def test_a_rotation_of_the_embeddings_does_not_change_the_loss(loss, seed, d):
    z = embeddings(10, d, seed=seed)
    torch.testing.assert_close(loss(z @ rotation(d, seed + 1), RANKS), loss(z, RANKS), rtol=0, atol=1e-11)


@for_every_cosine_loss
@few
@given(seed=st.integers(0, 999), scale=st.lists(st.floats(1e-6, 1e6), min_size=10, max_size=10))
def test_the_length_of_an_embedding_does_not_change_a_cosine_loss(loss, seed, scale):
    z = embeddings(10, seed=seed)
    scaled = z * torch.tensor(scale, dtype=torch.float64)[:, None]
    torch.testing.assert_close(loss(scaled, RANKS), loss(z, RANKS), rtol=0, atol=1e-11)


@for_every_loss
def test_a_whole_weight_is_an_anchor_given_that_often(loss):
    weights, z = torch.tensor([1, 2, 0, 3, 1, 1, 0, 2, 1, 5]), embeddings(10)
    references = {"ref_emb": embeddings(7, seed=1), "ref_labels": REFERENCE_RANKS}
    weighted = loss(z, RANKS, weights=weights, **references)
    repeated = loss(z.repeat_interleave(weights, 0), RANKS.repeat_interleave(weights), **references)
    torch.testing.assert_close(weighted, repeated, rtol=0, atol=1e-12)


@for_every_loss
def test_the_gradient_is_that_of_finite_differences(loss):
    z, refs = embeddings(10, 3), embeddings(7, 3, seed=1)
    weights = torch.linspace(0, 2, 10)
    tight = {"atol": 1e-7, "rtol": 1e-6}
    assert torch.autograd.gradcheck(lambda e: loss(e, RANKS), z, **tight)
    assert torch.autograd.gradcheck(lambda e: loss(e, RANKS, weights=weights, reduction="none"), z, **tight)
    assert torch.autograd.gradcheck(
        lambda e, r: loss(e, RANKS, ref_emb=r, ref_labels=REFERENCE_RANKS), (z, refs), **tight
    )


BASE = embeddings(10, 4).detach()
DEGENERATE = {
    "norm_1e4": BASE / BASE.norm(dim=1, keepdim=True) * 1e4,
    "norms_from_1e-4_to_1e4": BASE * torch.logspace(-4, 4, 10, dtype=torch.float64)[:, None],
    "norm_1e-20": BASE * 1e-20,
    "all_coincide": BASE[:1].expand(10, 4),
    "two_coincide": BASE[[0, 0, 1, 2, 3, 4, 5, 6, 7, 8]],
    "ranks_coincide": BASE[RANKS],
    "opposite": torch.cat([BASE[:5], -BASE[:5]]),
    "one_zero": BASE * (torch.arange(10) != 3)[:, None],
    "all_zero": torch.zeros(10, 4, dtype=torch.float64),
    "nearly_coincide": 100 + 1e-3 * BASE,
}


@for_every_dtype
def test_supcr_of_one_dimension_has_a_finite_loss_and_gradient(dtype):
    z = BASE[:, :1].to(dtype).requires_grad_()
    value = supcr(z, RANKS)
    assert bool(value.isfinite())
    assert bool(torch.autograd.grad(value, z)[0].isfinite().all())


@pytest.mark.pairwise
@for_every_loss
@for_every_dtype
@pytest.mark.parametrize("z", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_embeddings_have_a_finite_loss_and_gradient(loss, dtype, z):
    z = z.to(dtype).requires_grad_()
    value = loss(z, RANKS)
    (gradient,) = torch.autograd.grad(value, z)
    assert bool(value.isfinite())
    assert bool(gradient.isfinite().all())


values = st.just(0.0) | st.floats(1e-20, 5e3) | st.floats(-5e3, -1e-20)


@for_every_loss
@given(z=st.lists(values, min_size=40, max_size=40))
def test_every_float32_embedding_up_to_a_norm_of_1e4_has_a_finite_loss_and_gradient(loss, z):
    z = torch.tensor(z).reshape(10, 4).requires_grad_()
    value = loss(z, RANKS)
    assert bool(value.isfinite())
    assert bool(torch.autograd.grad(value, z)[0].isfinite().all())


@pytest.mark.pairwise
@for_every_loss
@for_every_dtype
@pytest.mark.parametrize("reduction", ["default", "sum", "none"])
def test_the_loss_is_the_float64_loss_in_float32_at_least_and_the_gradient_has_the_dtype_of_the_embeddings(
    loss, dtype, reduction
):
    options = {} if reduction == "default" else {"reduction": reduction}
    z = embeddings(10).detach().to(dtype).requires_grad_()
    exact = z.detach().double().requires_grad_()
    value, expected = loss(z, RANKS, **options), loss(exact, RANKS, **options)
    assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    torch.testing.assert_close(value.double(), expected, rtol=1e-6, atol=0)
    gradients = [torch.autograd.grad(v.sum(), e)[0] for v, e in ((value, z), (expected, exact))]
    assert gradients[0].dtype == dtype
    step = max(1e-6, torch.finfo(dtype).eps)  # float32 is computed in float32
    torch.testing.assert_close(gradients[0].double(), gradients[1], rtol=step, atol=step * gradients[1].abs().max())


for_half_precision = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)


@for_every_loss
@for_half_precision
def test_a_value_past_the_range_of_float16_is_exact(loss, dtype):
    z, references = embeddings(10).detach().to(dtype), embeddings(7, seed=1).detach().to(dtype)
    weights = torch.full((10,), 1e6)
    for against in ({}, {"ref_emb": references, "ref_labels": REFERENCE_RANKS}):
        exact = {name: value.double() if name == "ref_emb" else value for name, value in against.items()}
        value = loss(z, RANKS, weights=weights, reduction="sum", **against)
        expected = loss(z.double(), RANKS, weights=weights, reduction="sum", **exact)
        assert expected > torch.finfo(torch.float16).max
        torch.testing.assert_close(value.double(), expected, rtol=1e-6, atol=0)


@pytest.mark.pairwise
@for_every_loss
@for_half_precision
@pytest.mark.parametrize("reduction", ["default", "none"])
def test_a_gradient_scaled_as_in_mixed_precision_training_is_exact(loss, dtype, reduction):
    options = {} if reduction == "default" else {"reduction": reduction}
    z = embeddings(10).detach().to(dtype).requires_grad_()
    exact = z.detach().double().requires_grad_()
    gradients = []
    for e in (z, exact):
        value = loss(e, RANKS, **options).mean() / 100  # gradients of such a size that they fit when they are scaled
        gradients.append(torch.autograd.grad(value * 65536, e)[0].double())
    assert gradients[1].abs().max() < torch.finfo(torch.float16).max
    step = torch.finfo(dtype).eps
    torch.testing.assert_close(*gradients, rtol=step, atol=step * gradients[1].abs().max())


@for_every_loss
def test_autocast_does_not_change_the_loss(loss):
    z = embeddings(10).detach().float().requires_grad_()
    plain = loss(z, RANKS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = loss(z, RANKS)
    assert cast == plain
    assert torch.equal(*(torch.autograd.grad(value, z)[0] for value in (cast, plain)))


@for_every_loss
def test_the_loss_leaves_its_arguments_as_they_were(loss):
    given = {"weights": torch.ones(10), "ref_emb": embeddings(7).detach(), "ref_labels": REFERENCE_RANKS.clone()}
    z, ranks = embeddings(10).detach(), RANKS.clone()
    before = [x.clone() for x in (z, ranks, *given.values())]
    loss(z, ranks, **given)
    loss(z, ranks)
    assert all(map(torch.equal, before, (z, ranks, *given.values())))
