"""Pictures of distributions: the targets that a protocol trains on, the logits of pairs over a training."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from ordinate_papers.figures.plots import rank_colours, styled, write_names


@styled
def training_targets(distributions: Mapping[str, Mapping[str, ArrayLike]]) -> Figure:
    """Training samples by their target, the ranges without any shaded (SupCR, Table 6).

    Each has ``centres``, ``counts`` and ``width`` of :func:`~ordinate_papers.protocols.unseen_targets.unseen_targets`.

    Example:
        >>> counts = {"centres": [0.0, 1.0, 2.0], "counts": [5, 0, 3], "width": 1.0}
        >>> [axes.get_title("left") for axes in training_targets({"two modes": counts}).axes]
        ['two modes']
    """
    size = (4.2 * len(distributions) + 0.4, 3.0)
    figure, grid = plt.subplots(1, len(distributions), figsize=size, squeeze=False)
    bars: list[BarContainer] = []
    spans: list[Patch] = []
    for axes, (name, shown) in zip(grid[0], distributions.items(), strict=True):
        centres, counts, width = (np.asarray(shown[name]) for name in ("centres", "counts", "width"))
        bars.append(axes.bar(centres, counts, width=width, color=rank_colours(3)[1]))
        for several in np.split(np.arange(len(counts)), np.flatnonzero(np.diff(counts > 0)) + 1):
            if counts[several[0]] == 0:
                ends = centres[several[[0, -1]]] + width * np.array([-0.5, 0.5])
                spans.append(axes.axvspan(*ends, color="#F4C7C3", linewidth=0, zorder=0))
        axes.set(title=name, xlabel="target", ylabel="training samples")
    handles: list[Any] = [bars[-1], *spans[:1]]
    legend = figure.legend(handles, [" "] * len(handles), loc="outside lower center", ncols=2, frameon=False)
    write_names(legend, ["in training", "not in training"][: len(handles)])
    return figure


@styled
def logit_distributions(titles: Sequence[str], edges: ArrayLike, counts: Mapping[str, Sequence[ArrayLike]]) -> Figure:
    """Shares of pairs by their logit, one panel per time in training (SupReMix, Fig. 3).

    Args:
        titles: Titles of the panels.
        edges: (b + 1,), of the bins of logits.
        counts: Number of pairs per bin (b,) for each kind of pairs, one panel per kind.

    Example:
        >>> figure = logit_distributions(["first", "last"], [-1, 0, 1], {"positive": [[1, 1], [0, 2]]})
        >>> [axes.get_title("left") for axes in figure.axes]
        ['first', 'last']
    """
    rows = -(-len(titles) // 3)
    columns = -(-len(titles) // rows)
    size = (3.2 * columns + 0.6, 2.3 * rows + 0.4)
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, sharex=True)
    drawn = []
    for place, (axes, title) in enumerate(zip(grid.flat, titles, strict=False)):
        drawn = [
            axes.stairs(np.asarray(of_kind[place]) / max(1, np.sum(of_kind[place])), edges, fill=True, color=colour,
                        alpha=0.65)
            for of_kind, colour in zip(counts.values(), rank_colours(len(counts) + 1), strict=False)
        ]  # fmt: skip
        axes.set_title(title)
        axes.tick_params(labelleft=False)
    for axes in grid[-1]:
        axes.set_xlabel("logit")
    for axes in grid[:, 0]:
        axes.set_ylabel("share of the pairs")
    for axes in grid.flat[len(titles) :]:
        axes.set_visible(False)
    legend = figure.legend(drawn, [" "] * len(drawn), loc="outside upper right", ncols=len(drawn), frameon=False)
    write_names(legend, [f"{name} pairs" for name in counts])
    return figure
