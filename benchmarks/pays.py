"""Measure where an ordered representation pays: each method compared with the same network and the plain loss.

    ORDINATE_DATA=DIR python benchmarks/pays.py [--experiments NAME ...] [--seeds 5] [--jobs 2]

An experiment is a promise of the papers on a data set: few labels, unseen and out-of-range targets, wrong labels, a
critical boundary, corrupted images, rare grades, transfer, retrieval and order, embeddings of 2 to 512 dimensions. All
models have the same encoder and otherwise their default settings, but regressors train all epochs and probabilities are
not calibrated; docs/pays.md says where the defaults differ. The plain loss is the absolute error (targets) or
cross-entropy (ranks).
A seed is a split, or a run on the owner's split, the same for all models. The tables show the mean of every model and
its mean difference to the plain loss over pairs, with the 95% interval (Student's t over the seeds). Every finished run
is kept in the results file; the script continues where it was stopped. At the end it writes the tables of the
documentation next to that file, from experiments with three seeds or more.
"""

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import leaderboard
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import choose_preprocessing, decode
from ordinate.data.rows import take
from ordinate.data.text.options import TextOptions
from ordinate.decisions import predict_ranks
from ordinate.estimators.cloc import two_phases
from ordinate.estimators.registry import build
from ordinate.extensions import Task
from ordinate.metrics import accuracy, adjacent_error_rates, mae, ranked_probability_score
from ordinate.report.text import table
from ordinate_papers.datasets import images
from ordinate_papers.datasets.stsb_dir import read_stsb_dir
from ordinate_papers.protocols.corruptions import CORRUPTIONS, corrupt
from ordinate_papers.protocols.label_bias import label_bias
from ordinate_papers.protocols.reduced_data import reduced_data
from ordinate_papers.protocols.retrieval import retrieval
from ordinate_papers.protocols.transfer import transfer
from ordinate_papers.protocols.unseen_targets import unseen_targets
from runs import Run, complete, parser_of, where

TARGETS, RANKS = ("l1", "supcr", "supremix"), ("cross_entropy", "cloc", "otd")  # The plain loss comes first.
SHARES = (0.1, 0.2, 0.5)
WRONG = 0.3  # This share of the training labels is exchanged at random.
BY_PREDICTION = "average_precision_of_predictions"
HIGHER = (
    "accuracy", "quadratic_weighted_kappa", "average_precision", BY_PREDICTION, "ndcg", "order", "direction", "r2"
)  # fmt: skip
PIXELS: dict[str, tuple[Any, int]] = {  # Each set gets a size and a number of channels.
    "retinamnist": (28, 3), "koa": ((60, 100), 1), "koa, small": ((30, 50), 1), "koa, square": (28, 3),
}  # fmt: skip
Data = tuple[Any, NDArray[Any], Any, NDArray[Any]]  # Training samples and labels, then test samples and labels.
Figures = dict[str, float]


