"""Heads on bins: which bins the targets get, and what predicts them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import OrdinateError
from ordinate.heads import build_head
from ordinate_papers.extension import ON_BINS
from ordinate_papers.heads import equal_bins
from ordinate_papers.heads.thresholds import corn_above
from tests.papers.heads import brute_force

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(20, 5, generator=GENERATOR, dtype=torch.float64)
Y = torch.randn(20, 2, generator=GENERATOR, dtype=torch.float64) * torch.tensor([3.0, 40.0]) + 7
BRUTE = {"dex": brute_force.dex, "dldl_v2": brute_force.dldl_v2,
         "or": brute_force.extended_binary, "corn": brute_force.corn}  # fmt: skip
for_every_name = pytest.mark.parametrize("name", ON_BINS)


def head_for(name, targets=Y, **options):
    torch.manual_seed(0)
    head = build_head(name, 5, targets.shape[1], **options).double()
    head.standardise(targets)
    return head


# which bins


def test_whole_numbers_get_a_bin_each():
    ages = torch.tensor([[101.0], [0.0], [55.0], [56.0]])
    lowest, size, counts = equal_bins(ages)
    assert (lowest.tolist(), size.tolist(), counts) == ([0], [1], [102])


def test_whole_numbers_around_their_mean_in_float32_do_too():
    ages = torch.arange(0.0, 102.0)[:, None] - 37.123456789
    _, size, counts = equal_bins(ages)
    assert counts == [102]
    assert size.item() == pytest.approx(1, abs=1e-6)


def test_other_targets_get_128_bins():
    lowest, size, counts = equal_bins(Y)
    assert counts == [128, 128]
    torch.testing.assert_close(lowest, Y.min(0).values, rtol=0, atol=0)
    torch.testing.assert_close(lowest + 127 * size, Y.max(0).values, rtol=0, atol=1e-12)


def test_a_dimension_with_one_value_or_in_one_bin_has_two():
    _, size, counts = equal_bins(torch.tensor([[4.0, 1.0], [4.0, 2.0]]), None)
    assert (size.tolist(), counts) == ([1, 1], [2, 2])
    assert equal_bins(torch.tensor([[4.0], [4.1]]), 5.0)[2] == [2]


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30))
def test_every_target_lies_within_half_a_bin_of_a_centre(values):
    targets = torch.tensor(values, dtype=torch.float64)[:, None]
    lowest, size, (count,) = equal_bins(targets)
    assert 2 <= count <= 128
    position = (targets[:, 0] - lowest) / size
    assert position.min() >= 0
    assert position.max() <= count - 0.5


@pytest.mark.parametrize(
    ("bin_size", "message"),
    [
        (0.0, "bin_size: got 0.0, expected a finite number above 0"),
        ("wide", "bin_size: got 'wide', expected a finite number above 0"),
        ((1.0, -1.0), "bin_size: got -1.0"),
        ((1.0, 1.0, 1.0), "bin_size: got 3 sizes for targets of 2 dimensions"),
        (1e-6, "bin_size: got 1e-06, makes more than 65536 bins"),
    ],
)
def test_a_size_that_cannot_be_is_refused(bin_size, message):
    with pytest.raises(OrdinateError, match=message):
        equal_bins(Y, bin_size)
    with pytest.raises(OrdinateError, match=message):
        build_head("dex", 5, 2, bin_size=bin_size).standardise(Y)


# what predicts them


@for_every_name
def test_the_loss_is_the_formulas_mean_over_samples_and_dimensions(name):
    head = head_for(name, bin_size=(0.5, 10.0))
    total = 0.0
    for dimension, linear in enumerate(head.linears):
        position = (Y[:, dimension] - Y[:, dimension].min()) / (0.5, 10.0)[dimension]
        losses = [BRUTE[name](row, float(at)) for row, at in zip(linear(X), position, strict=True)]
        total = total + torch.stack(losses).mean() / 2
    torch.testing.assert_close(head.loss(X, Y), total, rtol=0, atol=1e-6)  # lowest and size are kept in float32


@for_every_name
def test_weights_multiply_each_samples_loss(name):
    head = head_for(name)
    weights = torch.arange(20.0) / 10
    losses = torch.stack([head.loss(X[i : i + 1], Y[i : i + 1]) for i in range(20)])
    torch.testing.assert_close(head.loss(X, Y, weights), (weights * losses).mean(), rtol=0, atol=1e-12)
    torch.testing.assert_close(head.loss(X, Y, torch.ones(20)), head.loss(X, Y), rtol=0, atol=1e-12)


def set_logits(head, logits):
    """Let every embedding have these logits in every dimension."""
    with torch.no_grad():
        for linear in head.linears:
            linear.weight.zero_()
            linear.bias.copy_(logits)


@pytest.mark.parametrize(
    ("name", "logits", "bins_up"),
    [
        ("dex", [0.0, 0.0, 0.0, 0.0, 0.0], 2.0),
        ("dldl_v2", [-99.0, 0.0, -99.0, -99.0, 0.0], 2.5),
        ("or", [5.0, -1.0, 0.1, -3.0], 2.0),  # as many as are passed, whichever they are
        ("corn", [3.0, 3.0, -0.1, 3.0], 2.0),
        ("corn", [0.5, 0.5, 0.5, 0.5], 1.0),  # the product falls below one half
    ],
)
def test_predictions_are_so_many_bins_up_from_the_lowest_target(name, logits, bins_up):
    targets = torch.tensor([[10.0, -1.0], [14.0, 7.0]], dtype=torch.float64)
    head = head_for(name, targets, bin_size=(1.0, 2.0))
    set_logits(head, torch.tensor(logits))
    expected = torch.tensor([[10 + bins_up, -1 + 2 * bins_up]]).double().expand(20, -1)
    torch.testing.assert_close(head(X), expected, rtol=0, atol=1e-9)


def test_corn_starts_at_the_distribution_of_the_training_targets():
    ages = torch.tensor([20.0, 21, 21, 22, 23, 23, 23, 30, 40, 60], dtype=torch.float64).repeat(2000)[:, None]
    head = head_for("corn", ages)
    with torch.no_grad():
        head.linears[0].weight.zero_()
    above = corn_above(head.linears[0](X[:1]))[0]
    shares = [(ages > 20.5 + k).double().mean().item() for k in range(40)]
    assert above.tolist() == pytest.approx(shares, abs=1e-3)
    assert head(X[:1]).item() == 23  # the median


@for_every_name
def test_targets_outside_the_training_range_have_a_loss_and_predictions_stay_inside(name):
    head = head_for(name)
    outside = torch.stack([Y[:, 0] - 1e6, Y[:, 1] + 1e30], dim=1)
    loss = head.loss(X, outside)
    gradients = torch.autograd.grad(loss, list(head.parameters()))
    assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients)
    predicted = head(1e3 * X)
    assert (predicted >= Y.min(0).values - 1e-5).all()
    assert (predicted <= Y.max(0).values + 1e-5).all()


@for_every_name
def test_the_unit_of_the_targets_does_not_change_the_loss(name):
    metres, feet = head_for(name), head_for(name, Y / 0.3048 + 7)
    torch.testing.assert_close(feet.loss(X, Y / 0.3048 + 7), metres.loss(X, Y), rtol=0, atol=1e-5)
    torch.testing.assert_close(feet(X), metres(X) / 0.3048 + 7, rtol=0, atol=1e-4)


@for_every_name
def test_a_new_head_takes_bins_and_weights_from_the_state(name):
    head, restored = head_for(name, bin_size=(0.3, 7.0)), build_head(name, 5, 2).double()
    restored.load_state_dict(head.state_dict())
    assert torch.equal(restored(X), head(X))
    assert restored.linears[1].bias.dtype == torch.float64


@for_every_name
def test_gradient_steps_fit_targets_that_the_embeddings_hold(name):
    embeddings = torch.linspace(-2, 2, 200, dtype=torch.float64)[:, None].expand(-1, 5)
    targets = 30 + 5 * embeddings[:, :1]
    head = head_for(name, targets, bin_size=2.0)
    optimizer = torch.optim.Adam(head.parameters(), 0.3)
    for _ in range(300):
        optimizer.zero_grad()
        head.loss(embeddings, targets).backward()
        optimizer.step()
    assert (head(embeddings) - targets).abs().mean() < 0.8  # hard bins of 2 alone cost 0.5, the mean predicted 5
