"""The models of the leaderboards: ours, and those of other libraries with their own default settings."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from ordinate.estimators.registry import build as build_ours
from ordinate.extensions import Task
from ordinate_papers.leaderboards.aeon_process import NAMES as AEON_NAMES
from ordinate_papers.leaderboards.aeon_process import Regressor

Build = Callable[[str, int], Any]  # of a data set's name and a seed
TREES = 500
PENALTIES = np.logspace(-3, 3, 13)  # of ridge regression, chosen by leave-one-out
AEON = "ORDINATE_AEON"  # environment variable: the interpreter of an environment with aeon
IN_EXTRA = "which pip install 'ordinate[leaderboards]' adds"


@dataclass(frozen=True)
class Contender:
    """A model of a leaderboard.

    Args:
        build: makes the unfitted estimator by task.
        packages: that it needs, by the names they are imported by; their versions are part of the key of a run.
        needs_numbers: whether it gets a table as standardised numbers and one-hot categories, or as it is.
    """

    build: Mapping[Task, Build]
    packages: tuple[str, ...] = ()
    needs_numbers: bool = True

    @property
    def facts(self) -> dict[str, str]:
        """The versions of its packages."""
        return {package: version(package) for package in self.packages}


def _ours(name: str, task: Task, **settings: Any) -> Build:
    return lambda _, seed: build_ours(name, task, random_state=seed, **settings)


def _of(module: str, name: str, seed: str = "random_state", **settings: Any) -> Build:
    """Return what builds an estimator of a library, imported when it is needed."""

    def build(_: str, number: int) -> Any:
        own = {seed: number} if seed else {}
        return getattr(import_module(module), name)(**own, **settings)

    return build


def _pair(module: str, stem: str, *packages: str, **settings: Any) -> Contender:
    """Return a contender whose classes end in Classifier and Regressor."""
    both: dict[Task, Build] = {
        "ranks": _of(module, f"{stem}Classifier", **settings),
        "continuous": _of(module, f"{stem}Regressor", **settings),
    }
    return Contender(both, packages)


def _network(name: str, data: str, seed: int) -> Any:
    """Return one of ours with the small network and the epochs that ``ordinate table`` gives a set."""
    from ordinate_papers.tables.budgets import budget
    from ordinate_papers.tables.models import build

    return build(name, "continuous", budget=budget(data), seed=seed)


def _of_aeon(name: str, _: str, seed: int) -> Any:
    return Regressor(name, seed, os.environ[AEON])


CONTENDERS: Mapping[str, Contender] = {
    "blend": Contender({task: _ours("blend", task) for task in ("ranks", "continuous")}, needs_numbers=False),
    **{name: Contender({"ranks": _ours(name, "ranks")}, needs_numbers=False) for name in ("cloc", "otd")},
    **{
        name: Contender({"continuous": _ours(name, "continuous")}, needs_numbers=False)
        for name in ("supcr", "supremix")
    },
    "LogisticAT": Contender({"ranks": _of("skordinal.classifiers", "LogisticAT", "")}, ("skordinal",)),
    "ridge": Contender({"continuous": _of("sklearn.linear_model", "RidgeCV", "", alphas=PENALTIES)}),
    "random forest": _pair("sklearn.ensemble", "RandomForest", n_estimators=TREES),
    "gradient boosting": _pair("sklearn.ensemble", "HistGradientBoosting"),
    "XGBoost": _pair("xgboost", "XGB", "xgboost", n_jobs=1),
    "CatBoost": _pair("catboost", "CatBoost", "catboost", verbose=False, thread_count=1, allow_writing_files=False),
    "RealMLP": _pair("pytabkit", "RealMLP_TD_", "pytabkit", device="cpu", n_threads=1),
    "TabM": _pair("pytabkit", "TabM_D_", "pytabkit", device="cpu", n_threads=1),
}
SERIES: Mapping[str, Contender] = {
    **{
        name: Contender({"continuous": partial(_network, model)}, needs_numbers=False)
        for name, model in (("supcr", "supcr_mse"), ("supremix", "supremix_mse"), ("plain network", "mse"))
    },
    "training mean": Contender({"continuous": _of("sklearn.dummy", "DummyRegressor", "")}, needs_numbers=False),
    **{name: Contender({"continuous": partial(_of_aeon, name)}, needs_numbers=False) for name in AEON_NAMES},
}  # fmt: skip


def contender(board: str, name: str) -> Contender:
    """Return a model of a leaderboard."""
    return (SERIES if board == "series" else CONTENDERS)[name]


def unavailable(board: str, name: str) -> str | None:
    """Return why a model cannot be trained here, None where it can."""
    if name in AEON_NAMES and not os.environ.get(AEON):
        return f"{name}: needs --aeon, the interpreter of an environment with aeon"
    lacking = [package for package in contender(board, name).packages if find_spec(package) is None]
    return f"{name}: needs {', '.join(lacking)}, {IN_EXTRA}" if lacking else None


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the warnings and logs of other libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
