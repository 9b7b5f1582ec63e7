"""Settings survive JSON, in which options, boundaries and tuples look different."""

import json

import numpy as np
import pytest

from ordinate import (
    Head,
    ImageOptions,
    OrdinateError,
    SeriesOptions,
    TextOptions,
    Training,
    VolumeOptions,
)
from ordinate.estimators.params import from_plain
from ordinate.plain_values import to_plain
from ordinate_papers.methods.imbalance import Imbalance

OPTIONS = {
    "images": ImageOptions(size=(32, 48), pretrained=True),
    "volumes": VolumeOptions(size=8, intensity=(-1000, 1000)),
    "series": SeriesOptions(crop=20, views=2),
    "text": TextOptions(hidden=8),
}
SETTINGS = {
    "training": Training(learning_rate=0.01, patience=None),
    "head": Head("linear", loss="dex", bin_size=(0.5, 2.0)),
    "imbalance": Imbalance(lds="inverse", bin_size=(0.5, 2.0)),
    "critical_margins": {(1, 2): 0.8, ("mild", "severe"): 0.5},
    "bin_size": (0.5, 2.0),
    "epochs": (400, 100),
    "beta": (2.0, 8.0),
    "class_order": ["low", "high"],
    "random_state": None,
    "encoder": "mlp",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_comes_back_from_json(name):
    found = from_plain(json.loads(json.dumps(to_plain(SETTINGS))))
    assert found[name] == SETTINGS[name]
    assert type(found[name]) is type(SETTINGS[name])


@pytest.mark.parametrize("kind", OPTIONS)
def test_options_of_a_kind_of_data_come_back_alone_and_in_data(kind):
    plain = json.loads(json.dumps(to_plain({kind: OPTIONS[kind]})))
    for given in (plain, {"data": plain}):
        found = from_plain(given)
        assert found == {"data": OPTIONS[kind]}
        assert type(found["data"]) is type(OPTIONS[kind])


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
    groups = ("training", "head", "imbalance")
    assert all(from_plain(SETTINGS)[name] is SETTINGS[name] for name in groups)
    assert all(from_plain({"data": options})["data"] is options for options in OPTIONS.values())
