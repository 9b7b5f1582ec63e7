"""Pictures of an embedding, of predictions and of margins, with matplotlib."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from ordinate.metrics import rank_cosine_matrix
from ordinate.report.text import boundary_names

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
styled = matplotlib.rc_context(STYLE)  # Decorator of functions that draw.

History = Sequence[Mapping[str, float]]


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
    embeddings: NDArray[np.float64], labels: NDArray[np.generic], names: Sequence[str] | None = None
) -> Figure:
    """Principal components of embeddings (n, d), coloured by label (CLOC, Fig. 5; SupCR, Fig. 1).

    Labels (n,) are ranks 0..C-1 where ``names`` are given, else targets.

    Example:
        >>> random = np.random.default_rng(0)
        >>> ranks = np.arange(30) % 3
        >>> figure = embedding(random.normal(size=(30, 4)) + ranks[:, None], ranks, names=["low", "middle", "high"])
        >>> figure.axes[0].get_title(loc="left")
        'Embedding, principal components'
    """
    points, explained = _principal_components(embeddings)
    figure, axes = plt.subplots(figsize=(5.4, 4.4))
    if names is None:
        marks = axes.scatter(points[:, 0], points[:, 1], c=labels, cmap=COLOURS, s=14, alpha=0.85, linewidths=0)
        figure.colorbar(marks, ax=axes, label="target")
    else:
        for rank, colour in enumerate(rank_colours(len(names))):
            x, y = points[labels == rank, 0], points[labels == rank, 1]
            axes.scatter(x, y, color=colour, s=14, alpha=0.85, linewidths=0, label=str(rank))
        write_names(axes.legend(title="rank", frameon=False, markerscale=1.8, loc="best"), names)
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
        if is_fixed:
            bar.set_hatch("//")
        axes.annotate(f"{value:.2f}", (bar.get_x() + bar.get_width() / 2, value), ha="center", va="bottom")
    title = "Margins"
    if any(fixed):
        title += ", hatched: fixed"
    axes.set(title=title, ylabel="margin, in cosine")
    axes.margins(y=0.15)
    axes.set_xticks(range(len(values)), boundaries, rotation=20 * (max(map(len, boundaries)) > 12), parse_math=False)
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
    cells = [[f"{cosine:.2f}".replace("nan", "") for cosine in row] for row in matrix]
    figure, axes = _matrix(matrix, names, limits=(-1, 1), cells=cells, measure="cosine")
    axes.set(title="Mean cosine between ranks", xlabel="rank", ylabel="rank")
    return figure


@styled
def knn_curve(ks: Sequence[int], accuracies: Mapping[str, ArrayLike]) -> Figure:
    """K-NN accuracy of each embedding against the number of neighbours, ascending (OTD, Fig. 4).

    Example:
        >>> figure = knn_curve([1, 2, 3], {"CLOC": [0.9, 0.85, 0.8], "OTD": [0.88, 0.86, 0.84]})
        >>> figure.axes[0].get_xlabel()
        'neighbours, K'
    """
    figure, axes = plt.subplots(figsize=(6.4, 3.8))
    markers = cycle("osD^vPX")  # Lines differ without colour too.
    for colour, marker, values in zip(_line_colours(len(accuracies)), markers, accuracies.values(), strict=False):
        axes.plot(ks, values, color=colour, marker=marker, markersize=5, linewidth=1.6, clip_on=False, label=" ")
    every = np.concatenate([np.asarray(line, dtype=np.float64) for line in accuracies.values()])
    space = max(0.05, 0.1 * float(np.ptp(every)))
    axes.set(title="Neighbours of the same rank", xlabel="neighbours, K", ylabel="K-NN accuracy")
    axes.set_xlim(ks[0] - 0.5, ks[-1] + 0.5)
    axes.set_ylim(max(0.0, every.min() - space), min(1.0, every.max() + space))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if len(accuracies) > 1:
        write_names(figure.legend(loc="outside right center", frameon=False), list(accuracies))
    return figure


@styled
def margins_over_training(
    history: History, names: Sequence[str], fixed: Sequence[bool], without_precautions: History = ()
) -> Figure:
    """The margin of every boundary after each epoch, with the border of the two phases (CLOC, Fig. 4).

    Lines of margins that the user fixed are dashed; those of a training to compare with, ``without_precautions``,
    dotted.

    Example:
        >>> history = [{"epoch": 0.0, "stage": 0.0, "margin_0|1": 0.8}, {"epoch": 1.0, "stage": 1.0, "margin_0|1": 0.7}]
        >>> figure = margins_over_training(history, ["benign", "malignant"], [False])
        >>> figure.axes[0].get_ylabel()
        'margin, in cosine'
    """
    boundaries = boundary_names(names)
    figure, axes = plt.subplots(figsize=(7.0, 3.8))
    for h, (colour, is_fixed) in enumerate(zip(_line_colours(len(boundaries)), fixed, strict=True)):
        _margin_line(axes, history, h, color=colour, linestyle="--" if is_fixed else "-", label=str(h))
        _margin_line(axes, without_precautions, h, color=colour, linestyle=":")
    axes.set(title="Margins over training", xlabel="epoch", ylabel="margin, in cosine", xlim=(0, None))
    axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    _mark_end_of_phase_one(axes, history)
    lines, _ = axes.get_legend_handles_labels()
    styles = []
    if any(fixed):
        styles.append("fixed")
        lines.append(Line2D([], [], color="0.4", linestyle="--"))
    if without_precautions:
        styles.append("without precautions")
        lines.append(Line2D([], [], color="0.4", linestyle=":"))
    legend = figure.legend(lines, map(str, range(len(lines))), loc="outside right center", frameon=False)
    write_names(legend, [*boundaries, *styles])
    return figure


@styled
def image_search(
    queries: Sequence[NDArray[np.uint8]],
    neighbours: Sequence[Sequence[NDArray[np.uint8]]],
    wrong: ArrayLike,
    names: Sequence[Sequence[str]],
) -> Figure:
    """Query images and the images nearest to them, of another label crossed out (OTD, Figs 9 to 12).

    Args:
        queries: Images (c, h, w), uint8, c 1 or 3, one per row.
        neighbours: The k images nearest to each query (:func:`~ordinate.metrics.nearest_neighbours`).
        wrong: Whether a neighbour has another label than its query, (q, k).
        names: Names of the labels, 1 + k per query, its own first.

    Example:
        >>> images = np.random.default_rng(0).integers(0, 256, (3, 3, 8, 8), dtype=np.uint8)
        >>> figure = image_search(images[:1], [images[1:]], [[False, True]], [["child", "child", "adult"]])
        >>> [axes.get_xlabel() for axes in figure.axes]
        ['child', 'child', 'adult']
    """
    rows = [[query, *nearest] for query, nearest in zip(queries, neighbours, strict=True)]
    crossed = np.pad(np.asarray(wrong, dtype=bool), ((0, 0), (1, 0)))
    columns = len(rows[0])
    size = (max(3.4, 1.1 * columns + 0.2), 1.3 * len(rows) + 0.6)
    figure, grid = plt.subplots(len(rows), columns, figsize=size, squeeze=False)
    for (row, column), axes in np.ndenumerate(grid):
        axes.imshow(np.squeeze(rows[row][column].transpose(1, 2, 0)), cmap="gray", vmin=0, vmax=255)
        axes.set(xticks=[], yticks=[])
        axes.set_xlabel("\n".join(wrap(names[row][column], 15)), fontsize=8, parse_math=False)
        if crossed[row, column]:
            axes.plot([0, 1], [0, 1], color="#D55E00", linewidth=2, transform=axes.transAxes)
    for column, axes in enumerate(grid[0]):
        axes.set_title(str(column or "query"), loc="center", fontsize=9, fontweight="normal")
    figure.suptitle("Image search, errors crossed", x=0.01, ha="left", fontweight="bold", fontsize=12)
    return figure


def _matrix(
    values: NDArray[np.float64], names: Sequence[str], limits: tuple[float, float], cells: list[list[str]], measure: str
) -> tuple[Figure, Axes]:
    side = max(3.6, 0.7 * len(names) + 1.6)
    figure, axes = plt.subplots(figsize=(side + 0.8, side))
    image = axes.imshow(values, cmap=COLOURS, vmin=limits[0], vmax=limits[1])
    figure.colorbar(image, ax=axes, shrink=0.8, label=measure)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xticks(range(len(names)), names, rotation=45 * (max(map(len, names)) > 4), parse_math=False)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    if len(names) <= 12:
        middle = sum(limits) / 2
        for (row, column), value in np.ndenumerate(values):
            colour = "white"
            if value > middle + 0.2 * (limits[1] - limits[0]):
                colour = "black"
            axes.text(column, row, cells[row][column], ha="center", va="center", color=colour, fontsize=9)
    return figure, axes


def _principal_components(embeddings: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first two components (n, 2) and their shares of the variance; zeros where there are fewer."""
    centred = embeddings - embeddings.mean(axis=0)
    if np.abs(centred).max() <= 1e-6 * np.abs(embeddings).max():  # The differences are rounding errors.
        centred = np.zeros_like(centred)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    points, share = np.zeros((len(embeddings), 2)), np.zeros(2)
    kept = min(2, len(scale))
    points[:, :kept] = left[:, :kept] * scale[:kept]
    relative = scale / max(float(scale[0]), np.finfo(float).tiny)
    share[:kept] = relative[:kept] ** 2 / max(float((relative**2).sum()), 1.0)
    return points, share


