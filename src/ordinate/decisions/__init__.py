"""Decisions from predictions: sets with a nominal coverage, and ranks of least cost; pure functions of arrays."""

from ordinate.decisions.conformal import (
    IntervalCalibration,
    RankCalibration,
    calibrate_intervals,
    calibrate_ranks,
    interval_coverage,
    interval_coverage_report,
    intervals,
    least_samples,
    rank_coverage,
    rank_coverage_report,
    rank_sets,
)
from ordinate.decisions.costs import (
    boundary_errors,
    check_costs,
    compare_decisions,
    cost_matrix,
    decide,
    expected_cost,
    read_costs,
)
from ordinate.decisions.rule import RULES, better_rule, check_decision, compare_rules, predict_ranks

__all__ = [
    "RULES", "IntervalCalibration", "RankCalibration", "better_rule", "boundary_errors", "calibrate_intervals",
    "calibrate_ranks", "check_costs", "check_decision", "compare_decisions", "compare_rules", "cost_matrix", "decide",
    "expected_cost", "interval_coverage", "interval_coverage_report", "intervals", "least_samples",
    "predict_ranks", "rank_coverage", "rank_coverage_report", "rank_sets", "read_costs",
]  # fmt: skip
