"""The page docs/claims.md: headline claims of the four papers, the measurements here, and a verdict by a rule.

``python docs/claims/make.py`` writes it from ``claims.toml`` and the results of benchmarks. A claim names a file of
results, the runs of ``ours`` and of the ``other`` side (values of their fields; ``settings`` are all of a model's), a
``figure``, or several to average, or one per side (``other_figure``), and which way is ``better``; "accuracy and MAE"
are two rows. It may say why it is ``unsettled``. For "at most 1.1 ``times`` as long" the other side is multiplied. Its
``runs`` are further fields, each for a row, of which ``at`` names shared ``settings``. Runs of both sides are compared
in pairs, by seed. A table of results (.csv) has one row per side, with mean and deviation, or, where ``losses`` is
true, a pair of rows for each regression loss.
"""

import csv
import json
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

HERE = Path(__file__).parent
PAGE = HERE.parent / "claims.md"
RESULTS = HERE.parents[1] / "benchmarks" / "results"
AGAIN = "the same"  # The claim of a further row.
FEWEST = 3  # An interval needs at least this many seeds.
NOISE = 1e-6  # A smaller share of the figures is rounding.
VERDICTS = (
    "reproduced",
    "direction only",
    "not reproduced",
    "contradicted",
    "contradicted in another setting",
    "not settled",
    "cannot be run",
)
SCORES = {"accuracy": "higher", "MAE": "lower"}
BESIDE = "Comparisons that the papers do not claim"  # Its claims are not counted.
HEAD = """\
# Claims of the papers

This page lists {claims} headline claims of the four papers and whether Ordinate's measurements support them. Some are
measured in several settings. Of {count} comparisons:

{tally}

The verdicts are computed from the numbers:

- "Measured here" gives the difference between two models as a mean over pairs of runs with the same split and seed,
  with its 95% interval (Student's t over the seeds, or over the losses where several are compared). Where only means
  and deviations are kept (the linked file is a table), the interval is Welch's. The difference is positive if the
  paper's claim holds; a difference of less than a millionth of the figures counts as 0.
- **reproduced**: the interval lies above 0, in the paper's setting, as far as the paper describes it (it may leave
  open, for example, whether inputs are scaled).
- **direction only**: the interval lies above 0, but on other data, at a smaller size or with another network.
- **not reproduced**: the interval contains 0.
- **contradicted**: the interval lies below 0; *in another setting* if data, size or network are not the paper's.
- **not settled**: fewer than three seeds, or not run, or for the reason that is given.
- **cannot be run**: the data are not available here.

Nearly all settings differ from the papers' in data, size or network; read "not reproduced" as "not seen in this
setting". Intervals are not corrected for the number of claims: of 40 differences that are 0, about two have an interval
without 0. Accuracy and MAE of the same runs are two comparisons. Runs of one data set share samples, and losses on
SupCR share its encoders, so that intervals are somewhat too short. "The same" refers to the row above.

Where networks and epochs are said to be the same, some things that belong to a method still differ. SupCR, SupCon, RnC,
SimCLR and DINO see two views of every image, the others one; on RetinaMNIST SimCLR and DINO see the stronger views of
SupCR's paper, which no other model here sees, SupCR included. CLOC's classifier has a hidden layer, that of
cross-entropy has none. CLOC and cross-entropy predict the most probable rank, ORCNN the median, GOL the mean rank of
neighbours. In CLOC's rows, logistic regression predicts ranks from the embeddings of RnC, SupCon, SimCLR and DINO
(RnC's own paper has regression); in SupCR's rows, a linear probe predicts numbers. On tables and sentences,
[](pays.md#settings) and [](measured/text_and_series.md#text) say what differs. The images of KOA that were measured had
been equalised by CLAHE before; the runs of 12 epochs equalise their contrast again, as CLOC does.

`python docs/claims/make.py` generates this page from the linked result files.
"""


class Measured(NamedTuple):
    """Two models compared: the mean of each, the gain of the first with half its interval, and the number of pairs."""

    ours: float
    other: float
    gain: float
    half: float
    count: int


def claims() -> list[dict[str, Any]]:
    """Return the claims as they are listed, one for each of their runs."""
    listed = tomllib.loads((HERE / "claims.toml").read_text("utf-8"))
    rows = []
    for claim in listed["claims"]:
        again: dict[str, str] = {}
        for run in claim.pop("runs", [{}]):
            row = {**claim, **listed["settings"].get(run.get("at"), {}), **run}
            for one in _by_figure(row):
                rows.append({**one, **again})
                again = {"claim": AGAIN, "says": ""}
    return rows