def write_names(legend: Legend, names: Sequence[str]) -> None:
    """Put names into a legend as they are, with every $ and _."""
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, parse_math=False)


def rank_colours(count: int) -> NDArray[np.float64]:
    """(count, 4), from the lowest rank to the highest."""
    return np.asarray(plt.get_cmap(COLOURS)(np.linspace(0, 0.95, count)))


def _line_colours(count: int) -> NDArray[np.float64]:
    """Those of ranks without the palest, which is lost on white."""
    return rank_colours(count + 1)[:-1]


def _margin_line(axes: Axes, history: History, h: int, **style: Any) -> None:
    epochs, values = [epoch["epoch"] + 1 for epoch in history], [epoch[f"margin_{h}|{h + 1}"] for epoch in history]
    axes.plot(epochs, values, linewidth=1.8, marker="o" if len(epochs) <= 25 else "", markersize=4, **style)


def _mark_end_of_phase_one(axes: Axes, history: History) -> None:
    """A line between the phases, named on the longer side."""
    last = sum(epoch["stage"] == 0 for epoch in history)
    if last < len(history):
        axes.axvline(last + 0.5, color="0.6", linewidth=1, zorder=0)
        side, shift = "left", 5
        if last > len(history) / 2:
            side, shift = "right", -5
        axes.annotate(
            "phase one ends", (last + 0.5, 1), xycoords=axes.get_xaxis_transform(), xytext=(shift, -10),
            textcoords="offset points", ha=side, color="0.4", fontsize=9,
        )  # fmt: skip
