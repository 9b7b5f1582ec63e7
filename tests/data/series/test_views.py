"""Views of series: what they change, and that torch's random state draws them."""

import pytest
import torch

from ordinate.data.series.options import SeriesOptions
from ordinate.data.series.views import RandomCrop, SeriesViews
from ordinate.errors import OrdinateError


def draw(views, x, seed=0):
    torch.manual_seed(seed)
    return views(x)


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


def test_the_random_state_of_torch_draws_the_views():
    x = torch.randn(9, 2, 20, generator=torch.Generator().manual_seed(0))
    once, again, other = (torch.stack(draw(SeriesViews(), x, seed)) for seed in (1, 1, 2))
    assert torch.equal(once, again)
    assert not torch.equal(once, other)


# random parts

RAMP = torch.arange(10.0).expand(2, 10)


def crop(series, points, times=400):
    torch.manual_seed(0)
    return RandomCrop(points)(series.expand(times, *series.shape))


def test_a_view_is_a_part_of_all_channels():
    views = crop(RAMP, 4)
    assert views.shape == (400, 2, 4)
    assert (views == views[:, :1, :1] + torch.arange(4)).all()


def test_every_part_is_as_likely_and_none_reaches_beyond_the_end():
    padded = torch.nn.functional.pad(RAMP, (0, 7), value=torch.nan)
    starts = crop(padded, 4)[:, 0, 0]
    assert starts.unique().tolist() == list(range(7))
    assert starts.long().bincount().min() > 30  # 57 are expected, with a deviation of 7


def test_a_shorter_series_is_taken_whole_and_padded():
    views = crop(RAMP, 12, times=3)
    assert (views[:, :, :10] == RAMP).all()
    assert views[:, :, 10:].isnan().all()


def test_a_missing_point_of_one_channel_does_not_end_a_series():
    series = RAMP.clone()
    series[0, 8:] = torch.nan
    assert crop(series, 4)[:, 1].max() == 9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crop": 0}, "crop: got 0"),
        ({"crop": 2.5}, "crop: got 2.5"),
        ({"crop": 5, "views": 0}, "views: got 0"),
        ({"views": 2}, "views: got 2 without a crop"),
    ],
)
def test_options_that_make_no_crops_are_an_error(options, message):
    with pytest.raises(OrdinateError, match=message):
        SeriesOptions(**options)
