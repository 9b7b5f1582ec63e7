"""What one boundary's margin trades: CLOC trained with one value after the other (CLOC, Section 4.4, Table 2)."""

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ordinate.errors import OrdinateError
from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.labels import find_classes, to_ranks
from ordinate.metrics import accuracy, adjacent_error_rates, mae

CriticalMargins = dict[tuple[Any, Any], float]


class MarginRun(TypedDict):
    """One training: the margin that was fixed (None: learned), its seed, and what it reached on the test set.

    Example:
        >>> run: MarginRun = {"margin": 0.8, "seed": 0, "critical_error": 0.1, "accuracy": 0.9, "mae": 0.1,
        ...                   "adjacent_errors": [0.1]}
        >>> mean_trade([run])["margins"]
        [0.8]
    """

    margin: float | None
    seed: int
    critical_error: float
    accuracy: float
    mae: float
    adjacent_errors: list[float]


def sweep_margin(
    build: Callable[[CriticalMargins | None, int], CLOCClassifier],
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    boundary: tuple[Any, Any],
    margins: Sequence[float | None],
    seeds: Sequence[int],
    *,
    progress: bool = False,
) -> list[MarginRun]:
    """Train with every margin at one boundary, once per seed, and measure on the test set.

    ``build`` makes an unfitted estimator from the critical margins and a seed; a margin of None is learned with the
    others. The records are in the order of margins and seeds; an error rate is NaN where its boundary has no sample.

    Raises:
        OrdinateError: a boundary that is not there, or without a test sample; before any training.

    Example:
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> def build(margins, seed):
        ...     return CLOCClassifier(critical_margins=margins, epochs=(2, 2), random_state=seed)
        >>> runs = sweep_margin(build, X, y, X, y, boundary=(0, 1), margins=[None, 0.8], seeds=[0])
        >>> [run["margin"] for run in runs], runs[0]["critical_error"] == runs[0]["adjacent_errors"][0]
        ([None, 0.8], True)
    """
    classes = find_classes(y, build(None, seeds[0]).class_order)
    true = to_ranks(y_test, classes)
    h = _boundary_index(boundary, true, classes.tolist())
    runs: list[MarginRun] = []
    for margin, seed in tqdm([*product(margins, seeds)], unit="fit", dynamic_ncols=True, disable=not progress):
        model = build(None if margin is None else {boundary: margin}, seed).fit(X, y)
        predicted = to_ranks(model.predict(X_test), classes)
        errors = adjacent_error_rates(true, predicted, len(classes)).tolist()
        runs.append(
            {
                "margin": margin,
                "seed": seed,
                "critical_error": errors[h],
                "accuracy": accuracy(true, predicted),
                "mae": mae(true, predicted),
                "adjacent_errors": errors,
            }
        )
    return runs


def mean_trade(runs: Sequence[MarginRun]) -> dict[str, Any]:
    """Return what :func:`~ordinate.report.curves.margin_trade` draws, but the name of the boundary: means over seeds.

    Example:
        >>> run = {"margin": 0.8, "mae": 0.3, "adjacent_errors": [0.1]}
        >>> trade = mean_trade(
        ...     [
        ...         {**run, "seed": 0, "critical_error": 0.1, "accuracy": 0.75},
        ...         {**run, "seed": 1, "critical_error": 0.1, "accuracy": 0.25},
        ...     ]
        ... )
        >>> trade["margins"], trade["accuracy"], trade["deviations"][1]
        ([0.8], array([0.5]), array([0.25]))
    """
    margins = list(dict.fromkeys(run["margin"] for run in runs))
    errors = [[run["critical_error"] for run in runs if run["margin"] == margin] for margin in margins]
    shares = [[run["accuracy"] for run in runs if run["margin"] == margin] for margin in margins]
    return {
        "margins": margins,
        "critical_error": np.array([np.mean(values) for values in errors]),
        "accuracy": np.array([np.mean(values) for values in shares]),
        "deviations": tuple(np.array([np.std(values) for values in group]) for group in (errors, shares)),
    }


def _boundary_index(boundary: tuple[Any, Any], true: NDArray[np.int64], labels: list[Any]) -> int:
    """Return the rank below the boundary, beside which the test set has samples."""
    boundaries = list(pairwise(labels))
    if boundary not in boundaries:
        shown = " < ".join(map(repr, labels))
        raise OrdinateError("boundary", repr(boundary), f"two adjacent labels, lower first, of {shown}")
    rank = boundaries.index(boundary)
    if not np.isin(true, (rank, rank + 1)).any():
        raise OrdinateError("y_test", f"no sample of {boundary[0]!r} and {boundary[1]!r}", "some to measure errors on")
    return rank
