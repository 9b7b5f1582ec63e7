"""Small data and quick estimators."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from ordinate import CLOCClassifier, Head, OTDClassifier, SupCRRegressor, SupReMixRegressor, Training
from ordinate.estimators.target_regressor import ContrastiveParameters

SMALL = {"embedding_dim": 8, "batch_size": 24, "random_state": 0}
OF_TRAINING = {each.name for each in fields(Training)}
OF_HEAD = {"head": "kind", "head_loss": "loss", "n_neighbors": "n_neighbors", "bin_size": "bin_size"}


def in_groups(kind, options):
    """Return options of an estimator, those of training and of a regressor's head in their groups."""
    grouped = {name: value for name, value in options.items() if name not in OF_TRAINING}
    of_training = {name: value for name, value in options.items() if name in OF_TRAINING}
    if of_training:
        grouped["training"] = replace(grouped.get("training", Training()), **of_training)
    if issubclass(kind, ContrastiveParameters):
        of_head = {OF_HEAD[name]: grouped.pop(name) for name in OF_HEAD if name in grouped}
        if list(of_head) == ["kind"]:
            grouped["head"] = of_head["kind"]
        elif of_head:
            grouped["head"] = Head(**of_head)
    return grouped


class Make:
    """Makes small, quick estimators of a class from flat options; other processes can get it."""

    def __init__(self, kind, name=None, **defaults):
        self.__name__ = kind.__name__ if name is None else name
        self.kind = kind
        self.defaults = defaults

    def __call__(self, **options):
        return self.kind(**in_groups(self.kind, {**SMALL, **self.defaults, **options}))

    def __eq__(self, other):
        return isinstance(other, Make) and (self.kind, self.defaults) == (other.kind, other.defaults)

    def __hash__(self):
        return hash(self.kind)


cloc = Make(CLOCClassifier, "cloc", epochs=(1, 1), calibration=False)  # OTD alone is trained twice.
otd = Make(OTDClassifier, "otd", epochs=2)
supcr = Make(SupCRRegressor, "supcr", epochs=(1, 1))
supremix = Make(SupReMixRegressor, "supremix", epochs=(1, 1))

CLASSIFIERS, REGRESSORS = [cloc, otd], [supcr, supremix]
ALL = [*CLASSIFIERS, *REGRESSORS]
for_every_estimator = pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
for_every_classifier = pytest.mark.parametrize("make", CLASSIFIERS, ids=lambda make: make.__name__)
for_every_regressor = pytest.mark.parametrize("make", REGRESSORS, ids=lambda make: make.__name__)


def draw_table(n=48, seed=0):
    """(n, 3) numbers and a target that two of them make."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, X[:, 0] + 0.5 * X[:, 1]


def draw_frame(n=48, seed=0):
    """A table with every kind of column, values missing in each that can miss one, and a target."""
    rng = np.random.default_rng(seed)
    X, target = draw_table(n, seed)
    frame = pd.DataFrame(X, columns=["number", "other", "noise"])
    frame["text"] = rng.choice(["red", "green", "blue"], n)
    frame["category"] = pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "high", "unused"])
    frame["boolean"] = rng.random(n) < 0.5
    frame["whole"] = pd.array(rng.integers(0, 9, n), dtype="Int64")
    for column in ("other", "text", "category", "whole"):
        frame.loc[rng.choice(n, 4, replace=False), column] = None
    return frame, target


def draw_series(n=32, seed=0):
    """(n, 2, 20) series whose first channel's slope is the target, with a few points missing."""
    rng = np.random.default_rng(seed)
    target = rng.normal(size=n)
    X = rng.normal(scale=0.3, size=(n, 2, 20))
    X[:, 0] += target[:, None] * np.linspace(-1, 1, 20)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, target


def ranks_of(target, classes=3):
    """Ranks 0..C-1 with as many samples each."""
    return np.digitize(target, np.quantile(target, np.linspace(0, 1, classes + 1)[1:-1]))


def labels_for(make, target):
    """What the estimator is fitted on: ranks or the target itself."""
    return ranks_of(target) if make in CLASSIFIERS else target


class Trap:
    """A pickle that creates a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")
