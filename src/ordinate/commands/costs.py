"""Costs of mistakes on the command line."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.decisions import read_costs
from ordinate.errors import OrdinateError


def parse_costs(costs: str | None, classes: list[Any] | None) -> NDArray[np.float64] | None:
    """Return the cost matrix of the csv ``--costs``; None without one."""
    if costs is None:
        return None
    if classes is None:
        raise OrdinateError("--costs", problem="is for ranks, and the label is continuous")
    return read_costs(costs, classes)


def parse_decision(decision: str | None, costs: NDArray[np.float64] | None, classes: list[Any] | None) -> Any:
    """Return ``--decision``, or the costs as lists if they decide; None without either."""
    if decision is None:
        return None if costs is None else costs.tolist()
    if classes is None:
        raise OrdinateError("--decision", problem="is for ranks, and the label is continuous")
    if costs is not None:
        raise OrdinateError("--decision", f"{decision!r} and --costs, which decide", "one of the two")
    return decision


def costs_of_rules(compared: dict[str, Any] | None) -> pd.DataFrame | None:
    """Return the result of :func:`~ordinate.decisions.compare_decisions` as a table for the report."""
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
