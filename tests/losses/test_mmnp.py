import pytest
import torch
from scipy import stats

from ordinate.errors import OrdinateError
from ordinate.functional import mmnp
from ordinate.losses import MMNPLoss
from tests.functional.brute_force import embeddings

Z, RANKS = embeddings(9), torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 3])
NAN, INF = float("nan"), float("inf")


def learn(loss, steps=3, learning_rate=0.1):
    optimizer = torch.optim.SGD(loss.parameters(), lr=learning_rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(Z, RANKS).backward()
        optimizer.step()


# learned margins


@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_learned_margins_start_uniform_from_a_half_to_one_above_the_floor(floor):
    torch.manual_seed(0)
    start = MMNPLoss(5001, floor=floor).margins.detach().numpy() - floor
    assert start.shape == (5000,)
    assert start.min() >= 0.5 - 1e-6
    assert start.max() <= 1.0 + 1e-6
    assert stats.kstest(start, stats.uniform(0.5, 0.5).cdf).pvalue > 0.05


def test_the_hinge_shrinks_learned_margins_and_never_below_the_floor():
    loss = MMNPLoss(4, floor=0.2)
    start = loss.margins.detach()
    learn(loss)
    after_a_while = loss.margins.detach()
    learn(loss, steps=50, learning_rate=100.0)
    assert bool((after_a_while < start).all())
    assert bool((loss.margins >= 0.2).all())
    assert bool((loss.margins < after_a_while).all())


def test_the_gradient_of_the_margins_reaches_what_is_learned():
    loss = MMNPLoss(4)
    margins = loss.margins.detach().requires_grad_()
    (by_margin,) = torch.autograd.grad(mmnp(Z, RANKS, margins), margins)
    loss(Z, RANKS).backward()
    slope = 1 - torch.exp(-margins.detach())  # of softplus, where softplus is the margin
    torch.testing.assert_close(loss.raw.grad, by_margin * slope, rtol=1e-5, atol=0)


# fixed margins


def test_margins_that_are_all_fixed_leave_nothing_to_learn():
    loss = MMNPLoss(3, margins={(1, 2): 0.25, (0, 1): 1.5})
    assert loss.margins.tolist() == [1.5, 0.25]
    assert not loss.margins.requires_grad
    assert not any(parameter.requires_grad for parameter in loss.parameters())


# shared and frozen margins


@pytest.mark.parametrize("optimizer", [torch.optim.AdamW, torch.optim.SGD])
def test_frozen_margins_stay_also_where_an_optimizer_keeps_gradients(optimizer):
    loss = MMNPLoss(4)
    embedded = Z.detach().clone().requires_grad_()
    steps = optimizer([{"params": [embedded]}, {"params": loss.parameters()}], lr=0.1)
    for step in range(6):
        steps.zero_grad(set_to_none=False)
        loss(embedded, RANKS).backward()
        steps.step()
        if step == 2:
            loss.freeze()
            frozen = loss.margins.clone()
    assert torch.equal(loss.margins, frozen)


def test_a_shared_margin_is_one_value_for_all_boundaries_that_are_not_fixed():
    loss = MMNPLoss(5, margins={(2, 3): 0.9}, shared=True)
    start = loss.margins.detach()
    learn(loss)
    for margins in (start, loss.margins):
        assert margins[0] == margins[1] == margins[3]
        assert margins[2] == torch.tensor(0.9)
    assert loss.margins[0] < start[0]
    assert loss.raw.numel() == 1


def test_frozen_margins_stay_and_pass_no_gradient():
    loss, z = MMNPLoss(4), embeddings(9)
    start = loss.margins.detach()
    loss.freeze()
    value = loss(z, RANKS)
    value.backward()
    assert loss.raw.grad is None
    assert z.grad.any()
    assert torch.equal(loss.margins, start)
    assert not loss.margins.requires_grad


# state


@pytest.mark.parametrize("options", [{}, {"margins": {(1, 2): 0.8}}, {"shared": True, "floor": 0.1}], ids=str)
def test_the_state_holds_the_margins(options):
    loss = MMNPLoss(4, **options)
    learn(loss)
    restored = MMNPLoss(4, **options)
    assert not torch.equal(restored.margins, loss.margins)
    restored.load_state_dict(loss.state_dict())
    assert torch.equal(restored.margins, loss.margins)


# errors


@pytest.mark.parametrize("boundary", [(0, 2), (1, 0), (1, 1), (3, 4), (-1, 0), (0, 1, 2), (0,), 1, "01", None])
def test_a_boundary_lies_between_two_adjacent_ranks(boundary):
    with pytest.raises(
        OrdinateError, match=r"margins: got boundary .*, expected two adjacent ranks \(h, h \+ 1\) from 0 to 3"
    ):
        MMNPLoss(4, margins={boundary: 0.5})


@pytest.mark.parametrize("margins", [{("0", "1"): 0.5}, {(0.0, 1.0): 0.5}, {(0.5, 1.5): 0.5}, [0.5, 0.5, 0.5]], ids=str)
def test_margins_that_are_no_boundaries_of_ranks_are_an_error(margins):
    with pytest.raises(OrdinateError, match="margins"):
        MMNPLoss(4, margins=margins)


@pytest.mark.parametrize("margin", [0, -0.5, NAN, INF, "0.5", None, True])
def test_a_fixed_margin_is_a_number_above_0(margin):
    with pytest.raises(OrdinateError, match=r"margins\[\(0, 1\)\]: got .*, expected a .*number above 0"):
        MMNPLoss(4, margins={(0, 1): margin})


@pytest.mark.parametrize("margin", [0.1, 2.5])
def test_a_fixed_margin_that_no_training_reaches_is_an_error(margin):
    with pytest.raises(OrdinateError, match=rf"margins\[\(0, 1\)\]: got {margin}, expected from 0.2, the floor, to 2,"):
        MMNPLoss(4, margins={(0, 1): margin}, floor=0.2)
