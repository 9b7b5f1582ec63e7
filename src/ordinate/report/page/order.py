"""Whether the ranks lie in order in the embedding, and how far apart."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ordinate.metrics import is_rank_ordered, rank_cosine_matrix
from ordinate.metrics.embedding import unit_norm


@dataclass(frozen=True)
class Order:
    """Where ranks lie.

    Args:
        cosines: (C, C), mean cosine between the samples of every two ranks; NaN where there is no pair.
        ordered: whether it falls with the distance of ranks everywhere.
        angles: (C,), between the mean directions of the lowest rank that has samples and of every rank, 0 to 180
            degrees; NaN for ranks without samples.
    """

    cosines: NDArray[np.float64]
    ordered: bool
    angles: NDArray[np.float64]


def find_order(embeddings: NDArray[np.float64], ranks: NDArray[np.int64], count: int) -> Order:
    """Return where ``count`` ranks lie.

    Args:
        embeddings: (n, d), of norm 1.
        ranks: (n,), 0..C-1.
        count: C.

    Example:
        >>> order = find_order(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([0, 1, 2]), 3)
        >>> order.ordered, order.angles
        (True, array([  0.,  90., 180.]))
    """
    cosines = rank_cosine_matrix(embeddings, ranks, count)
    sums = np.zeros((count, embeddings.shape[1]))
    np.add.at(sums, ranks, embeddings)
    present = np.bincount(ranks, minlength=count) > 0
    directions = unit_norm(sums)
    angles = np.degrees(np.arccos(np.clip(directions @ directions[present.argmax()], -1, 1)))
    return Order(cosines, is_rank_ordered(cosines), np.where(present, angles, np.nan))
