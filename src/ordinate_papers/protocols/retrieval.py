"""What an embedding is good for without a head: finding samples with close labels, and ranking along one direction."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.linear_model import RidgeCV

from ordinate.data.rows import Samples
from ordinate.errors import OrdinateError
from ordinate.metrics import distance_rank_correlation, mean_average_precision, ndcg, nearest_neighbours, spearman
from ordinate.metrics.embedding import unit_norm
from ordinate.model.model import Model
from ordinate.options import Similarity
from ordinate_papers.protocols.parts import Figures, Keep, compute
from ordinate_papers.protocols.trial import as_numbers, check_labels, score, train, with_order_of

NAMES: dict[str, Similarity] = {"cosine": "cosine", "euclid": "neg_l2"}


def retrieval(
    estimator: BaseEstimator,
    X: Samples,
    y: ArrayLike,
    X_test: Samples,
    y_test: ArrayLike,
    *,
    within: float | None = None,
    groups: ArrayLike | None = None,
    keep: Keep = compute,
) -> Figures:
    """Training samples found by the test samples' embeddings, and the order of the test embedding.

    The papers show neighbours (OTD, Figs. 9 to 12) and do not measure them over their label distance. Chosen here: the
    test samples are the queries, the training samples are searched by the model's own similarity (that of its loss; of
    a plain loss the one that validation prefers; cosines of another library's model), and embeddings are what
    ``transform`` returns; of a model without a contrastive loss, the output of its last hidden layer.

    Args beyond those of :mod:`ordinate_papers.protocols`:
        estimator: Estimator that is not fitted, with ``transform`` once fitted.
        within: Largest label distance of relevant samples; None for the same rank, or targets within 1/4 deviation.

    Returns:
        ``rows``, one of them: the scores of the predictions; ``average_precision``, see
        :func:`~ordinate.metrics.mean_average_precision`; ``ndcg``, of the first 10 places, see
        :func:`~ordinate.metrics.ndcg`; ``order``, the :func:`~ordinate.metrics.distance_rank_correlation` of the test
        samples, from up to 500 of them to all; ``distance_of_10``, the mean label distance of the 10 samples found
        first; ``average_precision_cosine`` and ``average_precision_euclid``, by these similarities; ``direction``,
        Spearman's correlation of the test labels with the one direction of the embedding that fits the training labels
        best (ridge regression on embeddings, of norm 1 for cosines); and, of a regressor,
        ``average_precision_of_predictions``, that of a search without an embedding: for the training samples whose
        labels are nearest to the prediction.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.25, 0.5, 0.75])
        >>> [row] = retrieval(OTDClassifier(epochs=40, random_state=0), X, y, X, y)["rows"]
        >>> row["average_precision"] > 0.8, row["order"] > 0.8, row["direction"] > 0.8
        (True, True, True)
    """
    estimator = with_order_of(estimator, y)
    check_labels(X, y)
    check_labels(X_test, y_test, "y_test")
    if not hasattr(estimator, "transform"):
        raise OrdinateError("estimator", type(estimator).__name__, "one that embeds samples (transform)")
    seen, unseen = as_numbers(estimator, y, y), as_numbers(estimator, y_test, y)
    if within is None:
        within = 0.25 * float(seen.std())
        if is_classifier(estimator):
            within = 0.0

    def trial() -> Figures:
        model = train(estimator, X, y, "all", groups)
        embeddings, queries = model.transform(X), model.transform(X_test)
        similarity = similarity_of(model)
        found: dict[str, Any] = {"ref_emb": embeddings, "ref_labels": seen}
        first = nearest_neighbours(queries, embeddings, min(10, len(seen)), similarity=similarity)
        by_similarity = {
            f"average_precision_{name}": mean_average_precision(
                queries, unseen, within=within, similarity=each, **found
            )
            for name, each in NAMES.items()
        }
        by_prediction = {}
        if not is_classifier(estimator):
            known, predicted = _on_half_circle(seen, np.asarray(model.predict(X_test), dtype=np.float64))
            precision = mean_average_precision(predicted, unseen, within=within, ref_emb=known, ref_labels=seen)
            by_prediction = {"average_precision_of_predictions": precision}
        return {
            **score(model, X_test, y_test),
            **by_prediction,
            **by_similarity,
            "average_precision": mean_average_precision(queries, unseen, within=within, similarity=similarity, **found),
            "ndcg": ndcg(queries, unseen, min(10, len(seen)), similarity=similarity, **found),
            "order": distance_rank_correlation(queries, unseen, similarity=similarity, anchors=500),
            "distance_of_10": float(np.abs(seen[first] - unseen[:, None]).mean()),
            "direction": _along_one_direction(embeddings, seen, queries, unseen, similarity),
        }

    return {"rows": [keep("all", trial)]}


def similarity_of(model: Any) -> Similarity:
    """Return the similarity of a model's embeddings: the one of its loss, and cosines of another library's."""
    fitted = getattr(model, "model_", None)
    if isinstance(fitted, Model):
        return fitted.similarity
    return "cosine"


def _on_half_circle(*values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return points (n, 2) whose cosine similarity falls with the difference of the values (n,)."""
    low, high = min(each.min() for each in values), max(each.max() for each in values)
    angles = [np.pi * (each - low) / ((high - low) or 1.0) for each in values]
    return [np.column_stack([np.cos(angle), np.sin(angle)]) for angle in angles]


def _along_one_direction(
    embeddings: ArrayLike,
    labels: NDArray[np.float64],
    queries: ArrayLike,
    true: NDArray[np.float64],
    similarity: Similarity,
) -> float:
    """Return how well the direction that fits the training labels best ranks other samples, in [-1, 1]."""
    points, query_points = (np.asarray(each, dtype=np.float64) for each in (embeddings, queries))
    if similarity == "cosine":
        points, query_points = unit_norm(points), unit_norm(query_points)
    penalties = [10.0**power for power in range(-4, 5)]
    return spearman(true, RidgeCV(penalties).fit(points, labels).predict(query_points))
