"""What a fitted model is worth on samples it has not seen: numbers and pictures."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ordinate.data.images.augmentation import Augmentation
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import Decoded
from ordinate.data.part import random_part
from ordinate.data.registry import modality_of
from ordinate.data.rows import take
from ordinate.estimators import inputs
from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.estimators.rank_labels import to_ranks
from ordinate.metrics import continuous_report, knn_accuracy, knn_accuracy_curve, nearest_neighbours, rank_report
from ordinate.report import curves, figures, image_figures

Metrics = dict[str, Any]

MOST_COMPARED = 10_000  # samples that are compared with each other, and drawn; a random part of more
MOST_NEIGHBOURS = 30  # in the picture of K-NN accuracy
QUERIES, FOUND = 6, 10  # in the picture of image search
SHOWN, VIEWS = 4, 6  # in the picture of augmented views


def evaluate(model: EmbeddingEstimator, X: Any, y: Any) -> Metrics:
    """Return the metrics of a fitted model on labelled samples, ready for JSON.

    Ranks: accuracy, MAE, quadratic weighted kappa, error rates between adjacent ranks, K-NN accuracy of the
    embedding (OTD, eq. 6, K = 3; of 10,000 samples at random where there are more), and CLOC's margins. Targets: MAE,
    RMSE, R2, Pearson, Spearman and geometric mean error.
    """
    if not isinstance(model, RankClassifier):
        return dict(continuous_report(np.asarray(y, dtype=np.float64), model.predict(X)))
    classes = model.ordered_classes_
    ranks = to_ranks(y, classes)
    metrics: Metrics = dict(rank_report(ranks, to_ranks(model.predict(X), classes), len(classes)))
    if len(ranks) > 3:
        X, part = _compared(X, ranks)
        metrics["knn_accuracy"] = knn_accuracy(model.transform(X), part, 3)
    if isinstance(model, CLOCClassifier):
        metrics["margins"] = model.margins_.tolist()
    return metrics


def draw(model: EmbeddingEstimator, X: Any, y: Any, folder: Path, seen: tuple[Any, Any] | None = None) -> list[Path]:
    """Write the pictures of a fitted model on labelled samples into ``folder`` and return their paths.

    They show 10,000 samples at random where there are more. For images ``seen``, the training samples and their labels,
    gives two more: what an image search among them finds (OTD, C.1), and augmented views (SupCR, Fig. 5).
    """
    X, y = _compared(X, y)
    drawn = _figures(model, X, y)
    if seen is not None and modality_of(X).pictures(X) is not None:
        drawn["image_search"] = _image_search(model, X, y, *seen)
        drawn["views"] = _views(model, seen[0])
    return [figures.save(figure, folder / f"{name}.png") for name, figure in drawn.items()]


def _compared(X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Return as many samples as may be compared with each other, and their labels."""
    X, y = inputs.unpack(X, y)
    labels = np.asarray(y)
    if len(labels) <= MOST_COMPARED:
        return X, labels
    rows = random_part(len(labels), MOST_COMPARED)
    return take(X, rows, renumber=True), labels[rows]


def _figures(model: EmbeddingEstimator, X: Any, y: Any) -> dict[str, Figure]:
    embeddings = model.transform(X)
    if not isinstance(model, RankClassifier):
        y_true, y_pred = np.asarray(y, dtype=np.float64), model.predict(X)
        return {
            "embedding": figures.embedding(embeddings, y_true),
            "predictions": figures.predicted_targets(y_true, y_pred),
        }
    names = [str(name) for name in model.ordered_classes_]
    embeddings = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12)  # angles count
    ranks = to_ranks(y, model.ordered_classes_)
    drawn = {
        "embedding": figures.embedding(embeddings, ranks, names),
        "predictions": figures.predicted_ranks(ranks, to_ranks(model.predict(X), model.ordered_classes_), names),
        "cosine_matrix": figures.cosine_matrix(embeddings, ranks, names),
    }
    if len(ranks) > 1:
        ks = range(1, min(MOST_NEIGHBOURS, len(ranks) - 1) + 1)
        drawn["knn_curve"] = curves.knn_curve(ks, {"embedding": knn_accuracy_curve(embeddings, ranks, ks)})
    if isinstance(model, CLOCClassifier):
        fixed = _fixed(model)
        drawn["margins"] = figures.margins(model.margins_, names, fixed)
        drawn["margins_over_training"] = curves.margins_over_training(model.history_, names, fixed)
    return drawn


def _image_search(model: EmbeddingEstimator, X: Any, y: Any, seen: Any, seen_y: Any) -> Figure:
    """The training images nearest to the first image of every label, or of some labels where they are many."""
    labels, seen_labels = np.asarray(y), np.asarray(seen_y)
    first = np.unique(labels, return_index=True)[1]  # in the order of the labels
    queries = first[np.linspace(0, len(first) - 1, min(QUERIES, len(first))).astype(int)]
    found = nearest_neighbours(model.transform(X[queries]), model.transform(seen), min(FOUND, len(seen)))
    if isinstance(model, RankClassifier):
        wrong = seen_labels[found] != labels[queries, None]
    else:
        wrong = np.zeros(found.shape, dtype=bool)  # a target is never quite the same
    names = [
        [_shown(label), *(_shown(other) for other in seen_labels[row])]
        for label, row in zip(labels[queries], found, strict=True)
    ]
    return image_figures.image_search(X.pixels[queries], [seen.pixels[row] for row in found], wrong, names)


def _views(model: EmbeddingEstimator, seen: Decoded) -> Figure:
    options = model.images or ImageOptions()
    augmentation = Augmentation(options.augmentation, seen.preprocessing.size)
    originals = seen.pixels[np.linspace(0, len(seen) - 1, SHOWN).astype(int)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        rows = [[one, *augmentation(torch.from_numpy(np.stack([one] * VIEWS))).numpy()] for one in originals]
    return image_figures.views(rows, ["original", *(f"view {place}" for place in range(1, VIEWS + 1))])


def _shown(label: Any) -> str:
    return f"{label:.3g}" if isinstance(label, float | np.floating) else str(label)


def _fixed(model: CLOCClassifier) -> list[bool]:
    fixed: NDArray[np.bool_] = model.method_.mmnp.fixed.numpy()
    return fixed.tolist()
