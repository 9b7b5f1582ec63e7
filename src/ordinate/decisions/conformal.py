"""Split conformal prediction: sets and intervals with a nominal coverage.

From samples the model has not seen, and their true labels, comes how far sets have to reach; then, of new samples
drawn like those, at least the promised share has its label in its set, however bad the model is (Papadopoulos et al.,
*Inductive confidence machines for regression*, ECML 2002; Vovk et al., *Algorithmic Learning in a Random World*,
2005). The promise is of the average over new samples and calibration sets: one rank may be covered less than another,
which :func:`rank_coverage` shows, unless the sets are calibrated by rank.

Throughout, ``y_true`` are ranks (n,) from 0 to C-1 or targets (n,) or (n, p), ``probabilities`` (n, C) with rows that
sum to 1, ``y_pred`` predictions of the shape of targets, all of samples that the model has not seen; ``coverage`` is
the promised share of new samples, above 0 and below 1. OrdinateError is raised for shapes that do not fit and values
that are no ranks, no probabilities or not finite.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.checks import check_num_classes
from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.metrics.embedding import DECIMALS
from ordinate.metrics.inputs import check_probabilities, check_ranks, check_targets, shape_of

Report = dict[str, Any]


@dataclass(frozen=True)
class RankCalibration:
    """Calibration of sets of ranks: nominal coverage, C, and the last key that belongs to a set.

    ``thresholds`` has one key for all ranks, or one for each.

    Example:
        >>> calibrate_ranks([0, 1], [[0.9, 0.1], [0.4, 0.6]], coverage=0.6).num_classes
        2
    """

    coverage: float
    num_classes: int
    thresholds: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class IntervalCalibration:
    """Calibration of intervals: nominal coverage, and half an interval's width in every dimension of the target.

    Example:
        >>> intervals([2.0], IntervalCalibration(coverage=0.9, half_widths=(0.5,))).round(6).tolist()
        [[1.5, 2.5]]
    """

    coverage: float
    half_widths: tuple[float, ...]


def least_samples(coverage: float, dimensions: int = 1) -> int:
    """Return the fewest samples that a coverage can be calibrated on, for targets of p dimensions, or ranks (1).

    It is the smallest n for which one in n + 1 samples may lie outside of its set.

    Example:
        >>> least_samples(0.9), least_samples(0.95)
        (9, 19)
    """
    if isinstance(coverage, bool) or not isinstance(coverage, float | np.floating) or not 0 < coverage < 1:
        raise OrdinateError("coverage", repr(coverage), "a share above 0 and below 1, such as 0.9")
    return math.ceil(round(dimensions / (1 - float(coverage)), 9)) - 1


def calibrate_ranks(
    y_true: ArrayLike, probabilities: ArrayLike, coverage: float = 0.9, *, by_rank: bool = False
) -> RankCalibration:
    """Calibrate sets of adjacent ranks to a nominal coverage of the true rank.

    A set holds the most probable rank and those on either side whose level reaches a threshold; levels are the closest
    fit to the probabilities that only falls from the most probable rank outwards (isotonic regression). Where the
    probabilities are true, no sets of adjacent ranks around the most probable one cover as much with a smaller mean
    size; with one peak they are the smallest sets of all (Sadinle, Lei and Wasserman, *Least Ambiguous Set-Valued
    Classifiers with Bounded Error Levels*, JASA 114, 2019), but never empty.

    Votes of few neighbours leave many levels at exactly 0. Of equal ones those enter first that lie nearer to the most
    probable rank, then nearer to the middle of the scale, then those of a less certain sample.

    With ``by_rank`` the samples of every rank are covered as often as promised, not only all together
    (label-conditional or Mondrian conformal prediction, Vovk et al., 2005): each rank has a threshold from its own
    samples. Sets are larger. A rank with fewer samples than :func:`least_samples` belongs to every set.

    Returns:
        The calibration for :func:`rank_sets`. Where the most probable rank alone is right more often than promised,
        sets hold it alone.

    Raises:
        OrdinateError: also for too few samples for the coverage.

    Example:
        >>> probabilities = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.5, 0.4, 0.1]]
        >>> calibration = calibrate_ranks([0, 1, 2, 1], probabilities, coverage=0.8)
        >>> rank_sets([[0.9, 0.1, 0.0], [0.1, 0.45, 0.45]], calibration)
        array([[0, 0],
               [1, 2]])
    """
    known, ranks = check_probabilities(probabilities, y_true)
    keys = _keys(known)[:, np.arange(len(ranks)), ranks]
    if not by_rank:
        return RankCalibration(float(coverage), known.shape[1], (_last_key(keys, coverage),))
    least = least_samples(coverage)
    if np.bincount(ranks).max() < least:
        raise OrdinateError(
            "coverage", f"{coverage} by rank", f"a rank with at least {counted(least, 'sample')} to calibrate it on"
        )
    thresholds = [(math.inf,) * len(keys)] * known.shape[1]
    for rank in np.flatnonzero(np.bincount(ranks) >= least).tolist():
        thresholds[rank] = _last_key(keys[:, ranks == rank], coverage)
    return RankCalibration(float(coverage), known.shape[1], tuple(thresholds))


def _last_key(keys: NDArray[np.float64], coverage: float) -> tuple[float, ...]:
    """Return the last key (4,) that a set has to reach, of those of the true ranks of calibration samples (4, n)."""
    last = np.lexsort(keys[::-1])[_place(keys.shape[1], coverage)]
    return tuple(keys[:, last].tolist())


def rank_sets(probabilities: ArrayLike, calibration: RankCalibration) -> NDArray[np.int64]:
    """Return a set of adjacent ranks for every sample, with the calibrated coverage of the true rank.

    Returns:
        (n, 2), the lowest and the highest rank of each set, both of which belong to it; the most probable rank does,
        and a set for a larger coverage holds those for smaller ones.

    Raises:
        OrdinateError: also for another number of ranks than calibrated.

    Example:
        >>> calibration = RankCalibration(coverage=0.9, num_classes=3, thresholds=((-0.2, 1.0, 0.0, 1.0),))
        >>> rank_sets([[0.9, 0.1, 0.0], [0.3, 0.4, 0.3]], calibration)
        array([[0, 0],
               [0, 2]])
    """
    values, _ = check_probabilities(probabilities)
    if values.shape[1] != calibration.num_classes:
        raise OrdinateError(
            "probabilities", counted(values.shape[1], "rank"), f"{calibration.num_classes}, as many as calibrated"
        )
    # Whether a key is within the threshold, compared from the last entry to the first.
    inside = np.ones(values.shape, dtype=bool)
    for key, limit in zip(_keys(values)[::-1], np.transpose(calibration.thresholds)[::-1], strict=True):
        inside = (key < limit) | ((key == limit) & inside)
    return np.stack([inside.argmax(axis=1), values.shape[1] - 1 - inside[:, ::-1].argmax(axis=1)], axis=1)


def calibrate_intervals(y_true: ArrayLike, y_pred: ArrayLike, coverage: float = 0.9) -> IntervalCalibration:
    """Calibrate the width of intervals around predictions to a nominal coverage of the target.

    The width is the same everywhere. For targets of p dimensions the intervals make a box that holds all of them as
    often as promised: each dimension may miss a p-th of what the box may (Bonferroni).

    Raises:
        OrdinateError: also for too few samples for the coverage.

    Example:
        >>> calibration = calibrate_intervals([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 3.0, 6.0], coverage=0.6)
        >>> calibration.half_widths
        (0.5,)
    """
    true, pred = check_targets(y_true, y_pred)
    place = _place(len(true), coverage, true.shape[1])
    errors = np.abs(true - pred)
    return IntervalCalibration(float(coverage), tuple(np.sort(errors, axis=0)[place].tolist()))


def intervals(y_pred: ArrayLike, calibration: IntervalCalibration) -> NDArray[np.float64]:
    """Return the interval around every prediction, with the calibrated coverage of the target.

    Returns:
        (n, 2) or (n, p, 2), lower and upper ends.

    Raises:
        OrdinateError: also for another number of dimensions than calibrated.

    Example:
        >>> calibration = IntervalCalibration(coverage=0.9, half_widths=(0.5,))
        >>> intervals([1.0, 4.0], calibration).round(6)
        array([[0.5, 1.5],
               [3.5, 4.5]])
    """
    pred, _ = check_targets(y_pred, y_pred)
    if pred.shape[1] != len(calibration.half_widths):
        raise OrdinateError(
            "y_pred", counted(pred.shape[1], "dimension"), f"{len(calibration.half_widths)}, as many as calibrated"
        )
    half = np.asarray(calibration.half_widths)
    half = half + 4 * np.finfo(np.float64).eps * (np.abs(pred) + half)  # A target at the very end stays inside.
    return np.stack([pred - half, pred + half], axis=-1).reshape(*np.shape(y_pred), 2)


def rank_coverage(y_true: ArrayLike, sets: ArrayLike, num_classes: int) -> Report:
    """Measure how often sets of ranks hold the true one, overall and by rank, and how large they are.

    Returns:
        Of sets (n, 2), ``coverage`` and ``mean_size``, and ``coverage_by_rank`` and ``mean_size_by_rank``, lists of the
        C true ranks in which None stands for a rank without samples; ready for JSON.

    Example:
        >>> rank_coverage([0, 0, 1], [[0, 0], [1, 2], [1, 2]], num_classes=3)["coverage_by_rank"]
        [0.5, 1.0, None]
    """
    num_classes = check_num_classes(num_classes)
    shape = shape_of(sets, "sets")
    if len(shape) != 2 or shape[1] != 2:
        raise OrdinateError("sets", f"shape {shape}", "(n, 2), the lowest and the highest rank")
    ends = np.asarray(sets)
    true, low = check_ranks(y_true, ends[:, 0], num_classes)
    _, high = check_ranks(y_true, ends[:, 1], num_classes)
    inside, size = (low <= true) & (true <= high), high - low + 1
    return {
        "coverage": float(inside.mean()),
        "mean_size": float(size.mean()),
        "coverage_by_rank": _by_rank(inside, true, num_classes),
        "mean_size_by_rank": _by_rank(size, true, num_classes),
    }


def interval_coverage(y_true: ArrayLike, bounds: ArrayLike) -> Report:
    """Measure how often intervals hold the target in all of its dimensions, and how wide they are.

    Returns:
        Of bounds (n, 2) or (n, p, 2), ``coverage`` and ``mean_width``, the mean over the dimensions; ready for JSON.

    Example:
        >>> interval_coverage([1.0, 2.0], [[0.5, 1.5], [2.5, 4.5]])
        {'coverage': 0.5, 'mean_width': 1.5}
    """
    shape, wanted = shape_of(bounds, "bounds"), (*shape_of(y_true, "y_true"), 2)
    if shape != wanted:
        raise OrdinateError("bounds", f"shape {shape}", f"{wanted}, two ends per target")
    ends = np.asarray(bounds)
    true, low = check_targets(y_true, ends[..., 0])
    _, high = check_targets(y_true, ends[..., 1])
    inside = ((low <= true) & (true <= high)).all(axis=1)
    return {"coverage": float(inside.mean()), "mean_width": float((high - low).mean())}


def rank_coverage_report(
    y_true: ArrayLike,
    probabilities: ArrayLike,
    coverage: float = 0.9,
    *,
    by_rank: bool = False,
    repeats: int = 100,
    seed: int = 0,
) -> Report:
    """Compare nominal and measured coverage, calibrated on a random half of the samples and measured on the other.

    Returns:
        The means over ``repeats`` halves of what :func:`rank_coverage` returns, ``promised``, and ``deviation``, the
        standard deviation of the coverage from half to half.

    Raises:
        OrdinateError: as :func:`calibrate_ranks`, for half the samples.

    Example:
        >>> y_true = [0, 1, 2] * 20
        >>> report = rank_coverage_report(y_true, np.eye(3)[y_true], coverage=0.9)
        >>> report["coverage"], report["mean_size"]
        (1.0, 1.0)
    """
    known, ranks = check_probabilities(probabilities, y_true)

    def report(fitted: NDArray[np.int64], measured: NDArray[np.int64]) -> Report:
        calibration = calibrate_ranks(ranks[fitted], known[fitted], coverage, by_rank=by_rank)
        return rank_coverage(ranks[measured], rank_sets(known[measured], calibration), known.shape[1])

    return _mean_report([report(*halves) for halves in _halves(len(ranks), repeats, seed)], coverage)


def interval_coverage_report(
    y_true: ArrayLike, y_pred: ArrayLike, coverage: float = 0.9, *, repeats: int = 100, seed: int = 0
) -> Report:
    """Compare nominal and measured coverage, as :func:`rank_coverage_report` does for ranks.

    Returns:
        The means over ``repeats`` halves of what :func:`interval_coverage` returns, ``promised``, and ``deviation``,
        the standard deviation of the coverage from half to half.

    Raises:
        OrdinateError: as :func:`calibrate_intervals`, for half the samples.

    Example:
        >>> targets = np.linspace(0, 1, 60)
        >>> sorted(interval_coverage_report(targets, targets + 0.1, coverage=0.9))
        ['coverage', 'deviation', 'mean_width', 'promised']
    """
    true, pred = check_targets(y_true, y_pred)

    def report(fitted: NDArray[np.int64], measured: NDArray[np.int64]) -> Report:
        calibration = calibrate_intervals(true[fitted], pred[fitted], coverage)
        return interval_coverage(true[measured], intervals(pred[measured], calibration))

    return _mean_report([report(*halves) for halves in _halves(len(true), repeats, seed)], coverage)


def _place(samples: int, coverage: float, dimensions: int = 1) -> int:
    """Where, of n calibration scores in ascending order, the last stands that a set has to reach, from 0.

    The score of a new sample is equally likely to have each of the n + 1 places among them.
    """
    least = least_samples(coverage, dimensions)
    if samples < least:
        raise OrdinateError(
            "coverage", f"{coverage} for {counted(samples, 'sample')}", f"at least {least} to calibrate it on"
        )
    outside = math.floor(round((samples + 1) * (1 - coverage) / dimensions, 9))
    return samples - outside


def _keys(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """(4, n, C): what says when a rank enters its sample's set, compared entry by entry; -inf for the most probable."""
    n, num_classes = probabilities.shape
    ranks, mode = np.arange(num_classes), probabilities.argmax(axis=1)[:, None]
    below = _falling_above(probabilities[:, ::-1], num_classes - 1 - mode)[:, ::-1]
    level = np.minimum(_falling_above(probabilities, mode), below)
    certainty = probabilities.max(axis=1, keepdims=True)
    entries = (-level, np.abs(ranks - mode), np.abs(ranks - (num_classes - 1) / 2), certainty)
    keys = np.stack([np.broadcast_to(entry, (n, num_classes)) for entry in entries]).round(DECIMALS)
    return np.where(ranks == mode, -np.inf, keys)


