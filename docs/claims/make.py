"""The page docs/claims.md: headline claims of the four papers, the measurements here, and a verdict by a rule.

``python docs/claims/make.py`` writes it from ``claims.toml`` and the results of benchmarks. A claim names a file of
results, the runs of ``ours`` and of the ``other`` side (values of their fields; ``settings`` are all of a model's), a
``figure`` or one per side (``other_figure``), and which way is ``better``; or why it is ``unsettled``.
"""

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

HERE = Path(__file__).parent
PAGE = HERE.parent / "claims.md"
RESULTS = HERE.parents[1] / "benchmarks" / "results"
FEWEST = 3  # An interval needs at least this many seeds.
NOISE = 1e-6  # A smaller share of the figures is rounding.
VERDICTS = (
    "reproduced",
    "direction only",
    "not reproduced",
    "contradicted",
    "contradicted, at small size",
    "not settled",
    "cannot be run",
)
HEAD = """\
# Claims of the papers

This page lists the headline claims of the four papers and whether Ordinate's measurements support them. Of {count}
claims:

| verdict | claims |
|---|---|
{tally}

The verdicts are computed from the numbers:

- "Measured here" gives the difference as a mean over pairs of runs with the same split and seed, with its 95% interval
  (Student's t over the seeds). It is positive if the paper's method is better; a difference of less than a millionth of
  the figures counts as 0.
- **reproduced**: the interval lies above 0, in the paper's setting.
- **direction only**: the interval lies above 0, but on other data or at a smaller size; or, in the paper's setting, the
  mean is above 0 but the interval contains 0.
- **not reproduced**: the interval contains 0 (in the paper's setting, also: the mean is not above 0).
- **contradicted**: the interval lies below 0; *at small size* if the setting is not the paper's.
- **not settled**: fewer than three seeds, or not run.
- **cannot be run**: the data are not public or not available here.

`python docs/claims/make.py` generates this page from the linked result files.
"""


def claims() -> list[dict[str, Any]]:
    """Return the claims as they are listed."""
    listed: list[dict[str, Any]] = tomllib.loads((HERE / "claims.toml").read_text("utf-8"))["claims"]
    return listed


def read(file: str) -> list[dict[str, Any]]:
    """Return the runs of a file of results, each with its figures and fields on one level."""
    text = (RESULTS / file).read_text("utf-8")
    if not file.endswith(".jsonl"):
        return [{**run, **run.get("figures", {})} for run in json.loads(text)]
    runs = []
    for line in text.splitlines():
        result = json.loads(line)
        run, model = result["run"], result["run"]["settings"].get("model", {})
        if result["state"] == "done":
            fields = {name: run[name] for name in ("dataset", "protocol", "model", "seed")}
            fields |= {name: run["facts"]["budget"][name] for name in ("encoder", "epochs")}
            fields["conditions"] = run["settings"].get("protocol", {})
            fields["margins"] = "fixed" if "critical_margins" in model else "learned"
            runs.append({**fields, **model, "settings": model, **result["metrics"]})
    return runs


def figures(runs: list[dict[str, Any]], where: dict[str, Any], figure: str) -> dict[int, float]:
    """Return a figure by seed, of the runs that have these values; of several numbers without a place, their mean."""
    name, _, place = figure.partition("[")
    chosen = [run for run in runs if all(run.get(key) == value for key, value in where.items())]
    return {run["seed"]: float(run[name][int(place[:-1])] if place else np.mean(run[name])) for run in chosen}


def compare(claim: dict[str, Any]) -> tuple[str, str]:
    """Return the measurements of a claim, in words, and its verdict."""
    if "file" not in claim:
        return "", claim["unsettled"]
    runs = read(claim["file"])
    other_figure = claim.get("other_figure", claim["figure"])
    sides = [
        figures(runs, {**claim.get("where", {}), **claim[side]}, figure)
        for side, figure in (("ours", claim["figure"]), ("other", other_figure))
    ]
    seeds = sorted(set(sides[0]) & set(sides[1]))
    if not seeds:
        return "", "not settled: not run"
    ours, other = (np.array([side[seed] for seed in seeds]) for side in sides)
    gains = other - ours if claim["better"] == "lower" else ours - other
    gains[np.abs(gains) < NOISE * np.maximum(np.abs(ours), np.abs(other))] = 0.0
    means = f"{claim['shown']}: {ours.mean():.3g} and {other.mean():.3g}"
    if len(seeds) < FEWEST:
        return f"{means} ({_runs(len(seeds))})", "not settled"
    half = float(student.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains)))
    measured = f"{means}; {gains.mean():+.3g} ± {half:.2g} ({len(seeds)} seeds)"
    return measured, verdict(float(gains.mean()), half, in_the_papers_setting=claim.get("same_setting", False))


def verdict(gain: float, half: float, *, in_the_papers_setting: bool) -> str:
    """Return the verdict on a gain with half its interval.

    Example:
        >>> verdict(2.0, 1.0, in_the_papers_setting=True), verdict(-2.0, 1.0, in_the_papers_setting=False)
        ('reproduced', 'contradicted, at small size')
    """
    if gain - half > 0:
        return "reproduced" if in_the_papers_setting else "direction only"
    if gain + half < 0:
        return "contradicted" if in_the_papers_setting else "contradicted, at small size"
    return "direction only" if in_the_papers_setting and gain > 0 else "not reproduced"


def tally() -> str:
    """Return one row of a table per verdict, with its number of claims; a reason after a colon is left out."""
    counts = Counter(compare(claim)[1].partition(":")[0] for claim in claims())
    return "\n".join(f"| {name} | {counts[name]} |" for name in VERDICTS)


def _runs(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"


def page() -> str:
    """Return the page."""
    lines = [HEAD.format(count=len(claims()), tally=tally())]
    for paper in dict.fromkeys(claim["paper"] for claim in claims()):
        lines += [f"## {paper}\n", "| claim | the paper | measured here | verdict |", "|---|---|---|---|"]
        for claim in claims():
            if claim["paper"] != paper:
                continue
            measured, found = compare(claim)
            place = f"[{claim['setting']}](../benchmarks/results/{claim['file']})" if "file" in claim else ""
            cells = (claim["claim"], f"{claim['source']}: {claim['says']}", f"{place}. {measured}".strip(". "), found)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
