"""Random splits of a data set's rows."""

import numpy as np
from numpy.typing import NDArray

from ordinate.errors import OrdinateError


def split_rows(
    labels: NDArray[np.generic], share: float, seed: int, *, stratify: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows into two sets, the second with ``share`` of them, from 0 to 1.

    Args:
        labels: (n,) or (n, p); only their number counts unless ``stratify``.
        share: of the rows in the second set, above 0 and below 1.
        seed: of the drawing.
        stratify: take the share from each rank; ranks of one sample stay in the first set.

    Returns:
        Indices of the first and of the second set, ascending.

    Example:
        >>> rest, held_out = split_rows(np.array([0] * 8 + [1] * 4), 0.25, seed=0, stratify=True)
        >>> len(rest), len(held_out)
        (9, 3)
    """
    if not 0 < share < 1:
        raise OrdinateError(f"share: got {share}, takes a share of the rows above 0 and below 1")
    random = np.random.default_rng(seed)
    order = random.permutation(len(labels))
    if not stratify:
        held_out = order[: min(len(labels) - 1, max(1, round(share * len(labels))))]
    else:
        parts = [order[labels[order] == rank] for rank in np.unique(labels)]
        held_out = np.concatenate([part[: min(len(part) - 1, round(share * len(part)))] for part in parts])
        if len(held_out) == 0:  # ranks too small to give their share: one sample of the largest
            held_out = max(parts, key=len)[:1] if len(labels) > len(parts) else held_out
    held_out = np.sort(held_out)
    return np.setdiff1d(np.arange(len(labels)), held_out), held_out
