"""The data sets of the leaderboards: samples, labels, and the rows of every split."""

import os
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.papers.datasets import reading
from ordinate.papers.datasets.catalogue import DATA_SETS

IN_SKORDINAL = ("esl", "lev", "era", "swd")
OWN_SPLIT = ("boston", "concrete", "energy", "yacht", "airfoil", "floodmodeling1", "covid3month")
TEST_SHARE = 0.3

Rows = NDArray[np.int64]


def unavailable(name: str) -> str | None:
    """Return why a set cannot be used here, None where it can."""
    if name in IN_SKORDINAL:
        return None if find_spec("skordinal") else f"{name}: needs skordinal, which is not installed"
    return reading.unavailable(name) if name in DATA_SETS else None


def digest(name: str) -> str:
    """Return what stands for the data in the key of a run."""
    if name in IN_SKORDINAL:
        return f"skordinal {version('skordinal')}"
    return reading.digest(name) if name in DATA_SETS else f"scikit-learn {version('scikit-learn')}"


def load(name: str, split: int) -> tuple[Any, NDArray[Any], Rows, Rows]:
    """Return samples, labels (ranks from 0, or targets), and the rows of a split to train and to test on."""
    if name in IN_SKORDINAL:
        from skordinal import datasets

        data = getattr(datasets, f"load_{name}")()
        X: Any = pd.DataFrame(np.asarray(data.data, dtype=np.float64)).rename(columns="x{}".format)
        y = np.unique(data.target, return_inverse=True)[1]
    elif name == "diabetes":
        from sklearn.datasets import load_diabetes

        X, y = load_diabetes(return_X_y=True, as_frame=True)
        y = y.to_numpy(dtype=np.float64)
    else:
        X, y, parts = reading.load(name, split)
        if name in OWN_SPLIT:
            return X, y, np.sort(np.concatenate([parts.train, parts.validation])), parts.test
        X = _without_order(X)
    return X, y, *_drawn(y, split, stratify=y if name != "diabetes" else None)


def _without_order(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table as a csv file would give it: without the order of its levels, which no model is told."""
    kinds = {
        name: kind.categories.dtype for name, kind in table.dtypes.items() if isinstance(kind, pd.CategoricalDtype)
    }
    return table.astype(kinds)


def _drawn(y: NDArray[Any], split: int, stratify: NDArray[Any] | None) -> tuple[Rows, Rows]:
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, random_state=split, stratify=stratify)
    return train, test
