"""Pictures of the predictions of labelled samples, with matplotlib."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from ordinate.data.images.augmentation import Augmentation
from ordinate.data.images.pixels import Decoded
from ordinate.data.registry import modality_of
from ordinate.data.rows import random_part
from ordinate.data.streamed import StreamedPixels
from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.predictions import Predictions
from ordinate.metrics import knn_accuracy_curve, nearest_neighbours
from ordinate.randomness import own_random_numbers
from ordinate.report import curves, figures, image_figures
from ordinate.report.evaluation import MOST_COMPARED, fixed_margins

MOST_NEIGHBOURS = 30  # in the picture of K-NN accuracy
QUERIES, FOUND = 6, 10  # in the picture of image search
SHOWN, VIEWS = 4, 6  # in the picture of augmented views


def draw(predictions: Predictions, folder: Path, seen: tuple[Any, Any] | None = None) -> list[Path]:
    """Write the pictures of predictions into ``folder`` and return their paths.

    They show 10,000 samples at random where there are more. For images ``seen``, the training samples and their labels,
    gives two more: what an image search among them finds (OTD, C.1), and augmented views (SupCR, Fig. 5).
    """
    if len(predictions) > MOST_COMPARED:
        predictions = predictions.take(random_part(len(predictions), MOST_COMPARED))
    drawn = _figures(predictions)
    if seen is not None and modality_of(predictions.X).pictures(predictions.X) is not None:
        if isinstance(seen[0].pixels, StreamedPixels):
            rows = random_part(len(seen[0]), MOST_COMPARED)
            seen = seen[0][rows], np.asarray(seen[1])[rows]
        drawn["image_search"] = _image_search(predictions, *seen)
        drawn["views"] = _views(predictions.model, seen[0])
    return [figures.save(figure, folder / f"{name}.png") for name, figure in drawn.items()]


def _figures(predictions: Predictions) -> dict[str, Figure]:
    model, embeddings, true = predictions.model, predictions.embeddings, predictions.true
    if predictions.classes is None:
        return {
            "embedding": figures.embedding(embeddings, true),
            "predictions": figures.predicted_targets(true, predictions.predicted),
        }
    names = [str(name) for name in predictions.classes]
    embeddings = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12)  # angles count
    drawn = {
        "embedding": figures.embedding(embeddings, true, names),
        "predictions": figures.predicted_ranks(true, predictions.predicted, names),
        "cosine_matrix": figures.cosine_matrix(embeddings, true, names),
    }
    if len(true) > 1:
        ks = range(1, min(MOST_NEIGHBOURS, len(true) - 1) + 1)
        drawn["knn_curve"] = curves.knn_curve(ks, {"embedding": knn_accuracy_curve(embeddings, true, ks)})
    if isinstance(model, CLOCClassifier):
        fixed = fixed_margins(model).tolist()
        drawn["margins"] = figures.margins(model.margins_, names, fixed)
        drawn["margins_over_training"] = curves.margins_over_training(model.history_, names, fixed)
    return drawn


def _image_search(predictions: Predictions, seen: Any, seen_y: Any) -> Figure:
    """The training images nearest to the first image of every label, or of some labels where they are many."""
    model, seen_labels = predictions.model, np.asarray(seen_y)
    labels = predictions.true if predictions.classes is None else np.asarray(predictions.classes)[predictions.true]
    first = np.unique(labels, return_index=True)[1]  # in the order of the labels
    queries = first[np.linspace(0, len(first) - 1, min(QUERIES, len(first))).astype(int)]
    found = nearest_neighbours(predictions.embeddings[queries], model.transform(seen), min(FOUND, len(seen)))
    wrong = seen_labels[found] != labels[queries, None]
    if predictions.classes is None:
        wrong[:] = False  # a target is never quite the same
    names = [
        [_shown(label), *(_shown(other) for other in seen_labels[row])]
        for label, row in zip(labels[queries], found, strict=True)
    ]
    pictures = [np.asarray(seen.pixels[row]) for row in found]
    return image_figures.image_search(np.asarray(predictions.X.pixels[queries]), pictures, wrong, names)


def _views(model: EmbeddingEstimator, seen: Decoded) -> Figure:
    options = modality_of(seen).options_of(model.data)
    augmentation = Augmentation(options.augmentation, seen.preprocessing.size)
    originals = np.asarray(seen.pixels[np.linspace(0, len(seen) - 1, SHOWN).astype(int)])
    with own_random_numbers(0):
        rows = [[one, *augmentation(torch.from_numpy(np.stack([one] * VIEWS))).numpy()] for one in originals]
    return image_figures.views(rows, ["original", *(f"view {place}" for place in range(1, VIEWS + 1))])


def _shown(label: Any) -> str:
    return f"{label:.3g}" if isinstance(label, float | np.floating) else str(label)
