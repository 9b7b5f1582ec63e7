"""Measure the blend and other models on public tables of graded labels, on the splits that others published.

    ORDINATE_DATA=DIR python benchmarks/leaderboard.py [--sets swd boston ...] [--models blend ridge ...] [--jobs 2]

Ranks: six of TOC-UCO's tables, 30 stratified 70/30 splits with the seeds 0 to 29, beside the published means of eight
models, on which our splits of the same kind differ by chance. Targets: four UCI tables with their 20 published splits.
All models have the same splits; those of others get standardised numbers and one-hot categories. Errors are those of
the test parts. Settings were chosen on inner splits of the training part of the first split of ESL, SWD, Car, diabetes,
Boston and airfoil, which later splits test on in part. Every finished fit is kept in the results file; the script
continues there.
"""

import argparse
import csv
import json
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import RidgeCV
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import train_test_split
from skordinal import datasets as skordinal
from skordinal.classifiers import LogisticAT

from ordinate import BlendClassifier, BlendRegressor
from ordinate.data.tables.features import TableFeatures
from ordinate.report.text import table

RESULTS = Path(__file__).parent / "results" / "leaderboard.json"
TOC_UCO = {
    "esl": "oc06_esl",
    "lev": "oc05_lev",
    "era": "oc09_era",
    "swd": "oc04_swd",
    "balance_scale": "oc03_balanceScale",
    "car": "oc04_car",
}
ORDERS = {"balance_scale": ["L", "B", "R"], "car": ["unacc", "acc", "good", "vgood"]}
UCI = {"boston": "bostonHousing", "concrete": "concrete", "energy": "energy", "yacht": "yacht"}
FEATURES = {"boston": 13, "concrete": 8, "energy": 8, "yacht": 6}  # columns; the next is the target
PUBLISHED_RMSE = {
    "MC dropout (published)": {"boston": 2.90, "concrete": 4.83, "energy": 0.54, "yacht": 0.67},
    "deep ensembles (published)": {"boston": 3.28, "concrete": 6.03, "energy": 2.09, "yacht": 1.58},
}
PUBLISHED = {"mae": "MAE", "qwk": "QWK", "accuracy": "CCR"}  # the published RPS is on another scale
BETTER_HIGH = ("qwk", "accuracy")
RANK_MODELS: dict[str, Callable[[int], Any]] = {
    "blend": lambda seed: BlendClassifier(random_state=seed),
    "LogisticAT": lambda _: LogisticAT(),
    "gradient boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "random forest": lambda seed: RandomForestClassifier(500, random_state=seed),
}
TARGET_MODELS: dict[str, Callable[[int], Any]] = {
    "blend": lambda seed: BlendRegressor(random_state=seed),
    "ridge": lambda _: RidgeCV(np.logspace(-3, 3, 13)),
    "gradient boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "random forest": lambda seed: RandomForestRegressor(500, random_state=seed),
}

Rows = NDArray[np.int64]


def read(name: str) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return the samples and the labels of a set, ranks as 0..C-1."""
    root = Path(os.environ["ORDINATE_DATA"])
    if name in UCI:
        values = np.loadtxt(root / "uci_regression" / UCI[name] / "data.txt")
        return pd.DataFrame(values[:, : FEATURES[name]]).rename(columns=str), values[:, FEATURES[name]]
    if name in ORDERS:
        frame = pd.read_csv(root / "uci_ordinal" / f"{name}.csv.gz").drop(columns="split", errors="ignore")
        return frame, frame.pop("class").map({label: rank for rank, label in enumerate(ORDERS[name])}).to_numpy()
    data = getattr(skordinal, f"load_{name}")()
    return pd.DataFrame(np.asarray(data.data, dtype=float)).rename(columns=str), np.unique(
        data.target, return_inverse=True
    )[1]


def split(name: str, y: NDArray[Any], seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and to test on."""
    rows = np.arange(len(y))
    if name in UCI:
        lines = (Path(os.environ["ORDINATE_DATA"]) / "uci_regression" / UCI[name] / "test_rows.txt").read_text()
        test = np.array(lines.splitlines()[seed].split(), dtype=np.int64)
        return np.setdiff1d(rows, test), test
    train, test = train_test_split(rows, test_size=0.3, random_state=seed, stratify=y)
    return train, test


