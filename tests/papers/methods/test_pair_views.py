"""Views of rows and series: what they change, and that torch's random state draws them."""

import pytest
import torch

from ordinate_papers.methods.pair_views import SeriesViews, TableViews

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


# series


def test_a_part_of_a_padded_series_is_one_of_the_series_without_the_padding():
    ramp = torch.linspace(0, 1, 50).expand(200, 2, 50)
    padded = torch.nn.functional.pad(ramp, (0, 13), value=torch.nan)
    part = SeriesViews(noise=0.0).part
    view = draw(part, padded)
    assert view[:, :, 50:].isnan().all()
    torch.testing.assert_close(view[:, :, :50], draw(part, ramp), rtol=0, atol=0)


def test_a_part_of_a_series_is_at_least_half_of_it_and_keeps_its_order():
    ramp = torch.linspace(0, 1, 50).expand(200, 2, 50)
    first, second = draw(SeriesViews(noise=0.0), ramp)
    for view in (first, second):
        assert (view[:, 0] == view[:, 1]).all()
        extent = view[:, 0, -1] - view[:, 0, 0]
        assert ((extent >= 0.5 - 1e-6) & (extent <= 1)).all()
        assert extent.std() > 0.1
        steps = view[:, 0].diff()
        torch.testing.assert_close(steps, (extent / 49)[:, None].expand_as(steps), rtol=0, atol=1e-5)
    assert not torch.equal(first, second)


def test_the_whole_series_without_noise_is_the_series():
    x = torch.randn(5, 2, 20, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(draw(SeriesViews(least=1.0, noise=0.0), x)[0], x, rtol=0, atol=1e-5)


def test_noise_has_its_deviation():
    view, _ = draw(SeriesViews(noise=0.3), torch.zeros(500, 1, 40))
    assert view.std().item() == pytest.approx(0.3, abs=0.01)


def test_a_series_of_one_point_has_views():
    assert draw(SeriesViews(noise=0.0), torch.ones(3, 2, 1))[0].tolist() == torch.ones(3, 2, 1).tolist()


def test_the_random_state_of_torch_draws_views_of_series():
    x = torch.randn(9, 2, 20, generator=torch.Generator().manual_seed(0))
    once, again, other = (torch.stack(draw(SeriesViews(), x, seed)) for seed in (1, 1, 2))
    assert torch.equal(once, again)
    assert not torch.equal(once, other)
