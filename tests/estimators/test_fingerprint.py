"""Equal settings have one description in every process, different ones have different descriptions."""

import functools
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ordinate import CLOCClassifier, ImageOptions, Training
from ordinate.data.training_batches import ArrayBatches
from ordinate.errors import OrdinateError
from ordinate.estimators.fingerprint import describe
from ordinate.estimators.pipeline import fingerprint
from ordinate.estimators.registry import models
from ordinate.extensions import load_object
from ordinate.training.options import RUNTIME
from ordinate_papers.methods.imbalance import Imbalance

WITHOUT_EFFECT = {  # on the weights that a training ends with
    "decision", "random_state", "verbose",
}  # fmt: skip


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, a, b):
        return self.scale * (a[:, None] - b[None]).abs().sum(2)

    def distance(self, a, b):
        return self(a, b)


class Slotted:
    __slots__ = ("scale",)


def scaled(a, b, scale=1.0):
    return scale * (a[:, None] - b[None]).abs().sum(2)


def by(scale):
    return lambda a, b: scaled(a, b, scale)


def nested(step):
    return lambda values: sorted(values, key=lambda value: value + step)


LARGE, ANOTHER = np.arange(5000.0), np.arange(5000.0)
ANOTHER[2500] += 1  # which the repr of an array of this size leaves out
EQUAL = {
    "mappings in any order": ({(0, 1): 0.5, (1, 2): 0.8}, {(1, 2): 0.8, (0, 1): 0.5}),
    "sequences": ((1.0, 2.0), np.array([1.0, 2.0])),
    "numbers": (3, np.int64(3)),
    "large arrays": (LARGE, LARGE.copy()),
    "options": (ImageOptions(size=64), ImageOptions(size=64)),
    "options but for the number of workers": (ImageOptions(workers=0), ImageOptions(workers=2)),
    "nested options": (Imbalance(bin_size=(1.0, 2.0)), Imbalance(bin_size=[1.0, 2.0])),
    "labels": (pd.Series(["a", "b"]), np.array(["a", "b"], dtype=object)),
    "lambdas": (by(2.0), by(2.0)),
    "nested functions": (nested(1), nested(1)),
    "partial functions": (functools.partial(scaled, scale=2.0), functools.partial(scaled, scale=2.0)),
    "callable objects": (Scaled(2.0), Scaled(2.0)),
    "methods": (Scaled(2.0).distance, Scaled(2.0).distance),
    "tensors": (torch.arange(3.0), torch.arange(3.0)),
    "built-in functions": (torch.cdist, torch.cdist),
}
DIFFERENT = {
    "values": ({(0, 1): 0.5}, {(0, 1): 0.6}),
    "kinds of number": (1, 1.5),
    "text and number": ("1", 1),
    "large arrays": (LARGE, ANOTHER),
    "options": (ImageOptions(size=64), ImageOptions(size=65)),
    "enclosed variables": (by(2.0), by(3.0)),
    "code": (lambda a, b: a + b, lambda a, b: a - b),
    "constants of code": (lambda a: a + 1, lambda a: a + 2),
    "nested functions": (nested(1), nested(2)),
    "arguments of partial functions": (functools.partial(scaled, scale=2.0), functools.partial(scaled, scale=3.0)),
    "functions of partial functions": (functools.partial(scaled, scale=2.0), functools.partial(by, scale=2.0)),
    "attributes": (Scaled(2.0), Scaled(3.0)),
    "methods": (Scaled(2.0).distance, Scaled(3.0).distance),
    "tensors": (torch.arange(3.0), torch.arange(3.0) + 1),
    "shapes": (torch.zeros(2, 3), torch.zeros(3, 2)),
    "built-in functions": (torch.cdist, torch.dist),
}


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL)
def test_equal_settings_have_one_description(one, other):
    assert describe(one, "setting") == describe(other, "setting")


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_different_settings_have_different_descriptions(one, other):
    assert describe(one, "setting") != describe(other, "setting")


@pytest.mark.parametrize("value", [value for pair in EQUAL.values() for value in pair])
def test_no_description_has_an_address(value):
    assert " at 0x" not in describe(value, "setting")


def test_the_description_is_the_same_in_another_process():
    code = (
        "from tests.estimators import test_fingerprint as t; from ordinate.estimators.fingerprint import describe;"
        "print([describe(pair[0], 'setting') for pair in t.EQUAL.values()])"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert other.strip() == str([describe(pair[0], "setting") for pair in EQUAL.values()])


def test_networks_are_told_apart_by_their_weights():
    torch.manual_seed(0)
    one, other = nn.Linear(2, 3), nn.Linear(2, 3)
    assert describe(one, "encoder") != describe(other, "encoder")
    other.load_state_dict(one.state_dict())
    assert describe(one, "encoder") == describe(other, "encoder")


def test_what_cannot_be_read_is_refused_by_its_name():
    with pytest.raises(OrdinateError, match=r"label_distance: got <.*Slotted.*expected a value, a function"):
        describe(Slotted(), "label_distance")


PLACES = sorted({place for model in models().values() if model.embeds for place in model.estimators.values()})


def run_of(estimator, *data):
    return fingerprint(estimator, None, *data)


@pytest.mark.parametrize("place", PLACES)
def test_a_checkpoint_is_of_one_value_of_every_parameter_that_the_weights_depend_on(place):
    kind = load_object(place)
    data = ArrayBatches(torch.zeros(4, 2), torch.arange(4))
    own = run_of(kind(), data, None, 0)
    for name in set(kind().get_params(deep=False)) - {"training"}:
        other = run_of(kind(**{name: "another"}), data, None, 0)
        assert (other == own) == (name in WITHOUT_EFFECT), name
    assert run_of(kind(), data, None, 1) != own
    assert run_of(kind(), data, data, 0) != own
    assert run_of(kind(), ArrayBatches(data.x, data.y, torch.ones(4)), None, 0) != own


def test_a_checkpoint_is_of_one_value_of_every_option_of_training_that_the_weights_depend_on():
    data = ArrayBatches(torch.zeros(4, 2), torch.arange(4))
    own = run_of(CLOCClassifier(), data, None, 0)
    for field in fields(Training):
        training = Training()
        object.__setattr__(training, field.name, "another")
        other = run_of(CLOCClassifier(training=training), data, None, 0)
        assert (other == own) == (field.name in RUNTIME), field.name
