"""What an embedding is worth before any head: its neighbours, and the order of its ranks.

Cosines are compared to 12 decimals, so that rounding neither breaks a tie nor makes an order.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.errors import OrdinateError
from ordinate.metrics.inputs import check_embeddings, check_neighbours, check_num_classes, check_references

DECIMALS = 12
CHUNK = 1 << 22  # cosines held at a time


def knn_accuracy(
    embeddings: ArrayLike,
    labels: ArrayLike,
    k: int,
    *,
    ref_emb: ArrayLike | None = None,
    ref_labels: ArrayLike | None = None,
) -> float:
    """Share of the queries' k nearest neighbours by cosine that carry the query's label (OTD, eq. 6).

    Args:
        embeddings: (n, d), the queries.
        labels: (n,), ranks.
        k: neighbours of each query.
        ref_emb: (m, d), where neighbours are looked for; None looks among the queries, each itself left out.
        ref_labels: (m,), ranks, given with ``ref_emb``.

    Returns:
        A share in [0, 1]. Of equally near neighbours those that come first are taken.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, or fewer than k neighbours.

    Example:
        >>> embeddings = [[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]]
        >>> knn_accuracy(embeddings, [0, 0, 1, 1], k=1)
        1.0
    """
    queries, ranks = check_embeddings(embeddings, labels)
    if ref_emb is None and ref_labels is None:
        refs, ref_ranks = queries, ranks
    elif ref_emb is None or ref_labels is None:
        missing = "ref_emb" if ref_emb is None else "ref_labels"
        raise OrdinateError(f"{missing}: got None, takes an array whenever its counterpart is given")
    else:
        refs, ref_ranks = check_references(ref_emb, ref_labels, queries)
    leave_out_self = ref_emb is None
    k = check_neighbours(k, len(refs) - leave_out_self)
    hits = sum(
        int(np.sum(ref_ranks[nearest] == ranks[rows, None]))
        for rows, nearest in _nearest(queries, refs, k, leave_out_self)
    )
    return hits / (len(queries) * k)


def knn_error(ref_emb: ArrayLike, ref_labels: ArrayLike, embeddings: ArrayLike, labels: ArrayLike, k: int = 3) -> float:
    """Error of the k-nearest-neighbour classifier with cosine similarity (OTD, Table 2, where k is 3).

    The neighbours vote with one voice each. Of ranks with equally many votes the one with the nearest neighbour
    wins; of equally near neighbours those that come first are nearer.

    Args:
        ref_emb: (m, d), the training set.
        ref_labels: (m,), ranks.
        embeddings: (n, d), the test set.
        labels: (n,), ranks.
        k: neighbours that vote.

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
    wrong = 0
    for rows, nearest in _nearest(queries, refs, k, leave_out_self=False):
        voted = position[nearest]
        cell = np.arange(len(voted))[:, None] * len(present) + voted
        votes = np.bincount(cell.ravel(), minlength=len(voted) * len(present))[cell]
        winner = np.take_along_axis(voted, votes.argmax(axis=1, keepdims=True), axis=1)[:, 0]
        wrong += int(np.sum(present[winner] != ranks[rows]))
    return wrong / len(queries)


def rank_cosine_matrix(embeddings: ArrayLike, labels: ArrayLike, num_classes: int) -> NDArray[np.float64]:
    """Mean cosine between the samples of every two ranks (OTD, Figs. 5 to 8).

    Args:
        embeddings: (n, d).
        labels: (n,), ranks 0..C-1.
        num_classes: C, at least 2.

    Returns:
        (C, C), symmetric, in [-1, 1]. On the diagonal a sample is not paired with itself. NaN where there is no
        pair: a rank without samples, and the diagonal of a rank with one.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, or labels that are no ranks 0..C-1.

    Example:
        >>> rank_cosine_matrix([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]], [0, 0, 1, 1], num_classes=2)
        array([[1., 0.],
               [0., 1.]])
    """
    num_classes = check_num_classes(num_classes)
    points, ranks = check_embeddings(embeddings, labels, num_classes)
    units = _unit(points)
    # the sum of the cosines between two ranks is the inner product of their sums
    sums = np.zeros((num_classes, units.shape[1]))
    np.add.at(sums, ranks, units)
    sizes = np.bincount(ranks, minlength=num_classes)
    own = np.bincount(ranks, weights=np.sum(units**2, axis=1), minlength=num_classes)
    totals = sums @ sums.T - np.diag(own)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    means = np.divide(totals, pairs, out=np.full_like(totals, np.nan), where=pairs > 0)
    return np.clip(means, -1, 1)


def is_rank_ordered(matrix: ArrayLike) -> bool:
    """Whether in each row the mean cosine falls as ranks get farther apart (OTD, Figs. 5 to 8).

    The row of rank r has to fall from r upwards and from r downwards. A rank above r and one below it are not
    compared: the order of the ranks does not say which of the two is farther from r.

    Args:
        matrix: (C, C), of :func:`rank_cosine_matrix`; entries that are NaN are passed over.

    Returns:
        True if every step away from a rank lowers the cosine.

    Raises:
        OrdinateError: a matrix that is not square, or of one rank.

    Example:
        >>> is_rank_ordered([[1.0, 0.7, 0.0], [0.7, 1.0, 0.7], [0.0, 0.7, 1.0]])
        True
        >>> is_rank_ordered([[1.0, 0.0, 0.7], [0.0, 1.0, 0.7], [0.7, 0.7, 1.0]])
        False
    """
    rows = np.round(np.asarray(matrix, dtype=np.float64), DECIMALS)
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1] or len(rows) < 2:
        raise OrdinateError(f"matrix: got shape {rows.shape}, takes (C, C) for two ranks or more")
    return all(_falls(row[rank:]) and _falls(row[rank::-1]) for rank, row in enumerate(rows))


def _falls(cosines: NDArray[np.float64]) -> bool:
    return bool(np.all(np.diff(cosines[~np.isnan(cosines)]) < 0))


def _nearest(
    queries: NDArray[np.float64], refs: NDArray[np.float64], k: int, leave_out_self: bool
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield chunks of queries (q,) and the indices of their k nearest references (q, k), the nearest first."""
    query_units, ref_units = _unit(queries), _unit(refs)
    step = max(1, CHUNK // len(refs))
    for start in range(0, len(queries), step):
        rows = np.arange(start, min(start + step, len(queries)))
        cosine = np.round(query_units[rows] @ ref_units.T, DECIMALS)
        if leave_out_self:
            cosine[np.arange(len(rows)), rows] = -np.inf
        # those above the k-th largest cosine, and of those that equal it the first that are needed
        edge = np.partition(cosine, -k, axis=1)[:, [-k]]
        above, level = cosine > edge, cosine == edge
        needed = k - above.sum(axis=1, keepdims=True)
        taken = above | (level & (level.cumsum(axis=1) <= needed))
        nearest = np.nonzero(taken)[1].reshape(-1, k)
        order = np.argsort(-np.take_along_axis(cosine, nearest, axis=1), axis=1, kind="stable")
        yield rows, np.take_along_axis(nearest, order, axis=1)


def _unit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows scaled to norm 1, in two steps so that no square underflows; a zero row stays zero."""
    largest = np.abs(x).max(axis=1, keepdims=True)
    scaled = x / np.where(largest > 0, largest, 1)
    units: NDArray[np.float64] = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1)
    return units
