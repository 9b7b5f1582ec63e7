"""The samples that an estimator holds out by itself."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ordinate.data.splits import split_groups, split_rows
from ordinate.errors import OrdinateError

Rows = NDArray[np.int64]
ATTEMPTS = 20  # drawings of groups, as a rank may stand in few of them


def hold_out(
    targets: NDArray[Any], groups: ArrayLike | None, share: float, seed: int, *, stratify: bool
) -> tuple[Rows, Rows]:
    """Return the rows to train on, and about a share of all rows that is held out.

    Args:
        targets: ranks (n,) or targets (n, p).
        groups: (n,), of which none is on both sides; None where every sample stands for itself.
        share: Share of the rows that is held out, above 0 and below 1.
        seed: Seed of the drawing.
        stratify: take the share from each rank, and keep samples of every rank to train on.

    Raises:
        OrdinateError: groups that allow no such division.
    """
    if groups is None:
        return split_rows(targets, share, seed, stratify=stratify)
    codes: NDArray[np.int64] = pd.factorize(check_groups(groups, len(targets)))[0].astype(np.int64)
    if codes.max() == 0:
        raise OrdinateError("validation_fraction", problem=f"{_NOT_POSSIBLE}, and groups are one", hint=_WAY_OUT)
    for attempt in range(ATTEMPTS):
        rows, held_out = split_groups(targets, codes, share, (seed + attempt) % 2**32, stratify=stratify)
        if len(held_out) and len(rows) and not (stratify and len(np.setdiff1d(targets, targets[rows]))):
            return rows, held_out
    raise OrdinateError(
        "validation_fraction",
        problem=(
            f"{_NOT_POSSIBLE}, and every division of {codes.max() + 1} groups leaves a rank without "
            "a sample to train on"
        ),
        hint=_WAY_OUT,
    )


_NOT_POSSIBLE = "holds out whole groups"
_WAY_OUT = "give validation=(X, y), or 0 for no held-out samples"


def check_groups(groups: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return the groups (n,) of samples as codes; none of them may be missing."""
    array = np.asarray(groups)
    if array.shape != (n,):
        raise OrdinateError("groups", f"shape {array.shape}", f"({n},), one per sample")
    if pd.isna(array).any():
        raise OrdinateError("groups", f"{pd.isna(array).sum()} missing values", "a group for every sample")
    codes: NDArray[np.int64] = pd.factorize(array, sort=True)[0].astype(np.int64)
    return codes
