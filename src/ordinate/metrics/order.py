"""Whether distances between embeddings follow the distances between labels.

Each anchor takes n log n time. Distances are compared to 12 digits of the largest, so that rounding neither breaks a
tie nor makes an order.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.checks import check_choice, check_whole
from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.metrics.angular import gaze_directions
from ordinate.metrics.continuous import spearman
from ordinate.metrics.embedding import DECIMALS, unit_norm
from ordinate.metrics.inputs import check_targeted_embeddings
from ordinate.options import LabelDistanceName, Similarity

Row = tuple[int, NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]
Distance = Literal["euclidean", "cityblock", "sqeuclidean"]


def ordered_triples(
    embeddings: ArrayLike,
    labels: ArrayLike,
    *,
    similarity: Similarity = "neg_l2",
    label_distance: LabelDistanceName = "l1",
    anchors: int | None = None,
    seed: int = 0,
) -> float:
    """Return the share of triples that the embedding orders as their labels do: what SupCR's loss asks for (Section 3).

    A triple is an anchor i and two samples j and k with d(y_i, y_j) < d(y_i, y_k). It is ordered if j is also strictly
    more similar to i than k is. An embedding that is unrelated to the labels reaches 1/2, a collapsed one 0.

    Args:
        embeddings: Embeddings (n, d).
        labels: Labels (n,) or (n, p).
        similarity: ``"neg_l2"``, ``"neg_l1"`` or ``"cosine"``.
        label_distance: ``"l1"``, ``"l2"`` or ``"angular"`` for labels of (pitch, yaw) in radians.
        anchors: Number of anchors that are drawn at random, each compared with all samples; None for all.
        seed: Seed of the drawing.

    Returns:
        A share in [0, 1].

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, unknown options, fewer than two samples, or
            labels that make no such triple.

    Example:
        >>> ordered_triples([[0.0], [1.0], [3.0]], [20, 21, 22])
        1.0
        >>> ordered_triples([[0.0], [3.0], [1.0]], [20, 21, 22])
        0.0
    """
    ordered = 0
    triples = 0
    for _, _, apart, far in _rows(embeddings, labels, similarity, label_distance, anchors, seed):
        concordant, comparable = _concordant(_rounded(apart), _rounded(far))
        ordered += concordant
        triples += comparable
    if not triples:
        raise OrdinateError("labels", "none that lie at different distances of an anchor", "at least one triple")
    return ordered / triples


def distance_rank_correlation(
    embeddings: ArrayLike,
    labels: ArrayLike,
    *,
    similarity: Similarity = "neg_l2",
    label_distance: LabelDistanceName = "l1",
    anchors: int | None = None,
    seed: int = 0,
) -> float:
    """Compute Spearman's correlation between label distances and embedding distances, over all pairs of samples.

    Unlike :func:`ordered_triples` it compares the distances of different anchors too. Of drawn anchors, only the pairs
    with one of them count.

    Args:
        embeddings: Embeddings (n, d).
        labels: Labels (n,) or (n, p).
        similarity: ``"neg_l2"``, ``"neg_l1"`` or ``"cosine"``.
        label_distance: ``"l1"``, ``"l2"`` or ``"angular"`` for labels of (pitch, yaw) in radians.
        anchors: Number of anchors that are drawn at random, each compared with all samples; None for all.
        seed: Seed of the drawing.

    Returns:
        A value in [-1, 1]; 0 where all distances of a kind are equal.

    Raises:
        OrdinateError: shapes that do not fit, values that are not finite, unknown options, or fewer than two samples.

    Example:
        >>> distance_rank_correlation([[0.0], [1.0], [2.0]], [20, 21, 22])
        1.0
    """
    label_distances = []
    distances = []
    done = np.zeros(len(np.asarray(labels)), dtype=bool)
    for anchor, others, apart, far in _rows(embeddings, labels, similarity, label_distance, anchors, seed):
        new = ~done[others]  # A pair of two anchors counts once.
        done[anchor] = True
        label_distances.append(apart[new])
        distances.append(far[new])
    return spearman(_rounded(np.concatenate(label_distances)), _rounded(np.concatenate(distances)))


def _rows(
    embeddings: ArrayLike,
    labels: ArrayLike,
    similarity: Similarity,
    label_distance: LabelDistanceName,
    anchors: int | None,
    seed: int,
) -> Iterator[Row]:
    """Yield each anchor, all other samples, their label distances and their distances (negative similarities)."""
    from scipy.spatial.distance import cdist

    points, targets = check_targeted_embeddings(embeddings, labels)
    if len(points) < 2:
        raise OrdinateError("embeddings", "1 sample", "at least 2")
    far_by: dict[Similarity, Distance] = {"neg_l2": "euclidean", "neg_l1": "cityblock", "cosine": "sqeuclidean"}
    apart_by: dict[LabelDistanceName, Distance] = {"l1": "cityblock", "l2": "euclidean", "angular": "euclidean"}
    check_choice(similarity, [*far_by], "similarity")
    check_choice(label_distance, [*apart_by], "label_distance")
    if similarity == "cosine":
        points = unit_norm(points)
    if label_distance == "angular":
        if targets.shape[1] != 2:
            raise OrdinateError("labels", f"{counted(targets.shape[1], 'dimension')}, 'angular' takes (pitch, yaw)")
        targets = gaze_directions(targets)
    rows = drawn = np.arange(len(points))
    if anchors is not None:
        drawn = np.sort(np.random.default_rng(seed).permutation(len(points))[: check_whole(anchors, "anchors")])
    for anchor in drawn:
        others = np.delete(rows, anchor)
        apart = cdist(targets[[anchor]], targets[others], apart_by[label_distance])[0]
        far = cdist(points[[anchor]], points[others], far_by[similarity])[0]
        if label_distance == "angular":
            apart = 2 * np.arcsin(np.minimum(apart / 2, 1))
        if similarity == "cosine":
            far = far / 2 - 1
        yield int(anchor), others, apart, far


def _rounded(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round distances to 12 digits of the largest."""
    largest = np.abs(distances).max()
    if largest == 0:
        return distances
    return np.asarray(np.round(distances / largest, DECIMALS) * largest)


def _concordant(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[int, int]:
    """Count the pairs of places whose order strictly agrees in a and in b, and the pairs that a orders."""
    from scipy.stats import kendalltau

    _, group_a, sizes_a = np.unique(a, return_inverse=True, return_counts=True)
    _, group_b, sizes_b = np.unique(b, return_inverse=True, return_counts=True)
    sizes_both = np.unique(group_a * len(sizes_b) + group_b, return_counts=True)[1]
    pairs = len(a) * (len(a) - 1) // 2
    tied_a = _pairs(sizes_a)
    tied_b = _pairs(sizes_b)
    tied_both = _pairs(sizes_both)
    if pairs in (tied_a, tied_b):
        return 0, pairs - tied_a
    # Tau-b gives the difference of concordant and discordant pairs; their sum is the pairs untied in both.
    surplus = kendalltau(group_a, group_b).statistic * np.sqrt(pairs - tied_a) * np.sqrt(pairs - tied_b)
    untied = pairs - tied_a - tied_b + tied_both
    return (untied + round(float(surplus))) // 2, pairs - tied_a


def _pairs(sizes: NDArray[np.intp]) -> int:
    """Count the pairs of places within groups of these sizes."""
    return int(np.sum(sizes * (sizes - 1) // 2))
