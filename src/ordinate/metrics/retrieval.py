"""Retrieval: whether the samples most similar to a query have its label, or labels close to it.

Label distances are Euclidean. Equal similarities, to 12 decimals, share their places: they count as in the mean
over all their orders, so that an embedding that has collapsed to a point gains nothing from the order of the samples.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.checks import check_positive
from ordinate.errors import OrdinateError
from ordinate.metrics.embedding import DECIMALS
from ordinate.metrics.inputs import check_neighbours, check_targeted_embeddings, check_targeted_references
from ordinate.metrics.nearness import Nearness
from ordinate.options import Similarity


def mean_average_precision(
    embeddings: ArrayLike,
    labels: ArrayLike,
    *,
    within: float = 0.0,
    ref_emb: ArrayLike | None = None,
    ref_labels: ArrayLike | None = None,
    similarity: Similarity = "cosine",
) -> float:
    """Return the mean over the queries of the average precision with which samples of their label are found first.

    The average precision of a query is the mean, over its relevant samples, of the share of relevant ones among all
    that are at least as similar. Queries without a relevant sample are left out.

    Args:
        embeddings: Queries (n, d).
        labels: Ranks or targets (n,) or (n, p).
        within: Largest label distance of a relevant sample, in units of the label; 0 for the same label only.
        ref_emb: Embeddings (m, d) that are searched; None searches the other queries.
        ref_labels: Labels (m,) or (m, p) of the references, required with ``ref_emb``.
        similarity: Similarity of embeddings: ``"cosine"``, ``"neg_l2"`` or ``"neg_l1"``.

    Returns:
        A share in (0, 1]; an embedding that is unrelated to the labels has about the share of relevant samples.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, or labels with which nothing can be measured.

    Example:
        >>> mean_average_precision([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]], [0, 0, 1, 1])
        1.0
    """
    from sklearn.metrics import average_precision_score

    within = check_positive(within, "within", or_zero=True)
    _, targets, found = _searched(embeddings, labels, ref_emb, ref_labels, similarity)
    reach = within + np.abs(targets).max() * 10.0**-DECIMALS
    precisions = [average_precision_score(apart <= reach, near) for near, apart in found if apart.min() <= reach]
    if not precisions:
        hint = "within=... takes labels as equal that differ by so much"
        raise OrdinateError("labels", "no query with a sample of its label", "at least one", hint)
    return float(np.mean(precisions))


def ndcg(
    embeddings: ArrayLike,
    labels: ArrayLike,
    k: int | None = None,
    *,
    ref_emb: ArrayLike | None = None,
    ref_labels: ArrayLike | None = None,
    similarity: Similarity = "cosine",
) -> float:
    """Compute the normalised discounted cumulative gain of the samples found, where closer labels gain more.

    The gain of a sample falls evenly with its label distance to the query, from 1 to 0 at the largest distance between
    any two labels; it is discounted by 1 / log2(1 + place) (Järvelin and Kekäläinen, 2002), summed over the first k
    places, and divided by that of the best order.

    Args:
        embeddings: Queries (n, d).
        labels: Ranks or targets (n,) or (n, p).
        k: Number of places that count; None for all.
        ref_emb: Embeddings (m, d) that are searched; None searches the other queries.
        ref_labels: Labels (m,) or (m, p) of the references, required with ``ref_emb``.
        similarity: Similarity of embeddings: ``"cosine"``, ``"neg_l2"`` or ``"neg_l1"``.

    Returns:
        A share in [0, 1]. An embedding unrelated to the labels has a large one too, as most samples gain something.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, or labels with which nothing can be measured.

    Example:
        >>> ndcg([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], [0, 1, 2])
        1.0
    """
    from sklearn.metrics import ndcg_score

    asked, targets, found = _searched(embeddings, labels, ref_emb, ref_labels, similarity)
    if k is not None:
        check_neighbours(k, len(targets) - (ref_emb is None))
    farthest = max(np.linalg.norm(targets - label, axis=1).max() for label in asked)
    if farthest == 0:
        raise OrdinateError("labels", "all equal", "at least two labels")
    shares = []
    for near, apart in found:
        gains = 1 - apart / farthest
        says_something = len(gains) > 1 and gains.any()
        shares.append(ndcg_score([gains], [near], k=k) if says_something else 1.0)
    return float(np.mean(shares))


def _searched(
    embeddings: ArrayLike,
    labels: ArrayLike,
    ref_emb: ArrayLike | None,
    ref_labels: ArrayLike | None,
    similarity: Similarity,
) -> tuple[NDArray[np.float64], NDArray[np.float64], Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]]:
    """Return the labels of queries (n, p) and references (m, p), and of every query how near and apart these are."""
    points, targets = check_targeted_embeddings(embeddings, labels)
    are_themselves = ref_emb is None and ref_labels is None
    refs, ref_targets = points, targets
    if not are_themselves:
        refs, ref_targets = check_targeted_references(ref_emb, ref_labels, points, targets)
    elif len(points) < 2:
        raise OrdinateError("embeddings", "1 sample", "at least 2")
    nearness = Nearness(refs, similarity)

    def found() -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        for row, (query, label) in enumerate(zip(points, targets, strict=True)):
            near, apart = nearness.of(query[None])[0], np.linalg.norm(ref_targets - label, axis=1)
            if are_themselves:
                near, apart = np.delete(near, row), np.delete(apart, row)
            yield near, apart

    return targets, ref_targets, found()
