"""Views of series: what they change, and that torch's random state draws them."""

import pytest
import torch

from ordinate.data.series.options import SeriesOptions
from ordinate.data.series.views import RandomCrop
from ordinate.errors import OrdinateError


def draw(views, x, seed=0):
    torch.manual_seed(seed)
    return views(x)


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
