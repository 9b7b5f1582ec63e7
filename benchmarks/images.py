"""Compare CLOC and OTD with baselines on images: same network, same budget, same augmentation, several seeds.

    ORDINATE_DATA=DIR python benchmarks/images.py [--sets fingers busi retinamnist koa] [--models OTD ...] [--seeds 3]
        [--jobs 2]

The settings are those of the recipes' small versions, with the optimizer of `fit`. A baseline takes the settings of the
recipe and its own loss. Splits are the owner's; BUSI has none, and its seeds hold out one of five random blocks each.
"busi, doubled first" splits images and their mirror images at random, as OTD's Section 4 can be read: the mirror image
of a test image is then trained on. Test images are seen by no choice. Every finished run is kept in the results file; a
run that was stopped continues from its last epoch when the script is given again.
"""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ordinate import SupCRRegressor
from ordinate.data.images.pixels import choose_preprocessing, decode
from ordinate.data.splits import split_rows
from ordinate.estimators.recipes import Recipe
from ordinate.functional.similarity import unit
from ordinate.metrics import is_rank_ordered, knn_accuracy, rank_cosine_matrix, rank_report
from ordinate.report.text import table
from ordinate_papers.datasets.images import load
from ordinate_papers.estimators.representation import RepresentationClassifier
from ordinate_papers.protocols.classifiers import svm_accuracy
from runs import Run, complete, parser_of, spread, where
from small_recipes import small_recipe

STATE = Path(os.environ.get("ORDINATE_STATE", "images-state"))
RECIPES = {
    "fingers": "otd-fingers", "busi": "otd-busi", "busi, 96 pixels": "otd-busi", "busi, doubled first": "otd-busi",
    "retinamnist": "cloc-retinamnist", "koa": "cloc-koa",
}  # fmt: skip
SMALLER = ("busi, 96 pixels", "busi, doubled first")  # Their images have the size that tables use.
MODELS = {
    "fingers": ("OTD",),
    "busi": ("OTD", "siamese", "triplet"),
    "busi, 96 pixels": ("OTD", "siamese", "triplet"),
    "busi, doubled first": ("OTD",),
    "retinamnist": ("CLOC", "cross-entropy"),
    "koa": ("CLOC", "cross-entropy", "SupCon", "SupCR", "CLOC, 1|2 at 1.5", "CLOC, 1|2 at 2"),
}
SEEDS = {"busi": 5, "busi, 96 pixels": 5, "busi, doubled first": 1}  # These runs use random blocks.
HEADS = {"SupCon": "linear", "siamese": "neighbours", "triplet": "neighbours"}
SHARED = ("encoder", "embedding_dim", "batch_size", "data", "training", "random_state")
CRITICAL = (1, 2)  # On KOA, learned margins lie near 0.5 at the boundary between doubtful and minimal.
PAPER = {
    "fingers": "K-NN accuracy 1.000", "busi": "SVM accuracy OTD 0.950, siamese 0.903, triplet 0.564",
    "busi, 96 pixels": "as busi",
    "busi, doubled first": "SVM accuracy OTD 0.950, if its images were doubled before they were split",
    "koa": "CLOC accuracy 0.6673, MAE 0.4167", "retinamnist": "ResNet-18 accuracy about 0.52"
}  # fmt: skip


def build(recipe: Recipe, model: str, seed: int, folder: Path) -> Any:
    """Return the unfitted estimator of a model under a recipe's settings."""
    run = {"random_state": seed, "training__checkpoint_dir": str(folder)}
    if model == "OTD" or model.startswith("CLOC"):
        _, fixed, margin = model.partition(" at ")
        return recipe.build(**({"critical_margins": {CRITICAL: float(margin)}} if fixed else {}), **run)
    if model == "cross-entropy":  # This is CLOC's network, classifier and phases without its contrast.
        return recipe.build(mmnp_weight=0.0, **run)
    own = recipe.build(**run)
    epochs = own.epochs if isinstance(own.epochs, int) else sum(own.epochs)
    shared = {name: getattr(own, name) for name in SHARED}
    if model == "SupCR":
        return SupCRRegressor(epochs=(epochs, 1), **shared).set_params(training__validation_fraction=0.0)
    return RepresentationClassifier(loss=model.lower(), head=HEADS[model], epochs=epochs, **shared)


