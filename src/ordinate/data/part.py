"""A part of many samples, where all would take too long: drawn at random, the same each time."""

import numpy as np
from numpy.typing import NDArray

MANY = 2**26  # rows, an order of which takes seconds and a GB


def random_part(n: int, most: int, seed: int = 0) -> NDArray[np.int64]:
    """Return ``most`` of n rows, ascending; all of them where there are no more.

    Example:
        >>> random_part(3, most=5).tolist(), len(random_part(1000, most=5))
        ([0, 1, 2], 5)
    """
    random = np.random.default_rng(seed)
    return np.sort(random.permutation(n)[:most] if n <= MANY else random.choice(n, min(n, most), replace=False))


def random_part_of_ranks(ranks: NDArray[np.int64], most: int, least: int) -> NDArray[np.int64]:
    """Return about ``most`` rows, ascending, the same share of every rank but no fewer than ``least`` of one.

    Example:
        >>> ranks = np.array([0] * 90 + [1] * 10)
        >>> np.bincount(ranks[random_part_of_ranks(ranks, most=20, least=3)]).tolist()
        [18, 3]
    """
    if len(ranks) <= most:
        return np.arange(len(ranks))
    members = [np.flatnonzero(ranks == rank) for rank in np.unique(ranks)]
    parts = [rows[random_part(len(rows), max(least, len(rows) * most // len(ranks)))] for rows in members]
    return np.sort(np.concatenate(parts))
