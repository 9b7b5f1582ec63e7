"""From predictions to decisions: sets with a promised coverage, and ranks of least cost; pure functions of arrays."""

from ordinate.decisions.conformal import (
    IntervalCalibration,
    RankCalibration,
    calibrate_intervals,
    calibrate_ranks,
    interval_coverage,
    interval_coverage_report,
    intervals,
    least_samples,
    neighbour_difficulty,
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
    margins_from_costs,
    read_costs,
)

__all__ = [
    "IntervalCalibration",
    "RankCalibration",
    "boundary_errors",
    "calibrate_intervals",
    "calibrate_ranks",
    "check_costs",
    "compare_decisions",
    "cost_matrix",
    "decide",
    "expected_cost",
    "interval_coverage",
    "interval_coverage_report",
    "intervals",
    "least_samples",
    "margins_from_costs",
    "neighbour_difficulty",
    "rank_coverage",
    "rank_coverage_report",
    "rank_sets",
    "read_costs",
]
