"""Measure how honest the probabilities of CLOC, OTD and the blend are on ordinal tables, and ways to calibrate them.

    ORDINATE_DATA=DIR python benchmarks/probabilities.py [--sets swd car ...] [--parts test] [--seeds 3] [--jobs 2]

Every seed splits a set at random: 70% to train, 30% to test, of Car 1000 rows. Part "test" trains on the 70% and
measures on the 30%; "fold 0" and "fold 1" train on one half of the 70% and measure on the other one, to choose a
calibration without test data, and CLOC and OTD train for a third of their epochs there (EPOCHS). All calibrations are
fitted on the same scores: those of the third of the samples that the second training of `fit` has not seen.
"""

import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from skordinal import datasets

import tabular
from ordinate import BlendClassifier, CLOCClassifier, OTDClassifier
from ordinate.decisions import predict_ranks
from ordinate.heads.ranks import Temperature, VoteProbabilities
from ordinate.metrics import ranked_probability_score
from ordinate.report.page.measures import measure_calibration
from ordinate.report.text import table
from runs import Run, complete, parser_of, where

SETS = ("swd", "lev", "era", "esl", "hayes_roth", "balance_scale", "car")
PARTS = ("fold 0", "fold 1", "test")
ROWS = 1000  # Only this many rows of Car are used.
EPOCHS: dict[str, Any] = {"CLOC": (30, 60), "OTD": 90}
VARIANTS = {"a temperature per boundary": (1, 0), "a shift per boundary": (0, 1), "both per boundary": (1, 1)}

Array = NDArray[Any]


def read(name: str) -> tuple[Any, Array]:
    """Return the samples and the ranks of a set."""
    if name in tabular.ORDERS:
        X, y = tabular.read(name)
        return X, np.unique(y, return_inverse=True)[1]
    data = getattr(datasets, f"load_{name}")()
    return np.asarray(data.data, dtype=np.float64), np.unique(data.target, return_inverse=True)[1]


def measure(name: str, method: str, part: str, seed: int) -> Run:
    """Return the measures of the probabilities of a method, by the way of their calibration."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    X, y = read(name)
    take = X.iloc if hasattr(X, "iloc") else X
    order = np.random.default_rng(seed).permutation(len(y))[:ROWS]
    train, test = np.split(order, [round(0.7 * len(order))])
    epochs = None
    if part != "test":
        epochs = EPOCHS.get(method)
        halves = np.array_split(train, 2)
        train, test = halves[1 - int(part[-1])], halves[int(part[-1])]
    classes = range(int(y.max()) + 1)
    if method == "Blend":
        model: Any = BlendClassifier(class_order=classes, random_state=seed).fit(take[train], y[train])
        return {"models": {"blend": scores(model.rank_probabilities(take[test]), y[test])}}
    with patch.object(Temperature, "fit", wraps=Temperature.fit) as fit:
        estimator = CLOCClassifier if method == "CLOC" else OTDClassifier
        model = estimator(class_order=classes, epochs=epochs, random_state=seed).fit(take[train], y[train])
    known, ranks = (values.numpy() for values in fit.call_args.args[:2])
    raw, of_test = uncalibrated(model, torch.from_numpy(model.transform(take[test])))
    scale = float(model.predictor_.temperature.scale)
    found = {"uncalibrated": raw, "one temperature": softmax(scale * of_test, axis=1)}
    for variant, wanted in VARIANTS.items():
        found[variant] = by_boundary(scale * known, ranks, scale * of_test, *wanted)
    return {"models": {way: scores(probabilities, y[test]) for way, probabilities in found.items()}}


def uncalibrated(model: Any, embeddings: torch.Tensor) -> tuple[Array, Array]:
    """Return the probabilities of the method's own rule, and the scores that a temperature scales."""
    predictor = model.predictor_
    with torch.no_grad():
        if isinstance(predictor, VoteProbabilities):
            return predictor.vote(embeddings).numpy(), predictor.scores(embeddings).numpy()
        logits = predictor.head(embeddings.double()).numpy()
    return softmax(logits, axis=1), logits


def by_boundary(known: Array, ranks: Array, new: Array, scaled: int, shifted: int, penalty: float = 1.0) -> Array:
    """Return probabilities (m, C) of new scores, the logit of each boundary scaled and shifted as known scores ask for.

    The logit of lying above a boundary becomes ``scale * logit + shift``, at most that of the boundary below. Known
    scores (n, C) with ranks (n,) have the highest likelihood, less ``penalty`` times the squares of shifts and of
    logarithms of scales, which keeps boundaries with few samples at one temperature.
    """
    count = known.shape[1] - 1

    def probabilities(scores: Array, parameters: Array) -> Array:
        above = np.clip(np.cumsum(softmax(scores, axis=1)[:, ::-1], axis=1)[:, -2::-1], 1e-7, 1 - 1e-7)
        moved = expit(logit(above) * np.exp(scaled * parameters[:count]) + shifted * parameters[count:])
        falling = np.minimum.accumulate(moved, axis=1)
        shares = -np.diff(falling, axis=1, prepend=1, append=0) + 1e-7
        return shares / shares.sum(axis=1, keepdims=True)

    def loss(parameters: Array) -> float:
        likelihood = np.log(probabilities(known, parameters)[np.arange(len(ranks)), ranks]).sum()
        return float(penalty * parameters @ parameters - likelihood)

    return probabilities(new, minimize(loss, np.zeros(2 * count)).x)


def scores(probabilities: Array, ranks: Array, least: float = 1e-7) -> dict[str, float]:
    """Return the measures of probabilities (n, C), whose median is the prediction."""
    every = np.arange(len(ranks))
    predicted = predict_ranks(probabilities, "median")
    return {
        "log loss": float(-np.log(np.maximum(probabilities[every, ranks], least)).mean()),
        "RPS": float(ranked_probability_score(ranks, probabilities)),
        "ECE": measure_calibration(probabilities[every, predicted], predicted == ranks).error,
        "accuracy": float((predicted == ranks).mean()),
        "MAE": float(np.abs(predicted - ranks).mean()),
    }


def show(results: list[Run], names: list[str], parts: list[str]) -> None:
    """Print the means over seeds and parts for each set, and over the sets."""
    for method in ("CLOC", "OTD", "Blend"):
        runs = [run for run in where(results, method=method) if run["part"] in parts]
        by_set = {name: where(runs, set=name) for name in names if where(runs, set=name)}
        if not by_set:
            continue
        for title, sets in {**{name: [name] for name in by_set}, "mean of the sets": list(by_set)}.items():
            rows = []
            for way, measured in next(iter(by_set.values()))[0]["models"].items():
                means = [np.mean([[run["models"][way][key] for key in measured] for run in by_set[name]], axis=0)
                         for name in sets]  # fmt: skip
                rows.append([way, *(f"{value:.3f}" for value in np.mean(means, axis=0))])
            print(f"\n{title}, {method}, {', '.join(parts)}\n{table(['probabilities', *measured], rows)}")


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = parser_of(__file__, __doc__, seeds=3)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--methods", nargs="+", default=["CLOC", "OTD", "Blend"])
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    options = parser.parse_args()
    wanted = [
        (name, method, part, seed)
        for seed in range(options.seeds)
        for part in options.parts
        for name in options.sets
        for method in options.methods
        if method != "Blend" or part == "test"
    ]
    results = complete(measure, wanted, ("set", "method", "part", "seed"), options)
    show(results, options.sets, options.parts)


if __name__ == "__main__":
    main()
