"""Train each method over a grid of optimizers and learning rates, and compare the best of each on validation samples.

    ORDINATE_DATA=DIR python benchmarks/grid.py [--sets airfoil ...] [--stages 1 2] [--seeds 2] [--pause-file FILE]
    python benchmarks/grid.py --table

Stage 1: AdamW with five learning rates and SGD (momentum 0.9, weight decay 1e-4) with six, the same for all methods.
AdamW has the weight decay that is the default of method and data. Stage 2, around the best of stage 1: half and double
the batch, on images the other number of views, and four values of a method's own option: the temperature of SupCR and
SupReMix, the weight of CLOC's contrast. Methods without such an option get four learning rates near the best instead.

Each cell trains the estimator that users get, all its epochs with cosine schedule and warm-up, without early stopping,
second training or head. All methods have the same network, batches and epochs; with two views (the default of SupCR
alone) a step sees twice the images. Every encoder is then frozen and read out in the same way: ridge regression and,
of ranks, multinomial logistic regression too, both fitted to all training embeddings, with a penalty chosen among
these. Ranks count as numbers for SupCR, SupReMix, L1, MSE and ridge regression. Errors and average precision of
neighbours (training samples with the same rank, or targets within 1/4 deviation) are those of validation samples, a
fixed part of the samples that the owners give for training: the owner's validation part of KOA and STS-B-DIR, random
rows elsewhere. No test sample is read out or trained on.

Epochs, and which share of the usual ones they are: airfoil and concrete 100 of 500 (400 and 100 of the head); fingers
40 of 500; KOA 4 of docs/claims.md's 8, on a quarter of the images; RetinaMNIST and IDRiD 20, as many as in pays.py and
in the small recipe; FloodModeling1 8 of docs/claims.md's 100, in batches of 32 instead of 256, about half of the steps;
STS-B-DIR 20, half of text.py's. A cell takes 10 to 100 seconds of one core.

Every cell is a line of the results file as soon as it has ended, and is not run again. A cell whose embeddings are
not finite is marked as diverged. One that failed otherwise has its error, and runs again with the next call.
``--table`` writes the summary next to the results file.
"""

import argparse
import io
import json
import os
import subprocess
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from PIL import Image
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

import leaderboard
from ordinate import ImageOptions, TextOptions, Training
from ordinate.data.rows import take
from ordinate.estimators.defaults import BY_KIND, Defaults
from ordinate.estimators.registry import build
from ordinate.metrics import accuracy, mae, ranked_probability_score, rmse
from ordinate_papers.datasets import reading

Options = dict[str, Any]
Cell = dict[str, Any]
Array = NDArray[Any]
RESULTS = Path(__file__).parent / "results" / "grid.jsonl"

# Grid

RATES: dict[str, tuple[float, ...]] = {
    "adamw": (1e-3, 3e-3, 1e-2, 3e-4, 3e-2),
    "sgd": (0.2, 0.5, 0.03, 0.1, 0.01, 1.0),
}
OWN_OPTION: dict[str, tuple[str, tuple[float, ...]]] = {
    "supcr": ("temperature", (0.5, 1.0, 4.0, 8.0)),
    "supremix": ("temperature", (0.05, 0.1, 0.5, 1.0)),
    "cloc": ("mmnp_weight", (0.1, 0.3, 3.0, 10.0)),
}
KINDS = {"floodmodeling1": "series", "stsb_dir": "text"}  # Of sets that are neither tables nor images.
NEAR = (0.5, 0.7, 1.4, 2.0)  # Factors of the best learning rate.
OF_TARGETS = ("l1", "supcr", "supremix", "mse")
OF_RANKS = ("cross_entropy", "cloc", "otd")
DIVERGED = ("NaN", "nan", "infinity", "not finite", "similarities as large as")  # Parts of messages.
TWO_VIEWS = "supcr"  # Other methods have one view by default.


# Data


@dataclass(frozen=True)
class Parts:
    """Samples and labels to train and to validate on."""

    X: Any
    y: Array
    X_validation: Any
    y_validation: Array