@dataclass(frozen=True)
class Experiment:
    """A measurement of the models of a task on a data set.

    Args:
        data: Name of the set.
        measure: Function of an unfitted estimator, the data of a seed and the seed that returns figures by name.
        shown: Figures in the table, a part of those that are kept.
        settings: Settings of all estimators.
        epochs: Epochs of the training, for CLOC those of its two phases; None for the defaults.
        without: Methods that are left out for lack of time.
        margins: Fixed margins at the measured boundary; if given, CLOC with them is compared with learned margins.
    """

    data: str
    measure: Callable[[Any, Data, int], Figures]
    shown: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    epochs: int | None = None
    without: tuple[str, ...] = ()
    margins: tuple[float, ...] = ()

    @property
    def task(self) -> Task:
        """What the labels of the set are."""
        return "continuous" if self.data in (*leaderboard.OF_UCI, *leaderboard.OWN_SPLIT, "stsb_dir") else "ranks"

    def build(self, model: str, seed: int) -> Any:
        """Return the unfitted estimator of a model."""
        settings: dict[str, Any] = {"decision": None, "training__calibration": False, **self.settings}
        if self.task == "continuous":
            settings = {"training__patience": None, **self.settings}
        model, _, margin = model.partition(", ")
        if margin:
            settings["critical_margins"] = {DOUBTFUL: float(margin)}
        if self.epochs is not None and model == "cloc":
            settings["epochs"] = two_phases(self.epochs)
        elif self.epochs is not None:
            settings["epochs"] = self.epochs if model in (TARGETS[0], *RANKS) else (self.epochs, self.epochs // 2)
        return build(model, self.task, random_state=seed, **settings)

    @property
    def models(self) -> tuple[str, ...]:
        """The plain loss, and the methods."""
        if self.margins:
            return ("cloc", *(f"cloc, {margin}" for margin in self.margins))
        models = TARGETS if self.task == "continuous" else RANKS
        return tuple(model for model in models if model not in self.without)


def read(name: str, seed: int) -> Data:
    """Return the samples and labels of a set under a seed."""
    if name == "stsb_dir":
        pairs = read_stsb_dir(Path(os.environ["ORDINATE_DATA"]) / "stsb_dir")
        seen, unseen = (pairs[pairs["split"] == part] for part in ("train", "test"))
        return seen[TEXTS], seen["score"].to_numpy(), unseen[TEXTS], unseen["score"].to_numpy()
    X: Any
    if name in PIXELS:
        pictures: Any = images.load(name.partition(",")[0])
        y, tested = pictures.labels.to_numpy(), pictures.splits.to_numpy() == "test"
        preprocessing = choose_preprocessing(pictures.samples, *PIXELS[name])
        X, train, test = decode(pictures.samples, preprocessing)[0], np.flatnonzero(~tested), np.flatnonzero(tested)
    else:
        X, y, train, test = leaderboard.load(name, seed)
    return take(X, train), y[train], take(X, test), y[test]


# Measurements


def of_parts(rows: Iterable[dict[str, Any]], key: str) -> Figures:
    """Return the figures of a protocol's rows, named after the row's part."""
    return {
        f"{name}, {row[key]}": value
        for row in rows
        for name, value in row.items()
        if name != key and isinstance(value, float)
    }


def few_labels(estimator: Any, data: Data, seed: int) -> Figures:
    """Train on 10, 20 and 50% of the samples."""
    sizes = [round(share * len(data[1])) for share in SHARES]
    rows = reduced_data(estimator, *data, sizes=sizes, seed=seed)["rows"]
    return of_parts(({**row, "share": f"{share:.0%}"} for share, row in zip(SHARES, rows, strict=True)), "share")


def left_out(estimator: Any, data: Data, _: int, between: tuple[float, float]) -> Figures:
    """Leave a range of targets out of training, given as shares of the targets in order."""
    low, high = np.quantile(data[1], between)
    low, high = (-np.inf if between[0] == 0 else low), (np.inf if between[1] == 1 else high)
    return of_parts(unseen_targets(estimator, *data, ranges=[(low, high)])["rows"], "targets")


def wrong_labels(estimator: Any, data: Data, seed: int) -> Figures:
    """Exchange the labels of some training samples among each other."""
    X, y, X_test, y_test = data
    random = np.random.default_rng(seed)
    moved, given = random.permutation(len(y))[: round(WRONG * len(y))], y.copy()
    given[moved] = y[random.permutation(moved)]
    [row] = reduced_data(estimator, X, given, X_test, y_test, sizes=[len(y)], seed=seed)["rows"]
    return {name: value for name, value in row.items() if name != "size"}


def biased_boundary(estimator: Any, data: Data, seed: int, boundary: tuple[int, int]) -> Figures:
    """Bias the labels at one boundary, as CLOC's Table 3 does; CLOC has a fixed margin there."""
    if "critical_margins" in estimator.get_params():
        estimator = clone(estimator).set_params(critical_margins={boundary: 1.2})
    [row] = label_bias(estimator, *data, boundary=boundary, seed=seed)["rows"]
    return {name: value for name, value in row.items() if name != "relabelled"}


def neighbours(estimator: Any, data: Data, _: int) -> Figures:
    """Search the training samples by the embeddings of the test samples."""
    return dict(retrieval(estimator, *data)["rows"][0])


def neighbours_by_size(estimator: Any, data: Data, seed: int) -> Figures:
    """Embeddings of 2 to 512 dimensions."""
    rows = (
        {"size": str(size), **neighbours(clone(estimator).set_params(embedding_dim=size), data, seed)}
        for size in (2, 8, 64, 512)
    )
    return of_parts(rows, "size")


def of_pictures(estimator: Any, data: Data, seed: int) -> Figures:
    """One training: both decisions, neighbours, errors at boundaries; every fourth test image corrupted in 19 ways."""
    X, y, X_test, y_test = data
    model = clone(estimator).fit(X, y)
    figures = neighbours(FrozenEstimator(model), data, seed)
    probabilities = model.predict_proba(X_test)
    median = predict_ranks(probabilities, "median")
    figures |= {"mae, median": mae(y_test, median), "accuracy, median": accuracy(y_test, median)}
    figures["ranked_probability_score"] = ranked_probability_score(y_test, probabilities)
    some = np.arange(0, len(y_test), 4)
    scores = []
    for name in CORRUPTIONS:
        blurred = model.predict_proba(corrupt(X_test[some], name, SEVERITY, seed))
        error = np.abs(blurred.argmax(1) - y_test[some]).mean()
        scores.append((error, ranked_probability_score(y_test[some], blurred)))
    figures["mae, corrupted"], figures["ranked_probability_score, corrupted"] = map(float, np.mean(scores, axis=0))
    for low, margin in enumerate(getattr(model, "margins_", ())):
        figures[f"margin {low} | {low + 1}"] = float(margin)
    for low, error in enumerate(adjacent_error_rates(y_test, model.predict(X_test), probabilities.shape[1])):
        figures[f"error {low} | {low + 1}"] = float(error)
    return figures


def shifted(estimator: Any, data: Data, _: int) -> Figures:
    """Train on the lower 70% of the first column, measure the probabilities on the samples above."""
    X, y, X_test, y_test = data
    column = X.iloc[:, 0].to_numpy()
    edge = np.quantile(column, 0.7)
    model = clone(estimator).fit(X[column <= edge], y[column <= edge])
    figures = {}
    for name, rows in (("unshifted", X_test.iloc[:, 0] <= edge), ("shifted", X_test.iloc[:, 0] > edge)):
        true, probabilities = y_test[rows], model.predict_proba(X_test[rows])
        figures[f"ranked_probability_score, {name}"] = ranked_probability_score(true, probabilities)
        figures[f"mae, {name}"] = mae(true, model.predict(X_test[rows]))
    return figures


def at_boundaries(estimator: Any, data: Data, _: int) -> Figures:
    """Error rates between adjacent grades, and the errors over all."""
    X, y, X_test, y_test = data
    predicted = clone(estimator).fit(X, y).predict(X_test)
    figures = {"mae": mae(y_test, predicted), "accuracy": accuracy(y_test, predicted)}
    errors = adjacent_error_rates(y_test, predicted, len(np.unique(y)))
    return figures | {f"error {low} | {low + 1}": float(error) for low, error in enumerate(errors)}


def rare_grades(estimator: Any, data: Data, _: int) -> Figures:
    """Errors over all samples, over grades that count the same, and in the rarest; without and with class weights."""
    X, y, X_test, y_test = data
    rarest = int(np.bincount(y).argmin())
    figures = {}
    for weighted in (None, "balanced"):
        model = clone(estimator).set_params(class_weight=weighted)
        if weighted is not None and model.unweighted is not None:
            continue
        errors = np.abs(model.fit(X, y).predict(X_test) - y_test)
        by_grade = pd.Series(errors).groupby(y_test).mean()
        kind = "" if weighted is None else ", weighted"
        figures[f"mae, all{kind}"] = float(errors.mean())
        figures[f"mae, mean of grades{kind}"] = float(by_grade.mean())
        figures[f"mae, rarest grade{kind}"] = float(by_grade[rarest])
    return figures


def other_domain(estimator: Any, data: Data, seed: int) -> Figures:
    """Train on the aerofoils of all chords but the longest; of that one 50 samples are for the new layer."""
    X: Any
    X, y = pd.concat([data[0], data[2]]), np.concatenate([data[1], data[3]])
    here = (X["chord_m"] == X["chord_m"].max()).to_numpy()
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(here))
    few, rest = rows[:50], rows[50:]
    model = clone(estimator).fit(X[~here], y[~here])
    return of_parts(transfer(model, X.iloc[few], y[few], X.iloc[rest], y[rest], seed=seed)["rows"], "scheme")


