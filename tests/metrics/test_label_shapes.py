"""Metrics and decisions see (n,) and (n, 1) as the same labels, whichever of two arguments has which."""

import numpy as np
import pytest

from ordinate import decisions, metrics

RANDOM = np.random.default_rng(0)
RANKS, PREDICTED_RANKS = RANDOM.integers(4, size=(2, 30))
TARGETS, PREDICTIONS = RANDOM.normal(size=(2, 30))
COSTS = 1 - np.eye(4)
OF_TARGETS = {
    **{
        name: getattr(metrics, name)
        for name in (
            "mae", "rmse", "r2", "pearson", "spearman", "geometric_mean_error", "continuous_report",
        )
    },
    "calibrate_intervals": lambda true, pred: decisions.calibrate_intervals(true, pred).half_widths,
}  # fmt: skip
OF_RANKS = {
    "accuracy": metrics.accuracy,
    "quadratic_weighted_kappa": metrics.quadratic_weighted_kappa,
    "adjacent_error_rates": lambda true, pred: metrics.adjacent_error_rates(true, pred, 4).tolist(),
    "rank_report": lambda true, pred: metrics.rank_report(true, pred, 4),
    "expected_cost": lambda true, pred: decisions.expected_cost(true, pred, COSTS),
    "boundary_errors": lambda true, pred: decisions.boundary_errors(true, pred, 4),
}
CASES = {
    **{name: (function, TARGETS, PREDICTIONS) for name, function in OF_TARGETS.items()},
    **{name: (function, RANKS, PREDICTED_RANKS) for name, function in OF_RANKS.items()},
}


def shapes(a, b):
    return [(a[:, None], b), (a, b[:, None]), (a[:, None], b[:, None])]


@pytest.mark.parametrize(("function", "true", "predicted"), CASES.values(), ids=CASES)
def test_a_column_is_a_vector(function, true, predicted):
    expected = function(true, predicted)
    for pair in shapes(true, predicted):
        assert function(*pair) == expected