def read(name: str, seed: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return images, ranks, and the rows to train and to test on."""
    if name == "busi, doubled first":
        return _doubled_first(seed)
    images: Any = load("busi", fold=seed) if name.startswith("busi") else load(name)
    ranks = images.labels.to_numpy()
    splits = images.splits.to_numpy()
    return images.samples, ranks, np.flatnonzero(splits != "test"), np.flatnonzero(splits == "test")


def _doubled_first(seed: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    images: Any = load("busi", fold=0)
    preprocessing = choose_preprocessing(images.samples, 256, 1)
    pixels, _ = decode(images.samples, preprocessing, 1)
    ranks = np.tile(images.labels.to_numpy(), 2)
    train, test = split_rows(ranks, 0.2, seed, stratify=True)
    return np.concatenate([pixels, pixels[..., ::-1]]), ranks, train, test


def measure(name: str, model: str, seed: int, _: str) -> Run:
    """Return the metrics of one model on one set with one seed."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    warnings.simplefilter("ignore")
    pictures, ranks, train, test = read(name, seed)
    folder = STATE / "-".join((name, model, str(seed), "quick"))
    folder.mkdir(parents=True, exist_ok=True)
    recipe = small_recipe(RECIPES[name], is_larger=name not in SMALLER)
    fitted = build(recipe, model, seed, folder).fit(pictures[train], ranks[train])
    num_classes = int(ranks.max()) + 1
    seen, unseen = unit(torch.from_numpy(fitted.transform(pictures[train]))).numpy(), fitted.transform(pictures[test])
    predicted = _predict(fitted, model, seen, ranks[train], pictures[test], unseen)
    report = rank_report(ranks[test], predicted, num_classes)
    cosines = rank_cosine_matrix(unseen, ranks[test], num_classes)
    return {
        "accuracy": report["accuracy"],
        "mae": report["mae"],
        "adjacent_errors": report["adjacent_error_rates"],
        "knn_accuracy": knn_accuracy(unseen, ranks[test], 3),
        "svm_accuracy": svm_accuracy(unseen, ranks[test], ref_emb=seen, ref_labels=ranks[train]),
        "cosines": np.round(cosines, 4).tolist(),
        "in_order": is_rank_ordered(cosines),
        "margins": fitted.margins_.tolist() if hasattr(fitted, "margins_") else None,
        "epochs": fitted.n_iter_,
    }


def _predict(
    fitted: Any, model: str, seen: NDArray[Any], ranks: NDArray[Any], test: Any, unseen: NDArray[Any]
) -> NDArray[Any]:
    """Ranks as the model predicts them; a representation alone gets a logistic regression on it."""
    if model == "SupCR":
        probe = LogisticRegression(max_iter=2000).fit(seen, ranks)
        return probe.predict(unit(torch.from_numpy(unseen)).numpy())
    return fitted.predict(test)


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = parser_of(__file__, __doc__, seeds=0, jobs=1)
    parser.add_argument("--sets", nargs="+", choices=tuple(RECIPES), default=list(RECIPES))
    parser.add_argument("--models", nargs="+", help="some of the models (all)")
    options = parser.parse_args()
    wanted = [
        (name, model, seed, "quick")
        for name in options.sets
        for seed in range(options.seeds or SEEDS.get(name, 3))
        for model in MODELS[name]
        if not options.models or model in options.models
    ]
    runs = complete(measure, wanted, ("set", "model", "seed", "budget"), options)
    for name in options.sets:
        print(f"\n{name}; the paper: {PAPER[name]}\n{summary(where(runs, set=name, budget='quick'), name)}")


def summary(runs: list[Run], name: str) -> str:
    """Return a table with one row per model."""
    rows = []
    for model in MODELS[name]:
        own = where(runs, model=model)
        if own:
            spreads = [spread(own, key, ".4f") for key in ("accuracy", "mae", "knn_accuracy", "svm_accuracy")]
            errors = np.mean([run["adjacent_errors"] for run in own], axis=0)
            ordered = sum(run["in_order"] for run in own)
            minutes = np.mean([run["seconds"] for run in own]) / 60
            shown = " ".join(f"{error:.3f}" for error in errors)
            rows.append([model, str(len(own)), *spreads, shown, f"{ordered}/{len(own)}", f"{minutes:.1f}"])
    header = ["model", "runs", "accuracy", "MAE", "K-NN (3)", "SVM", "adjacent errors", "in order", "minutes"]
    return table(header, rows)


if __name__ == "__main__":
    main()
