"""What a fitted model is worth on samples it has not seen: numbers and pictures."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.estimators.rank_labels import to_ranks
from ordinate.metrics import continuous_report, knn_accuracy, rank_report
from ordinate.report import figures

Metrics = dict[str, Any]


def evaluate(model: EmbeddingEstimator, X: Any, y: Any) -> Metrics:
    """Return the metrics of a fitted model on labelled samples, ready for JSON.

    Ranks: accuracy, MAE, quadratic weighted kappa, error rates between adjacent ranks, K-NN accuracy of the
    embedding (OTD, eq. 6, K = 3), and CLOC's margins. Targets: MAE, RMSE, R2, Pearson, Spearman and geometric
    mean error.
    """
    if not isinstance(model, RankClassifier):
        return dict(continuous_report(np.asarray(y, dtype=np.float64), model.predict(X)))
    ranks = to_ranks(y, model.classes_)
    metrics: Metrics = dict(rank_report(ranks, to_ranks(model.predict(X), model.classes_), len(model.classes_)))
    if len(ranks) > 3:
        metrics["knn_accuracy"] = knn_accuracy(model.transform(X), ranks, 3)
    if isinstance(model, CLOCClassifier):
        metrics["margins"] = model.margins_.tolist()
    return metrics


def draw(model: EmbeddingEstimator, X: Any, y: Any, folder: Path) -> list[Path]:
    """Write the pictures of a fitted model on labelled samples into ``folder`` and return their paths."""
    embeddings = model.transform(X)
    if not isinstance(model, RankClassifier):
        y_true, y_pred = np.asarray(y, dtype=np.float64), model.predict(X)
        drawn = {
            "embedding": figures.embedding(embeddings, y_true),
            "predictions": figures.predicted_targets(y_true, y_pred),
        }
        return [figures.save(figure, folder / f"{name}.png") for name, figure in drawn.items()]
    names = [str(name) for name in model.classes_]
    embeddings = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12)  # angles count
    ranks = to_ranks(y, model.classes_)
    drawn = {
        "embedding": figures.embedding(embeddings, ranks, names),
        "predictions": figures.predicted_ranks(ranks, to_ranks(model.predict(X), model.classes_), names),
        "cosine_matrix": figures.cosine_matrix(embeddings, ranks, names),
    }
    if isinstance(model, CLOCClassifier):
        drawn["margins"] = figures.margins(model.margins_, names, _fixed(model))
    return [figures.save(figure, folder / f"{name}.png") for name, figure in drawn.items()]


def _fixed(model: CLOCClassifier) -> list[bool]:
    fixed: NDArray[np.bool_] = model.method_.mmnp.fixed.numpy()
    return fixed.tolist()
