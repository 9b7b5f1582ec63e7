"""Pictures made of images: what an image search finds, what augmentation makes of a sample."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike, NDArray

from ordinate.errors import OrdinateError
from ordinate.report.figures import styled

GREEN, RED, GREY = "#009E73", "#D55E00", "0.75"  # of Okabe and Ito, told apart by all eyes
CELL = 1.1  # inches of an image and its frame
LETTERS = 15  # that fit into a line below an image

Images = Sequence[NDArray[np.uint8]] | NDArray[np.uint8]


@styled
def image_search(
    queries: Images, neighbours: Sequence[Images], wrong: ArrayLike, names: Sequence[Sequence[str]]
) -> Figure:
    """Query images and the images nearest to them (OTD, Figs 9 to 12).

    A row starts with its query, framed green; its neighbours follow, those of another label framed red and crossed.

    Args:
        queries: q images (c, h, w), uint8, c 1 or 3.
        neighbours: k images for every query, the nearest first (:func:`~ordinate.metrics.nearest_neighbours`).
        wrong: (q, k), whether a neighbour has another label than the query.
        names: Names of the labels, 1 + k for every query, its own first.

    Example:
        >>> images = np.random.default_rng(0).integers(0, 256, (3, 3, 8, 8), dtype=np.uint8)
        >>> figure = image_search(images[:1], [images[1:]], [[False, True]], [["child", "child", "adult"]])
        >>> [axes.get_xlabel() for axes in figure.axes]
        ['child', 'child', 'adult']
    """
    if len(neighbours) != len(queries):
        raise OrdinateError("neighbours", f"{len(neighbours)} rows", f"{len(queries)}, one per query")
    rows = [[query, *nearest] for query, nearest in zip(queries, neighbours, strict=True)]
    _check_grid(rows, "queries and neighbours")
    q, k = len(rows), len(rows[0]) - 1
    crossed = np.asarray(wrong, dtype=bool)
    if crossed.shape != (q, k):
        raise OrdinateError("wrong", f"shape {crossed.shape}", f"{(q, k)}, one per neighbour")
    if [len(row) for row in names] != [1 + k] * q:
        raise OrdinateError("names", f"rows of {[len(row) for row in names]}", f"{q} of {1 + k}, one per image")
    figure, grid = _draw_grid(rows, ["query", *map(str, range(1, 1 + k))], height=CELL + 0.2)
    for (row, column), axes in np.ndenumerate(grid):
        is_wrong = column > 0 and crossed[row, column - 1]
        _frame(axes, GREEN if column == 0 else RED if is_wrong else GREY, 1 if column and not is_wrong else 3)
        if is_wrong:
            _cross(axes)
        axes.set_xlabel("\n".join(wrap(names[row][column], LETTERS)), fontsize=8, parse_math=False)
    _title(figure, "Image search" + (", errors crossed" if crossed.any() else ""))
    return figure


@styled
def views(images: Sequence[Images], titles: Sequence[str]) -> Figure:
    """Samples and what augmentation makes of them (SupCR, Fig. 5).

    A row per sample: its original, framed green, and its views, (c, h, w), uint8, c 1 or 3; titles are of the columns.

    Example:
        >>> images = np.random.default_rng(0).integers(0, 256, (2, 3, 1, 8, 8), dtype=np.uint8)
        >>> figure = views(images, ["original", "view 1", "view 2"])
        >>> [axes.get_title() for axes in figure.axes[:3]]
        ['original', 'view 1', 'view 2']
    """
    rows = [list(row) for row in images]
    _check_grid(rows, "images")
    if len(titles) != len(rows[0]):
        raise OrdinateError("titles", len(titles), f"{len(rows[0])}, one per column")
    figure, grid = _draw_grid(rows, titles, height=CELL)
    for (_, column), axes in np.ndenumerate(grid):
        _frame(axes, GREY if column else GREEN, 1 if column else 3)
    _title(figure, "Samples and their views")
    return figure


def _check_grid(rows: Sequence[Sequence[NDArray[np.uint8]]], name: str) -> None:
    """Raise where rows are missing or of different lengths, or hold what is no image."""
    if not rows or len({len(row) for row in rows}) > 1:
        raise OrdinateError(name, f"rows of {[len(row) for row in rows]} images", "at least one row, all alike")
    for image in (image for row in rows for image in row):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[0] not in (1, 3):
            raise OrdinateError(
                name, f"an image of shape {image.shape} and dtype {image.dtype}", "(1 or 3, h, w) of uint8"
            )


def _draw_grid(
    rows: Sequence[Sequence[NDArray[np.uint8]]], titles: Sequence[str], height: float
) -> tuple[Figure, NDArray[Any]]:
    """Images in rows ``height`` inches high, and the axes (rows, columns) that they are on."""
    size = (max(3.4, CELL * len(titles) + 0.2), height * len(rows) + 0.6)
    figure, grid = plt.subplots(len(rows), len(titles), figsize=size, squeeze=False)
    for axes, image in zip(grid.flat, (image for row in rows for image in row), strict=True):
        if len(image) == 1:
            axes.imshow(image[0], cmap="gray", vmin=0, vmax=255)
        else:
            axes.imshow(image.transpose(1, 2, 0))
        axes.set(xticks=[], yticks=[])
    for axes, title in zip(grid[0], titles, strict=True):
        axes.set_title(title, loc="center", fontsize=9, fontweight="normal", parse_math=False)
    return figure, grid


def _frame(axes: Any, colour: str, width: float) -> None:
    for spine in axes.spines.values():
        spine.set(visible=True, edgecolor=colour, linewidth=width)


def _cross(axes: Any) -> None:
    """A white cross on red in the upper right corner, to be told without colour."""
    inwards = ScaledTranslation(-5 / 72, -5 / 72, axes.figure.dpi_scale_trans)  # points, whatever the image's size
    place = {"transform": axes.transAxes + inwards, "clip_on": False, "zorder": 5}
    axes.scatter(1, 1, s=110, marker="s", color=RED, **place)
    axes.scatter(1, 1, s=40, marker="x", color="white", linewidths=2, **place)


def _title(figure: Figure, title: str) -> None:
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=12)
