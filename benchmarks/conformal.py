"""Compare promised with measured coverage of sets and intervals, and their size with that of MAPIE's plain ones.

    ORDINATE_DATA=DIR python benchmarks/conformal.py [--sets nursery balance_scale ...] [--seeds 20] [--jobs 1]

One model per set, method and seed, trained for few epochs (EPOCHS), so that there is something to be unsure of. Tables
are split at random, 40% to train, 30% to calibrate and 30% to measure on, of Nursery 3000 rows; RetinaMNIST is
trained on its owner's training part, and its other images are halved. MAPIE (LAC and APS sets, absolute residuals) gets
the same predictions; its LAC sets may be empty, so that they are also shown with the most probable rank put into empty
ones. Sets that are calibrated by rank (Mondrian) are measured, too, and the coverage of every rank. Every finished run
is kept in the results file; the script continues where it was stopped.
"""

import warnings
from typing import Any

import numpy as np
import torch
from mapie.classification import SplitConformalClassifier
from mapie.regression import SplitConformalRegressor
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import tabular
from ordinate import CLOCClassifier, OTDClassifier, SupCRRegressor, Training
from ordinate.decisions import (
    calibrate_intervals,
    calibrate_ranks,
    interval_coverage,
    intervals,
    rank_coverage,
    rank_sets,
)
from ordinate.report.text import table
from ordinate_papers.datasets.images import load
from runs import Run, complete, parser_of, spread, where
from small_recipes import small_recipe

METHODS = {
    "nursery": ("CLOC", "OTD"), "balance_scale": ("CLOC", "OTD"), "airfoil": ("SupCR",), "retinamnist": ("CLOC",)
}  # fmt: skip
EPOCHS: dict[str, Any] = {"CLOC": (10, 20), "OTD": 20, "SupCR": (60, 15), "retinamnist": (2, 6)}
COVERAGES = (0.8, 0.9, 0.95)
ROWS = 3000  # Only this many rows of Nursery are used.

Array = NDArray[Any]


class _Votes(ClassifierMixin, BaseEstimator):
    """A classifier for MAPIE whose probabilities are its samples."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.classes_ = np.arange(classes)

    def fit(self, X: Array, y: Array) -> "_Votes":
        """Return itself: there is nothing to fit."""
        return self

    def predict_proba(self, X: Array) -> Array:
        """Return the probabilities."""
        return np.asarray(X)

    def predict(self, X: Array) -> Array:
        """Return the most probable rank."""
        return np.argmax(X, axis=1)


class _Predictions(RegressorMixin, BaseEstimator):
    """A regressor for MAPIE whose predictions are its samples."""

    fitted_ = True

    def fit(self, X: Array, y: Array) -> "_Predictions":
        """Return itself: there is nothing to fit."""
        return self

    def predict(self, X: Array) -> Array:
        """Return the predictions."""
        return np.asarray(X)[:, 0]


def read(name: str, seed: int) -> tuple[Any, Array, Array, Array, Array]:
    """Return samples and labels, and the rows to train, to calibrate and to measure on."""
    random = np.random.default_rng(seed)
    if name == "retinamnist":
        images: Any = load(name)
        splits = images.splits.to_numpy()
        other = random.permutation(np.flatnonzero(splits != "train"))
        half = len(other) // 2
        return images.samples, images.labels.to_numpy(), np.flatnonzero(splits == "train"), other[:half], other[half:]
    X, y = tabular.read(name)
    order = random.permutation(len(y))[:ROWS]
    train, calibrate, test = np.split(order, [round(0.4 * len(order)), round(0.7 * len(order))])
    take = X.iloc if hasattr(X, "iloc") else X
    return take, y, train, calibrate, test


def train(name: str, method: str, X: Any, y: Array, seed: int) -> Any:
    """Return a model fitted with few epochs."""
    if name == "retinamnist":
        recipe = small_recipe("cloc-retinamnist")
        return recipe.build(epochs=EPOCHS[name], random_state=seed, verbose=0).fit(X, y)
    if method == "SupCR":
        return SupCRRegressor(epochs=EPOCHS[method], random_state=seed, training=Training(refit=0)).fit(X, y)
    order = list(range(len(tabular.ORDERS[name])))
    if method == "OTD":
        return OTDClassifier(class_order=order, epochs=EPOCHS[method], random_state=seed).fit(X, y)
    return CLOCClassifier(class_order=order, epochs=EPOCHS[method], random_state=seed).fit(X, y)


def measure(name: str, method: str, seed: int) -> Run:
    """Return what each way of making sets covers, and how large they are, for every promised coverage."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    X, y, fitted, calibrated, test = read(name, seed)
    model = train(name, method, X[fitted], y[fitted], seed)
    sets_of = _interval_sets if method == "SupCR" else _rank_sets
    worth, sets = sets_of(model, X[calibrated], y[calibrated], X[test], y[test])
    return {"worth": worth, "sets": sets}


