"""What prediction sets come to: how often they hold the truth, beside how often they promise to."""

import pandas as pd

from ordinate.decisions import interval_coverage_report, rank_coverage_report
from ordinate.report.page.contents import Contents

PROMISED = (0.8, 0.9, 0.95)
LEAST = 80  # samples, half of which calibrate


def measure_coverage(contents: Contents) -> pd.DataFrame | None:
    """Return a row for every promised coverage, by split conformal prediction within the samples.

    Returns:
        The columns ``promised``, ``measured``, ``mean_size`` (in ranks, or in units of the target) and, for ranks, the
        measured coverage of every rank under its name; None for fewer than 80 samples.
    """
    if len(contents) < LEAST:
        return None
    rows = []
    for promised in PROMISED:
        if contents.names is None or contents.probabilities is None:
            report = interval_coverage_report(contents.true, contents.predicted, promised, repeats=20)
            rows.append({"promised": promised, "measured": report["coverage"], "mean_size": report["mean_width"]})
            continue
        report = rank_coverage_report(contents.true, contents.probabilities, promised, repeats=20)
        by_rank = dict(zip(contents.names, report["coverage_by_rank"], strict=True))
        rows.append({"promised": promised, "measured": report["coverage"], "mean_size": report["mean_size"], **by_rank})
    return pd.DataFrame(rows)
