"""A leaderboard as text, Markdown and CSV, and the picture of its mean ranks."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from ordinate.data.new_files import new_file
from ordinate.report.figures import save
from ordinate.report.text import table
from ordinate_papers.figures.critical_difference import critical_difference
from ordinate_papers.leaderboards.boards import SHOWN
from ordinate_papers.leaderboards.standings import SECONDS, Ranking, Standings

LEAST_DECIMALS, MOST_DECIMALS = 4, 6

Lines = tuple[Sequence[str], Sequence[Sequence[str]]]  # header and rows


def of_set(standings: Standings, name: str) -> Lines:
    """Return the means on a set, best first by the board's first measure."""
    measures = standings.board.measures
    first = measures[0]
    models = sorted(standings.means[name].items(), key=lambda item: item[1].get(first, float("inf")))
    decimals = {m: _decimals([of[m] for of in standings.means[name].values() if m in of]) for m in measures}
    rows = []
    for model, figures in models:
        splits = len(standings.splits.get((name, model), ()))
        shown = [f"{figures[m]:.{decimals[m]}f}" if m in figures else "" for m in measures]
        seconds = f"{figures[SECONDS]:.1f}" if SECONDS in figures else ""
        rows.append([model, str(splits or ""), *shown, seconds])
    return ["model", "splits", *(SHOWN[m] for m in measures), SECONDS], rows


def _decimals(values: Sequence[float]) -> int:
    """Return as many decimals as show three digits of the least of them."""
    least = min((abs(value) for value in values if value), default=1.0)
    return min(max(LEAST_DECIMALS, 2 - math.floor(math.log10(least))), MOST_DECIMALS)


def of_ranks(standings: Standings, rankings: Sequence[Ranking]) -> Lines:
    """Return the mean ranks, best first by the first of the rankings, and wins over each by the first measure."""
    first = rankings[0]
    ours = standings.board.models[0]
    rows = []
    for model in sorted({name for ranking in rankings for name in ranking.ranks},
                        key=lambda name: first.ranks.get(name, float("inf"))):  # fmt: skip
        wins = ""
        if model != ours and ours in first.ranks:
            wins = " / ".join(map(str, standings.wins(ours, model, first.measure)))
        ranks = [f"{r.ranks[model]:.2f}" if model in r.ranks else "" for r in rankings]
        rows.append([model, *ranks, wins])
    return ["model", *(f"{SHOWN[r.measure]}" for r in rankings), f"{ours} ahead / level / behind"], rows


def rankings(standings: Standings) -> list[Ranking]:
    """Return the mean ranks by each measure that has some."""
    found = (standings.ranking(measure) for measure in standings.board.measures)
    return [ranking for ranking in found if ranking is not None]


def _sections(
    standings: Standings, lines: Callable[[Sequence[str], Sequence[Sequence[str]]], str], mark: str = ""
) -> list[str]:
    parts = []
    if ranked := rankings(standings):
        parts += [f"{mark}Mean ranks", lines(*of_ranks(standings, ranked)), _differences(ranked)]
    for name in standings.means:
        parts += [f"{mark}{name}", lines(*of_set(standings, name))]
    return parts


def _differences(ranked: Sequence[Ranking]) -> str:
    """Return over which sets the ranks are, and from which difference on two models differ."""
    measures: dict[tuple[str, ...], list[str]] = {}
    for ranking in ranked:
        measures.setdefault(tuple(ranking.sets), []).append(SHOWN[ranking.measure])
    over = "; ".join(f"{' and '.join(names)} over {', '.join(sets)}" for sets, names in measures.items())
    shown = ", ".join(f"{SHOWN[r.measure]} {r.critical_difference:.2f}" for r in ranked)
    return f"{over}. Two models differ at a level of 0.05 from this difference of mean ranks on (Nemenyi): {shown}."


def as_text(standings: Standings) -> str:
    """Return the leaderboard, aligned."""
    board = standings.board
    return "\n\n".join([f"{board.name}: {board.title}\n{board.note}", *_sections(standings, table)]) + "\n"


def as_markdown(standings: Standings, level: int = 2) -> str:
    """Return the leaderboard for a page; ``level`` is that of its heading."""
    board = standings.board
    head = f"{'#' * level} {board.title}\n\n{board.note}"
    return "\n\n".join([head, *_sections(standings, _markdown, f"{'#' * (level + 1)} ")]) + "\n"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def write(standings: Standings, folder: Path) -> list[Path]:
    """Write NAME.txt, .md, .csv with every run, and .png where there are ranks; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    texts = {"txt": as_text(standings), "md": as_markdown(standings), "csv": standings.as_csv()}
    for suffix, text in texts.items():
        paths.append(folder / f"{standings.board.name}.{suffix}")
        with new_file(paths[-1]) as pending:
            pending.write_text(text, "utf-8")
    if ranked := rankings(standings):
        paths.append(save(critical_difference(ranked), folder / f"{standings.board.name}.png"))
    return paths
