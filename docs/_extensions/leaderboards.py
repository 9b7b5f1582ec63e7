"""The page of the leaderboards, made from the runs in `benchmarks/results/leaderboards`."""

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))
from leaderboard_page import BOARDS, Page, read_runs

HEAD = """# Leaderboards

Every model on the same splits of public data sets, with its own default settings, compared with means that others
published. `python benchmarks/leaderboard.py NAME` makes the missing runs of one and writes these tables, the picture,
and every run as CSV; the runs of this page are in `benchmarks/results/leaderboards`. Models of other libraries are
given standardised numbers and one-hot categories; ours read tables as they are.
"""


def register(app):
    """Write the page before a Sphinx application reads it."""
    app.connect("builder-inited", write_page)


def write_page(app):
    """Write the page and its pictures."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [HEAD]
    for name in BOARDS:
        runs = BENCHMARKS / "results" / "leaderboards" / f"{name}.csv"
        if not runs.is_file():
            continue
        page = Page(name, read_runs(runs))
        text = page.as_markdown()
        if page.rankings():
            page.draw(folder / f"leaderboard-{name}.png")
            head, rest = text.split("\n\n### ", 1)
            text = f"{head}\n\n![mean ranks of the models](leaderboard-{name}.png)\n\n### {rest}"
        parts.append(text)
    (folder / "leaderboards.md").write_text("\n\n".join(parts), encoding="utf-8")
