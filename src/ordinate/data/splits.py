"""Random splits of a data set's rows."""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold

from ordinate.errors import OrdinateError


def split_rows(
    labels: NDArray[np.generic], share: float, seed: int, *, stratify: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows into two sets, the second with ``share`` of them, between 0 and 1; indices are ascending.

    ``stratify`` draws the share from each rank; ranks of one sample stay in the first set.

    Example:
        >>> rest, held_out = split_rows(np.array([0] * 8 + [1] * 4), 0.25, seed=0, stratify=True)
        >>> len(rest), len(held_out)
        (9, 3)
    """
    if not 0 < share < 1:
        raise OrdinateError("share", share, "a share of the rows above 0 and below 1")
    random = np.random.default_rng(seed)
    order = random.permutation(len(labels))
    if not stratify:
        held_out = order[: min(len(labels) - 1, max(1, round(share * len(labels))))]
    else:
        in_order = labels[order]
        parts = [order[in_order == rank] for rank in np.unique(labels)]
        held_out = np.concatenate([part[: min(len(part) - 1, round(share * len(part)))] for part in parts])
        if len(held_out) == 0 and len(labels) > len(parts):
            held_out = max(parts, key=len)[:1]  # All ranks are too small, so one sample of the largest is held out.
    is_rest = np.ones(len(labels), dtype=bool)
    is_rest[held_out] = False
    return np.flatnonzero(is_rest), np.sort(held_out)


def split_groups(
    labels: NDArray[np.generic], groups: ArrayLike, share: float, seed: int, *, stratify: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows into two sets, the second with about ``share`` of them, no group in both; indices are ascending.

    ``stratify`` brings the ranks' shares in both sets as close as the groups allow.

    Example:
        >>> rest, held_out = split_groups(np.array([0, 0, 1, 1]), ["ann", "bob", "ann", "bob"], 0.5, 0, stratify=True)
        >>> len(rest), len(held_out)
        (2, 2)
    """
    if not 0 < share < 1:
        raise OrdinateError("share", share, "a share of the rows above 0 and below 1")
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    if len(codes) != len(labels) or codes.max(initial=0) == 0:
        raise OrdinateError("groups", f"{len(np.unique(codes))} of {len(codes)} rows", "two or more, one per row")
    if stratify:
        folds = min(max(2, round(1 / min(share, 1 - share))), int(codes.max()) + 1)
        splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # Ranks with fewer samples than folds are missing in some folds.
            warnings.simplefilter("ignore", UserWarning)
            rest, held_out = next(splitter.split(np.zeros(len(labels)), labels, codes))
        if share > 1 / 2:
            rest, held_out = held_out, rest
    else:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=seed)
        rest, held_out = next(splitter.split(np.zeros(len(labels)), groups=codes))
    return np.sort(rest), np.sort(held_out)
