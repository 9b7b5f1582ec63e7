"""Metrics and decisions see (n,) and (n, 1) as the same labels, whichever of two arguments has which."""

import numpy as np
import pytest
import torch

from ordinate import decisions, metrics
from ordinate.metrics import streaming

RANDOM = np.random.default_rng(0)
RANKS, PREDICTED_RANKS = RANDOM.integers(4, size=(2, 30))
TARGETS, PREDICTIONS = RANDOM.normal(size=(2, 30))
COSTS = 1 - np.eye(4)
OF_TARGETS = {
    **{
        name: getattr(metrics, name)
        for name in (
            "mae", "mse", "rmse", "r2", "pearson", "spearman", "kendall", "geometric_mean_error", "continuous_report",
        )
    },
    "shot_report": lambda true, pred: metrics.shot_report(TARGETS, true, pred, 0.5),
    "calibrate_intervals": lambda true, pred: decisions.calibrate_intervals(true, pred).half_widths,
}  # fmt: skip
OF_RANKS = {
    "accuracy": metrics.accuracy,
    "accuracy_within": lambda true, pred: metrics.accuracy_within(true, pred, 1),
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
STREAMING = {
    "GeometricMeanError": (streaming.GeometricMeanError, TARGETS, PREDICTIONS),
    "AccuracyWithin": (lambda: streaming.AccuracyWithin(1), RANKS, PREDICTED_RANKS),
    "AdjacentErrorRates": (lambda: streaming.AdjacentErrorRates(4), RANKS, PREDICTED_RANKS),
}


def shapes(a, b):
    return [(a[:, None], b), (a, b[:, None]), (a[:, None], b[:, None])]


@pytest.mark.parametrize(("function", "true", "predicted"), CASES.values(), ids=CASES)
def test_a_column_is_a_vector(function, true, predicted):
    expected = function(true, predicted)
    for pair in shapes(true, predicted):
        assert function(*pair) == expected


@pytest.mark.parametrize(("make", "true", "predicted"), STREAMING.values(), ids=STREAMING)
def test_a_column_is_a_vector_to_metrics_over_batches(make, true, predicted):
    expected = make()(torch.from_numpy(predicted), torch.from_numpy(true))
    for target, preds in shapes(torch.from_numpy(true), torch.from_numpy(predicted)):
        assert torch.equal(make()(preds, target), expected)
