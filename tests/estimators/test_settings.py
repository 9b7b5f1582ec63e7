"""Settings survive JSON, in which options, boundaries and tuples look different."""

import json

import numpy as np
import pytest

from ordinate import ImageOptions, Imbalance, OrdinateError, SeriesOptions, TextOptions, VolumeOptions
from ordinate.estimators.settings import from_plain, to_plain

SETTINGS = {
    "data": ImageOptions(size=(32, 48), pretrained=True),
    "data": VolumeOptions(size=8, intensity=(-1000, 1000)),
    "data": SeriesOptions(crop=20, views=2),
    "data": TextOptions(hidden=8),
    "imbalance": Imbalance(lds="inverse", bin_size=(0.5, 2.0)),
    "critical_margins": {(1, 2): 0.8, ("mild", "severe"): 0.5},
    "bin_size": (0.5, 2.0),
    "epochs": (400, 100),
    "epochs": (5, 5),
    "beta": (2.0, 8.0),
    "class_order": ["low", "high"],
    "patience": None,
    "encoder": "mlp",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_comes_back_from_json(name):
    found = from_plain(json.loads(json.dumps(to_plain(SETTINGS))))
    assert found[name] == SETTINGS[name]
    assert type(found[name]) is type(SETTINGS[name])


def test_what_is_read_is_not_changed():
    plain = to_plain(SETTINGS)
    assert from_plain(plain) is not plain
    assert plain == to_plain(SETTINGS)


def test_numbers_of_numpy_are_plain_and_code_is_refused():
    assert to_plain({"a": np.float64(0.5), "b": np.arange(2), "c": np.random.RandomState(0)}) == {
        "a": 0.5, "b": [0, 1], "c": None
    }  # fmt: skip
    with pytest.raises(OrdinateError, match=r"save: got .* is code"):
        to_plain({"label_distance": len})


def test_options_that_are_some_already_stay():
    options = ("images", "volumes", "series", "text", "imbalance")
    assert all(from_plain(SETTINGS)[name] is SETTINGS[name] for name in options)
