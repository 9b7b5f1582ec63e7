"""The losses on bins agree with their papers' formulas, and with coral-pytorch where it has them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate_papers.heads.binned import dex_losses, dldl_v2_losses
from ordinate_papers.heads.thresholds import corn_losses, extended_binary_losses, rank_probabilities
from tests.papers.heads import brute_force
from tests.papers.heads.brute_force import losses_and_gradients

PAIRS = {
    "dex": (dex_losses, brute_force.dex),
    "dldl_v2": (dldl_v2_losses, brute_force.dldl_v2),
    "or": (extended_binary_losses, brute_force.extended_binary),
    "corn": (corn_losses, brute_force.corn),
}
for_every_loss = pytest.mark.parametrize(("fast", "brute"), PAIRS.values(), ids=PAIRS)


def draw(n=12, outputs=9, seed=0):
    """Logits, and positions that reach two bins past both ends."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(n, outputs, generator=generator, dtype=torch.float64)
    return logits, (outputs + 4) * torch.rand(n, generator=generator, dtype=torch.float64) - 2


@for_every_loss
@pytest.mark.parametrize("seed", range(3))
def test_values_and_gradients_are_those_of_the_formula(fast, brute, seed):
    logits, positions = draw(seed=seed)
    assert positions.min() < 0
    assert positions.max() > 9
    values, gradients = losses_and_gradients(fast, logits, positions)
    wanted, wanted_gradients = losses_and_gradients(brute, logits, positions)
    torch.testing.assert_close(values, wanted, rtol=0, atol=1e-10)
    torch.testing.assert_close(gradients, wanted_gradients, rtol=0, atol=1e-10)


@for_every_loss
def test_a_position_far_outside_counts_as_one_of_the_end_and_logits_may_be_large(fast, brute):
    logits = torch.tensor([[3000.0, -3000.0, 50.0]]).expand(2, -1).clone()
    far, ends = torch.tensor([-1e30, 1e30]), torch.tensor([-0.1, 3.1])
    values, gradients = losses_and_gradients(fast, logits, far)
    assert values.isfinite().all()
    assert gradients.isfinite().all()
    torch.testing.assert_close(values, fast(logits, ends), rtol=0, atol=0)


RANKS = torch.tensor([0, 4, 2, 2, 3, 1, 4, 0])
RANK_LOGITS = 2 * torch.randn(8, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_or_and_coral_are_coral_pytorchs_sum_over_thresholds_divided_by_their_number():
    losses, dataset = pytest.importorskip("coral_pytorch.losses"), pytest.importorskip("coral_pytorch.dataset")
    levels = dataset.levels_from_labelbatch(RANKS, 5, dtype=torch.float64)
    expected = losses.coral_loss(RANK_LOGITS, levels, reduction=None) / 4
    torch.testing.assert_close(extended_binary_losses(RANK_LOGITS, RANKS), expected, rtol=0, atol=1e-10)


def test_corn_is_coral_pytorchs_up_to_the_number_of_questions_in_the_batch():
    losses = pytest.importorskip("coral_pytorch.losses")
    questions = (RANKS + 1).clamp(max=4).sum()
    ours = corn_losses(RANK_LOGITS, RANKS).sum() * 4 / questions
    torch.testing.assert_close(ours, losses.corn_loss(RANK_LOGITS, RANKS, 5), rtol=0, atol=1e-10)


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=5))
def test_probabilities_of_ranks_are_a_distribution_with_the_mean_and_the_median_of_the_thresholds(rows):
    above = torch.tensor(rows, dtype=torch.float64)
    probability = rank_probabilities(above)
    assert (probability >= 0).all()
    torch.testing.assert_close(probability.sum(1), torch.ones(len(rows), dtype=torch.float64), rtol=0, atol=1e-12)
    mean = (probability * torch.arange(4)).sum(1)
    torch.testing.assert_close(mean, above.sum(1), rtol=0, atol=1e-12)
    clear = ((above - 0.5).abs() > 1e-9).all(1)
    median = (probability.cumsum(1)[:, :-1] < 0.5).sum(1)
    assert (median[clear] == (above > 0.5).sum(1)[clear]).all()


def test_probabilities_of_thresholds_in_order_are_only_differenced():
    above = torch.tensor([[0.9, 0.7, 0.2]], dtype=torch.float64)
    expected = torch.tensor([[0.1, 0.2, 0.5, 0.2]], dtype=torch.float64)
    torch.testing.assert_close(rank_probabilities(above), expected, rtol=0, atol=1e-15)
