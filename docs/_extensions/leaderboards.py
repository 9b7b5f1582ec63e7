"""The page of the leaderboards, made from the runs in `benchmarks/results/leaderboards`."""

from pathlib import Path

from ordinate.report.figures import save
from ordinate_papers.figures.critical_difference import critical_difference
from ordinate_papers.leaderboards.boards import BOARDS
from ordinate_papers.leaderboards.page import as_markdown, rankings
from ordinate_papers.leaderboards.standings import Standings, read_records

RUNS = Path(__file__).parents[2] / "benchmarks" / "results" / "leaderboards"
HEAD = """# Leaderboards

Every model on the same splits of public data sets, by its own default settings, beside means that others published.
`ordinate leaderboard NAME` runs what is missing of one and writes these tables, the picture, and every run as csv;
those of this page are in `benchmarks/results/leaderboards`. Models of other libraries are given standardised numbers
and one-hot categories; ours read tables as they are.
"""


def register(app):
    """Write the page before a Sphinx application reads it."""
    app.connect("builder-inited", write_page)


def write_page(app):
    """Write the page and its pictures."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [HEAD]
    for name, board in BOARDS.items():
        runs = RUNS / f"{name}.csv"
        if not runs.is_file():
            continue
        standings = Standings(board, read_records(runs.read_text(encoding="utf-8")))
        text = as_markdown(standings)
        if ranked := rankings(standings):
            save(critical_difference(ranked), folder / f"leaderboard-{name}.png")
            head, rest = text.split("\n\n### ", 1)
            text = f"{head}\n\n![mean ranks of the models](leaderboard-{name}.png)\n\n### {rest}"
        parts.append(text)
    (folder / "leaderboards.md").write_text("\n\n".join(parts), encoding="utf-8")
