"""Regions of many and of few training samples, against counts sample by sample and AgeDB-DIR's shape."""

import json

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate.metrics import continuous_report
from ordinate_papers.protocols.shots import shot_regions, shot_report


def region(count):
    return "many" if count > 100 else "medium" if count >= 20 else "few"


def skewed(n, seed):
    return np.random.default_rng(seed).geometric(0.08, n)


def test_a_region_is_told_by_the_training_samples_of_the_same_label():
    train, labels = skewed(1500, seed=0), np.arange(90)
    expected = [region(np.sum(train == label)) for label in labels]
    assert set(expected) == {"many", "medium", "few"}
    assert shot_regions(train, labels).tolist() == expected


@pytest.mark.parametrize("count", [0, 1, 19, 20, 100, 101])
def test_regions_meet_at_20_and_100(count):
    assert shot_regions([5] * count + [7], [5]).tolist() == [region(count)]


def test_labels_that_are_multiples_of_a_fraction_keep_their_bin():
    """0.3 / 0.1 is less than 3 in float64, and float32 labels are off by more."""
    tenths = np.arange(50)
    for dtype in (np.float64, np.float32):
        train = np.repeat((tenths * 0.1).astype(dtype), tenths * 4)
        assert shot_regions(train, tenths / 10, 0.1).tolist() == [region(4 * k) for k in tenths]


def test_a_bin_of_several_dimensions_is_a_box():
    train = [[0.2, 0.7]] * 20 + [[1.2, 0.7]] * 101
    regions = shot_regions(train, [[0.9, 0.1], [1.0, 0.0], [0.5, 1.5]])
    assert regions.tolist() == ["medium", "many", "few"]


def test_the_report_holds_the_metrics_of_each_region():
    rng = np.random.default_rng(0)
    train, true = skewed(1500, seed=3), skewed(300, seed=4)
    pred = true + rng.normal(size=300)
    report = shot_report(train, true, pred)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert list(report) == ["all", "many", "medium", "few"]
    assert report["all"] == {"samples": 300} | continuous_report(true, pred)
    regions = shot_regions(train, true)
    for name in list(report)[1:]:
        rows = regions == name
        assert report[name] == {"samples": rows.sum()} | continuous_report(true[rows], pred[rows])


def test_a_region_without_samples_has_no_metrics():
    few = shot_report([1] * 30, [1, 1], [1, 2])["few"]
    assert few.pop("samples") == 0
    assert set(few) == set(continuous_report([1], [1]))
    assert set(few.values()) == {None}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shot_regions([1.0], [[1.0, 2.0]]), "train_labels: got 1 dimension, expected 2, those of labels"),
        (lambda: shot_regions([], [1.0]), "train_labels: got shape"),
        (lambda: shot_regions([1.0], [1.0], 0), "bin_size: got 0, expected a finite number above 0"),
        (lambda: shot_regions([1.0], [1.0], np.nan), "bin_size: got nan"),
        (lambda: shot_report([1.0], [1.0], [np.nan]), "y_pred: got NaN"),
    ],
)
def test_input_that_cannot_be_used_is_named(call, message):
    with pytest.raises(OrdinateError, match=message):
        call()
