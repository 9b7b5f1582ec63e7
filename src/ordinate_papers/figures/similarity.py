"""Distances between all samples of an embedding, sorted by rank."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ordinate_papers.figures.plots import COLOURS, styled


@styled
def cosine_matrices(matrices: Mapping[str, tuple[ArrayLike, ArrayLike]], title: str = "") -> Figure:
    """Cosine distances between samples sorted by rank, one panel per embedding (OTD, Figs. 5 to 8).

    Args:
        matrices: Distances (n, n) in [0, 2] and ascending ranks (n,) for each embedding, by its name.
        title: Title of the picture.

    Example:
        >>> figure = cosine_matrices({"O-Net": ([[0.0, 1.0], [1.0, 0.0]], [0, 1])})
        >>> figure.axes[0].get_title("left"), [label.get_text() for label in figure.axes[0].get_xticklabels()]
        ('O-Net', ['0', '1'])
    """
    columns = min(3, len(matrices))
    rows = -(-len(matrices) // columns)
    size = (3.1 * columns + 1.0, 3.1 * rows + 0.4)
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="compressed")
    for axes, (name, (distances, given)) in zip(grid.flat, matrices.items(), strict=False):
        values, ranks = np.asarray(distances), np.asarray(given).astype(int)
        shown = axes.imshow(values, cmap=COLOURS, vmin=0, vmax=2, interpolation="nearest")
        starts = np.flatnonzero(np.diff(ranks, prepend=-1))
        centres = (starts + np.append(starts[1:], len(ranks)) - 1) / 2
        for start in starts[1:]:
            axes.axhline(start - 0.5, color="white", linewidth=0.6)
            axes.axvline(start - 0.5, color="white", linewidth=0.6)
        axes.set_xticks(centres, [str(rank) for rank in ranks[starts]])
        axes.set_yticks(centres, [str(rank) for rank in ranks[starts]])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_title(name)
    for axes in grid.flat[len(matrices) :]:
        axes.set_visible(False)
    figure.colorbar(shown, ax=grid, label="cosine distance", fraction=0.05)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    return figure