def _by_figure(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each of its figures, which are "accuracy and MAE" or a single one."""
    if row.get("figure") != "accuracy and MAE":
        return [row]
    return [
        {**row, "figure": name.lower(), "better": better, "shown": f"{name} {row['shown']}"}
        for name, better in SCORES.items()
    ]


@cache
def read(file: str) -> list[dict[str, Any]]:
    """Return the runs of a file of results, or the rows of a table, with their figures and fields on one level."""
    text = (RESULTS / file).read_text("utf-8")
    if file.endswith(".csv"):
        return [_by_loss(row) for row in csv.DictReader(text.splitlines())]
    if file.endswith(".json"):
        return [{**run, **run.get("figures", {}), **run.get("regions", {})} for run in json.loads(text)]
    runs = []
    for line in text.splitlines():
        result = json.loads(line)
        run = result["run"]
        model = {name: "none" if value is None else value for name, value in run["settings"].get("model", {}).items()}
        if result["state"] == "done":
            fields = {name: run[name] for name in ("dataset", "protocol", "model", "seed")}
            fields |= {name: run["facts"]["budget"][name] for name in ("encoder", "epochs")}
            fields["conditions"] = run["settings"].get("protocol", {})
            fields["margins"] = "fixed" if "critical_margins" in model else "learned"
            runs.append({**fields, **model, "settings": model, **result["metrics"]})
    return runs


def _by_loss(row: dict[str, str]) -> dict[str, Any]:
    """Return a row of a table; the regression loss of a row such as "SupCR(L1)" is what pairs it with "L1"."""
    name, _, loss = row["row"].partition("(")
    on_supcr = name == "SupCR"
    paired = {"seed": loss.rstrip(")") if on_supcr else row["row"], "on_supcr": on_supcr}
    return {**row, **paired, "mean": float(row["ours"] or "nan")}


def figures(runs: list[dict[str, Any]], where: dict[str, Any], figure: str | list[str]) -> dict[Any, float]:
    """Return a figure by seed, of the runs that have these values; of several numbers, their mean."""
    names = [figure] if isinstance(figure, str) else figure
    found: dict[Any, float] = {}
    for run in runs:
        if all(run.get(key) == value for key, value in where.items()):
            if run["seed"] in found:
                raise ValueError(f"two runs of seed {run['seed']}: {where}")
            found[run["seed"]] = float(np.mean([np.mean(_number(run, name)) for name in names]))
    return found


def _number(run: dict[str, Any], figure: str) -> Any:
    """Return a figure of a run, such as ``mae``, ``errors[1]`` (a place) or ``few.mae`` (a part)."""
    name, _, place = figure.partition("[")
    part, _, inner = name.partition(".")
    value = run[part][inner] if inner else run[name]
    return value[int(place[:-1])] if place else value


def in_pairs(claim: dict[str, Any], runs: list[dict[str, Any]]) -> Measured | None:
    """Compare the runs of both sides with the same seed; return None if there are none."""
    pairs = (("ours", claim["figure"]), ("other", claim.get("other_figure", claim["figure"])))
    sides = [figures(runs, {**claim.get("where", {}), **claim[side]}, figure) for side, figure in pairs]
    seeds = sorted(set(sides[0]) & set(sides[1]))
    if not seeds:
        return None
    ours, other = (np.array([side[seed] for seed in seeds]) for side in sides)
    gains: NDArray[np.float64] = _gain(claim, ours, other)
    gains[np.abs(gains) < NOISE * np.maximum(np.abs(ours), np.abs(other))] = 0.0
    half = np.nan
    gain = float(gains.mean())
    if abs(gain) < NOISE * max(abs(ours.mean()), abs(other.mean())):
        gain = 0.0
    if len(gains) >= FEWEST:
        half = float(student.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains)))
    return Measured(float(ours.mean()), float(other.mean()), gain, half, len(gains))


def of_two_rows(claim: dict[str, Any], rows: list[dict[str, Any]]) -> Measured:
    """Compare two rows of a table that has means and deviations (Welch's interval)."""
    wanted = [{**claim["where"], "metric": claim["figure"], **claim[side]} for side in ("ours", "other")]
    ours, other = ([row for row in rows if want.items() <= row.items()] for want in wanted)
    (first,), (second,) = ours, other
    count = min(int(first["seeds"]), int(second["seeds"]))
    gain, half = float(_gain(claim, first["mean"], second["mean"])), np.nan
    if count >= FEWEST:
        others = np.array([int(row["seeds"]) - 1 for row in (first, second)])
        # Deviations are those of the population.
        shares = np.array([float(row["deviation"]) ** 2 for row in (first, second)]) / others
        freedom = sum(shares) ** 2 / sum(shares**2 / others)
        half = float(student.ppf(0.975, freedom) * np.sqrt(sum(shares)))
    return Measured(first["mean"], second["mean"], gain, half, count)


def _gain(claim: dict[str, Any], ours: Any, other: Any) -> Any:
    other = other * claim.get("times", 1.0)
    return other - ours if claim["better"] == "lower" else ours - other


def compare(claim: dict[str, Any]) -> tuple[str, str]:
    """Return the measurements of a claim, in words, and its verdict."""
    if "file" not in claim:
        return "", claim["unsettled"]
    by_row = claim["file"].endswith(".csv") and not claim.get("losses", False)
    found = (of_two_rows if by_row else in_pairs)(claim, read(claim["file"]))
    if found is None:
        return "", "not settled: not run"
    unit = "losses" if claim.get("losses", False) else "seed" if found.count == 1 else "seeds"
    measured = f"{claim['shown']}: {found.ours:.3g} and {found.other:.3g}"
    if found.count >= FEWEST:
        measured += f"; {found.gain:+.3g} ± {found.half:.2g}"
    measured += f" ({found.count} {unit})"
    if "unsettled" in claim:
        return measured, claim["unsettled"]
    if found.count < FEWEST:
        return measured, "not settled"
    return measured, verdict(found.gain, found.half, in_the_papers_setting=claim.get("same_setting", False))


def verdict(gain: float, half: float, *, in_the_papers_setting: bool) -> str:
    """Return the verdict on a gain with half its interval.

    Example:
        >>> verdict(2.0, 1.0, in_the_papers_setting=True), verdict(-2.0, 1.0, in_the_papers_setting=False)
        ('reproduced', 'contradicted in another setting')
    """
    if gain - half > 0:
        return "reproduced" if in_the_papers_setting else "direction only"
    if gain + half < 0:
        return "contradicted" if in_the_papers_setting else "contradicted in another setting"
    return "not reproduced"


def counted() -> list[dict[str, Any]]:
    """Return the claims that the papers make."""
    return [claim for claim in claims() if claim["paper"] != BESIDE]


def _kind(claim: dict[str, Any]) -> str:
    """Return the verdict on a claim without the reason after a colon."""
    return compare(claim)[1].partition(":")[0]


def tally() -> str:
    """Return a table with one row per verdict: its number of comparisons for each paper, and in all."""
    counts = Counter((_kind(claim), claim["paper"]) for claim in counted())
    papers = list(dict.fromkeys(claim["paper"] for claim in counted()))
    lines = [f"| verdict | {' | '.join(papers)} | all |", "|---" * (len(papers) + 2) + "|"]
    for name in VERDICTS:
        numbers = [counts[name, paper] for paper in papers]
        lines.append(f"| {' | '.join(map(str, [name, *numbers, sum(numbers)]))} |")
    return "\n".join(lines)


def by_claim(paper: str) -> dict[str, list[str]]:
    """Return the verdicts on the comparisons of each claim; "the same" in another setting belongs to the row above."""
    found: dict[str, list[str]] = {}
    name = ""
    for claim in claims():
        if claim["paper"] != paper:
            continue
        if not claim["claim"].startswith(AGAIN):
            name = claim["claim"]
        found.setdefault(name, []).append(_kind(claim))
    return found


def summary(paper: str) -> str:
    """Return in how many of its comparisons each claim of a paper holds, in words."""
    held: dict[str, list[str]] = {name: [] for name in ("all", "some", "none", "contradicted", "not settled")}
    for claim, verdicts in by_claim(paper).items():
        settled = [verdict for verdict in verdicts if verdict not in VERDICTS[-2:]]
        positive = [verdict for verdict in settled if verdict in VERDICTS[:2]]
        if not settled:
            held["not settled"].append(claim)
        elif any(verdict.startswith("contradicted") for verdict in settled):
            held["contradicted"].append(claim)
        elif len(positive) == len(settled):
            held["all"].append(claim)
        else:
            held["some" if positive else "none"].append(claim)
    counts = {name: len(claims) for name, claims in held.items()}
    text = (
        f"Of {sum(counts.values())} claims, {counts['all']} hold (reproduced or direction only) in all settled "
        f"comparisons, {counts['some']} in some of them, {counts['none']} in none; {counts['contradicted']} are "
        f"contradicted in at least one, and {counts['not settled']} have no settled one."
    )
    if not held["all"]:
        return text
    listed = "\n".join(f"- {claim}" for claim in held["all"])
    return f"{text} Those that hold in all, often a single one:\n\n{listed}"


def page() -> str:
    """Return the page."""
    number = sum(len(by_claim(paper)) for paper in {claim["paper"] for claim in counted()})
    lines = [HEAD.format(claims=number, count=len(counted()), tally=tally())]
    for paper in dict.fromkeys(claim["paper"] for claim in claims()):
        lines.append(f"## {paper}\n")
        if paper != BESIDE:
            lines.append(f"{summary(paper)}\n")
        lines += ["| claim | the paper | measured here | verdict |", "|---|---|---|---|"]
        for claim in claims():
            if claim["paper"] != paper:
                continue
            measured, found = compare(claim)
            place = f"[{claim['setting']}](../benchmarks/results/{claim['file']})" if "file" in claim else ""
            says = ": ".join(filter(None, (claim["source"], claim["says"])))
            if claim["claim"] == AGAIN:
                says = "as above"
            cells = (claim["claim"], says, f"{place}. {measured}".strip(". "), found)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