@dataclass(frozen=True)
class DataSet:
    """A data set and how it is trained on.

    Args:
        read: Function that returns the samples.
        epochs: Epochs of training.
        batch_size: Samples per batch in stage 1.
        criterion: Score of validation samples that chooses the best cell of stage 1.
        settings: Further settings of all estimators.
    """

    read: Callable[[], Parts]
    epochs: int
    batch_size: int
    criterion: str = "ridge_mae"
    settings: Options = field(default_factory=dict)

    @property
    def holds_images(self) -> bool:
        """Whether views can be drawn."""
        return isinstance(self.settings.get("data"), ImageOptions)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are compared: all where ranks are to be predicted, which are images here."""
        if self.holds_images:
            return (*OF_TARGETS, *OF_RANKS)
        return OF_TARGETS


def parted(X: Any, y: Array, given: Array, *, stratify: bool = False) -> Parts:
    """Hold out a quarter of the given rows."""
    labels = y[given] if stratify else None
    train, validation = train_test_split(given, test_size=0.25, random_state=0, stratify=labels)
    return Parts(take(X, train), y[train], take(X, validation), y[validation])


def read_development(name: str) -> Parts:
    """Read a set of the papers, and hold out a quarter of what is not its test part."""
    X, y, split = reading.load(name, 0)
    return parted(X, y, np.sort(np.concatenate([split.train, split.validation])))


def read_concrete() -> Parts:
    """Read concrete, and hold out a quarter of the first training part."""
    X, y, train, _ = leaderboard.load("concrete", 0)
    return parted(X, y, train)


def read_sentences() -> Parts:
    """Read STS-B-DIR, and validate on its authors' validation part."""
    X, y, split = reading.load("stsb_dir", 0)
    return Parts(take(X, split.train), y[split.train], take(X, split.validation), y[split.validation])


def read_retinas() -> Parts:
    """Read RetinaMNIST, and hold out a quarter; the owner's 120 validation images are too few."""
    with np.load(Path(os.environ["ORDINATE_DATA"]) / "retinamnist" / "retinamnist.npz") as arrays:
        X = np.concatenate([arrays["train_images"], arrays["val_images"]]).transpose(0, 3, 1, 2)
        y = np.concatenate([arrays["train_labels"], arrays["val_labels"]])[:, 0].astype(np.int64)
    return parted(X, y, np.arange(len(y)), stratify=True)


def listed(file: str) -> tuple[zipfile.ZipFile, pd.DataFrame]:
    """Open a zip of images, and read its list of those that are not in the test part."""
    archive = zipfile.ZipFile(Path(os.environ["ORDINATE_DATA"]) / file)
    frame = pd.read_csv(archive.open("labels.csv"))
    return archive, frame[frame["split"] != "test"].reset_index(drop=True)


def pixels(archive: zipfile.ZipFile, names: Sequence[str], size: tuple[int, int], mode: str) -> NDArray[np.uint8]:
    """Decode images, and bring them to a size (height, width)."""
    found = []
    for name in names:
        image = Image.open(io.BytesIO(archive.read(name))).convert(mode)
        found.append(np.asarray(image.resize(size[::-1], Image.Resampling.BILINEAR)))
    stacked = np.stack(found)
    return stacked[:, None] if mode == "L" else stacked.transpose(0, 3, 1, 2)


def read_fingers() -> Parts:
    """Read 400 hands of 24 x 24 pixels to train on, and 1000 to validate on."""
    archive, frame = listed("fingers/fingers_64_webp80.zip")
    frame = frame.sample(1400, random_state=0)
    X, y = pixels(archive, frame["file"].tolist(), (24, 24), "L"), frame["fingers"].to_numpy()
    return Parts(X[:400], y[:400], X[400:], y[400:])


def read_knees() -> Parts:
    """Read 1500 images of KOA in 60 x 100 pixels, and validate on the owner's validation part, of other subjects."""
    archive, frame = listed("koa/koa_clahe_center_120x200_webp80.zip")
    by_split = dict(list(frame.groupby("split")))
    frame = pd.concat([by_split["train"].sample(1500, random_state=0), by_split["val"]])
    X, y = pixels(archive, frame["file"].tolist(), (60, 100), "L"), frame["kl_grade"].to_numpy()
    trained = (frame["split"] == "train").to_numpy()
    return Parts(X[trained], y[trained], X[~trained], y[~trained])


def read_idrid() -> Parts:
    """Read IDRiD in 64 x 64 pixels, and hold out a quarter."""
    archive, frame = listed("idrid/idrid_434x288_jpg92.zip")
    X, y = pixels(archive, frame["file"].tolist(), (64, 64), "RGB"), frame["dr_grade"].to_numpy()
    return parted(X, y, np.arange(len(y)), stratify=True)


