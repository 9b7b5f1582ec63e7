"""What ``ordinate fit`` prints when it has trained a model: how good the model is, compared with simpler ones."""

from ordinate.commands.fit.write import Written
from ordinate.commands.fit_options import FitOptions
from ordinate.counts import counted
from ordinate.report.text import metric_lines, score_lines, verdict_lines


def print_result(options: FitOptions, method: str, written: Written) -> None:
    """Print the metrics on held-out samples, next to those of simple models if these were measured, and a verdict."""
    samples = counted(written.metrics["test_samples"], "held-out sample")
    compared = written.compared
    if compared is None or options.weight is not None:
        weighted = ""
        if options.weight is not None:
            weighted = f", weighted by {options.weight!r} (not: costs of decisions, prediction sets, the report)"
        print(f"\n{method} on {samples}{weighted}", *metric_lines(written.metrics), sep="\n")
    else:
        scores = {}
        for each in compared.predictors:
            scores[each.name] = {metric: score.value for metric, score in each.scores.items()}
        decisions = {name: value for name, value in written.metrics.items() if name == "decisions"}
        print(f"\n{score_lines(scores, samples)}", *metric_lines(decisions), sep="\n")
    if compared is None:
        return
    for line in verdict_lines(compared.verdicts):
        print(f"\n{line}")
