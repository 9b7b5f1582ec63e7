"""Errors on targets that training has not seen (SupCR, Section 4.5, Table 6; SupReMix, Appendix D.3, Table 15)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier

from ordinate.counts import counted
from ordinate.data.rows import Samples, column_of, take
from ordinate.errors import OrdinateError
from ordinate.metrics import continuous_report
from ordinate_papers.protocols.parts import Figures, Keep, compute
from ordinate_papers.protocols.trial import check_labels, train


def unseen_targets(
    estimator: BaseEstimator,
    X: Samples,
    y: ArrayLike,
    X_test: Samples,
    y_test: ArrayLike,
    *,
    ranges: Sequence[tuple[float, float]],
    drawn: int | None = None,
    seed: int = 0,
    groups: ArrayLike | None = None,
    keep: Keep = compute,
) -> Figures:
    """Scores on all test samples, on those with targets like the training's, and on those in ranges left out of it.

    SupReMix (Appendix D.3, Table 15) leaves out the ages 20-25, 50-55 and 75-80; SupCR (Section 4.5, Table 6) trains on
    sets with two and three Gaussian modes, 3,781 and 3,662 samples, and measures on one that is flat over the targets.
    Chosen here: a range includes both its ends, the test set is the one given, and the scores are those of
    :func:`~ordinate.metrics.continuous_report`, of which the papers show MAE and geometric mean error.

    Args beyond those of :mod:`ordinate_papers.protocols`:
        estimator: Regressor that is not fitted.
        y_test: Targets in and outside the ranges.
        ranges: (lowest, highest) of each range that is left out of training.
        drawn: Number of training samples, drawn as :func:`draw_modes` does; None trains on all outside of the ranges.
        seed: Seed of the samples drawn.

    Returns:
        ``left_out``, the number of training samples in the ranges, ``centres``, ``counts`` and ``width``, the
        distribution of the targets trained on, and ``rows``, one each for ``"all"``, ``"seen"``
        and ``"unseen"`` test samples: ``targets``, ``samples`` and the scores.

    Raises:
        OrdinateError: a classifier (it cannot predict a class that it was not trained on), or ranges that leave nothing
            to train or to measure on.

    Example:
        >>> from sklearn.linear_model import LinearRegression
        >>> X = np.arange(40.0)[:, None]
        >>> figures = unseen_targets(LinearRegression(), X, X[:, 0], X, X[:, 0], ranges=[(10, 19)])
        >>> figures["left_out"], [(row["targets"], row["samples"]) for row in figures["rows"]]
        (10, [('all', 40), ('seen', 30), ('unseen', 10)])
    """
    if is_classifier(estimator):
        raise OrdinateError("estimator", "a classifier, which cannot predict unseen classes", "a regressor")
    targets, test_targets = check_labels(X, y), check_labels(X_test, y_test, "y_test").astype(np.float64)
    unseen = in_ranges(test_targets, ranges)
    seen_rows = np.flatnonzero(~in_ranges(targets, ranges))
    if len(seen_rows) in (0, len(targets)) or unseen.all() or not unseen.any():
        left_out = f"{len(targets) - len(seen_rows)} of {len(targets)} training"
        got = f"{list(ranges)}, which hold {left_out} and {unseen.sum():,} of {counted(len(unseen), 'test sample')}"
        raise OrdinateError("ranges", got, "ranges that hold some of both and not all")
    if drawn is not None:
        seen_rows = draw_modes(targets.astype(np.float64), ranges, drawn, seed)

    def trial() -> Figures:
        model = train(estimator, take(X, seen_rows), targets[seen_rows], "seen", column_of(groups, seen_rows))
        predicted = model.predict(X_test)
        sides = {"all": np.ones_like(unseen), "seen": ~unseen, "unseen": unseen}
        rows = [
            {"targets": name, "samples": int(side.sum()), **continuous_report(test_targets[side], predicted[side])}
            for name, side in sides.items()
        ]
        left_out = int(in_ranges(targets, ranges).sum())
        return {"left_out": left_out, **_distribution(targets.astype(np.float64), seen_rows), "rows": rows}

    return keep("unseen", trial)


def in_ranges(targets: ArrayLike, ranges: Sequence[tuple[float, float]]) -> NDArray[np.bool_]:
    """Return which targets (n,) lie in one of the ranges, whose ends count.

    Example:
        >>> in_ranges([19, 20, 25, 26], [(20, 25)]).tolist()
        [False, True, True, False]
    """
    values = np.asarray(targets, dtype=np.float64)
    inside = np.zeros(len(values), dtype=bool)
    for low, high in ranges:
        if not low <= high:
            raise OrdinateError("ranges", f"{(low, high)}", "(lowest, highest)")
        inside |= (values >= low) & (values <= high)
    return inside


def draw_modes(
    targets: NDArray[np.float64], ranges: Sequence[tuple[float, float]], size: int, seed: int = 0
) -> NDArray[np.intp]:
    """Return samples whose targets have a Gaussian mode between every two ranges, as SupCR's Table 6 shows them.

    The paper does not give its modes. Here they hold as many samples each, their means lie in the middle between the
    ranges, or a range and the end of the targets, and three deviations reach to either side.

    Args:
        targets: (n,), of the samples to draw from, without replacement.
        ranges: (lowest, highest) of each range that is left out.
        size: Number of samples to draw.
        seed: Seed of the draw.

    Returns:
        Rows (size,), ascending.

    Raises:
        OrdinateError: fewer samples than ``size`` outside of the ranges.

    Example:
        >>> ages = np.arange(1000) % 100.0
        >>> drawn = ages[draw_modes(ages, [(0, 19), (40, 59), (80, 99)], size=200)]
        >>> int(np.sum((drawn > 19) & (drawn < 40))) + int(np.sum((drawn > 59) & (drawn < 80)))
        200
    """
    outside = np.flatnonzero(~in_ranges(targets, ranges))
    if size > len(outside):
        raise OrdinateError("drawn", size, f"at most {len(outside)}, the samples outside of the ranges")
    ends = np.array([[-np.inf, targets.min()], *sorted(ranges), [targets.max(), np.inf]])
    low, high = ends[:-1, 1], ends[1:, 0]
    between = high > low
    means, deviations = (low + high)[between] / 2, (high - low)[between] / 6
    values, places, counts = np.unique(targets[outside], return_inverse=True, return_counts=True)
    density = np.sum(np.exp(-0.5 * ((values[:, None] - means) / deviations) ** 2) / deviations, axis=1)
    weights = (density / counts)[places]
    chosen = np.random.default_rng(seed).choice(outside, size, replace=False, p=weights / weights.sum())
    return np.sort(chosen)


def _distribution(targets: NDArray[np.float64], rows: NDArray[np.intp]) -> Figures:
    """Return how many of the rows have each target, or lie in each of 100 bins where targets are more than 256."""
    values = np.unique(targets)
    if len(values) > 256:
        edges = np.linspace(values[0], values[-1], 101)
        counts, centres = np.histogram(targets[rows], edges)[0], (edges[1:] + edges[:-1]) / 2
    else:
        counts, centres = np.bincount(np.searchsorted(values, targets[rows]), minlength=len(values)), values
    return {"centres": centres.tolist(), "counts": counts.tolist(), "width": float(np.diff(centres).min())}
