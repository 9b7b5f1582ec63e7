"""What mistakes cost, as the command line is given it."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.labels import parse_boundaries
from ordinate.decisions import cost_matrix, read_costs
from ordinate.errors import OrdinateError


def parse_costs(costs: str | None, critical: list[str], classes: list[Any] | None) -> NDArray[np.float64] | None:
    """Return the cost matrix of the csv ``--costs`` or of ``--critical``; None without any."""
    if costs is None and not critical:
        return None
    if costs is not None and critical:
        raise OrdinateError("--costs", problem="has every cost", expected="no --critical beside it")
    if classes is None:
        raise OrdinateError(
            f"{'--critical' if critical else '--costs'}", problem="is for ranks, and the label is continuous"
        )
    if costs is not None:
        return read_costs(costs, classes)
    return cost_matrix(len(classes), parse_boundaries("--critical", critical, classes))


def parse_decision(decision: str | None, costs: NDArray[np.float64] | None, classes: list[Any] | None) -> Any:
    """Return ``--decision``, or in its place the costs as lists; None without any."""
    if decision is None:
        return None if costs is None else costs.tolist()
    if classes is None:
        raise OrdinateError("--decision", problem="is for ranks, and the label is continuous")
    if costs is not None:
        raise OrdinateError("--decision", f"{decision!r} beside costs, which decide", "one of the two")
    return decision


def costs_of_rules(compared: dict[str, Any] | None) -> pd.DataFrame | None:
    """Return what :func:`~ordinate.decisions.compare_decisions` found as a table for the report."""
    if compared is None:
        return None
    rules = {"the rank of least expected cost": "least_cost", "the most probable rank": "most_probable"}
    return pd.DataFrame(
        {
            "rule": list(rules),
            "cost per sample": [compared[rule]["expected_cost"] for rule in rules.values()],
            "accuracy": [compared[rule]["accuracy"] for rule in rules.values()],
            "saved per sample": [compared["saving"], 0.0],
            "its standard error": [compared["saving_standard_error"], 0.0],
        }
    )
