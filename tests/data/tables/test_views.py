"""Views of rows: what they change, and that torch's random state draws them."""

import torch

from ordinate.data.tables.views import TableViews

ROWS = torch.arange(3000.0).reshape(1000, 3)  # every value occurs once


def draw(views, x, seed=0):
    torch.manual_seed(seed)
    return views(x)


def test_the_first_view_of_a_row_is_the_row_itself():
    assert draw(TableViews([1, 1, 1]), ROWS)[0] is ROWS


def test_corrupted_values_come_from_other_rows_of_the_same_column():
    corrupted = draw(TableViews([1, 1, 1]), ROWS)[1]
    assert (corrupted % 3 == ROWS % 3).all()
    assert len(corrupted[:, 0].unique()) < 1000


def test_so_large_a_share_of_every_column_is_replaced():
    changed = (draw(TableViews([1, 1, 1], rate=0.6), ROWS)[1] != ROWS).double().mean(0)
    torch.testing.assert_close(changed, torch.full((3,), 0.6, dtype=torch.float64), rtol=0, atol=0.06)
    assert (draw(TableViews([1, 1, 1], rate=0.0), ROWS)[1] == ROWS).all()


def test_inputs_of_one_column_are_replaced_together():
    codes = torch.eye(4)[torch.randint(0, 4, (200,), generator=torch.Generator().manual_seed(0))]
    corrupted = draw(TableViews([4]), codes)[1]
    assert (corrupted.sum(1) == 1).all()
    assert not torch.equal(corrupted, codes)


def test_the_random_state_of_torch_draws_the_views():
    once, again, other = (torch.stack(draw(TableViews([1, 2]), ROWS, seed)) for seed in (1, 1, 2))
    assert torch.equal(once, again)
    assert not torch.equal(once, other)