def on_retinas(estimator: Any, data: Data, seed: int) -> Figures:
    """Train on X-rays; RetinaMNIST's training images are for the new layer."""
    return of_parts(transfer(clone(estimator).fit(*data[:2]), *read("retinamnist", seed), epochs=20)["rows"], "scheme")


DOUBTFUL = (1, 2)  # Most errors on KOA lie at this boundary.
TEXTS = ["sentence1", "sentence2"]
SENTENCES: dict[str, Any] = {
    "encoder": "minilm", "data": TextOptions(), "embedding_dim": 128, "batch_size": 128,
}  # fmt: skip
FEW = tuple(f"mae, {share:.0%}" for share in SHARES)
SMALL: dict[str, Any] = {"encoder": "test_resnet", "batch_size": 32, "data": ImageOptions()}
X_RAYS: dict[str, Any] = {
    "encoder": "efficientnet_lite0",
    "data": ImageOptions(augmentation="koa", pretrained=True, mirror=True),
}
SEVERITY = 3
ENOUGH = 3  # The documentation shows results with at least this many seeds.
SEEN = (
    "accuracy", "mae", "mae, median", "average_precision", "ndcg", "order", "direction", "mae, corrupted",
    "ranked_probability_score", "ranked_probability_score, corrupted",
)  # fmt: skip
RARE = tuple(f"mae, {of}{kind}" for kind in ("", ", weighted") for of in ("all", "mean of grades", "rarest grade"))
FOUND = ("average_precision", "ndcg", "order", "direction", "mae")
FOUND_TARGETS = ("average_precision", BY_PREDICTION, "ndcg", "order", "direction", "mae")
EXPERIMENTS = {
    "few labels: airfoil": Experiment("airfoil", few_labels, FEW),
    "few labels: concrete": Experiment("concrete", few_labels, FEW),
    "few labels: LEV": Experiment("lev", few_labels, FEW),
    "few labels: RetinaMNIST": Experiment("retinamnist", few_labels, FEW, SMALL, epochs=20),
    "few labels: KOA": Experiment("koa, small", few_labels, FEW, SMALL, epochs=10, without=("otd",)),
    "few labels: STS-B-DIR": Experiment("stsb_dir", few_labels, FEW, SENTENCES, epochs=40),
    **{
        f"unseen targets: {name}": Experiment(
            name, partial(left_out, between=(0.4, 0.6)), ("mae, all", "mae, seen", "mae, unseen")
        )
        for name in ("airfoil", "concrete")
    },
    **{
        f"out-of-range targets: {name}": Experiment(
            name, partial(left_out, between=(0.9, 1)), ("mae, all", "mae, seen", "mae, unseen")
        )
        for name in ("airfoil", "concrete")
    },
    "wrong labels: airfoil": Experiment("airfoil", wrong_labels, ("mae",)),
    "wrong labels: concrete": Experiment("concrete", wrong_labels, ("mae",)),
    "wrong labels: LEV": Experiment("lev", wrong_labels, ("mae", "accuracy")),
    "wrong labels: Car": Experiment("car", wrong_labels, ("mae", "accuracy")),
    "wrong labels: RetinaMNIST": Experiment("retinamnist", wrong_labels, ("mae", "accuracy"), SMALL, epochs=20),
    "biased boundary: LEV, 2 | 3": Experiment(
        "lev", partial(biased_boundary, boundary=(2, 3)), ("mae", "accuracy", "critical_error")
    ),
    "biased boundary: Car, 1 | 2": Experiment(
        "car", partial(biased_boundary, boundary=(1, 2)), ("mae", "accuracy", "critical_error")
    ),
    "biased boundary: KOA, 1 | 2": Experiment(
        "koa, small", partial(biased_boundary, boundary=DOUBTFUL), ("mae", "accuracy", "critical_error"), SMALL,
        epochs=10, without=("otd",),
    ),
    "fixed margin: KOA, 1 | 2": Experiment(
        "koa, small", at_boundaries, ("error 1 | 2", "error 0 | 1", "error 2 | 3", "error 3 | 4", "mae", "accuracy"),
        SMALL, epochs=10, margins=(1.5, 2.0),
    ),
    "retrieval: airfoil": Experiment("airfoil", neighbours, FOUND_TARGETS),
    "retrieval: concrete": Experiment("concrete", neighbours, FOUND_TARGETS),
    "retrieval: FloodModeling1": Experiment("floodmodeling1", neighbours, FOUND_TARGETS),
    "retrieval: LEV": Experiment("lev", neighbours, (*FOUND, "accuracy")),
    "retrieval: Car": Experiment("car", neighbours, (*FOUND, "accuracy")),
    "images: RetinaMNIST": Experiment("retinamnist", of_pictures, SEEN, SMALL, epochs=20),
    "images: KOA": Experiment("koa", of_pictures, SEEN, X_RAYS, epochs=8, without=("otd",)),
    "sizes of embeddings: concrete": Experiment(
        "concrete", neighbours_by_size, tuple(f"{name}, {size}" for size in (2, 8, 64, 512) for name in ("mae", "ndcg"))
    ),
    "shifted samples: LEV": Experiment(
        "lev", shifted, ("ranked_probability_score, unshifted", "ranked_probability_score, shifted", "mae, shifted")
    ),
    "rare grades: RetinaMNIST": Experiment("retinamnist", rare_grades, RARE, SMALL, epochs=20, without=("otd",)),
    "rare grades: KOA": Experiment("koa, small", rare_grades, RARE, SMALL, epochs=10, without=("otd",)),
    "transfer: airfoil": Experiment("airfoil", other_domain, ("mae, linear_probe", "mae, fine_tune")),
    "transfer: KOA to RetinaMNIST": Experiment(
        "koa, square", on_retinas,
        ("mae, linear_probe", "accuracy, linear_probe", "mae, fine_tune", "accuracy, fine_tune"),
        SMALL, epochs=10, without=("otd",),
    ),
}  # fmt: skip


