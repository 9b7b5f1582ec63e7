"""Whether an embedding keeps the order of the ranks, sample by sample (OTD, Section 4.3, Figs. 5 to 12)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator

from ordinate.data.decoded import evenly_spread
from ordinate.data.rows import Samples
from ordinate.metrics import knn_accuracy, nearest_neighbours, spearman
from ordinate.metrics.embedding import unit_norm
from ordinate_papers.protocols.parts import Figures


def embedding_order(model: BaseEstimator, X: Samples, y: ArrayLike, X_test: Samples, y_test: ArrayLike) -> Figures:
    """Cosine distances of all pairs of test samples, and the training samples nearest to one of each rank.

    OTD draws the distances as a matrix of samples, sorted by rank (Figs. 5 to 8), and for some queries the 15 nearest
    images (Figs. 9 to 12). Chosen here: the samples of the matrix are those of the test set, a query is the first test
    sample of a rank.

    Args:
        model: Fitted model with ``transform``.
        X: Training samples, among which neighbours are searched.
        y: (n,), their ranks.
        X_test: Test samples (m) of two ranks or more.
        y_test: (m,), their ranks.

    Returns:
        ``cosine_distances`` (c, c) in [0, 2], c the number of test samples, at most 300: of more, a row is the mean of
        several; ``cosine_ranks`` (c,), their ranks; ``order``, the rank correlation of cosine distances with rank
        distances, over the pairs of up to 1000 samples; ``queries`` (q,), rows of X_test; ``neighbours`` (q, 15), rows
        of X; and ``neighbour_accuracy``, the share of the 15 neighbours of all test samples that have their rank.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.25, 0.5, 0.75])
        >>> figures = embedding_order(OTDClassifier(epochs=40, random_state=0).fit(X, y), X, y, X, y)
        >>> np.shape(figures["cosine_distances"]), figures["order"] > 0.8, figures["queries"]
        ((60, 60), True, [0, 15, 30, 45])
    """
    ranks, seen_ranks = np.asarray(y_test), np.asarray(y)
    seen, unseen = model.transform(X), model.transform(X_test)
    queries = np.unique(ranks, return_index=True)[1]
    found = min(15, len(seen))
    some = np.array(evenly_spread(len(ranks), 1000))
    distances = pdist(unit_norm(unseen[some]), "sqeuclidean")  # It is twice the cosine distance.
    rows = np.argsort(ranks, kind="stable")
    matrix, matrix_ranks = _cosine_distances(unseen[rows], ranks[rows])
    return {
        "order": spearman(pdist(ranks[some, None].astype(np.float64)), distances),
        "cosine_distances": matrix.round(4).tolist(),
        "cosine_ranks": matrix_ranks.tolist(),
        "queries": queries.tolist(),
        "neighbours": nearest_neighbours(unseen[queries], seen, found).tolist(),
        "neighbour_accuracy": knn_accuracy(unseen, ranks, found, ref_emb=seen, ref_labels=seen_ranks),
    }


def _cosine_distances(
    embeddings: NDArray[np.float64], ranks: NDArray[np.generic], most: int = 300
) -> tuple[NDArray[np.float64], NDArray[np.generic]]:
    """Return the mean cosine distances between consecutive samples, as many at a time as leave ``most`` rows."""
    starts = np.linspace(0, len(ranks), min(most, len(ranks)) + 1).astype(int)[:-1]
    sizes = np.diff([*starts, len(ranks)])
    means = np.add.reduceat(unit_norm(embeddings), starts) / sizes[:, None]
    return np.clip(1 - means @ means.T, 0, 2), ranks[starts]
