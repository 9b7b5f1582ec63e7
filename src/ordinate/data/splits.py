"""Random splits of a data set's rows, and what stays on one side of them: groups, and exact copies."""

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ordinate.counts import counted
from ordinate.data.rows import repeated
from ordinate.errors import OrdinateError

COPIES = "exact copies of other samples"
SEEN_GROUP = "that the model was trained on"  # Notes on samples of such groups say so.


@dataclass(frozen=True)
class Units:
    """Samples that stay on one side of every split: those of a group, and exact copies of each other.

    Args:
        codes: (n,), the same number for samples that stay together.
        are_groups: Whether groups were given, whose samples differ from each other; otherwise all of a unit are copies.
    """

    codes: NDArray[np.int64]
    are_groups: bool

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return those of some samples."""
        return type(self)(self.codes[rows], self.are_groups)

    def count(self) -> int:
        """Return their number."""
        return len(np.unique(self.codes))

    def firsts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first sample of each unit, and for every sample (n,) the place of its unit among them."""
        _, first, places = np.unique(self.codes, return_index=True, return_inverse=True)
        return first, places


def keep_together(
    copies: NDArray[np.generic] | None, groups: Units | None, least: int
) -> tuple[Units | None, str | None]:
    """Return what stays on one side of every split, and a note on the copies.

    Copies in two groups join them. The groups are returned as they are if there are no copies, or if fewer than
    ``least`` units remained, too few for parts that hold samples of all ranks.

    Args:
        copies: Codes (n,) that exact copies share; None if they are not known.
        groups: Groups that were given; None without any.
        least: Smallest number of units.

    Example:
        >>> units, note = keep_together(np.array([7, 8, 7, 9]), None, least=3)
        >>> units.codes.tolist(), note
        ([0, 1, 0, 2], 'exact copies of other samples: 1 of 4; copies stay on one side of every split')
        >>> groups = Units(np.array([0, 0, 1, 2]), are_groups=True)
        >>> keep_together(np.array([7, 8, 7, 9]), groups, least=2)[0].codes.tolist()
        [0, 0, 0, 1]
    """
    if copies is None or len(repeated(copies)) == 0:
        return groups, None
    different, codes = np.unique(copies, return_inverse=True)
    extra = len(codes) - len(different)
    if groups is not None:
        codes = _joined(codes, groups.codes)
    units = Units(codes, are_groups=groups is not None)
    note = f"{COPIES}: {extra:,} of {len(codes):,}"
    if units.count() < least:
        problem = f"the {counted(len(different), 'different one')} are too few to keep copies on one side of a split"
        if groups is not None:
            parts = counted(units.count(), "group")
            problem = f"{parts} without copies in another are too few to keep these on one side of a split"
        return groups, f"{note}; {problem}, and scores on new samples may be worse"
    return units, f"{note}; copies stay on one side of every split"