# Runs


def measure(name: str, model: str, seed: int) -> Run:
    """Return the figures of a model in an experiment under a seed."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    experiment = EXPERIMENTS[name]
    return {"figures": experiment.measure(experiment.build(model, seed), read(experiment.data, seed), seed)}


def difference(ours: NDArray[np.float64], plain: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean difference of pairs, and half its 95% interval."""
    pairs = ours - plain
    half = student.ppf(0.975, len(pairs) - 1) * pairs.std(ddof=1) / np.sqrt(len(pairs)) if len(pairs) > 1 else np.inf
    return float(pairs.mean()), float(half)


def compared(runs: list[Run], name: str) -> list[list[str]]:
    """Return a row per figure: the plain loss, each method with its difference, and the pairs of runs.

    ``+`` marks a difference for the better beyond its interval, ``-`` one for the worse.
    """
    experiment = EXPERIMENTS[name]
    by_model = {
        model: {each["seed"]: each["figures"] for each in where(runs, experiment=name, model=model)}
        for model in experiment.models
    }
    seeds = sorted(set.intersection(*(set(figures) for figures in by_model.values())))
    if not seeds:
        return []
    rows = []
    for key in experiment.shown:
        plain, *others = (np.array([figures[seed][key] for seed in seeds]) for figures in by_model.values())
        cells = [f"{plain.mean():.3f}"]
        for ours in others:
            mean, half = difference(ours, plain)
            gain = mean if key.split(",")[0] in HIGHER else -mean
            mark = "" if abs(gain) <= half else " +" if gain > 0 else " -"
            cells.append(f"{ours.mean():.3f} ({mean:+.3f} ± {half:.3f}){mark}")
        rows.append([key.replace("_", " "), *cells, str(len(seeds))])
    return rows


