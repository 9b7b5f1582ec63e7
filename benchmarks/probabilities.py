"""Measure how honest the probabilities of OTD and CLOC are on small tables.

    python benchmarks/probabilities.py [--sets swd era esl lev] [--sizes 190 150 250 200 0] [--seeds 10]

Every random split leaves 30 % of a set to test on; so many samples of the rest are trained on, all of it for size 0.
Each method is compared with its probabilities before calibration: votes of the 9 nearest training embeddings for OTD,
the softmax of the classifier for CLOC. Multinomial logistic regression and equal probabilities are baselines. Accuracy
and MAE are those of the median. Every finished run is kept in the results file, and the script continues where it was
stopped.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skordinal import datasets

from ordinate import CLOCClassifier, OTDClassifier, Training
from ordinate.decisions import predict_ranks
from ordinate.heads.neighbours import NeighbourVote
from ordinate.heads.ranks import RankLogits
from ordinate.metrics import ranked_probability_score
from ordinate.report.text import table

RESULTS = Path(__file__).parent / "results" / "probabilities.json"
ESTIMATORS: dict[str, Any] = {"OTD": OTDClassifier, "CLOC": CLOCClassifier}

Array = NDArray[Any]


def read(name: str) -> tuple[Array, Array]:
    """Return the samples and the ranks of a set."""
    data = getattr(datasets, f"load_{name}")()
    return np.asarray(data.data, dtype=np.float64), np.unique(data.target, return_inverse=True)[1]


def scores(probabilities: Array, ranks: Array, least: float = 1e-15) -> dict[str, float]:
    """Return the measures of probabilities (n, C)."""
    predicted = predict_ranks(probabilities, "median")
    of_true = probabilities[np.arange(len(ranks)), ranks]
    return {
        "log_loss": float(-np.log(np.maximum(of_true, least)).mean()),
        "rps": float(ranked_probability_score(ranks, probabilities)),
        "accuracy": float((predicted == ranks).mean()),
        "mae": float(np.abs(predicted - ranks).mean()),
        "sure": float((probabilities.max(axis=1) > 0.999).mean()),
        "excluded": float((of_true < 1e-3).mean()),
    }


def fit(method: str, X: Array, y: Array, classes: int, seed: int, **options: Any) -> tuple[Any, float]:
    """Return a fitted model and the processor time that the fit took."""
    start = time.process_time()
    training = Training(**options)
    model = ESTIMATORS[method](class_order=range(classes), training=training, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model, time.process_time() - start


def before(method: str, model: Any, X: Array, y: Array, test: Array) -> Array:
    """Return the probabilities that the method's own rule gives without calibration."""
    embeddings = torch.from_numpy(model.transform(test))
    if method == "CLOC":
        predictor: Any = RankLogits(model.method_.classifier, "cross_entropy")
    else:
        known = torch.nn.functional.normalize(torch.from_numpy(model.transform(X)))
        predictor = NeighbourVote(known.float().double(), torch.from_numpy(y), len(model.classes_), 9)
    with torch.no_grad():
        probabilities: Array = predictor(embeddings).numpy()
    return probabilities


def measure(name: str, method: str, size: int, seed: int) -> dict[str, Any]:
    """Return the measures of a method on one split, before and after calibration, and of the baselines."""
    X, y = read(name)
    classes = int(y.max()) + 1
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed)
    train = train[:size] if size else train
    model, seconds = fit(method, X[train], y[train], classes, seed, calibration=False)
    found = {f"{method} before": {**scores(before(method, model, X[train], y[train], X[test]), y[test]), "s": seconds}}
    model, seconds = fit(method, X[train], y[train], classes, seed)
    found[f"{method} after"] = {**scores(model.rank_probabilities(X[test]), y[test]), "s": seconds}
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X[train], y[train])
    probabilities = np.zeros((len(test), classes))
    probabilities[:, logistic.classes_] = logistic.predict_proba(X[test])
    found["logistic regression"] = {**scores(probabilities, y[test]), "s": 0.0}
    found["uniform"] = {**scores(np.full((len(test), classes), 1 / classes), y[test]), "s": 0.0}
    return {"set": name, "method": method, "size": size, "seed": seed, "models": found}


def show(results: list[dict[str, Any]]) -> None:
    """Print the means over the splits for each set and size."""
    for name, size in sorted({(run["set"], run["size"]) for run in results}):
        runs = [run for run in results if (run["set"], run["size"]) == (name, size)]
        models: dict[str, list[dict[str, float]]] = {}
        for run in runs:
            for model, found in run["models"].items():
                models.setdefault(model, []).append(found)
        columns = list(next(iter(models.values()))[0])
        rows = []
        for model, found in models.items():
            means = [np.mean([each[column] for each in found]) for column in columns]
            rows.append([model, *(f"{mean:.3f}" for mean in means)])
        count = len({run["seed"] for run in runs})
        print(f"\n{name}, {size or 'all'} training samples, {count} splits")
        print(table(["model", *columns], rows))


def main() -> None:
    """Measure the runs that are not in the results yet, and show all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["swd", "era", "esl", "lev"])
    parser.add_argument("--methods", nargs="+", default=list(ESTIMATORS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[190, 150, 250, 200, 0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else []
    keys = ("set", "method", "size", "seed")
    done = {tuple(run[key] for key in keys) for run in results}
    for seed in range(options.seeds):
        for size in options.sizes:
            for name in options.sets:
                for method in options.methods:
                    run = (name, method, size, seed)
                    if run in done:
                        continue
                    results.append(measure(*run))
                    pending = options.results.with_suffix(".tmp")
                    pending.write_text(json.dumps(results, indent=1) + "\n")
                    pending.replace(options.results)
                    print(*run, flush=True)
    show(results)


if __name__ == "__main__":
    main()
