"""Accuracy of the nearest neighbours of embeddings, by cosine or by another similarity.

Nearness is compared to 12 decimals, so that rounding breaks no tie; of equally near neighbours those that come first
are nearer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.errors import OrdinateError
from ordinate.metrics.inputs import both_given, check_embeddings, check_neighbours, check_references
from ordinate.metrics.nearness import Nearness
from ordinate.options import Similarity

VALUES_AT_A_TIME = 1 << 22  # Limits the memory to 32 MiB per block.


def knn_accuracy(
    embeddings: ArrayLike,
    labels: ArrayLike,
    k: int,
    *,
    ref_emb: ArrayLike | None = None,
    ref_labels: ArrayLike | None = None,
    similarity: Similarity = "cosine",
) -> float:
    """Return the share of the queries' k nearest neighbours that carry the query's label (OTD, eq. 6).

    Args:
        embeddings: Queries (n, d).
        labels: Ranks (n,) of the queries.
        k: Number of neighbours of each query.
        ref_emb: References (m, d), among which neighbours are searched; None searches the other queries.
        ref_labels: Ranks (m,) of the references, required with ``ref_emb``.
        similarity: ``"cosine"``, the paper's, ``"neg_l2"`` or ``"neg_l1"``.

    Returns:
        A share in [0, 1].

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, or fewer than k neighbours.

    Example:
        >>> embeddings = [[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]]
        >>> knn_accuracy(embeddings, [0, 0, 1, 1], k=1)
        1.0
    """
    curve = knn_accuracy_curve(embeddings, labels, [k], ref_emb=ref_emb, ref_labels=ref_labels, similarity=similarity)
    return float(curve[0])


def knn_accuracy_curve(
    embeddings: ArrayLike,
    labels: ArrayLike,
    ks: Iterable[int],
    *,
    ref_emb: ArrayLike | None = None,
    ref_labels: ArrayLike | None = None,
    similarity: Similarity = "cosine",
) -> NDArray[np.float64]:
    """Compute :func:`knn_accuracy` for several k, in any order, in one pass over the neighbours (OTD, Fig. 4).

    Args:
        embeddings: Queries (n, d).
        labels: Ranks (n,) of the queries.
        ks: Numbers of neighbours.
        ref_emb: References (m, d), among which neighbours are searched; None searches the other queries.
        ref_labels: Ranks (m,) of the references, required with ``ref_emb``.
        similarity: ``"cosine"``, the paper's, ``"neg_l2"`` or ``"neg_l1"``.

    Returns:
        (len(ks),), shares in [0, 1].

    Raises:
        OrdinateError: as :func:`knn_accuracy`, or no k.

    Example:
        >>> embeddings = [[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]]
        >>> knn_accuracy_curve(embeddings, [0, 0, 1, 1], ks=[1, 2])
        array([1. , 0.5])
    """
    queries, ranks = check_embeddings(embeddings, labels)
    refs, ref_ranks = _references(ref_emb, ref_labels, queries, ranks)
    leave_out_self = ref_emb is None
    counts = np.array([check_neighbours(k, len(refs) - leave_out_self) for k in ks])
    if not counts.size:
        raise OrdinateError("ks", "none", "at least one number of neighbours")
    hits = np.zeros(counts.max(), dtype=np.int64)  # Entry i counts those of the neighbours in place i + 1.
    for rows, nearest in _nearest(queries, refs, len(hits), similarity, leave_out_self=leave_out_self):
        hits += np.sum(ref_ranks[nearest] == ranks[rows, None], axis=0)
    return hits.cumsum()[counts - 1] / (len(queries) * counts)


def nearest_neighbours(
    embeddings: ArrayLike, ref_emb: ArrayLike | None, k: int, *, similarity: Similarity = "cosine"
) -> NDArray[np.intp]:
    """Return the k nearest references of every query: image search (OTD, Appendix C.1, by cosine).

    Args:
        embeddings: Queries (n, d).
        ref_emb: References (m, d), among which neighbours are searched; None searches the other queries.
        k: Number of neighbours of each query.
        similarity: ``"cosine"``, ``"neg_l2"`` or ``"neg_l1"``.

    Returns:
        (n, k), rows of ``ref_emb`` (of ``embeddings`` where that is None), the most similar first.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, or fewer than k neighbours.

    Example:
        >>> nearest_neighbours([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], None, k=2)
        array([[1, 2],
               [0, 2],
               [1, 0]])
    """
    queries, _ = check_embeddings(embeddings, _no_labels(embeddings))
    refs = queries if ref_emb is None else check_references(ref_emb, _no_labels(ref_emb), queries)[0]
    k = check_neighbours(k, len(refs) - (ref_emb is None))
    found = _nearest(queries, refs, k, similarity, leave_out_self=ref_emb is None)
    return np.concatenate([nearest for _, nearest in found])


def _references(
    ref_emb: ArrayLike | None, ref_labels: ArrayLike | None, queries: NDArray[np.float64], ranks: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the embeddings (m, d) to search and their ranks (m,): the references, or the queries themselves."""
    if ref_emb is None and ref_labels is None:
        return queries, ranks
    return check_references(*both_given(ref_emb, ref_labels), queries)


def _no_labels(embeddings: ArrayLike) -> NDArray[np.float64]:
    """Return labels with which embeddings without labels pass the checks."""
    try:
        return np.zeros(np.shape(embeddings)[:1])
    except ValueError:
        # Rows have different lengths, which the check of the embeddings reports.
        return np.zeros(0)


def _nearest(
    queries: NDArray[np.float64], refs: NDArray[np.float64], k: int, similarity: Similarity, *, leave_out_self: bool
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield chunks of queries (q,) and the indices of their k nearest references (q, k), the nearest first."""
    nearness = Nearness(refs, similarity)
    step = max(1, VALUES_AT_A_TIME // len(refs))
    for start in range(0, len(queries), step):
        rows = np.arange(start, min(start + step, len(queries)))
        near = nearness.of(queries[rows])
        if leave_out_self:
            near[np.arange(len(rows)), rows] = -np.inf
        # Take all above the k-th largest, and of those that equal it the first that are needed.
        edge = np.partition(near, -k, axis=1)[:, [-k]]
        above = near > edge
        level = near == edge
        needed = k - above.sum(axis=1, keepdims=True)
        taken = above | (level & (level.cumsum(axis=1) <= needed))
        nearest = np.nonzero(taken)[1].reshape(-1, k)
        order = np.argsort(-np.take_along_axis(near, nearest, axis=1), axis=1, kind="stable")
        yield rows, np.take_along_axis(nearest, order, axis=1)