IMAGES: Options = {"encoder": "test_resnet", "data": ImageOptions()}
SENTENCES: Options = {"encoder": "minilm", "data": TextOptions(), "embedding_dim": 128}
PROBABILITIES = "logistic_ranked_probability_score"  # Less noisy than errors of few validation samples.
SETS = {
    "airfoil": DataSet(partial(read_development, "airfoil"), 100, 128),
    "fingers": DataSet(read_fingers, 40, 64, settings=IMAGES),
    "concrete": DataSet(read_concrete, 100, 128),
    "koa": DataSet(read_knees, 4, 32, PROBABILITIES, IMAGES),
    "retinamnist": DataSet(read_retinas, 20, 32, PROBABILITIES, IMAGES),
    "floodmodeling1": DataSet(partial(read_development, "floodmodeling1"), 8, 32),
    "stsb_dir": DataSet(read_sentences, 20, 128, settings=SENTENCES),
    "idrid": DataSet(read_idrid, 20, 32, PROBABILITIES, IMAGES),
}


@cache
def parts(name: str) -> Parts:
    """Return the samples of a set, read once."""
    return SETS[name].read()


# Cells


def estimator(name: str, method: str, options: Options, seed: int) -> Any:
    """Return the unfitted estimator of a cell."""
    data = SETS[name]
    settings: Options = {"batch_size": data.batch_size, **data.settings, **options}
    optimizer, rate = settings.pop("optimizer"), settings.pop("learning_rate")
    views = settings.pop("views", None)
    if views is not None:
        settings["data"] = ImageOptions(views=views)
    settings["training"] = Training(
        optimizer=optimizer,
        learning_rate=rate,
        weight_decay=1e-4 if optimizer == "sgd" else None,
        patience=None,
        validation_fraction=0.0,
        calibration=False,
    )
    settings["epochs"] = data.epochs
    if method == "cloc":
        first = max(1, data.epochs // 10)
        settings["epochs"] = (first, data.epochs - first)
    if method in OWN_OPTION and method != "cloc":
        settings |= {"epochs": (data.epochs, 1), "head": "ridge"}
    task: Any = "ranks" if method in OF_RANKS else "continuous"
    return build(method, task, random_state=seed, **settings)


def measure(name: str, method: str, options: Options, seed: int) -> Cell:
    """Train a cell and return its scores, or why it has none."""
    data = parts(name)
    model = estimator(name, method, options, seed)
    start, processor = time.perf_counter(), time.process_time()
    try:
        labels = data.y if method in OF_RANKS else data.y.astype(np.float64)
        model.fit(data.X, labels)
        train, validation = model.transform(data.X), model.transform(data.X_validation)
    except Exception as error:  # A cell must not end the others.
        text = f"{type(error).__name__}: {error}"[:300]
        is_overflow = any(word in text for word in DIVERGED)
        return {"diverged" if is_overflow else "failed": text}
    seconds = {
        "seconds": round(time.perf_counter() - start, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
    }
    if not (np.isfinite(train).all() and np.isfinite(validation).all()):
        return {"diverged": "embeddings that are not finite", **seconds}
    scores = read_out(train, data.y, validation, data.y_validation)
    return {"scores": {key: round(value, 6) for key, value in scores.items()}, **seconds}


def read_out(train: Array, y: Array, validation: Array, y_validation: Array, queries: int = 500) -> dict[str, float]:
    """Return what linear models and neighbours on embeddings say of validation samples.

    Coordinates are standardised; a deviation below a thousandth of the largest counts as that, so that units that are
    rarely active are not blown up.
    """
    centre, scale = train.mean(0), train.std(0)
    scale = np.maximum(scale, max(1e-3 * scale.max(), 1e-9 * np.abs(train).max(), 1e-300))
    x, x_validation = (train - centre) / scale, (validation - centre) / scale
    ridge = RidgeCV(alphas=np.logspace(-3, 5, 17)).fit(x, y.astype(np.float64))
    predicted = ridge.predict(x_validation)
    scores = {"ridge_mae": mae(y_validation, predicted), "ridge_rmse": rmse(y_validation, predicted)}
    within = 0.25 * float(y.std())
    if y.dtype.kind == "i":
        within = 0.0
        probabilities = logistic(x, y).predict_proba(x_validation)
        ranks = probabilities.argmax(1)
        scores["logistic_mae"] = mae(y_validation, ranks)
        scores["logistic_accuracy"] = accuracy(y_validation, ranks)
        scores[PROBABILITIES] = ranked_probability_score(y_validation, probabilities)
    asked = np.random.default_rng(0).permutation(len(y_validation))[:queries]
    relevant = np.abs(y_validation[asked, None] - y) <= within
    for kind, similarity in similarities(validation[asked] - centre, train - centre, validation[asked], train).items():
        found = [average_precision_score(*pair) for pair in zip(relevant, similarity, strict=True) if pair[0].any()]
        scores[f"precision_{kind}"] = float(np.mean(found))
    return scores


def logistic(x: Array, y: Array) -> Any:
    """Return multinomial logistic regression with the penalty of the least cross-validated log-loss."""
    model = LogisticRegression(max_iter=5000, tol=1e-5)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(model, {"C": np.logspace(-4, 1, 6)}, scoring="neg_log_loss", cv=folds).fit(x, y)


def similarities(queries: Array, references: Array, raw_queries: Array, raw_references: Array) -> dict[str, Array]:
    """Return negative squared Euclidean distances of centred embeddings, and cosines of them as they are."""
    squared = (queries**2).sum(1)[:, None] + (references**2).sum(1) - 2 * queries @ references.T
    units = [each / np.maximum(np.linalg.norm(each, axis=1), 1e-300)[:, None] for each in (raw_queries, raw_references)]
    return {"euclid": -squared, "cosine": units[0] @ units[1].T}


# Stages


def default_of(name: str) -> Options:
    """Return what `fit` does with a network that starts from random weights, by the kind of data of a set."""
    kind = BY_KIND.get("images" if SETS[name].holds_images else KINDS.get(name, "tables"), Defaults())
    return {"optimizer": "adamw", "learning_rate": kind.learning_rate}


def first_stage() -> Iterator[Options]:
    """Yield the options of stage 1."""
    for optimizer, rates in RATES.items():
        for rate in rates:
            yield {"optimizer": optimizer, "learning_rate": rate}


def second_stage(name: str, method: str, best: Options) -> Iterator[Options]:
    """Yield the options of stage 2 around the best of stage 1."""
    batch = SETS[name].batch_size
    for size in (batch // 2, batch * 2):
        yield {**best, "batch_size": size}
    if SETS[name].holds_images:
        yield {**best, "views": 1 if method == TWO_VIEWS else 2}
    if method in OWN_OPTION:
        option, values = OWN_OPTION[method]
        for value in values:
            yield {**best, option: value}
    else:
        for factor in NEAR:
            yield {**best, "learning_rate": float(f"{factor * best['learning_rate']:.3g}")}


def key_of(cell: Cell) -> tuple[Any, ...]:
    """Return what makes a cell: set, method, options, seed."""
    return cell["set"], cell["method"], json.dumps(cell["options"], sort_keys=True), cell["seed"]


def read_cells(file: Path) -> list[Cell]:
    """Return the cells that have ended; a line that was cut off is none."""
    if not file.exists():
        return []
    lines = [line for line in file.read_text("utf-8").splitlines() if line.endswith("}")]
    return [json.loads(line) for line in lines]


def run(arguments: argparse.Namespace) -> None:
    """Measure what is missing, in an order in which all methods have the same options early."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    folder = Path(__file__).parent
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True, cwd=folder).strip()
    done = {key_of(cell) for cell in read_cells(arguments.results) if "failed" not in cell}
    for stage, name in product(arguments.stages, arguments.sets):
        for cell in wanted(stage, name, arguments):
            if key_of(cell) in done:
                continue
            while arguments.pause_file is not None and arguments.pause_file.exists():
                time.sleep(2)
            figures = measure(name, cell["method"], cell["options"], cell["seed"])
            ended = {**cell, **figures, "commit": commit, "load": round(os.getloadavg()[0], 1)}
            append(arguments.results, ended)
            print(time.strftime("%H:%M:%S"), json.dumps(ended), flush=True)


def wanted(stage: int, name: str, arguments: argparse.Namespace) -> list[Cell]:
    """Return the cells of a stage on a set; those of stage 2 follow from the results of stage 1."""
    cells = read_cells(arguments.results)
    lists: dict[str, list[Options]] = {}
    for method in SETS[name].methods:
        if stage == 1:
            lists[method] = list(first_stage())
            continue
        found = summaries([cell for cell in cells if cell["stage"] == 1], name, method)
        chosen = best(found, SETS[name].criterion)
        lists[method] = list(second_stage(name, method, chosen.options)) if chosen else []
    most = max(map(len, lists.values()))
    return [
        {"set": name, "stage": stage, "method": method, "options": options[number], "seed": seed}
        for seed in range(arguments.seeds)
        for number in range(most)
        for method, options in lists.items()
        if number < len(options) and method in arguments.methods
    ]


def append(file: Path, cell: Cell) -> None:
    """Add a line to the results file in one write."""
    file.parent.mkdir(exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, (json.dumps(cell) + "\n").encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Table


@dataclass(frozen=True)
class Summary:
    """The mean scores of the seeds of one set of options; none if a seed diverged."""

    options: Options
    seeds: int
    scores: dict[str, float]


def summaries(cells: list[Cell], name: str, method: str) -> list[Summary]:
    """Return a summary per set of options, over the seeds that all methods and options of the set have run with."""
    by_options: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell["set"] == name and "failed" not in cell:
            by_options.setdefault((cell["method"], json.dumps(cell["options"], sort_keys=True)), []).append(cell)
    seeds = [{cell["seed"] for cell in same} for same in by_options.values()]
    common = set.intersection(*seeds) if seeds else set()
    found = []
    for (of, _), every in by_options.items():
        same = [cell for cell in every if cell["seed"] in common]
        if of != method or not same:
            continue
        means: dict[str, float] = {}
        if all("scores" in cell for cell in same):
            means = {key: float(np.mean([cell["scores"][key] for cell in same])) for key in same[0]["scores"]}
        found.append(Summary(same[0]["options"], len(same), means))
    return found


def best(found: list[Summary], score: str) -> Summary | None:
    """Return the summary with the best score; None if there is none with it."""
    scored = [each for each in found if score in each.scores]
    if not scored:
        return None
    sign = -1 if is_gain(score) else 1
    return min(scored, key=lambda each: sign * each.scores[score])


def is_gain(score: str) -> bool:
    """Return whether more is better."""
    return score.startswith("precision") or score.endswith("accuracy")


def shown(options: Options) -> str:
    """Return options as text."""
    names = {"adamw": "AdamW", "sgd": "SGD"}
    others = {key: value for key, value in options.items() if key not in ("optimizer", "learning_rate")}
    extra = [f"{key.replace('_', ' ')} {value:g}" for key, value in others.items()]
    return ", ".join([f"{names[options['optimizer']]} {options['learning_rate']:g}", *extra])


def over(score: float, other: float) -> str:
    """Return the ratio of two scores as text, nothing if the other is 0."""
    return f"{score / other:.3f}" if other else ""


def as_markdown(cells: list[Cell]) -> str:
    """Return the tables: the best of every method, and the best of SupCR over the best of L1."""
    measures = ("ridge_mae", "logistic_mae", PROBABILITIES, "precision_euclid", "precision_cosine")
    compared = ["| set | score | SupCR | L1 | ratio |", "|---|---|---|---|---|"]
    lines = []
    for name, data in SETS.items():
        found = {method: summaries(cells, name, method) for method in data.methods}
        if not any(found.values()):
            continue
        lines += [f"## {name}", "", "| score | method | best | with | default | default over best | cells | diverged |"]
        lines.append("|---" * 8 + "|")
        for score in measures:
            winners = {method: winner for method in found if (winner := best(found[method], score))}
            for method, winner in winners.items():
                usual = [each for each in found[method] if each.options == default_of(name) and score in each.scores]
                default, ratio = "", ""
                if usual:
                    default = f"{usual[0].scores[score]:.4f}"
                    ratio = over(usual[0].scores[score], winner.scores[score])
                diverged = sum(not each.scores for each in found[method])
                row = [score, method, f"{winner.scores[score]:.4f}", f"{shown(winner.options)} ({winner.seeds} seeds)"]
                row += [default, ratio, str(len(found[method])), str(diverged)]
                lines.append("| " + " | ".join(cell.replace("_", " ") for cell in row) + " |")
            if "supcr" in winners and "l1" in winners:
                ours, plain = winners["supcr"].scores[score], winners["l1"].scores[score]
                shown_score = score.replace("_", " ")
                compared.append(f"| {name} | {shown_score} | {ours:.4f} | {plain:.4f} | {over(ours, plain)} |")
        lines.append("")
    return "\n".join(["## SupCR at its best over L1 at its best", "", *compared, "", *lines])


def main() -> None:
    """Measure what is not in the results yet, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=[*OF_TARGETS, *OF_RANKS], default=[*OF_TARGETS, *OF_RANKS])
    parser.add_argument("--stages", nargs="+", type=int, choices=(1, 2), default=[1, 2])
    parser.add_argument("--seeds", type=int, default=2, help="number of seeds (%(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results (%(default)s)")
    parser.add_argument("--pause-file", type=Path, help="no cell starts while this file is there")
    parser.add_argument("--table", action="store_true", help="write the summary, and run nothing")
    arguments = parser.parse_args()
    if arguments.table:
        text = as_markdown(read_cells(arguments.results))
        arguments.results.with_suffix(".md").write_text(text, encoding="utf-8")
        print(text)
    else:
        run(arguments)


if __name__ == "__main__":
    main()