def _falling_above(probabilities: NDArray[np.float64], mode: NDArray[np.int64]) -> NDArray[np.float64]:
    """(n, C), the probabilities above the mode (n, 1) as their isotonic regression makes them fall; inf elsewhere.

    By its min-max formula: the level of a rank is the least, over the starts up to it, of the largest mean from there
    to an end at the rank or beyond.
    """
    num_classes = probabilities.shape[1]
    total = np.pad(probabilities.cumsum(axis=1), ((0, 0), (1, 0)))
    levels = np.full(probabilities.shape, np.inf)
    for start in range(1, num_classes):
        means = (total[:, start + 1 :] - total[:, start, None]) / np.arange(1, num_classes - start + 1)
        largest = np.maximum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
        levels[:, start:] = np.where(mode < start, np.minimum(levels[:, start:], largest), levels[:, start:])
    return levels


def _by_rank(values: NDArray[np.bool_ | np.int64], ranks: NDArray[np.int64], num_classes: int) -> list[float | None]:
    """Return the mean of the values of each rank, None for one without samples."""
    means: list[float | None] = [None] * num_classes
    for rank in np.unique(ranks).tolist():
        means[rank] = float(values[ranks == rank].mean())
    return means


def _halves(n: int, repeats: int, seed: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    if n < 2 or repeats < 1:
        raise OrdinateError(
            "repeats", f"{counted(repeats, 'half', 'halves')} of {counted(n, 'sample')}", "at least 1 and 2 samples"
        )
    random = np.random.default_rng(seed)
    orders = [random.permutation(n) for _ in range(repeats)]
    return [(order[: n // 2], order[n // 2 :]) for order in orders]


def _mean_report(reports: list[Report], coverage: float) -> Report:
    """Means over the halves; by rank, over those that have samples of it."""
    means: Report = {"promised": coverage, "deviation": float(np.std([report["coverage"] for report in reports]))}
    for name, value in reports[0].items():
        values = [report[name] for report in reports]
        if not isinstance(value, list):
            means[name] = float(np.mean(values))
            continue
        columns = [[entry for entry in column if entry is not None] for column in zip(*values, strict=True)]
        means[name] = [float(np.mean(column)) if column else None for column in columns]
    return means
