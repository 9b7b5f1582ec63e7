"""Costs of mistakes: the rank of least expected cost, and its savings.

Costs are a matrix (C, C): the row is the true rank, the column the predicted one, the diagonal 0. A rank is decided as
decision theory has it (Berger, *Statistical Decision Theory and Bayesian Analysis*, 1985): the one whose cost, averaged
over the probabilities of the true rank, is least. With a cost of 1 for every mistake that is the most probable rank,
with the distance of ranks their median.

Throughout, ``costs`` are (C, C), at least 0, and 0 on the diagonal; ``probabilities`` (n, C), of the true rank, with
rows that sum to 1; ``y_true`` and ``y_pred`` ranks (n,) from 0 to C-1. OrdinateError is raised for values that are no
such costs, probabilities or ranks.
"""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ordinate.checks import check_num_classes
from ordinate.errors import OrdinateError
from ordinate.metrics import rank_report
from ordinate.metrics.inputs import check_probabilities, check_ranks

TIE = 1e-12  # Costs, relative to the largest, and probabilities that differ by less are equal despite rounding.

Decision = TypeVar("Decision")  # It is a matrix of costs, or the name of another decision rule.
Critical = Mapping[tuple[int, int], float | tuple[float, float]]


def cost_matrix(num_classes: int, critical: Critical | None = None, *, power: float = 1.0) -> NDArray[np.float64]:
    """Return the cost of every mistake: the sum over the boundaries between the predicted and the true rank.

    A boundary costs 1, so that without critical ones the cost is the distance of the ranks.

    Args:
        num_classes: C, at least 2.
        critical: ``{(1, 2): 5.0}`` makes the boundary between the ranks 1 and 2 cost 5, ``{(1, 2): (5.0, 2.0)}`` 5 to
            predict too low across it (a disease missed) and 2 to predict too high (a false alarm).
        power: Power of the sum, above 0; 2 makes distant mistakes cost more than near ones together.

    Returns:
        (C, C), true by predicted rank.

    Raises:
        OrdinateError: a boundary that is not one between adjacent ranks, or a cost below 0.

    Example:
        >>> cost_matrix(3, {(1, 2): (5.0, 2.0)})
        array([[0., 1., 3.],
               [1., 0., 2.],
               [6., 5., 0.]])
    """
    num_classes = check_num_classes(num_classes)
    if not 0 < power < np.inf:
        raise OrdinateError("power", repr(power), "a number above 0")
    boundaries = {(low, low + 1): low for low in range(num_classes - 1)}
    too_low, too_high = np.ones((2, num_classes - 1))
    for boundary, cost in (critical or {}).items():
        if boundary not in boundaries:
            raise OrdinateError(
                "critical", f"boundary {boundary!r}", f"adjacent ranks (h, h + 1) from 0 to {num_classes - 1}"
            )
        pair = cost if isinstance(cost, tuple) else (cost, cost)
        if len(pair) != 2 or not all(0 <= value < np.inf for value in pair):
            raise OrdinateError(f"critical[{boundary}]", repr(cost), "a cost of at least 0, or two of them")
        too_low[boundaries[boundary]], too_high[boundaries[boundary]] = pair
    below, above = (np.concatenate([[0.0], steps.cumsum()]) for steps in (too_low, too_high))
    lower = np.maximum(below[:, None] - below, 0) ** power
    higher = np.maximum(above - above[:, None], 0) ** power
    return lower + higher


def check_costs(costs: ArrayLike, num_classes: int | None = None) -> NDArray[np.float64]:
    """Return a cost matrix as float64 once it is known to be one, of ``num_classes`` ranks where that is given.

    Example:
        >>> check_costs([[0, 1], [10, 0]], num_classes=2)
        array([[ 0.,  1.],
               [10.,  0.]])
    """
    wanted = f"({num_classes or 'C'}, {num_classes or 'C'})"
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OrdinateError("costs", expected=f"a matrix of numbers {wanted}") from error
    size = num_classes
    if num_classes is None and matrix.ndim:
        size = len(matrix)
    if size == 1 or matrix.shape != (size, size):
        raise OrdinateError("costs", f"shape {matrix.shape}", f"{wanted}, true by predicted rank")
    if not np.isfinite(matrix).all() or matrix.min() < 0:
        raise OrdinateError("costs", "NaN, infinity or a value below 0", "finite costs of at least 0")
    if matrix.diagonal().any():
        raise OrdinateError("costs", f"a diagonal {matrix.diagonal().tolist()}", "0 for correct predictions")
    return matrix


