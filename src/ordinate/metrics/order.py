"""Whether distances between embeddings follow the distances between labels.

Distances are compared to 12 digits of the largest, so that rounding neither breaks a tie nor makes an order.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.checks import check_choice, check_whole
from ordinate.errors import OrdinateError
from ordinate.metrics.continuous import spearman
from ordinate.metrics.embedding import DECIMALS, unit_norm
from ordinate.metrics.inputs import check_targeted_embeddings
from ordinate.options import Similarity

Distance = Literal["euclidean", "cityblock", "sqeuclidean"]


def distance_rank_correlation(
    embeddings: ArrayLike,
    labels: ArrayLike,
    *,
    similarity: Similarity = "neg_l2",
    anchors: int | None = None,
    seed: int = 0,
) -> float:
    """Compute Spearman's correlation between label distances and embedding distances, over all pairs of samples.

    Of drawn anchors, only the pairs with one of them count.

    Args:
        embeddings: Embeddings (n, d).
        labels: Labels (n,) or (n, p), whose distance is the sum of the absolute differences.
        similarity: ``"neg_l2"``, ``"neg_l1"`` or ``"cosine"``.
        anchors: Number of anchors that are drawn at random, each compared with all samples; None for all.
        seed: Seed of the drawing.

    Returns:
        A value in [-1, 1]; 0 where all distances of a kind are equal.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, an unknown similarity, or fewer than two
            samples.

    Example:
        >>> distance_rank_correlation([[0.0], [1.0], [2.0]], [20, 21, 22])
        1.0
    """
    from scipy.spatial.distance import cdist

    points, targets = check_targeted_embeddings(embeddings, labels)
    if len(points) < 2:
        raise OrdinateError("embeddings", "1 sample", "at least 2")
    distances: dict[Similarity, Distance] = {"neg_l2": "euclidean", "neg_l1": "cityblock", "cosine": "sqeuclidean"}
    check_choice(similarity, [*distances], "similarity")
    if similarity == "cosine":
        points = unit_norm(points)
    drawn = np.arange(len(points))
    if anchors is not None:
        drawn = np.sort(np.random.default_rng(seed).permutation(drawn)[: check_whole(anchors, "anchors")])
    counts = np.ones((len(drawn), len(points)), dtype=bool)
    counts[:, drawn] = drawn[:, None] < drawn  # A pair of two anchors counts once.
    apart = cdist(targets[drawn], targets, "cityblock")[counts]
    far = cdist(points[drawn], points, distances[similarity])[counts]
    if similarity == "cosine":
        far = far / 2 - 1
    return spearman(_rounded(apart), _rounded(far))


def _rounded(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round distances to 12 digits of the largest."""
    largest = np.abs(distances).max()
    if largest == 0:
        return distances
    return np.asarray(np.round(distances / largest, DECIMALS) * largest)
