"""Compare learning rates of the estimators' defaults on tables, on rows that are held out from the training part.

    ORDINATE_DATA=DIR python benchmarks/table_rates.py [--sets esl lev ...] [--rates 0.001 0.003] [--seeds 2]

Each run trains an estimator as users get it (early stopping, second training, head) on three quarters of the training
rows and measures the MAE on the last quarter; the test rows are not read. airfoil and concrete are those of the papers,
the ordinal tables those of skordinal, of which 70% are for training. Appends a line per run to
``benchmarks/results/table_rates.jsonl``; runs that are there are not repeated. Prints the ratio of the errors.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from skordinal import datasets

from grid import OF_RANKS, OF_TARGETS, read_concrete, read_development
from ordinate import Training
from ordinate.data.splits import split_rows
from ordinate.estimators.registry import build
from ordinate.extensions import Task

RESULTS = Path(__file__).parent / "results" / "table_rates.jsonl"
TARGETS, RANKS = ("airfoil", "concrete"), ("esl", "lev", "era", "swd", "balance")


def parts(name: str) -> tuple[Any, ...]:
    """Return samples to train on and to measure on, and their labels."""
    if name in TARGETS:
        read = read_concrete() if name == "concrete" else read_development(name)
        return read.X, read.X_validation, read.y, read.y_validation
    data = getattr(datasets, {"balance": "load_balance_scale"}.get(name, f"load_{name}"))()
    X, y = np.asarray(data.data, dtype=np.float64), np.unique(data.target, return_inverse=True)[1]
    rows, _ = split_rows(y, 0.3, 0, stratify=True)
    train, held_out = (rows[part] for part in split_rows(y[rows], 0.25, 0, stratify=True))
    held_out = held_out[np.isin(y[held_out], y[train])]
    return X[train], X[held_out], y[train], y[held_out]


def measure(name: str, method: str, rate: float, seed: int) -> dict[str, Any]:
    """Train an estimator with a learning rate, and return its error on rows that it has not seen."""
    X, unseen, y, expected = parts(name)
    task: Task = "continuous" if name in TARGETS else "ranks"
    model = build(method, task, training=Training(learning_rate=rate), random_state=seed)
    started = time.process_time()
    model.fit(X, y)
    error = float(np.abs(model.predict(unseen) - expected).mean())
    seconds = round(time.process_time() - started, 1)
    return {"set": name, "method": method, "rate": rate, "seed": seed, "mae": round(error, 5), "seconds": seconds}


def main() -> None:
    """Measure what is missing, and print the mean errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=[*TARGETS, *RANKS], default=[*TARGETS, *RANKS], help="(all)")
    parser.add_argument("--rates", nargs="+", type=float, default=[1e-3, 3e-3], help="learning rates (0.001 0.003)")
    parser.add_argument("--seeds", type=int, default=2, help="number of seeds (%(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    lines = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    done = {(run["set"], run["method"], run["rate"], run["seed"]) for run in map(json.loads, lines)}
    for seed in range(options.seeds):
        for name in options.sets:
            for method in OF_TARGETS if name in TARGETS else OF_RANKS:
                for rate in options.rates:
                    if (name, method, rate, seed) not in done:
                        run = measure(name, method, rate, seed)
                        with RESULTS.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(run) + "\n")
    runs = pd.read_json(RESULTS, lines=True)
    means = runs.pivot_table("mae", ["method", "set"], "rate")
    print(means.assign(ratio=means[options.rates[-1]] / means[options.rates[0]]).round(4).to_string())


if __name__ == "__main__":
    main()
