"""Plant wrong labels and measure how many are found, compared with other methods.

    ORDINATE_DATA=DIR python benchmarks/label_errors.py [--sets car balance_scale] [--models CLOC ...] [--seeds 3]

A seed draws 5% of the samples and moves each label by one or two ranks within the range, either way that there is room
for. Figures are the percent of the planted errors among the 10% (and the 5%) most suspicious samples, and the average
precision of the ranking. CLOC and OTD, trained for 60 epochs, are cross-fitted in 5 folds, as find_label_errors does
it; on RetinaMNIST CLOC is its recipe's small version, for 12 epochs, and the blend reads the features of a network with
the weights of ImageNet, as `ordinate suspects` does. Rivals: the disagreement of the 10 nearest
neighbours on standardised numbers and one-hot codes, or pixels; and cleanlab (pip install cleanlab) on out-of-fold
probabilities of gradient boosting, or of CLOC itself. Score and settings were chosen on the seeds 100 to 102. Every
finished run is kept in the results file; the script continues where it was stopped.
"""

import time
import warnings
from typing import Any

import numpy as np
import torch
from cleanlab.rank import get_label_quality_scores
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from ordinate import BlendClassifier, CLOCClassifier, ImageOptions, OTDClassifier
from ordinate.data.tables.features import TableFeatures
from ordinate.decisions.label_errors import suspicion
from ordinate.estimators.label_errors import out_of_fold_probabilities
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.estimators.recipes import read_recipe
from ordinate.metrics import nearest_neighbours
from ordinate.report.text import table
from ordinate_papers.datasets.images import load
from runs import Run, parser_of, read, spread, where, write
from tabular import read as read_table

FEATURES, BOOSTING, ITSELF = "k-NN on features", "cleanlab on gradient boosting", "cleanlab on CLOC"
BLEND = "blend of pretrained features"
MODELS = {
    "car": (FEATURES, BOOSTING, "OTD", "CLOC"),
    "balance_scale": (FEATURES, BOOSTING, "OTD", "CLOC"),
    "retinamnist": (FEATURES, "CLOC", BLEND),
}
SHARE, FOLDS = 0.05, 5
FIGURES = ("found_in_10", "found_in_5", "average_precision")


def plant(ranks: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Move the labels of a share of the samples by one or two ranks; return all labels, and which were moved."""
    random = np.random.default_rng(seed)
    moved = np.zeros(len(ranks), dtype=bool)
    moved[random.choice(len(ranks), round(SHARE * len(ranks)), replace=False)] = True
    labels = ranks.copy()
    for row in np.flatnonzero(moved):
        near = np.arange(max(0, ranks[row] - 2), min(ranks.max(), ranks[row] + 2) + 1)
        labels[row] = random.choice(near[near != ranks[row]])
    return labels, moved


def samples(name: str) -> tuple[Any, NDArray[np.float64], NDArray[np.int64]]:
    """Return the samples of a set, their features for the rivals, and their ranks."""
    if name == "retinamnist":
        images: Any = load(name)
        return images.samples, images.samples.reshape(len(images.samples), -1) / 255.0 - 0.5, images.labels.to_numpy()
    X, ranks = read_table(name)
    return X, TableFeatures.fit(X).transform(X).astype(np.float64), ranks


def build(name: str, model: str, seed: int) -> RankClassifier:
    """Return the unfitted estimator of a method."""
    if model == BLEND:  # As `ordinate suspects` checks images.
        images = ImageOptions(pretrained=True, size=112)
        return BlendClassifier(data=images, fine_tuned=0, random_state=seed)
    if name == "retinamnist":
        return read_recipe("cloc-retinamnist", quick=True).build(epochs=(4, 8), random_state=seed)
    if model == "OTD":
        return OTDClassifier(epochs=60, random_state=seed)
    return CLOCClassifier(epochs=(20, 40), random_state=seed)


def measure(name: str, model: str, seed: int) -> list[dict[str, Any]]:
    """Return how many planted errors a model finds, and a rival that takes its probabilities."""
    X, features, ranks = samples(name)
    labels, moved = plant(ranks, seed)
    start = time.perf_counter()
    if model == FEATURES:
        near = labels[nearest_neighbours(features, None, 10)]
        shares = np.stack([np.mean(near == rank, axis=1) for rank in range(labels.max() + 1)], axis=1)
        scores = {model: suspicion(labels, shares)}
    elif model == BOOSTING:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        boosting = HistGradientBoostingClassifier(random_state=seed)
        probabilities = cross_val_predict(boosting, features, labels, cv=folds, method="predict_proba")
        scores = {model: _cleanlab(labels, probabilities)}
    else:
        probabilities = out_of_fold_probabilities(build(name, model, seed), X, labels, folds=FOLDS)
        scores = {model: suspicion(labels, probabilities)}
        if model == "CLOC":
            scores[ITSELF] = _cleanlab(labels, probabilities)
    seconds = round(time.perf_counter() - start, 1)
    return [
        {"set": name, "model": key, "seed": seed, "planted": int(moved.sum()), **figures(moved, value),
         "seconds": seconds}
        for key, value in scores.items()
    ]  # fmt: skip


def _cleanlab(labels: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 - np.asarray(get_label_quality_scores(labels, probabilities))


def figures(moved: NDArray[np.bool_], scores: NDArray[np.float64]) -> dict[str, float]:
    """Return percents of the planted errors that are found; equal scores keep the order of the rows."""
    found = moved[np.argsort(-scores, kind="stable")]
    percents = {f"found_in_{percent}": found[: round(percent / 100 * len(moved))].sum() for percent in (10, 5)}
    result = {key: 100 * float(count) / int(moved.sum()) for key, count in percents.items()}
    return {**result, "average_precision": float(average_precision_score(moved, scores))}


def show(results: list[Run], names: list[str]) -> None:
    """Print a table a set."""
    for name in names:
        rows = []
        for model in (FEATURES, BOOSTING, ITSELF, "OTD", "CLOC", BLEND):
            runs = where(results, set=name, model=model)
            if runs:
                seconds = f"{np.median([run['seconds'] for run in runs]):.0f}"
                rows.append([model, *(spread(runs, key) for key in FIGURES), str(len(runs)), seconds])
        if rows:
            print(f"\n{name}")
            print(table(["model", "% found in 10%", "in 5%", "average precision", "seeds", "s a run"], rows))


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = parser_of(__file__, __doc__, seeds=3)
    parser.add_argument("--sets", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--models", nargs="+", help="some of the models (all)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    results = read(options.results)
    done = {(run["set"], run["model"], run["seed"]) for run in results}
    for name in options.sets:
        for seed in range(options.seeds):
            for model in MODELS[name]:
                if (name, model, seed) in done or (options.models is not None and model not in options.models):
                    continue
                runs = measure(name, model, seed)
                results = sorted([*results, *runs], key=lambda run: (run["set"], run["model"], run["seed"]))
                write(options.results, results)
                print(name, model, seed, f"{runs[0]['found_in_10']:.1f}", flush=True)
    show(results, options.sets)


if __name__ == "__main__":
    main()
