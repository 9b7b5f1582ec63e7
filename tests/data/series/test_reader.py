"""Series against scikit-learn's scaler, channel by channel."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.preprocessing import StandardScaler

from ordinate.data.series.reader import ROWS_AT_ONCE, SeriesScaler, series_lengths
from ordinate.data.ts_files import stack_series
from ordinate.errors import OrdinateError

points = st.integers(-800, 800).map(lambda x: x / 8)
series = arrays(np.float64, array_shapes(min_dims=3, max_dims=3, max_side=5), elements=points | st.just(np.nan))


def by_channel(values):
    """(n, channels, length) as the table (n * length, channels)."""
    return np.moveaxis(values, 1, 2).reshape(-1, values.shape[1])


def beyond(values):
    """(n, 1, length) where a series that ends before has no point in any channel, but for the first."""
    empty = np.isnan(values).all(axis=1)
    padding = np.array([[empty_one[place:].all() for place in range(len(empty_one))] for empty_one in empty])
    padding[:, 0] = False
    return padding[:, None]


def random_series(*shape):
    return np.random.default_rng(0).normal(3, 10, size=shape)


@given(series)
def test_channels_are_standardised_as_by_scikit_learn_and_missing_points_are_their_mean(values):
    expected = StandardScaler().fit_transform(
        by_channel(np.where(np.isnan(values).all((0, 2), keepdims=True), 0, values))
    )
    actual = SeriesScaler.fit(values).transform(values)
    assert actual.dtype == np.float32
    padding = by_channel(np.broadcast_to(beyond(values), values.shape))
    np.testing.assert_allclose(by_channel(actual)[~padding], np.nan_to_num(expected)[~padding], rtol=1e-5, atol=1e-5)
    assert np.isnan(by_channel(actual)[padding]).all()


def test_new_series_are_scaled_as_those_of_training():
    train, new = random_series(6, 2, 9), random_series(3, 2, 9) * 2 + 1
    expected = StandardScaler().fit(by_channel(train)).transform(by_channel(new))
    np.testing.assert_allclose(by_channel(SeriesScaler.fit(train).transform(new)), expected, rtol=1e-5, atol=1e-5)


def test_series_may_be_of_another_length_than_in_training():
    train = random_series(6, 2, 9)
    scaler = SeriesScaler.fit(train)
    np.testing.assert_array_equal(scaler.transform(train[:, :, :4]), scaler.transform(train)[:, :, :4])


@pytest.mark.parametrize("value", [0.0, 5.0, 0.1])
def test_a_constant_channel_is_zero_whatever_it_has_later(value):
    scaler = SeriesScaler.fit(np.full((3, 1, 7), value))
    np.testing.assert_allclose(scaler.transform(np.full((1, 1, 2), value)), 0, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(scaler.transform(np.full((1, 1, 2), value + 2)), 0)


def test_a_channel_without_a_point_is_zero_whatever_it_has_later():
    scaler = SeriesScaler.fit(np.full((3, 1, 7), np.nan))
    np.testing.assert_array_equal(scaler.transform(np.array([[[5.0, np.nan, 5.0]]])), 0)


def test_missing_points_are_noted():
    values = random_series(2, 2, 5)
    assert SeriesScaler.fit(values).notes == []
    values[0, 1, :3] = np.nan
    assert SeriesScaler.fit(values).notes == ["series: 3 of 20 points missing, set to the mean of their channel"]


def test_padding_is_not_missing_and_the_lengths_are_noted():
    alone = [random_series(1, 2, length)[0] for length in (4, 9, 6)]
    scaler = SeriesScaler.fit(stack_series(alone))
    assert scaler.notes == ["series: of 4 to 9 points"]
    points = np.concatenate(alone, axis=1)
    np.testing.assert_allclose(scaler.mean, points.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(scaler.scale, points.std(axis=1), rtol=1e-12)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_series_of_several_lengths_are_stacked_and_keep_their_lengths(lengths):
    alone = [random_series(1, 2, length)[0] for length in lengths]
    stacked = stack_series(alone)
    assert stacked.shape == (len(lengths), 2, max(lengths))
    assert series_lengths(stacked).tolist() == lengths
    for one, row in zip(alone, stacked, strict=True):
        np.testing.assert_array_equal(row[:, : one.shape[1]], one)
        assert np.isnan(row[:, one.shape[1] :]).all()


def test_more_series_than_are_scaled_at_once_are_scaled_alike():
    values = random_series(2 * ROWS_AT_ONCE + 3, 1, 2)
    expected = StandardScaler().fit_transform(by_channel(values))
    np.testing.assert_allclose(by_channel(SeriesScaler.fit(values).transform(values)), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ([np.zeros((2, 3)), np.zeros((1, 3))], "X: got series of 2 and of 1 channel"),
        ([np.zeros((2, 3)), np.zeros(3)], r"X: got a series of shape \(3,\) and float64 at 1, expected numbers"),
        ([np.zeros((2, 0))], r"X: got a series of shape \(2, 0\) and float64 at 0"),
        ([np.array([["a"]])], r"X: got a series of shape \(1, 1\) and <U1 at 0"),
    ],
)
def test_what_cannot_be_stacked_is_an_error(series, message):
    with pytest.raises(OrdinateError, match=message):
        stack_series(series)


@given(series)
def test_a_scaler_survives_json(values):
    scaler = SeriesScaler.fit(values)
    restored = SeriesScaler.from_dict(json.loads(json.dumps(scaler.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(restored.transform(values), scaler.transform(values))
    assert restored.notes == scaler.notes
    assert restored.sample_shape == scaler.sample_shape == values.shape[1:]


@pytest.mark.parametrize("shape", [(4, 0, 5), (4, 2, 0)])
def test_series_without_a_channel_or_a_point_are_an_error(shape):
    with pytest.raises(
        OrdinateError, match=r"X: got series of shape \(.*\), expected \(channels, length\) of at least 1"
    ):
        SeriesScaler.fit(np.zeros(shape))


@pytest.mark.parametrize("channels", [1, 3])
def test_another_number_of_channels_is_an_error(channels):
    with pytest.raises(OrdinateError, match=f"X: got {channels} channels?, expected 2"):
        SeriesScaler.fit(random_series(4, 2, 5)).transform(random_series(4, channels, 5))
