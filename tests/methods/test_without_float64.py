"""Devices without float64, as Apple's GPU: losses and methods train there in float32 alone.

No such device is at hand. The one function that knows them is told that the CPU is one, and every tensor of float64
that an operation takes or makes is an error.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from ordinate import kernels
from ordinate.functional import angular_distance, numerics
from ordinate.functional.global_batch import mean_over_all
from ordinate.methods import CLOC, OTD, SupCR, SupReMix
from ordinate.methods.plain import CrossEntropy
from ordinate.methods.regression import EndToEnd
from ordinate.training.loop import ArrayBatches
from ordinate_papers.methods.dino import DINO, DINORegression
from ordinate_papers.methods.gol import GOL
from ordinate_papers.methods.imbalance import Imbalance
from ordinate_papers.methods.mwr import MWR
from ordinate_papers.methods.ordinal import Ordinal
from ordinate_papers.methods.pairs import PAIR_LOSSES, build_pair_loss
from ordinate_papers.methods.poe import POE, GaussianEncoder
from ordinate_papers.methods.representation import Representation, RepresentationRegression
from ordinate_papers.methods.simclr import NTXentLoss
from tests.functional import every_loss
from tests.functional.brute_force import embeddings
from tests.functional.every_loss import for_every_loss
from tests.methods.examples import DIM, encoder, ranks, targets, train

RANKS = torch.tensor([0, 1, 2, 3, 4, 0, 2, 4, 1, 4])
REFERENCE_RANKS = torch.tensor([4, 0, 1, 2, 2, 4, 0])


class NoFloat64(TorchDispatchMode):
    """Refuse operations that take or make a tensor of float64; numbers that Python holds are none."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in tree_iter((args, kwargs, result)):
            assert not (isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float64), func
        return result


@pytest.fixture
def without_float64(monkeypatch):
    """Inside, the CPU and a CUDA GPU are devices without float64, whose rows no compiled loop takes."""
    monkeypatch.setattr(numerics, "DEVICES_WITHOUT_FLOAT64", ("mps", "cpu", "cuda"))
    monkeypatch.setattr(kernels, "NUMBA", False)
    return NoFloat64()


def test_apples_gpu_is_without_and_others_are_not():
    kinds = {"mps": torch.float32, "cpu": torch.float64, "cuda": torch.float64}
    assert {kind: numerics.accumulation_dtype(torch.device(kind)) for kind in kinds} == kinds


def with_targets(loss, distance):
    """SupCR on labels of two dimensions, which have no order."""
    return lambda z, y, **options: loss(
        z, torch.stack([y, y.flip(0)], 1).float() / 4, label_distance=distance, **options
    )


SUPCR = {
    "neg_l1": lambda z, y, **options: every_loss.supcr(z, y, similarity="neg_l1", **options),
    "few positives": lambda z, y, **options: every_loss.supcr(z, y, num_positives=3, tie_tolerance=0.1, **options),
    "l2": with_targets(every_loss.supcr, "l2"),
    "angular": with_targets(every_loss.supcr, "angular"),
    "callable": with_targets(every_loss.supcr, lambda a, b: (a[:, None] - b).abs().sum(2).long()),
    "cold": lambda z, y, **options: every_loss.supcr(z, y, temperature=0.01, **options),
    "cold supremix": lambda z, y, **options: every_loss.supremix(z, y, temperature=0.02, **options),
    "drawn supremix": lambda z, y, **options: every_loss.supremix(z, y, mix_negatives=False, **options),
    "triplets": lambda z, y, **options: every_loss.angular_triangle(
        z, y, triplets=torch.tensor([[0, 1, 3], [5, 2, 7], [0, 4, 9]]), **options
    ),
}


def held_to_float64(loss, without_float64, reduction):
    options = {} if reduction == "default" else {"reduction": reduction}
    z, exact = embeddings(10).detach().float().requires_grad_(), embeddings(10).detach().float().double()
    exact.requires_grad_()
    weights = torch.linspace(0.5, 2, 10, requires_grad=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numerics, "DEVICES_WITHOUT_FLOAT64", ("mps",))
        expected = loss(exact, RANKS, weights=weights, **options).sum()
        wanted = torch.autograd.grad(expected, (exact, weights))
    with without_float64:
        value = loss(z, RANKS, weights=weights, **options).sum()
        gradients = torch.autograd.grad(value, (z, weights))
    torch.testing.assert_close(value.double(), expected, rtol=1e-5, atol=0)
    for gradient, by_float64 in zip(gradients, wanted, strict=True):
        largest = by_float64.abs().max().item()
        torch.testing.assert_close(gradient.double(), by_float64.double(), rtol=1e-4, atol=1e-5 * largest)


@for_every_loss
@pytest.mark.parametrize("reduction", ["default", "sum", "none"])
def test_every_loss_and_its_gradient_are_those_of_float64(loss, reduction, without_float64):
    held_to_float64(loss, without_float64, reduction)


