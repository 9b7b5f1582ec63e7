"""Mean ranks of models on a line, with bars across those that do not differ (Demšar, JMLR 7, 2006)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import studentized_range

from ordinate_papers.figures.plots import styled


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of models over data sets.

    Args:
        sets: Names of the data sets.
        ranks: Mean rank by the name of the model, best first.
    """

    sets: Sequence[str]
    ranks: Mapping[str, float]

    @property
    def critical_difference(self) -> float:
        """The difference of mean ranks from which on two models differ at a level of 0.05, by Nemenyi's test."""
        count = len(self.ranks)
        quantile = float(studentized_range.ppf(0.95, count, np.inf)) / np.sqrt(2)
        return float(quantile * np.sqrt(count * (count + 1) / (6 * len(self.sets))))

    @property
    def groups(self) -> list[tuple[str, str]]:
        """The first and the last of each longest run of models that do not differ."""
        names = list(self.ranks)
        places = np.array(list(self.ranks.values()))
        found: list[tuple[int, int]] = []
        for first in range(len(names)):
            last = int(np.flatnonzero(places - places[first] < self.critical_difference)[-1])
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return [(names[first], names[last]) for first, last in found]


@styled
def critical_difference(rankings: Mapping[str, Ranking]) -> Figure:
    """Draw one panel per ranking, with its title.

    Example:
        >>> ranking = Ranking(["a", "b"], {"blend": 1.0, "ridge": 2.5, "forest": 2.5})
        >>> figure = critical_difference({"MAE": ranking})
        >>> figure.axes[0].get_title(loc="left")
        'MAE'
    """
    most = max(len(ranking.ranks) for ranking in rankings.values())
    height = 1.1 + 0.15 * (most + 1)  # Inches; the names stand in two columns.
    figure, grid = plt.subplots(len(rankings), 1, figsize=(8.4, height * len(rankings)), squeeze=False)
    for axes, (title, ranking) in zip(grid[:, 0], rankings.items(), strict=True):
        _panel(axes, title, ranking)
    return figure


def _panel(axes: Axes, title: str, ranking: Ranking) -> None:
    names = list(ranking.ranks)
    places = list(ranking.ranks.values())
    half = (len(names) + 1) // 2
    depth = 1.6 + 0.35 * len(ranking.groups)  # The first name stands at this depth below the line.
    lowest, highest = 1, len(names)
    margin = 0.55 * (highest - lowest)
    for place, (name, rank) in enumerate(zip(names, places, strict=True)):
        colour, linewidth, weight = "0.25", 0.9, "normal"
        if place == 0:
            colour, linewidth, weight = "#1f4e79", 1.4, "bold"
        if place < half:
            level, edge = -(depth + place), lowest - 0.05 * margin
            text, align = f" {name}  {rank:.2f} ", "right"
        else:
            level, edge = -(depth + len(names) - 1 - place), highest + 0.05 * margin
            text, align = f" {rank:.2f}  {name} ", "left"
        axes.plot([rank, rank, edge], [0, level, level], color=colour, linewidth=linewidth)
        axes.text(edge, level, text, ha=align, va="center", color=colour, weight=weight)
    for level, (first, last) in enumerate(ranking.groups):
        ends = [ranking.ranks[first] - 0.04, ranking.ranks[last] + 0.04]
        axes.plot(ends, [-0.7 - 0.35 * level] * 2, color="0.1", linewidth=3.2, solid_capstyle="round")
    for tick in range(lowest, highest + 1):
        axes.plot([tick, tick], [0, 0.25], color="0.1", linewidth=0.9)
        axes.text(tick, 0.4, str(tick), ha="center", va="bottom", color="0.1")
    axes.plot([lowest, highest], [0, 0], color="0.1", linewidth=1.2)
    width = min(ranking.critical_difference, highest - lowest)
    axes.plot([lowest, lowest + width], [1.9, 1.9], color="0.1", linewidth=1.6, marker="|")
    axes.text(lowest + width, 1.9, f"  critical difference {ranking.critical_difference:.2f}", va="center", color="0.1")
    axes.set(title=title, xlim=(lowest - margin, highest + margin),
             ylim=(-depth - half, 2.6))  # fmt: skip
    axes.axis("off")
