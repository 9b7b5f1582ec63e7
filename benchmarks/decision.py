"""Measure the two rules of prediction, mode and median, on four noisy ordinal tables, and what validation says of them.

    python benchmarks/decision.py [--sets esl lev era swd] [--seeds 5]

Each split trains CLOC with its defaults on 70% of the rows, less a fifth to validate on, and predicts the others by
both rules. It is compared with LogisticAT, an ordinal logistic regression, trained on all 70%. The sets come with
skordinal.
Every finished run is kept in the results file; the script continues where it was stopped.
"""

import warnings
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
from ordinate.metrics import rank_report
from ordinate.model.labels import to_ranks
from ordinate.report.text import table
from runs import Run, complete, parser_of, where

SETS = ("esl", "lev", "era", "swd")


def measure(name: str, seed: int) -> Run:
    """Return what both rules reach on one split, and which of them validation samples recommend."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    data = getattr(datasets, f"load_{name}")()
    X, labels = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    y = np.unique(labels, return_inverse=True)[1]
    rows, test = split_rows(y, 0.3, seed, stratify=True)
    part, validation = split_rows(y[rows], 0.2, seed, stratify=True)
    part, validation = rows[part], rows[validation]
    classes = np.unique(y[part])
    known = np.isin(y[validation], classes)  # The only sample of a rank may be held out.
    model = CLOCClassifier(random_state=seed, class_order=np.arange(y.max() + 1).tolist())
    model.fit(X[part], y[part])
    compared = compare_rules(y[validation][known], model.rank_probabilities(X[validation[known]]))
    probabilities = model.rank_probabilities(X[test])
    logistic = make_pipeline(StandardScaler(), LogisticAT()).fit(X[rows], y[rows])
    return {
        **{rule: _scores(y[test], predict_ranks(probabilities, rule)) for rule in RULES},
        "logistic": _scores(y[test], to_ranks(logistic.predict(X[test]), np.arange(y.max() + 1))),
        "validation": compared,
        "recommended": better_rule(compared, "mode"),
    }


def _scores(true: Any, predicted: Any) -> dict[str, float]:
    report: dict[str, Any] = rank_report(true, predicted, int(max(true.max(), predicted.max())) + 1)
    return {name: report[name] for name in ("accuracy", "mae")}


def show(results: list[Run]) -> None:
    """Print a row a set."""
    rows = []
    for name in SETS:
        runs = where(results, set=name)
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
    parser = parser_of(__file__, __doc__, seeds=5, jobs=1)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    options = parser.parse_args()
    wanted = [(name, seed) for name in options.sets for seed in range(options.seeds)]
    show(complete(measure, wanted, ("set", "seed"), options))


if __name__ == "__main__":
    main()