def _rank_sets(model: Any, known_X: Any, known_y: Array, X: Any, y: Array) -> tuple[float, list[dict[str, Any]]]:
    """Accuracy, and coverage and size of every kind of set."""
    known, new = model.predict_proba(known_X), model.predict_proba(X)
    num_classes = new.shape[1]
    found = []
    for coverage in COVERAGES:
        for by_rank, kind in ((False, "Ordinate"), (True, "Ordinate, by rank")):
            sets = rank_sets(new, calibrate_ranks(known_y, known, coverage, by_rank=by_rank))
            ours = rank_coverage(y, sets, num_classes)
            counts = np.bincount(y, minlength=num_classes).tolist()
            of_ranks = {f"rank {rank}": covered for rank, covered in enumerate(ours["coverage_by_rank"])}
            found.append({"promised": coverage, "kind": kind, "coverage": ours["coverage"], "size": ours["mean_size"],
                          "counts": counts, "empty": 0.0, **of_ranks})  # fmt: skip
        for score in ("lac", "aps"):
            mapie = SplitConformalClassifier(
                _Votes(num_classes), coverage, conformity_score=score, prefit=True, random_state=0
            )
            members = mapie.conformalize(known, known_y).predict_set(new)[1][:, :, 0]
            found.append({"promised": coverage, "kind": f"MAPIE {score.upper()}", **_of_members(members, y)})
            if score == "lac":
                empty = ~members.any(axis=1)
                members[empty, new[empty].argmax(axis=1)] = True
                found.append({"promised": coverage, "kind": "MAPIE LAC, none empty", **_of_members(members, y)})
    return float((new.argmax(axis=1) == y).mean()), found


def _of_members(members: Array, y: Array) -> dict[str, float]:
    return {
        "coverage": float(members[np.arange(len(y)), y].mean()),
        "size": float(members.sum(axis=1).mean()),
        "empty": float((~members.any(axis=1)).mean()),
    }


def _interval_sets(model: Any, known_X: Any, known_y: Array, X: Any, y: Array) -> tuple[float, list[dict[str, Any]]]:
    """MAE, and coverage and width of every kind of interval."""
    known, new = model.predict(known_X), model.predict(X)
    found = []
    for coverage in COVERAGES:
        mapie = SplitConformalRegressor(_Predictions(), coverage, prefit=True).conformalize(known[:, None], known_y)
        kinds = {
            "Ordinate": intervals(new, calibrate_intervals(known_y, known, coverage)),
            "MAPIE absolute": mapie.predict_interval(new[:, None])[1][:, :, 0],
        }
        for kind, bounds in kinds.items():
            measured = interval_coverage(y, bounds)
            found.append({"promised": coverage, "kind": kind, "coverage": measured["coverage"],
                          "size": measured["mean_width"], "empty": 0.0})  # fmt: skip
    return float(np.abs(new - y).mean()), found


def show(results: list[Run], names: list[str]) -> None:
    """Print a table a set and method."""
    for name in names:
        for method in METHODS[name]:
            runs = where(results, set=name, method=method)
            if not runs:
                continue
            what, size = ("MAE", "mean width") if method == "SupCR" else ("accuracy", "mean size")
            print(f"\n{name}, {method}, {len(runs)} splits, {what} {np.mean([run['worth'] for run in runs]):.3f}")
            sets = [entry for run in runs for entry in run["sets"]]
            rows = []
            for coverage, kind in dict.fromkeys((entry["promised"], entry["kind"]) for entry in sets):
                own = where(sets, promised=coverage, kind=kind)
                means = [f"{np.mean([entry[key] for entry in own]):.3f}" for key in ("size", "empty")]
                rows.append([kind, f"{coverage:.2f}", spread(own, "coverage", ".3f"), *means])
            print(table(["sets", "promised", "measured", size, "empty"], rows))
            if method != "SupCR":
                print(_coverage_of_ranks(sets))


def _coverage_of_ranks(sets: list[dict[str, Any]], promised: float = 0.9, share: float = 0.95) -> str:
    """Return a table of the coverage of each rank, its mean over the splits, and how often it is not too low.

    That is: at or above the lower end of the binomial interval of the promised coverage, for the samples of the rank.
    """
    header, rows = ["sets, 0.90 promised", "rank", "measured", "not too low"], []
    for kind in ("Ordinate", "Ordinate, by rank"):
        own = where(sets, promised=promised, kind=kind)
        for rank in range(len(own[0]["counts"])):
            known = [(each["counts"][rank], each[f"rank {rank}"]) for each in own if each["counts"][rank]]
            if not known:
                continue
            counts, found = np.array(known).T
            enough = found >= binom.ppf((1 - share) / 2, counts, promised) / counts
            rows.append([kind, str(rank), f"{found.mean():.3f} ± {found.std():.3f}", f"{enough.mean():.2f}"])
    return table(header, rows)


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = parser_of(__file__, __doc__, seeds=20, jobs=1)
    parser.add_argument("--sets", nargs="+", default=list(METHODS), choices=list(METHODS))
    options = parser.parse_args()
    wanted = [
        (name, method, seed) for name in options.sets for method in METHODS[name] for seed in range(options.seeds)
    ]
    show(complete(measure, wanted, ("set", "method", "seed"), options), options.sets)


if __name__ == "__main__":
    main()