def run(name: str, model: str, seed: int) -> dict[str, Any]:
    """Train a model on a split and return its errors on the test part."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    X, y = read(name)
    train, test = split(name, y, seed)
    estimator = (TARGET_MODELS if name in UCI else RANK_MODELS)[model](seed)
    seen: Any = X.iloc[train]
    unseen: Any = X.iloc[test]
    if model != "blend":
        features = TableFeatures.fit(seen)
        scores = [place for place in features.numeric_positions if place not in features.plain_positions]
        seen, unseen = (np.delete(features.transform(part), scores, axis=1) for part in (seen, unseen))
    start = time.perf_counter()
    estimator.fit(seen, y[train])
    record: dict[str, Any] = {"set": name, "model": model, "seed": seed, "seconds": time.perf_counter() - start}
    if model == "blend":
        record["shares"] = estimator.shares_
    predicted = estimator.predict(unseen)
    if name in UCI:
        errors = predicted - y[test]
        return record | {"rmse": float(np.sqrt(np.mean(errors**2))), "mae": float(np.abs(errors).mean())}
    probabilities = np.zeros((len(test), int(y.max()) + 1))
    probabilities[:, estimator.classes_] = estimator.predict_proba(unseen)
    beyond = np.arange(probabilities.shape[1])[None] >= y[test][:, None]
    return record | {
        "mae": float(np.abs(predicted - y[test]).mean()),
        "accuracy": float((predicted == y[test]).mean()),
        "qwk": float(cohen_kappa_score(y[test], predicted, weights="quadratic")),
        "rps": float(((probabilities.cumsum(1) - beyond) ** 2).sum(1).mean()),
    }


def published(name: str) -> dict[str, dict[str, float]]:
    """Return the published means of a set by model."""
    if name in UCI:
        return {model: {"rmse": means[name]} for model, means in PUBLISHED_RMSE.items()}
    with (Path(os.environ["ORDINATE_DATA"]) / "tocuco" / "published_means.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] == TOC_UCO[name]]
    return {
        f"{row['model']} (published)": {ours: float(row[theirs]) for ours, theirs in PUBLISHED.items()} for row in rows
    }


def show(done: list[dict[str, Any]], names: list[str], measures: tuple[str, ...]) -> None:
    """Print means of every model on every set, and mean ranks over the sets."""
    ranks: dict[str, dict[str, list[float]]] = {measure: defaultdict(list) for measure in measures}
    for name in names:
        means: dict[str, dict[str, float]] = published(name)
        counts = {}
        for model in dict.fromkeys(run["model"] for run in done if run["set"] == name):
            runs = [run for run in done if (run["set"], run["model"]) == (name, model)]
            counts[model] = len(runs)
            means[model] = {key: float(np.mean([run[key] for run in runs])) for key in (*measures, "seconds")}
        if not counts:
            continue
        rows = [
            [model, str(counts.get(model, "")), *(f"{values[key]:.4f}" for key in measures),
             f"{values['seconds']:.1f}" if "seconds" in values else ""]
            for model, values in sorted(means.items(), key=lambda item: item[1][measures[0]])
        ]  # fmt: skip
        print(f"\n{name}\n" + table(["model", "splits", *measures, "seconds"], rows))
        for measure in measures:
            sign = -1 if measure in BETTER_HIGH else 1
            for model, rank in zip(means, rankdata([sign * v[measure] for v in means.values()]), strict=True):
                ranks[measure][model].append(float(rank))
    print("\nmean rank over the sets")
    models = sorted(ranks[measures[0]], key=lambda model: np.mean(ranks[measures[0]][model]))
    print(table(["model", *measures], [[m, *(f"{np.mean(ranks[key][m]):.2f}" for key in measures)] for m in models]))


def main() -> None:
    """Run what is missing, and print all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=[*TOC_UCO, *UCI], default=[*TOC_UCO, *UCI])
    parser.add_argument("--models", nargs="+", choices=[*RANK_MODELS, "ridge"], default=[*RANK_MODELS, "ridge"])
    parser.add_argument("--splits", type=int, default=30, help="at most so many of each set")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if "ORDINATE_DATA" not in os.environ:
        parser.error("set ORDINATE_DATA to the folder of the data sets")
    done: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    finished = {(run["set"], run["model"], run["seed"]) for run in done}
    wanted = [
        (name, model, seed)
        for seed in range(30)
        for name in options.sets
        for model in options.models
        if model in (TARGET_MODELS if name in UCI else RANK_MODELS)
        and seed < min(options.splits, 20 if name in UCI else 30)
        and (name, model, seed) not in finished
    ]
    trained = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(delayed(run)(*one) for one in wanted)
    for record in trained:
        done.append(record)
        pending = RESULTS.with_suffix(".tmp")
        pending.write_text(
            json.dumps(sorted(done, key=lambda run: (run["set"], run["model"], run["seed"])), indent=1) + "\n"
        )
        pending.replace(RESULTS)
    show(done, list(TOC_UCO), ("mae", "qwk", "accuracy"))
    show(done, list(UCI), ("rmse",))


if __name__ == "__main__":
    main()
