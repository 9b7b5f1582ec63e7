"""Pictures of what the protocols measured."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator, ScalarFormatter
from numpy.typing import ArrayLike, NDArray

from ordinate.report.curves import MARKERS
from ordinate.report.figures import COLOURS, rank_colours, styled, write_names

Spread = tuple[ArrayLike, ArrayLike]  # mean and deviation over seeds


@styled
def error_by_severity(severities: Sequence[int], errors: Mapping[str, Spread]) -> Figure:
    """Mean error over the corruptions against their severity, 0 without (SupCR, Fig. 3), by the name of a method.

    Example:
        >>> figure = error_by_severity([0, 1, 2], {"SupCR": ([6.1, 6.9, 7.4], [0.1, 0.1, 0.2])})
        >>> figure.axes[0].get_xlabel()
        'severity of the corruptions'
    """
    figure, axes = _lines(severities, errors)
    axes.set(title="Error under corruptions", xlabel="severity of the corruptions", ylabel="mean absolute error")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


@styled
def error_by_training_size(sizes: Sequence[int], errors: Mapping[str, Spread]) -> Figure:
    """Error against the number of training samples (SupCR, Fig. 4; SupReMix, Fig. 4), by the name of a method.

    Example:
        >>> figure = error_by_training_size([100, 200], {"SupCR": ([9.0, 8.0], [0.0, 0.0])})
        >>> figure.axes[0].get_xscale()
        'log'
    """
    figure, axes = _lines(sizes, errors)
    axes.set(title="Error by training size", xlabel="training samples", ylabel="mean absolute error")
    axes.set_xscale("log")
    axes.set_xticks(sizes)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    return figure


@styled
def grouped_bars(groups: Sequence[str], bars: Mapping[str, Spread], title: str, ylabel: str) -> Figure:
    """A group of bars for every name in ``groups``, such as seen and unseen targets, with one bar per method.

    Example:
        >>> figure = grouped_bars(["seen", "unseen"], {"SupCR": ([9.8, 13.1], [0, 0])}, "Unseen targets", "MAE")
        >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
        ['seen', 'unseen']
    """
    figure, axes = plt.subplots(figsize=(3.2 + 0.9 * len(groups) + 0.3 * len(bars) * len(groups), 3.8))
    width = 0.8 / len(bars)
    for place, (colour, (mean, deviation)) in enumerate(zip(rank_colours(len(bars) + 1), bars.values(), strict=False)):
        centres = np.arange(len(groups)) + (place - (len(bars) - 1) / 2) * width
        axes.bar(centres, mean, 0.92 * width, yerr=_visible(deviation), color=colour, ecolor="0.4", label=str(place))
    axes.set(title=title, ylabel=ylabel, ylim=(0, None))
    axes.set_xticks(range(len(groups)), list(groups))
    write_names(figure.legend(loc="outside right center", frameon=False), list(bars))
    return figure


@styled
def embeddings_by_labels(pictures: Mapping[str, Mapping[str, Mapping[str, Any]]], title: str = "{} labels") -> Figure:
    """Test embeddings of every method, trained on genuine labels and on permuted ones (SupReMix, Fig. 2).

    Each method, a row of the figure, has the ``pictures`` of
    :func:`~ordinate_papers.protocols.label_permutation.label_permutation`, or others by the words for ``title``.

    Example:
        >>> picture = {"places": [[0.0, 1.0], [1.0, 0.0]], "labels": [0.0, 1.0]}
        >>> figure = embeddings_by_labels({"SupReMix": {"genuine": picture, "permuted": picture}})
        >>> [axes.get_title("left") for axes in figure.axes[:2]]
        ['genuine labels', 'permuted labels']
    """
    kinds = list(next(iter(pictures.values())))
    figure, grid = plt.subplots(
        len(pictures), len(kinds), squeeze=False, figsize=(3.4 * len(kinds) + 0.8, 3.0 * len(pictures) + 0.3)
    )
    for row, (method, by_kind) in zip(grid, pictures.items(), strict=True):
        for axes, picture in zip(row, by_kind.values(), strict=True):
            places = np.asarray(picture["places"])
            points = axes.scatter(*places.T, c=picture["labels"], cmap=COLOURS, s=9)
            axes.set(xticks=[], yticks=[])
        row[0].set_ylabel(method, parse_math=False)
    for axes, kind in zip(grid[0], kinds, strict=True):
        axes.set_title(title.format(kind))
    figure.colorbar(points, ax=grid, label="label in training", fraction=0.05)
    return figure


@styled
def corrupted_images(images: Mapping[str, Sequence[NDArray[np.uint8]]]) -> Figure:
    """Draw an image (c, h, w) under every corruption, one row each, from the clean one to the highest severity.

    Example:
        >>> image = np.zeros((1, 8, 8), dtype=np.uint8)
        >>> [label.get_text() for label in corrupted_images({"fog": [image, image]}).axes[0].get_xticklabels()]
        ['clean', '1']
    """
    rows = [np.concatenate([_framed(pixels) for pixels in versions], axis=1) for versions in images.values()]
    mosaic = np.concatenate(rows)
    columns = len(next(iter(images.values())))
    height, width = mosaic.shape[0] / len(rows), mosaic.shape[1] / columns
    figure, axes = plt.subplots(figsize=(1.6 + columns, len(rows) * height / width + 0.3))
    axes.imshow(mosaic, interpolation="nearest")
    axes.set_yticks((np.arange(len(rows)) + 0.5) * height, [name.replace("_", " ") for name in images])
    axes.set_xticks((np.arange(columns) + 0.5) * width, ["clean", *map(str, range(1, columns))])
    axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    return figure


def _framed(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return an image (c, h, w) as colours (h, w, 3) with a white edge."""
    edge = max(1, max(pixels.shape[1:]) // 40)
    framed = np.pad(pixels, ((0, 0), (edge, edge), (edge, edge)), constant_values=255).transpose(1, 2, 0)
    return np.broadcast_to(framed, (*framed.shape[:2], 3))


def _lines(along: Sequence[int], errors: Mapping[str, Spread]) -> tuple[Figure, Any]:
    figure, axes = plt.subplots(figsize=(6.4, 3.8))
    lines = zip(rank_colours(len(errors) + 1), cycle(MARKERS), errors.values(), strict=False)
    for colour, marker, (mean, deviation) in lines:
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.6, "elinewidth": 1}
        axes.errorbar(along, mean, _visible(deviation), label=" ", **style)
    axes.set_ylim(0, None)
    write_names(figure.legend(loc="outside right center", frameon=False), list(errors))
    return figure, axes


def _visible(deviation: ArrayLike) -> NDArray[np.float64] | None:
    """Return the deviations, or None where there are none to draw."""
    values = np.nan_to_num(np.asarray(deviation, dtype=np.float64))
    return values if values.any() else None
