"""Numbers of the predictions of labelled samples."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from ordinate.data.rows import Samples, random_part
from ordinate.metrics import continuous_report, knn_accuracy, rank_report
from ordinate.model.model import Model
from ordinate.model.predictions import Predictions

Metrics = dict[str, Any]

MOST_COMPARED = 10_000  # At most this many samples, drawn at random, are compared and plotted.


def evaluate(model: Model, X: Samples, y: ArrayLike) -> Metrics:
    """Return the metrics of a fitted model on labelled samples, ready for JSON.

    Ranks: accuracy, MAE, quadratic weighted kappa, error rates between adjacent ranks, K-NN accuracy of the embedding,
    and CLOC's margins. Targets: MAE, RMSE, R2, Pearson, Spearman and geometric mean error.

    Args:
        model: Fitted model.
        X: Samples (n) of its kind of data.
        y: Labels (n,) or targets (n, p).

    Raises:
        OrdinateError: samples or labels that the model does not know, or another number of labels than samples.

    Example:
        >>> import numpy as np
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> model = OTDClassifier(epochs=20, random_state=0).fit(X, X[:, 0] > 0.5).fitted
        >>> sorted(evaluate(model, X, X[:, 0] > 0.5))[:2]
        ['accuracy', 'adjacent_error_rates']
    """
    return metrics_of(Predictions.of(model, X, y))


def metrics_of(predictions: Predictions, sample_weight: ArrayLike | None = None) -> Metrics:
    """Return the metrics of predictions, ready for JSON.

    Ranks: accuracy, MAE, quadratic weighted kappa, error rates between adjacent ranks, K-NN accuracy of the
    embedding (OTD, eq. 6, K = 3; of 10,000 samples at random where there are more), and CLOC's margins. Targets: MAE,
    RMSE, R2, Pearson, Spearman and geometric mean error. Samples count by ``sample_weight`` (n,) in all of
    these but K-NN accuracy.
    """
    model, classes = predictions.model, predictions.classes
    if classes is None:
        return dict(continuous_report(predictions.true, predictions.predicted, sample_weight=sample_weight))
    metrics: Metrics = dict(
        rank_report(predictions.true, predictions.predicted, len(classes), sample_weight=sample_weight)
    )
    if len(predictions) > 3:
        rows = random_part(len(predictions), MOST_COMPARED)
        metrics["knn_accuracy"] = knn_accuracy(
            predictions.embeddings[rows], predictions.true[rows], 3, similarity=model.similarity
        )
    if "margins_" in model.facts:
        metrics["margins"] = model.facts["margins_"].tolist()
    return metrics


def measure_targets(
    predictions: Predictions, names: Sequence[str], sample_weight: ArrayLike | None = None
) -> dict[str, Metrics]:
    """Return the metrics of each of several targets (n, p) by its name, see :func:`metrics_of`."""
    columns = zip(names, predictions.true.T, predictions.predicted.T, strict=True)
    return {
        name: dict(continuous_report(true, predicted, sample_weight=sample_weight)) for name, true, predicted in columns
    }