def _joined(copies: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return codes (n,) that samples share which a chain of copies and groups connects."""
    places = np.unique(groups, return_inverse=True)[1] + copies.max() + 1
    size = int(places.max()) + 1
    edges = coo_array((np.ones(len(copies), dtype=np.int8), (copies, places)), shape=(size, size))
    component: NDArray[np.int64] = connected_components(edges, directed=False)[1].astype(np.int64)
    return component[copies]


def split_units(
    labels: NDArray[np.generic], units: Units | None, share: float, seed: int, *, stratify: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows into two sets, the second with about ``share`` of them, no unit in both; indices are ascending.

    See :func:`split_rows`, to which it comes down without units, and :func:`split_groups`.

    Example:
        >>> units = Units(np.array([0, 1, 0, 2, 3, 1]), are_groups=False)
        >>> rest, held_out = split_units(np.zeros(6), units, 0.3, seed=1, stratify=False)
        >>> set(units.codes[rest]) & set(units.codes[held_out])
        set()
    """
    if units is None:
        return split_rows(labels, share, seed, stratify=stratify)
    if units.are_groups:
        return split_groups(labels, units.codes, share, seed, stratify=stratify)
    return _split_copies(labels, units, share, seed, stratify=stratify)


def _split_copies(
    labels: NDArray[np.generic], units: Units, share: float, seed: int, *, stratify: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split rows of which some are copies; a unit counts among the rank of its first row."""
    check_part(share)
    first, places = units.firsts()
    sizes = np.bincount(places)
    strata = np.unique(labels[first], return_inverse=True)[1] if stratify else np.zeros(len(first), dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(first))
    is_held_out = np.zeros(len(first), dtype=bool)
    parts = [order[strata[order] == stratum] for stratum in range(strata.max() + 1)]
    for part in parts:
        rows_of = np.append(0, sizes[part].cumsum())  # So many rows are in the first 0, 1, 2, ... units.
        count = int(np.abs(rows_of - share * rows_of[-1]).argmin())
        is_held_out[part[: min(count, len(part) - 1)]] = True
    if not is_held_out.any():
        is_held_out[max(parts, key=len)[0]] = True
    if stratify:
        # The rows of a unit may have several ranks, of which the rest lacks some: it gets a unit of theirs.
        for rank in np.setdiff1d(labels, labels[~is_held_out[places]]):
            is_held_out[places[(labels == rank).argmax()]] = False
    return np.flatnonzero(~is_held_out[places]), np.flatnonzero(is_held_out[places])


def split_folds(
    strata: NDArray[np.generic] | None, n: int, units: Units | None, folds: int, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return for every fold of n rows the rows of the others and its own, no unit in two folds.

    Args:
        strata: Ranks (n,) of which every fold has about the same share; None for none.
        n: Number of rows.
        units: What stays together; None where every row stands for itself.
        folds: Number of folds.
        seed: Seed of the drawing.

    Example:
        >>> units = Units(np.array([0, 1, 0, 2]), are_groups=False)
        >>> [unseen.tolist() for _, unseen in split_folds(None, 4, units, folds=3, seed=0)]
        [[3], [1], [0, 2]]
    """
    from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold  # Predictions need none.

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Ranks with fewer samples than folds are missing in some folds.
        if units is not None and units.are_groups:
            grouped = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
            return list(grouped.split(np.zeros(n), np.zeros(n) if strata is None else strata, units.codes))
        first = places = np.arange(n)
        if units is not None:
            first, places = units.firsts()
        plain = KFold(folds, shuffle=True, random_state=seed)
        if strata is not None:
            plain = StratifiedKFold(folds, shuffle=True, random_state=seed)
        drawn = list(plain.split(first, None if strata is None else strata[first]))
    if units is None:
        return drawn
    return [(np.flatnonzero(np.isin(places, rest)), np.flatnonzero(np.isin(places, own))) for rest, own in drawn]


def check_part(share: float) -> None:
    """Raise where a share of the rows is not between 0 and 1, exclusive."""
    if not 0 < share < 1:
        raise OrdinateError("share", share, "a share of the rows above 0 and below 1")


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
    check_part(share)
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
    from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold

    check_part(share)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    if len(codes) != len(labels) or codes.max(initial=0) == 0:
        raise OrdinateError(
            "groups", f"{len(np.unique(codes)):,} of {counted(len(codes), 'row')}", "two or more, one per row"
        )
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


def assign_folds(
    targets: NDArray[np.generic], folds: int, seed: int, groups: NDArray[np.generic] | None = None
) -> NDArray[np.int64]:
    """Return the fold (n,) of every sample, 0 to folds-1, so that each has about the same samples of any label.

    Args:
        targets: Ranks or targets (n,).
        folds: Number of folds, at most n.
        seed: Seed of the drawing.
        groups: (n,), each of which lies in one fold.

    Example:
        >>> np.bincount(assign_folds(np.arange(12) // 4, 4, seed=0)).tolist()
        [3, 3, 3, 3]
    """
    generator = np.random.default_rng(seed)
    units = np.arange(len(targets)) if groups is None else pd.factorize(groups)[0]
    labels = pd.Series(targets).groupby(units).median().to_numpy()  # The label of a sample, or the median of a group.
    order = np.lexsort((generator.random(len(labels)), labels))
    fold_of_unit = np.empty(len(labels), dtype=np.int64)
    for start in range(0, len(order), folds):  # Neighbours in the order of the labels fall into different folds.
        block = order[start : start + folds]
        fold_of_unit[block] = generator.permutation(folds)[: len(block)]
    assigned: NDArray[np.int64] = fold_of_unit[units]
    return assigned


def note_on_groups(column: str | None, groups: NDArray[np.str_] | None, trained: NDArray[np.str_] | None) -> str | None:
    """Return a note on samples whose groups (n,) in a column are among those (m,) of training; None without any.

    Example:
        >>> note_on_groups("patient", np.array(["P1", "P2", "P9"]), np.array(["P1", "P2", "P3"]))
        "2 of 3 rows are of a 'patient' that the model was trained on; on others it may be worse"
    """
    if groups is None or trained is None:
        return None
    seen = int(np.isin(groups, trained).sum())
    if seen == 0:
        return None
    return f"{seen:,} of {counted(len(groups), 'row')} are of a {column!r} {SEEN_GROUP}; on others it may be worse"