@pytest.mark.parametrize("loss", SUPCR.values(), ids=SUPCR)
def test_every_way_of_a_loss_is_that_of_float64(loss, without_float64):
    held_to_float64(loss, without_float64, "default")


NEAR = {
    "all coincide": torch.ones(10, 4),
    "ranks coincide": embeddings(10, 4).detach().float()[RANKS],
    "nearly coincide": 100 + 1e-3 * embeddings(10, 4).detach().float(),
    "norm 1e4": 1e4 * embeddings(10, 4).detach().float(),
    "opposite": torch.cat([embeddings(5, 4).detach(), -embeddings(5, 4).detach()]).float(),
    "zero": torch.zeros(10, 4),
}


@for_every_loss
@pytest.mark.parametrize("z", NEAR.values(), ids=NEAR)
def test_where_float32_falls_back_to_float64_elsewhere_the_loss_is_still_finite(loss, z, without_float64):
    z = z.clone().requires_grad_()
    with without_float64:
        value = loss(z, RANKS, ref_emb=z.detach()[:7] + 0, ref_labels=REFERENCE_RANKS)
        (gradient,) = torch.autograd.grad(value + loss(z, RANKS), z)
    assert bool(value.isfinite())
    assert bool(gradient.isfinite().all())


def test_angles_and_means_of_processes_are_float32(without_float64):
    a, b = torch.randn(5, 3, requires_grad=True), torch.randn(5, 3)
    with without_float64:
        angular_distance(a, b).sum().backward()
        assert mean_over_all(torch.tensor(2.0), 3, None) == 2


def balance(data):
    return Imbalance(lds="sqrt_inverse", fds=True, ranksim=1.0, bin_size=1.0).build(data.y, DIM)


def regressor(kind, *arguments, **options):
    method, data = kind(encoder(), DIM, *arguments, epochs=(1, 1), **options), targets()
    method.head.standardise(data.y)
    if hasattr(method, "fit_bins"):
        method.fit_bins(data.y)
    return method, data


def end_to_end():
    method, data = EndToEnd(encoder(), DIM, epochs=1), targets()
    method.head.standardise(data.y)
    return method, data


def two_views(x):
    return x, x + 0.1


def poe():
    return POE(GaussianEncoder(encoder(0, torch.nn.BatchNorm1d(32)), DIM // 2), 4, epochs=1), ranks()


METHODS = {
    "cloc": lambda: (CLOC(encoder(), DIM, 4, phase_epochs=(1, 1)), ranks()),
    "otd": lambda: (OTD(encoder(), 4, epochs=1), ranks()),
    "otd by rank": lambda: (OTD(encoder(), 4, epochs=1, by_rank=True), ranks()),
    "supcr": lambda: regressor(SupCR),
    "supcr balanced": lambda: regressor(SupCR, scheme="regularise", balance=balance(targets())),
    "supcr views": lambda: regressor(SupCR, augment=lambda x: x + 0.1 * torch.randn_like(x)),
    **{
        f"supcr {head}": lambda head=head: regressor(SupCR, head_loss=head) for head in ("dex", "dldl_v2", "or", "corn")
    },
    "supremix": lambda: regressor(SupReMix, window=1.0),
    "supremix balanced": lambda: regressor(SupReMix, window=1.0, balance=balance(targets())),
    "dino": lambda: (DINO(encoder(), DIM, draw=two_views, epochs=1), ranks()),
    "dino regression": lambda: regressor(DINORegression, draw=two_views),
    "gol": lambda: (GOL(encoder(), DIM, 4, epochs=1), ranks()),
    "mwr": lambda: (MWR(encoder(), DIM, epochs=1), ranks()),
    "poe": poe,
    "cross-entropy": lambda: (CrossEntropy(encoder(), DIM, 4, epochs=1), ranks()),
    **{
        f"ordinal {loss}": lambda loss=loss: (Ordinal(encoder(), DIM, 4, loss=loss, epochs=1), ranks())
        for loss in ("or", "corn", "coral")
    },
    **{
        loss: lambda loss=loss: (Representation(encoder(), DIM, build_pair_loss(loss), epochs=1), ranks())
        for loss in PAIR_LOSSES
    },
    "simclr": lambda: (Representation(encoder(), DIM, NTXentLoss(), draw=two_views, epochs=1), ranks()),
    "supcon regression": lambda: regressor(RepresentationRegression, build_pair_loss("supcon"), bin_size=3.0),
    "end to end": end_to_end,
}


@pytest.mark.parametrize("build", METHODS.values(), ids=METHODS)
def test_every_method_trains_and_validates(build, without_float64):
    method, data = build()
    state = [*method.parameters(), *method.buffers()]
    assert not any(tensor.dtype == torch.float64 for tensor in state)
    held_out = ArrayBatches(data.x.flip(0), data.y.flip(0))
    with without_float64:
        history = train(method, data, held_out)
    assert len(history) == method.epochs
