"""Metrics as lines of text."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

METRICS = {  # What people read, by the name in Python and in files.
    "accuracy": "accuracy",
    "mae": "MAE",
    "quadratic_weighted_kappa": "quadratic weighted kappa",
    "rmse": "RMSE",
    "r2": "R2",
    "spearman": "Spearman correlation",
}


def boundary_names(names: Sequence[object]) -> list[str]:
    """Return the name of every boundary between adjacent ranks."""
    return [f"{low} | {high}" for low, high in pairwise(names)]


def metric_lines(metrics: dict[str, Any]) -> list[str]:
    """Return one line per metric that most people ask for."""
    lines = [f"  {METRICS[name]:<40}{value:>z10.4f}" for name, value in metrics.items() if name in METRICS]
    if "targets" in metrics:
        measures = [name for name in METRICS if name in metrics]
        rows = [[name, *(f"{each[measure]:z.4f}" for measure in measures)] for name, each in metrics["targets"].items()]
        lines += ["", table(["target", *map(METRICS.__getitem__, measures)], rows)]
    if "decisions" in metrics:
        decisions = metrics["decisions"]
        costs = [decisions[rule]["expected_cost"] for rule in ("least_cost", "most_probable")]
        lines.append(f"  {'cost of a sample, decided by cost':<40}{costs[0]:>z10.4f}")
        lines.append(f"  {'and by the most probable rank':<40}{costs[1]:>z10.4f}")
        lines.append(
            f"  {'saved, and its standard error':<40}{decisions['saving']:>z10.4f}"
            f"{decisions['saving_standard_error']:>z10.4f}"
        )
    return lines


def score_lines(scores: Mapping[str, Mapping[str, float]], corner: str) -> str:
    """Return a table of scores, given by metric for every predictor, with a text in its corner."""
    metrics = list(next(iter(scores.values())))
    rows = [[name, *(f"{values[metric]:z.3f}" for metric in metrics)] for name, values in scores.items()]
    return table([corner, *map(METRICS.__getitem__, metrics)], rows)


def verdict_lines(verdicts: Mapping[str, object]) -> list[str]:
    """Return a line per verdict, with its name where there are several."""
    if len(verdicts) == 1:
        return [f"verdict: {verdict}" for verdict in verdicts.values()]
    return [f"{name}: {verdict}" for name, verdict in verdicts.items()]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table; the first column is text, the others numbers.

    Example:
        >>> print(table(["model", "MAE"], [["mean", "2.00"], ["SupCR", "1.50"]]))
        model    MAE
        -----  -----
        mean    2.00
        SupCR   1.50
    """
    widths = [max(5, *(len(row[i]) for row in [header, *rows])) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    )
