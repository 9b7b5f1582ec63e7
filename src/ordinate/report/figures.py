"""Pictures of an embedding, of what is predicted from it, and of what a loss costs."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ordinate.errors import OrdinateError
from ordinate.metrics import rank_cosine_matrix
from ordinate.report.text import boundary_names
from ordinate.report.umap_points import umap_points

COLOURS = "viridis"
STYLE = matplotlib.RcParams(
    {
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "figure.constrained_layout.use": True,
        "savefig.dpi": 150,
    }
)
styled = matplotlib.rc_context(STYLE)  # decorates what draws


def save(figure: Figure, path: Path) -> Path:
    """Write a figure and close it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save(plt.figure(), Path(folder) / "empty.png")
        ...     path.is_file()
        True
    """
    figure.savefig(path, dpi=STYLE["savefig.dpi"])
    plt.close(figure)
    return path


@styled
def embedding(
    embeddings: NDArray[np.float64],
    labels: NDArray[Any],
    names: Sequence[str] | None = None,
    projection: str = "pca",
) -> Figure:
    """Embeddings (n, d) in two dimensions, coloured by label (CLOC, Fig. 5; SupCR, Fig. 1).

    Labels (n,) are ranks 0..C-1 where ``names`` are given, else targets. The projection is ``"pca"``, principal
    components, or ``"umap"``, by cosine, for 5 samples or more and with umap-learn.

    Example:
        >>> random = np.random.default_rng(0)
        >>> ranks = np.arange(30) % 3
        >>> figure = embedding(random.normal(size=(30, 4)) + ranks[:, None], ranks, names=["low", "middle", "high"])
        >>> figure.axes[0].get_title(loc="left")
        'Embedding, principal components'
    """
    if projection not in ("pca", "umap"):
        raise OrdinateError("projection", repr(projection), "'pca' or 'umap'")
    points, explained = _principal_components(embeddings) if projection == "pca" else (_umap(embeddings), None)
    figure, axes = plt.subplots(figsize=(5.4, 4.4))
    if names is None:
        marks = axes.scatter(points[:, 0], points[:, 1], c=labels, cmap=COLOURS, s=14, alpha=0.85, linewidths=0)
        figure.colorbar(marks, ax=axes, label="target")
    else:
        for rank, colour in enumerate(rank_colours(len(names))):
            x, y = points[labels == rank, 0], points[labels == rank, 1]
            axes.scatter(x, y, color=colour, s=14, alpha=0.85, linewidths=0, label=str(rank))
        write_names(axes.legend(title="rank", frameon=False, markerscale=1.8, loc="best"), names)
    if explained is None:
        axes.set(title="Embedding, UMAP by cosine", xticks=[], yticks=[])  # its coordinates mean nothing
    else:
        axes.set_title("Embedding, principal components")
        axes.set_xlabel(f"first, {explained[0]:.0%} of the variance")
        axes.set_ylabel(f"second, {explained[1]:.0%}")
    axes.set_aspect("equal", adjustable="datalim")
    return figure


@styled
def predicted_ranks(y_true: NDArray[np.int64], y_pred: NDArray[np.int64], names: Sequence[str]) -> Figure:
    """How often each rank (row) is predicted as each (column), as shares of the row.

    Example:
        >>> figure = predicted_ranks(np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2]), names=["low", "middle", "high"])
        >>> [text.get_text() for text in figure.axes[0].texts]  # samples, row by row
        ['1', '0', '0', '0', '1', '1', '0', '0', '1']
    """
    count = np.zeros((len(names), len(names)))
    np.add.at(count, (y_true, y_pred), 1)
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
    figure, axes = _matrix(
        share,
        names,
        limits=(0, 1),
        cells=[[f"{int(n)}" for n in row] for row in count],
        measure="share of the true rank",
    )
    axes.set(title="Predicted against true rank, samples", xlabel="predicted", ylabel="true")
    return figure


@styled
def predicted_targets(y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> Figure:
    """Predicted against true targets, with the line where they agree.

    Example:
        >>> predicted_targets(np.array([1.0, 2.0]), np.array([1.5, 2.0])).axes[0].get_title(loc="left")
        'Predicted against true, mean error 0.25'
    """
    figure, axes = plt.subplots(figsize=(4.8, 4.4))
    low, high = min(y_true.min(), y_pred.min()), max(y_true.max(), y_pred.max())
    axes.plot([low, high], [low, high], color="0.6", linewidth=1, zorder=1)
    error = np.abs(y_true - y_pred).mean()
    axes.scatter(y_true, y_pred, s=14, alpha=0.7, linewidths=0, color=plt.get_cmap(COLOURS)(0.3), zorder=2)
    axes.set(title=f"Predicted against true, mean error {error:.3g}", xlabel="true", ylabel="predicted")
    axes.set_aspect("equal", adjustable="datalim")
    return figure


@styled
def margins(values: NDArray[np.float64], names: Sequence[str], fixed: Sequence[bool]) -> Figure:
    """The margin of every boundary between adjacent ranks (CLOC, Section 4.5); fixed ones hatched.

    Example:
        >>> figure = margins(np.array([0.5, 0.8]), names=["low", "middle", "high"], fixed=[False, True])
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['0.50', '0.80']
    """
    boundaries = boundary_names(names)
    figure, axes = plt.subplots(figsize=(max(4.0, 0.9 * len(values) + 1.5), 3.4))
    bars = axes.bar(range(len(values)), values, color=plt.get_cmap(COLOURS)(0.45), width=0.6)
    for bar, value, is_fixed in zip(bars, values, fixed, strict=True):
        bar.set_hatch("//" if is_fixed else "")
        axes.annotate(f"{value:.2f}", (bar.get_x() + bar.get_width() / 2, value), ha="center", va="bottom")
    axes.set(title="Margins" + (", hatched: fixed" if any(fixed) else ""), ylabel="margin, in cosine")
    axes.margins(y=0.15)
    rotation = 20 if max(map(len, boundaries)) > 12 else 0
    axes.set_xticks(range(len(values)), boundaries, rotation=rotation, parse_math=False)
    return figure


@styled
def cosine_matrix(embeddings: NDArray[np.float64], ranks: NDArray[np.int64], names: Sequence[str]) -> Figure:
    """Mean cosine between the samples of every two ranks (OTD, Figs 5 to 8).

    Example:
        >>> figure = cosine_matrix(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1]), names=["low", "high"])
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['', '0.00', '0.00', '']
    """
    matrix = rank_cosine_matrix(embeddings, ranks, len(names))
    cells = [["" if np.isnan(cosine) else f"{cosine:.2f}" for cosine in row] for row in matrix]
    figure, axes = _matrix(matrix, names, limits=(-1, 1), cells=cells, measure="cosine")
    axes.set(title="Mean cosine between ranks", xlabel="rank", ylabel="rank")
    return figure


@styled
def growth(panels: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]], losses: Sequence[str]) -> Figure:
    """Each contender's amounts against the size of the batch, log-log, beside a slope of 2; one panel per measure.

    Contenders that are ``losses`` get a colour; others whose name starts with a loss are dashed in its colour, the rest
    is grey.

    Example:
        >>> times = {"supcr": [(128, 0.1), (256, 0.4)], "the published loop": [(128, 9.0), (256, 70.0)]}
        >>> growth({"seconds": times}, losses=["supcr"]).axes[0].get_title(loc="left")
        'seconds'
    """
    colours = dict(zip(losses, rank_colours(len(losses)), strict=True))
    figure, grid = plt.subplots(1, len(panels), figsize=(0.6 + 4.4 * len(panels), 5.2), squeeze=False)
    for axes, (measure, contenders) in zip(grid[0], panels.items(), strict=True):
        markers = cycle("s^xD")
        for name, points in contenders.items():
            loss = name.split()[0]
            if loss in colours:
                line = {"color": colours[loss], "linestyle": "-" if name == loss else "--", "marker": "o"}
            else:
                line = {"color": "0.5", "linestyle": ":", "marker": next(markers)}
            axes.loglog(*zip(*points, strict=True), label=name, linewidth=1.4, markersize=4, **line)
        _slope_of_two(axes, [point for points in contenders.values() for point in points])
        axes.set(title=measure, xlabel="samples in the batch, n")
        sizes = sorted({n for points in contenders.values() for n, _ in points})
        axes.set_xticks(sizes, [str(n) for n in sizes], rotation=45)
        axes.minorticks_off()
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _slope_of_two(axes: Any, points: Sequence[tuple[int, float]]) -> None:
    """A line of n squared over the whole width, through the smallest amount at the largest n."""
    low, high = min(n for n, _ in points), max(n for n, _ in points)
    least = min(amount for n, amount in points if n == high)
    axes.plot([low, high], [least * (low / high) ** 2, least], color="0.8", linewidth=3, zorder=0, label="slope 2")
    axes.set_ylim(bottom=min(amount for _, amount in points) / 2)


def _matrix(
    values: NDArray[np.float64], names: Sequence[str], limits: tuple[float, float], cells: list[list[str]], measure: str
) -> tuple[Figure, Any]:
    side = max(3.6, 0.7 * len(names) + 1.6)
    figure, axes = plt.subplots(figsize=(side + 0.8, side))
    image = axes.imshow(values, cmap=COLOURS, vmin=limits[0], vmax=limits[1])
    figure.colorbar(image, ax=axes, shrink=0.8, label=measure)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xticks(range(len(names)), names, rotation=45 if max(map(len, names)) > 4 else 0, parse_math=False)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    if len(names) <= 12:
        middle = sum(limits) / 2
        for (row, column), value in np.ndenumerate(values):
            colour = "black" if value > middle + 0.2 * (limits[1] - limits[0]) else "white"
            axes.text(column, row, cells[row][column], ha="center", va="center", color=colour, fontsize=9)
    return figure, axes


def _principal_components(embeddings: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first two components (n, 2) and their shares of the variance; zeros where there are fewer."""
    centred = embeddings - embeddings.mean(axis=0)
    if np.abs(centred).max() <= 1e-6 * np.abs(embeddings).max():  # what differs is rounding
        centred = np.zeros_like(centred)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    points, share = np.zeros((len(embeddings), 2)), np.zeros(2)
    kept = min(2, len(scale))
    points[:, :kept] = left[:, :kept] * scale[:kept]
    relative = scale / max(float(scale[0]), np.finfo(float).tiny)
    share[:kept] = relative[:kept] ** 2 / max(float((relative**2).sum()), 1.0)
    return points, share


def _umap(embeddings: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(embeddings) < 5:
        raise OrdinateError("embeddings", f"{len(embeddings)} samples", "at least 5 for UMAP")
    return umap_points(embeddings, n_neighbors=min(15, len(embeddings) - 1), metric="cosine")


def write_names(legend: Any, names: Sequence[str]) -> None:
    """Put names into a legend as they are, with every $ and _."""
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, parse_math=False)


def rank_colours(count: int) -> NDArray[np.float64]:
    """(count, 4), from the lowest rank to the highest."""
    return np.asarray(plt.get_cmap(COLOURS)(np.linspace(0, 0.95, count)))