def header(name: str) -> list[str]:
    """Return what the columns of :func:`compared` are."""
    return ["", *(model.replace("_", "-") for model in EXPERIMENTS[name].models), "seeds"]


def show(runs: list[Run]) -> None:
    """Print every experiment."""
    for name in EXPERIMENTS:
        rows = compared(runs, name)
        if rows:
            print(f"\n{name}\n" + table(header(name), rows))


def as_markdown(runs: list[Run]) -> str:
    """Return the tables of the documentation, one per experiment, those of a promise below one heading."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    promises = list(dict.fromkeys(name.split(":")[0] for name in EXPERIMENTS))
    lines, promise, drawn = [], "", 0
    for name in sorted(EXPERIMENTS, key=lambda name: promises.index(name.split(":")[0])):
        rows = compared(runs, name)
        if not rows or int(rows[0][-1]) < ENOUGH:
            continue
        if name.split(":")[0] != promise:
            promise = name.split(":")[0]
            lines += [f"## {promise[0].upper()}{promise[1:]}", ""]
        lines += [line([name.partition(": ")[2], *header(name)[1:]]), "|---" * len(rows[0]) + "|"]
        for row in rows:
            lines.append(
                line(f"**{cell[:-2]}**" if cell.endswith(" +") else cell.replace(") -", ") ▾") for cell in row)
            )
            drawn += len(row) - 3
        lines.append("")
    lines += [f"Of {drawn} differences, one in twenty lies beyond its interval by chance.", ""]
    return "\n".join(lines)


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = parser_of(__file__, __doc__, seeds=5)
    parser.add_argument(
        "--experiments", nargs="+", default=list(EXPERIMENTS), metavar="NAME", help="names, or their first words"
    )
    options = parser.parse_args()
    names = [name for name in EXPERIMENTS if name.startswith(tuple(options.experiments))]
    wanted = [
        (name, model, seed) for seed in range(options.seeds) for name in names for model in EXPERIMENTS[name].models
    ]
    runs = complete(measure, wanted, ("experiment", "model", "seed"), options)
    options.results.with_suffix(".md").write_text(as_markdown(runs), encoding="utf-8")
    show(runs)


if __name__ == "__main__":
    main()