def costs_by_rank(costs: Decision, classes: Sequence[Hashable]) -> Decision | NDArray[np.generic]:
    """Return costs in the order of the ranks where a table names the labels of its rows and columns, others as given.

    Args:
        costs: Costs of any kind; a table whose rows and columns are numbered from 0 names no labels, unless they are
            such numbers.
        classes: (C,), the labels from the lowest rank to the highest.

    Raises:
        OrdinateError: a table of other labels.

    Example:
        >>> costs_by_rank(pd.DataFrame([[0, 10], [1, 0]], ["ill", "healthy"], ["ill", "healthy"]), ["healthy", "ill"])
        array([[ 0,  1],
               [10,  0]])
    """
    if not isinstance(costs, pd.DataFrame):
        return costs
    labels, numbers = list(classes), list(range(len(classes)))
    rows: Sequence[object] = costs.index.tolist()
    columns: Sequence[object] = costs.columns.tolist()
    if rows == columns == numbers and set(labels) != set(numbers):
        return costs.to_numpy()
    for side, found in (("rows", rows), ("columns", columns)):
        if len(found) != len(labels) or set(found) != set(labels):
            raise OrdinateError("costs", f"{side} for {found}", f"one for each of {labels}")
    return costs.loc[labels, labels].to_numpy()


def read_costs(path: str | Path, classes: Sequence[object]) -> NDArray[np.float64]:
    """Read a cost matrix from a csv file with the true labels in its first column, the predicted ones in its first row.

    Args:
        path: Path of the file; labels may stand in any order.
        classes: (C,), the labels from the lowest rank to the highest.

    Returns:
        (C, C), true by predicted rank.

    Raises:
        OrdinateError: a file that cannot be read, other labels than the classes, or no cost matrix.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "costs.csv"
        >>> pd.DataFrame([[0, 1], [10, 0]], ["healthy", "ill"], ["healthy", "ill"]).to_csv(path)
        >>> read_costs(path, ["healthy", "ill"])
        array([[ 0.,  1.],
               [10.,  0.]])
    """
    try:
        frame = pd.read_csv(path, index_col=0, dtype=str, keep_default_na=False, skipinitialspace=True)
    except (OSError, ValueError) as error:  # The parsing errors of pandas are ValueErrors.
        reason = error if isinstance(error, OSError) else "it is no table of true by predicted labels"
        raise OrdinateError("costs", problem=f"{path} cannot be read: {reason}") from error
    names = [str(label) for label in classes]
    rows, columns = ([str(label).strip() for label in axis] for axis in (frame.index, frame.columns))
    for side, found in (("first column", rows), ("first row", columns)):
        if sorted(found) != sorted(names):
            raise OrdinateError(
                "costs",
                problem=f"the {side} of {path} has {', '.join(found)}",
                expected=f"{', '.join(names)} once each",
            )
    cells = frame.to_numpy()[np.ix_([rows.index(name) for name in names], [columns.index(name) for name in names])]
    return check_costs(cells, len(names))


def decide(probabilities: ArrayLike, costs: ArrayLike) -> NDArray[np.int64]:
    """Return the rank of least expected cost for every sample, (n,); of equal costs, to 12 digits, the lowest.

    It is as good as the probabilities: where they are far off, it may cost more than the most probable rank, and
    :func:`compare_decisions` tells.

    Example:
        >>> decide([[0.8, 0.2], [0.95, 0.05]], [[0, 1], [10, 0]])
        array([1, 0])
    """
    known, _ = check_probabilities(probabilities)
    matrix = check_costs(costs, known.shape[1])
    expected = known @ matrix
    least = expected.min(axis=1, keepdims=True)
    return (expected <= least + TIE * matrix.max()).argmax(axis=1)


