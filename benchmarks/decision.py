"""Measure the two rules of prediction, mode and median, on four noisy ordinal tables, and what validation says of them.

    python benchmarks/decision.py [--sets esl lev era swd] [--splits 5]

Each split trains CLOC with its defaults, without a linear model of the columns in it, on 70 % of the rows, less a fifth
to validate on, and predicts the others by both rules; beside it LogisticAT, an ordinal logistic regression, trained on
all 70 %. The sets come with skordinal.
Every finished run is kept in the results file; the script continues where it was stopped.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skordinal import datasets
from skordinal.classifiers import LogisticAT

from ordinate import CLOCClassifier
from ordinate.data.splits import split_rows
from ordinate.decisions import RULES, better_rule, compare_rules, predict_ranks
from ordinate.estimators.rank_labels import to_ranks
from ordinate.metrics import rank_report
from ordinate.report.text import table

RESULTS = Path(__file__).parent / "results" / "decision.json"
SETS = ("esl", "lev", "era", "swd")


def measure(name: str, seed: int) -> dict[str, Any]:
    """Return what both rules reach on one split, and which of them validation samples recommend."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    data = getattr(datasets, f"load_{name}")()
    X, labels = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    y = np.unique(labels, return_inverse=True)[1]
    start = time.perf_counter()
    rows, test = split_rows(y, 0.3, seed, stratify=True)
    part, validation = split_rows(y[rows], 0.2, seed, stratify=True)
    part, validation = rows[part], rows[validation]
    classes = np.unique(y[part])
    known = np.isin(y[validation], classes)  # a rank of one sample may be held out
    model = CLOCClassifier(random_state=seed, class_order=np.arange(y.max() + 1).tolist())
    model.fit(X[part], y[part])
    compared = compare_rules(y[validation][known], model.rank_probabilities(X[validation[known]]))
    probabilities = model.rank_probabilities(X[test])
    logistic = make_pipeline(StandardScaler(), LogisticAT()).fit(X[rows], y[rows])
    return {
        "set": name,
        "seed": seed,
        **{rule: _scores(y[test], predict_ranks(probabilities, rule)) for rule in RULES},
        "logistic": _scores(y[test], to_ranks(logistic.predict(X[test]), np.arange(y.max() + 1))),
        "validation": compared,
        "recommended": better_rule(compared, "mode"),
        "seconds": time.perf_counter() - start,
    }


def _scores(true: Any, predicted: Any) -> dict[str, float]:
    report: dict[str, Any] = rank_report(true, predicted, int(max(true.max(), predicted.max())) + 1)
    return {name: report[name] for name in ("accuracy", "mae")}


def show(results: list[dict[str, Any]]) -> None:
    """Print a row a set."""
    rows = []
    for name in SETS:
        runs = [run for run in results if run["set"] == name]
        if runs:
            cells = [
                f"{np.mean([run[key][score] for run in runs]):.3f}"
                for score in ("accuracy", "mae")
                for key in (*RULES, "logistic")
            ]
            rows.append([name, *cells, f"{sum(run['recommended'] == 'median' for run in runs)}/{len(runs)}"])
    header = ["set", *(f"{score} {key}" for score in ("acc", "MAE") for key in (*RULES, "LogisticAT"))]
    print(table([*header, "median advised"], rows))


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else []
    done = {(run["set"], run["seed"]) for run in results}
    for name in options.sets:
        for seed in range(options.splits):
            if (name, seed) in done:
                continue
            results.append(measure(name, seed))
            results.sort(key=lambda run: (run["set"], run["seed"]))
            pending = options.results.with_suffix(".tmp")
            pending.write_text(json.dumps(results, indent=1) + "\n")
            pending.replace(options.results)
            print(f"{name} {seed}: {results[-1]['seconds']:.0f} s", flush=True)
    show(results)


if __name__ == "__main__":
    main()
