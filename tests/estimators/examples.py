"""Small data and quick estimators."""

import numpy as np
import pandas as pd
import pytest

from ordinate import CLOCClassifier, OTDClassifier, SupCRRegressor, SupReMixRegressor

SMALL = {"embedding_dim": 8, "batch_size": 24, "random_state": 0}


def cloc(**options):
    return CLOCClassifier(**{**SMALL, "phase_epochs": (1, 1), **options})


def otd(**options):
    return OTDClassifier(**{**SMALL, "epochs": 2, **options})


def supcr(**options):
    return SupCRRegressor(**{**SMALL, "epochs": (1, 1), **options})


def supremix(**options):
    return SupReMixRegressor(**{**SMALL, "epochs": (1, 1), **options})


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
