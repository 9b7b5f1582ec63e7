"""How near queries are to references, by the similarity that an embedding was trained for.

Values are rounded to 12 decimals of the largest, so that rounding breaks no tie.
"""

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ordinate.checks import check_choice
from ordinate.metrics.embedding import DECIMALS, unit_norm
from ordinate.options import Similarity


class Nearness:
    """Compare queries with the same references.

    Args:
        refs: References (m, d).
        similarity: ``"cosine"``, ``"neg_l2"`` (Euclidean distance) or ``"neg_l1"`` (sum of absolute differences).

    Example:
        >>> near = Nearness(np.array([[1.0, 0.0], [0.0, 3.0]]), "neg_l2").of(np.array([[1.0, 1.0]]))
        >>> bool(near[0, 0] > near[0, 1])
        True
    """

    def __init__(self, refs: NDArray[np.float64], similarity: Similarity) -> None:
        check_choice(similarity, get_args(Similarity), "similarity")
        self.similarity = similarity
        self.centre = refs.mean(0)  # Distances from the centre lose fewer digits than those from 0.
        self.refs: NDArray[np.float64] = unit_norm(refs) if similarity == "cosine" else refs - self.centre
        self.norms: NDArray[np.float64] = np.square(self.refs).sum(1)

    def of(self, queries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n, m), larger for nearer references; each row has a unit of its own."""
        if self.similarity == "cosine":
            cosine: NDArray[np.float64] = np.round(unit_norm(queries) @ self.refs.T, DECIMALS)
            return cosine
        queries = queries - self.centre
        if self.similarity == "neg_l2":
            # Minus the squared distances, without the squared norms of the queries.
            return _rounded(2.0 * (queries @ self.refs.T) - self.norms)
        from scipy.spatial.distance import cdist

        return _rounded(-cdist(queries, self.refs, "cityblock"))


def similarities(
    queries: NDArray[np.float64], found: NDArray[np.float64], similarity: Similarity
) -> NDArray[np.float64]:
    """Return the similarity of each query (n, d) to each of its own references (n, k, d), as (n, k).

    Example:
        >>> similarities(np.array([[0.0, 1.0]]), np.array([[[3.0, 5.0]]]), "neg_l2").tolist()
        [[-5.0]]
    """
    if similarity == "cosine":
        units = unit_norm(found.reshape(-1, found.shape[2])).reshape(found.shape)
        cosines: NDArray[np.float64] = np.round(np.einsum("nd,nkd->nk", unit_norm(queries), units), DECIMALS)
        return cosines
    order = 2 if similarity == "neg_l2" else 1
    return -np.linalg.norm(queries[:, None] - found, ord=order, axis=2)


def _rounded(nearness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each row in units of its largest value, to 12 decimals."""
    largest = np.abs(nearness).max(axis=1, keepdims=True)
    rounded: NDArray[np.float64] = np.round(nearness / np.where(largest > 0, largest, 1), DECIMALS)
    return rounded
