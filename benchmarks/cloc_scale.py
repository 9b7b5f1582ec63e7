"""Compare the reductions of CLOC's MMNP loss on validation samples, by which the default was chosen.

    ORDINATE_DATA=DIR python benchmarks/cloc_scale.py [--seeds 5] [--jobs 2]

Ordinal tables: the training part of a split of the leaderboard, three quarters to train on and a quarter to validate,
with the default settings. RetinaMNIST and KOA: the training and validation images, a small network. No test sample
has a part. Every finished run is kept in the results file.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import leaderboard
from ordinate import CLOCClassifier, ImageOptions
from ordinate.data.rows import take
from ordinate.data.splits import split_rows
from ordinate.metrics import rank_report, ranked_probability_score
from ordinate.report.text import table
from ordinate_papers.datasets import images
from runs import Run, complete, parser_of, where

REDUCTIONS = ("sum", "pair_mean", "published")
TABLES = ("esl", "lev", "era", "swd", "balance_scale", "car")
PICTURES: dict[str, dict[str, Any]] = {
    "retinamnist": {"epochs": (5, 25), "data": ImageOptions(size=28)},
    "koa": {"epochs": (2, 8), "data": ImageOptions(size=(30, 50), channels=1, augmentation="koa")},
}
FIGURES = ("accuracy", "mae", "ranked_probability_score")


def read(name: str, seed: int) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    """Return samples and ranks to train on, then to validate on."""
    if name in PICTURES:
        pictures: Any = images.load(name)
        y, splits = pictures.labels.to_numpy(), pictures.splits.to_numpy()
        train, held_out = np.flatnonzero(splits == "train"), np.flatnonzero(splits == "validation")
        return take(pictures.samples, train), y[train], take(pictures.samples, held_out), y[held_out]
    X, y, rows, _ = leaderboard.load(name, seed)
    kept, held_out = split_rows(y[rows], 0.25, seed, stratify=True)
    return take(X, rows[kept]), y[rows[kept]], take(X, rows[held_out]), y[rows[held_out]]


def measure(name: str, reduction: str, seed: int) -> Run:
    """Return the figures of CLOC on validation samples."""
    X, y, X_held_out, y_held_out = read(name, seed)
    settings: dict[str, Any] = {"reduction": reduction, "random_state": seed, "decision": "mode"}
    if name in PICTURES:
        settings |= {"encoder": "test_resnet", "batch_size": 64, **PICTURES[name]}
    model = CLOCClassifier(**settings).fit(X, y)
    probabilities = model.predict_proba(X_held_out)
    return {
        **rank_report(y_held_out, model.predict(X_held_out), probabilities.shape[1]),
        "ranked_probability_score": ranked_probability_score(y_held_out, probabilities),
    }


def main() -> None:
    """Run what is missing and print the means over the seeds."""
    options = parser_of(__file__, __doc__, seeds=5).parse_args()
    names = (*TABLES, *PICTURES)
    wanted = [
        (name, reduction, seed)
        for some in (TABLES, PICTURES)
        for seed in range(options.seeds)
        for name in some
        for reduction in REDUCTIONS
    ]
    runs = complete(measure, wanted, ("set", "reduction", "seed"), options)
    rows = []
    for name in names:
        for reduction in REDUCTIONS:
            of_cell = where(runs, set=name, reduction=reduction)
            means = [f"{np.mean([run[figure] for run in of_cell]):.4f}" for figure in FIGURES]
            rows.append([name, reduction, str(len(of_cell)), *means])
    print(table(["set", "reduction", "seeds", *FIGURES], rows))


if __name__ == "__main__":
    main()
