"""How well simple classifiers separate the ranks in embeddings, as OTD's tables have it."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import SVC

from ordinate.errors import OrdinateError
from ordinate.metrics.embedding import unit_norm
from ordinate.metrics.inputs import check_embeddings, check_neighbours, check_references
from ordinate.metrics.neighbours import nearest_neighbours


def svm_accuracy(embeddings: ArrayLike, labels: ArrayLike, *, ref_emb: ArrayLike, ref_labels: ArrayLike) -> float:
    """Fit a support vector machine on training embeddings and return its accuracy (OTD, Table 1, Fig. 13).

    The paper says only "a standard radial basis function". Here it is scikit-learn's SVC with its default settings,
    C = 1 and gamma = 1 / (d times the variance of the entries), on embeddings scaled to norm 1, which is how OTD's
    encoder ends (Appendix B).

    Args:
        embeddings: Embeddings (n, d) of the test set.
        labels: Ranks (n,) of the test set.
        ref_emb: Embeddings (m, d) of the training set.
        ref_labels: Ranks (m,) of the training set, of at least two kinds.

    Returns:
        The share in [0, 1] of the test set that is predicted exactly.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, or a training set of one rank.

    Example:
        >>> train, test = [[1.0, 0.0], [1.0, 0.1], [0.1, 1.0], [0.0, 1.0]], [[2.0, 0.1], [0.1, 0.3]]
        >>> svm_accuracy(test, [0, 1], ref_emb=train, ref_labels=[0, 0, 1, 1])
        1.0
    """
    points, ranks = check_embeddings(embeddings, labels)
    refs, ref_ranks = check_references(ref_emb, ref_labels, points)
    if np.ptp(ref_ranks) == 0:
        raise OrdinateError("ref_labels", f"the rank {ref_ranks[0]} alone", "at least two ranks")
    machine = SVC(kernel="rbf", C=1.0, gamma="scale").fit(unit_norm(refs), ref_ranks)
    return float(np.mean(machine.predict(unit_norm(points)) == ranks))


def knn_error(ref_emb: ArrayLike, ref_labels: ArrayLike, embeddings: ArrayLike, labels: ArrayLike, k: int = 3) -> float:
    """Return the error of the k-nearest-neighbour classifier with cosine similarity (OTD, Table 2, where k is 3).

    Each neighbour has one vote. Of ranks with equally many votes the one with the nearest neighbour
    wins; of equally near neighbours those that come first are nearer.

    Args:
        ref_emb: Embeddings (m, d) of the training set.
        ref_labels: Ranks (m,) of the training set.
        embeddings: Embeddings (n, d) of the test set.
        labels: Ranks (n,) of the test set.
        k: Number of neighbours that vote.

    Returns:
        The share in [0, 1] of the test set that is predicted wrongly.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, or fewer than k neighbours.

    Example:
        >>> knn_error([[1.0, 0.0], [0.0, 1.0]], [0, 1], [[0.9, 0.1], [0.8, 0.2]], [0, 1], k=1)
        0.5
    """
    queries, ranks = check_embeddings(embeddings, labels)
    refs, ref_ranks = check_references(ref_emb, ref_labels, queries)
    k = check_neighbours(k, len(refs))
    present, position = np.unique(ref_ranks, return_inverse=True)
    voted = position[nearest_neighbours(queries, refs, k)]
    cell = np.arange(len(voted))[:, None] * len(present) + voted
    votes = np.bincount(cell.ravel(), minlength=len(voted) * len(present))[cell]
    winner = np.take_along_axis(voted, votes.argmax(axis=1, keepdims=True), axis=1)[:, 0]
    return int(np.sum(present[winner] != ranks)) / len(queries)
