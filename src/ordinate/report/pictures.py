"""Pictures of the predictions of labelled samples, with matplotlib."""

from pathlib import Path

from matplotlib.figure import Figure

from ordinate.data.rows import random_part
from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.predictions import Predictions
from ordinate.metrics import knn_accuracy_curve
from ordinate.metrics.embedding import unit_norm
from ordinate.report import figures
from ordinate.report.evaluation import MOST_COMPARED, fixed_margins


def draw(predictions: Predictions, folder: Path) -> list[Path]:
    """Write the pictures of predictions, of 10,000 at random where there are more, and return their paths."""
    if len(predictions) > MOST_COMPARED:
        predictions = predictions.take(random_part(len(predictions), MOST_COMPARED))
    return [figures.save(figure, folder / f"{name}.png") for name, figure in _figures(predictions).items()]


def _figures(predictions: Predictions) -> dict[str, Figure]:
    model, embeddings, true = predictions.model, predictions.embeddings, predictions.true
    if predictions.classes is None:
        return {
            "embedding": figures.embedding(embeddings, true),
            "predictions": figures.predicted_targets(true, predictions.predicted),
        }
    names = [str(name) for name in predictions.classes]
    embeddings = unit_norm(embeddings)  # Only angles count.
    drawn = {
        "embedding": figures.embedding(embeddings, true, names),
        "predictions": figures.predicted_ranks(true, predictions.predicted, names),
        "cosine_matrix": figures.cosine_matrix(embeddings, true, names),
    }
    if len(true) > 1:
        ks = range(1, min(30, len(true) - 1) + 1)
        drawn["knn_curve"] = figures.knn_curve(ks, {"embedding": knn_accuracy_curve(embeddings, true, ks)})
    if isinstance(model, CLOCClassifier):
        fixed = fixed_margins(model).tolist()
        drawn["margins"] = figures.margins(model.margins_, names, fixed)
        drawn["margins_over_training"] = figures.margins_over_training(model.history_, names, fixed)
    return drawn
