"""Errors on targets that training has not seen (SupCR, Section 4.5, Table 6; SupReMix, Appendix D.3, Table 15)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from ordinate.data.rows import column_of, take
from ordinate.errors import OrdinateError
from ordinate.metrics import continuous_report
from ordinate.papers.protocols.parts import Figures, Keep, compute
from ordinate.papers.protocols.trial import check_labels, train


def unseen_targets(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    ranges: Sequence[tuple[float, float]],
    groups: ArrayLike | None = None,
    keep: Keep = compute,
) -> Figures:
    """Scores on all test samples, on those with targets like the training's, and on those in ranges left out of it.

    SupReMix (Appendix D.3, Table 15) leaves out the ages 20-25, 50-55 and 75-80; SupCR (Section 4.5, Table 6) trains on
    sets with two and three modes and measures on one that is flat over the targets. Chosen here: a range includes both
    its ends, the test set is the one given, and the scores are those of :func:`~ordinate.metrics.continuous_report`, of
    which the papers show MAE and geometric mean error.

    Args beyond those of :mod:`ordinate.papers.protocols`:
        estimator: a regressor, not fitted.
        y_test: targets in and outside the ranges.
        ranges: (lowest, highest) of each range that is left out of training.

    Returns:
        ``left_out``, the number of training samples in the ranges, and ``rows``, one each for ``"all"``, ``"seen"``
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
        raise OrdinateError(
            "ranges",
            (
                f"{list(ranges)}, which hold {len(targets) - len(seen_rows)} of {len(targets)} training "
                f"and {unseen.sum()} of {len(unseen)} test samples"
            ),
            "ranges that hold some of both and not all",
        )

    def trial() -> Figures:
        model = train(estimator, take(X, seen_rows), targets[seen_rows], "seen", column_of(groups, seen_rows))
        predicted = model.predict(X_test)
        sides = {"all": np.ones_like(unseen), "seen": ~unseen, "unseen": unseen}
        rows = [
            {"targets": name, "samples": int(side.sum()), **continuous_report(test_targets[side], predicted[side])}
            for name, side in sides.items()
        ]
        return {"left_out": len(targets) - len(seen_rows), "rows": rows}

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
