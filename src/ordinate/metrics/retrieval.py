"""Retrieval: whether the samples most similar to a query have its label, or labels close to it.

Label distances are Euclidean. Equal similarities, to 12 decimals, share their places: they count as in the mean
over all their orders, so that an embedding that has collapsed to a point gains nothing from the order of the samples.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

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
    within = check_positive(within, "within", or_zero=True)
    search = _Search.over(embeddings, labels, ref_emb, ref_labels, similarity)
    reach = within + np.abs(search.labels).max() * 10.0**-DECIMALS
    precisions = []
    for near, apart in zip(search.nearness(), search.label_distances(), strict=True):
        relevant = apart <= reach
        if relevant.any():
            found, hits = _places(near, relevant)
            precisions.append(np.sum(np.diff(hits, prepend=0) * hits / found) / hits[-1])
    if not precisions:
        raise OrdinateError("labels", "no query with a sample of its label", "at least one")
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
    search = _Search.over(embeddings, labels, ref_emb, ref_labels, similarity)
    places = search.size if k is None else check_neighbours(k, search.size)
    discounts = 1 / np.log2(np.arange(search.size) + 2) * (np.arange(search.size) < places)
    discounted = np.cumsum(discounts)
    farthest = max(apart.max() for apart in search.label_distances())
    if farthest == 0:
        raise OrdinateError("labels", "all equal", "at least two labels")
    shares = []
    for near, apart in zip(search.nearness(), search.label_distances(), strict=True):
        gains = 1 - apart / farthest
        best = float(np.sort(gains)[::-1] @ discounts)
        found, gained = _places(near, gains)
        means = np.diff(gained, prepend=0.0) / np.diff(found, prepend=0)  # Equally near samples share their places.
        gain = float(means @ np.diff(discounted[found - 1], prepend=0.0))
        shares.append(gain / best if best > 0 else 1.0)
    return float(np.mean(shares))


@dataclass(frozen=True)
class _Search:
    """Queries and references: embeddings (n, d) and (m, d), and labels (n, p) and (m, p)."""

    queries: NDArray[np.float64]
    query_labels: NDArray[np.float64]
    searched: Nearness
    labels: NDArray[np.float64]
    among_themselves: bool

    @classmethod
    def over(
        cls,
        embeddings: ArrayLike,
        labels: ArrayLike,
        ref_emb: ArrayLike | None,
        ref_labels: ArrayLike | None,
        similarity: Similarity,
    ) -> Self:
        """Return the search that the arguments of a measure stand for."""
        points, targets = check_targeted_embeddings(embeddings, labels)
        if ref_emb is None and ref_labels is None:
            if len(points) < 2:
                raise OrdinateError("embeddings", "1 sample", "at least 2")
            return cls(points, targets, Nearness(points, similarity), targets, among_themselves=True)
        refs, ref_targets = check_targeted_references(ref_emb, ref_labels, points, targets)
        return cls(points, targets, Nearness(refs, similarity), ref_targets, among_themselves=False)

    @property
    def size(self) -> int:
        """Number of samples that are searched for each query."""
        return len(self.labels) - self.among_themselves

    def nearness(self) -> Iterator[NDArray[np.float64]]:
        """Yield how near the references are to every query."""
        for row, query in enumerate(self.queries):
            yield self._without_itself(self.searched.of(query[None])[0], row)

    def label_distances(self) -> Iterator[NDArray[np.float64]]:
        """Yield the label distances of every query."""
        for row, label in enumerate(self.query_labels):
            yield self._without_itself(np.linalg.norm(self.labels - label, axis=1), row)

    def _without_itself(self, values: NDArray[np.float64], row: int) -> NDArray[np.float64]:
        return np.delete(values, row) if self.among_themselves else values


def _places(
    near: NDArray[np.float64], gains: NDArray[np.float64] | NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return, for every distinct nearness from the largest, the samples that are at least as near and their gain."""
    order = np.argsort(-near)
    last = np.flatnonzero(np.diff(near[order], append=-np.inf))
    return last + 1, np.cumsum(gains[order], dtype=np.float64)[last]
