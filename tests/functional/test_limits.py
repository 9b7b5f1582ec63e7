"""Near the ends of its range a loss has its exact value and a finite gradient, or names the limit that was passed."""

import pytest
import torch

from ordinate import functional
from ordinate.errors import OrdinateError
from tests.functional import brute_force

RANKS = torch.tensor([0, 1, 2, 0, 1, 2, 1])
MARGINS = torch.tensor([0.5, 0.8], dtype=torch.float64)
COSINE = {
    "supcr": lambda module, x: module.supcr(x, RANKS, similarity="cosine", temperature=0.5),
    "mmnp": lambda module, x: module.mmnp(x, RANKS, MARGINS),
    "supremix": lambda module, x: module.supremix(
        x, RANKS, temperature=0.5, window=1.0, neg_mix=torch.full((7, 7), 0.3), reduction="mean"
    ),
    "angular_triangle": lambda module, x: module.angular_triangle(x, RANKS, 3),
}
DISTANCE = {name: lambda module, x, name=name: module.supcr(x, RANKS, similarity=name) for name in ("neg_l1", "neg_l2")}
for_cosines = pytest.mark.parametrize("loss", COSINE.values(), ids=COSINE)
for_distances = pytest.mark.parametrize("loss", DISTANCE.values(), ids=DISTANCE)
for_all = pytest.mark.parametrize("loss", (COSINE | DISTANCE).values(), ids=COSINE | DISTANCE)


def draw(scale=1.0, dtype=torch.float64):
    return (brute_force.embeddings(7).detach().double() * scale).to(dtype).requires_grad_()


def gradient(loss, module, x):
    value = loss(module, x)
    return value.detach(), torch.autograd.grad(value, x)[0]


@for_cosines
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-40, 1e40, 1e149])
def test_a_cosine_does_not_depend_on_the_scale(loss, scale):
    value, slope = gradient(loss, functional, draw())
    scaled, scaled_slope = gradient(loss, functional, draw(scale))
    torch.testing.assert_close(scaled, value, rtol=1e-12, atol=0)
    torch.testing.assert_close(scaled_slope * scale, slope, rtol=1e-9, atol=1e-15)


@for_cosines
@pytest.mark.parametrize(("dtype", "scale"), [(torch.float64, 1e-310), (torch.float32, 1e-41)])
def test_a_norm_whose_gradient_would_be_infinite_is_refused(loss, dtype, scale):
    with pytest.raises(OrdinateError, match="embeddings: got a norm below"):
        loss(functional, draw(scale, dtype))


@for_all
def test_values_whose_squares_leave_float64_are_refused(loss):
    with pytest.raises(OrdinateError, match=r"embeddings: got values of 2.*e\+200, expected at most 1e\+150"):
        loss(functional, draw(1e200 / float(draw().abs().max()) * 2))


@for_distances
@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e4, 1e8])
def test_distances_of_any_size_are_those_of_brute_force(loss, scale):
    value, slope = gradient(loss, functional, draw(scale))
    expected, expected_slope = gradient(loss, brute_force, draw(scale))
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(slope, expected_slope, rtol=1e-5, atol=1e-9)


@for_distances
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_exponents_that_leave_no_digit_of_the_gradient_are_refused(loss, dtype):
    with pytest.raises(
        OrdinateError, match=r"temperature: got 2 for similarities as large as .*e\+2., expected at least"
    ):
        loss(functional, draw(1e26, dtype))
    far = draw(1.0, dtype).detach() + 1e12  # from 0, not from each other
    loss(functional, far.requires_grad_())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_nor_may_a_temperature_be_so_high_that_the_sums_of_large_similarities_are_infinite(dtype):
    large = 1e37 * torch.randn(7, 4, generator=torch.Generator().manual_seed(0))
    with pytest.raises(OrdinateError, match=r"temperature: got 1e\+300, expected at most 1e\+18"):
        functional.supcr(large.to(dtype), RANKS, similarity="neg_l1", temperature=1e300)
    assert torch.isfinite(functional.supcr(large.to(dtype) / 1e10, RANKS, similarity="neg_l1", temperature=1e18))


def test_nor_may_a_temperature_be_so_low():
    for loss in (
        lambda x: functional.supcr(x, RANKS, similarity="cosine", temperature=1e-12),
        lambda x: functional.supremix(x, RANKS, temperature=1e-12, window=1.0),
    ):
        with pytest.raises(OrdinateError, match="temperature: got 1e-12 for similarities as large as 1, expected"):
            loss(draw())


@pytest.mark.parametrize("name", ["labels", "ref_labels"])
def test_whole_numbers_that_float64_does_not_tell_apart_are_refused(name):
    labels = torch.arange(7) + 2**53
    given = {"labels": labels} if name == "labels" else {"labels": RANKS, "ref_emb": draw(), "ref_labels": labels}
    with pytest.raises(OrdinateError, match=f"{name}: got whole numbers past 2"):
        functional.supcr(draw(), **given)
    functional.supcr(draw(), labels - 7)


def test_weights_and_margins_are_no_larger_than_float32_holds_of_their_products():
    for weights in (torch.full((7,), 1e13), torch.full((7,), 1e300, dtype=torch.float64)):
        with pytest.raises(OrdinateError, match=r"weights: got 1e\+.*, expected at most 1e\+12"):
            functional.supcr(draw(), RANKS, weights=weights)
    with pytest.raises(OrdinateError, match=r"margins: got .*, expected values above 0, of at most 1e\+12"):
        functional.mmnp(draw(), RANKS, MARGINS * 1e13)
    value = functional.mmnp(draw(dtype=torch.float32), RANKS, MARGINS * 1e12, weights=torch.full((7,), 1e12))
    assert value.isfinite()


def test_a_heavy_weight_takes_a_norm_that_its_gradient_can_be_divided_by():
    x = draw(1e-30, torch.float32)
    functional.mmnp(x, RANKS, MARGINS)
    with pytest.raises(OrdinateError, match="embeddings: got a norm below"):
        functional.mmnp(x, RANKS, MARGINS, weights=torch.full((7,), 1e12))


def test_targets_far_apart_are_contrasted_in_float64_or_refused():
    targets, options = torch.linspace(-1, 1, 7, dtype=torch.float64), {"temperature": 0.5, "window": 1e300}
    x = draw(dtype=torch.float32)
    expected = functional.supremix(x, targets, neg_mix=torch.full((7, 7), 0.3), **options)
    for scale in (1e40, 1e140):
        value = functional.supremix(x, targets * scale, neg_mix=torch.full((7, 7), 0.3), **options)
        assert value < expected  # without the 1 of 1 + |y - y'|
        assert value.isfinite()
    with pytest.raises(OrdinateError, match="labels: their range exceeds that of their dtype"):
        functional.supremix(x, targets * 1e160, **options)