def expected_cost(y_true: ArrayLike, y_pred: ArrayLike, costs: ArrayLike) -> float:
    """Return the mean cost of predicted ranks, in units of the costs.

    Example:
        >>> expected_cost([0, 0, 1, 1], [0, 1, 1, 0], [[0, 1], [10, 0]])
        2.75
    """
    return float(_costs_of(y_true, y_pred, costs).mean())


def boundary_errors(y_true: ArrayLike, y_pred: ArrayLike, num_classes: int) -> dict[str, list[float | None]]:
    """Measure how often each boundary is missed from above and overstepped from below.

    Returns:
        ``too_low``, of the samples truly above a boundary the share predicted below it (one minus sensitivity), and
        ``too_high``, of those below it the share predicted above it (one minus specificity): lists of the C-1
        boundaries, None where no sample lies on that side; ready for JSON.

    Example:
        >>> boundary_errors([0, 1, 2, 2], [0, 0, 2, 0], num_classes=3)["too_low"]
        [0.6666666666666666, 0.5]
    """
    num_classes = check_num_classes(num_classes)
    true, pred = check_ranks(y_true, y_pred, num_classes)
    boundaries = np.arange(num_classes - 1)
    above, raised = true[:, None] > boundaries, pred[:, None] > boundaries
    return {"too_low": _shares(~raised, above), "too_high": _shares(raised, ~above)}


def compare_decisions(y_true: ArrayLike, probabilities: ArrayLike, costs: ArrayLike) -> dict[str, Any]:
    """Measure how much deciding by cost saves compared with the most probable rank, on held-out samples.

    Returns:
        ``most_probable`` and ``least_cost``: the metrics of both decisions (``expected_cost``, those of
        :func:`~ordinate.metrics.rank_report` and of :func:`boundary_errors`); ``saving``, the mean cost saved per
        sample, below 0 where deciding by cost costs more, and ``saving_standard_error``: less than two of them may be
        chance. Ready for JSON.

    Raises:
        OrdinateError: also for a single sample.

    Example:
        >>> comparison = compare_decisions([0, 1, 1], [[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]], [[0, 1], [5, 0]])
        >>> round(comparison["saving"], 3), comparison["least_cost"]["accuracy"]
        (1.667, 1.0)
    """
    known, true = check_probabilities(probabilities, y_true)
    if len(true) < 2:
        raise OrdinateError("y_true", "1 sample", "at least two to tell a saving from chance")
    num_classes = known.shape[1]
    decisions = {"most_probable": known.argmax(axis=1), "least_cost": decide(known, costs)}
    comparison: dict[str, Any] = {
        name: {
            "expected_cost": expected_cost(true, pred, costs),
            **rank_report(true, pred, num_classes),
            **boundary_errors(true, pred, num_classes),
        }
        for name, pred in decisions.items()
    }
    saved = _costs_of(true, decisions["most_probable"], costs) - _costs_of(true, decisions["least_cost"], costs)
    comparison["saving"] = float(saved.mean())
    comparison["saving_standard_error"] = float(saved.std(ddof=1) / np.sqrt(len(saved)))
    return comparison


def _costs_of(y_true: ArrayLike, y_pred: ArrayLike, costs: ArrayLike) -> NDArray[np.float64]:
    """(n,), the cost of every prediction."""
    matrix = check_costs(costs)
    true, pred = check_ranks(y_true, y_pred, len(matrix))
    return matrix[true, pred]


def _shares(wrong: NDArray[np.bool_], side: NDArray[np.bool_]) -> list[float | None]:
    """Of the samples on a side of each boundary, the share that is wrong."""
    sizes, errors = side.sum(axis=0).tolist(), (wrong & side).sum(axis=0).tolist()
    return [error / size if size else None for error, size in zip(errors, sizes, strict=True)]
