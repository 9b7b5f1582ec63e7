"""Pictures of what changes along a line: accuracy with K or the embedding size, margins with training."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from ordinate.report.figures import rank_colours, styled, write_names
from ordinate.report.text import boundary_names

MARKERS = "osD^vPX"  # tell lines apart without colour
FEW = 25  # so few points of a line are marked

History = Sequence[Mapping[str, float]]


@styled
def knn_curve(ks: Sequence[int], accuracies: Mapping[str, ArrayLike]) -> Figure:
    """K-NN accuracy of each embedding against the number of neighbours, ascending (OTD, Fig. 4).

    Example:
        >>> figure = knn_curve([1, 2, 3], {"CLOC": [0.9, 0.85, 0.8], "OTD": [0.88, 0.86, 0.84]})
        >>> figure.axes[0].get_xlabel()
        'neighbours, K'
    """
    figure, axes = _accuracy_lines(ks, accuracies)
    axes.set(title="Neighbours of the same rank", xlabel="neighbours, K", ylabel="K-NN accuracy")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.set_xlim(ks[0] - 0.5, ks[-1] + 0.5)
    return figure


@styled
def accuracy_by_embedding_size(sizes: Sequence[int], accuracies: Mapping[str, ArrayLike]) -> Figure:
    """Accuracy of a support vector machine on each data set's embeddings against their size, ascending (OTD, Fig. 13).

    Example:
        >>> figure = accuracy_by_embedding_size([2, 10, 100], {"fingers": [0.91, 0.99, 1.0]})
        >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
        ['2', '10', '100']
    """
    figure, axes = _accuracy_lines(sizes, accuracies)
    axes.set(title="Separability by embedding size", xlabel="dimensions of the embedding", ylabel="SVM accuracy")
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
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
def margin_trade(
    margins: Sequence[float | None],
    critical_error: ArrayLike,
    accuracy: ArrayLike,
    boundary_name: str,
    deviations: tuple[ArrayLike, ArrayLike] | None = None,
) -> Figure:
    """What a wider margin of one boundary buys: the error rate there against the accuracy (CLOC, Table 2).

    Margins (m,) are None where learned; deviations, of the critical error and of the accuracy, are drawn as bars.

    Example:
        >>> figure = margin_trade([None, 0.8, 1.2], [0.13, 0.11, 0.08], [0.74, 0.73, 0.70], "grade 1 | grade 2")
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['learned', '0.8', '1.2']
    """
    error, share = np.asarray(critical_error, dtype=np.float64), np.asarray(accuracy, dtype=np.float64)
    error_bars, share_bars = map(np.asarray, deviations or (np.zeros(len(margins)), np.zeros(len(margins))))
    swept = [i for _, i in sorted((margin, i) for i, margin in enumerate(margins) if margin is not None)]
    colours: dict[int, Any] = dict(zip(swept, _line_colours(len(swept)), strict=True))
    figure, axes = plt.subplots(figsize=(5.8, 4.4))
    axes.plot(share[swept], error[swept], color="0.8", linewidth=1.5, zorder=1)
    for i, margin in enumerate(margins):
        marker, label = ("D", "learned") if margin is None else ("o", f"{margin:g}")
        style = {"color": colours.get(i, "black"), "marker": marker, "markersize": 8, "elinewidth": 1}
        axes.errorbar(share[i], error[i], error_bars[i], share_bars[i], **style)
        aside = {"xytext": (7, 6)} if margin is not None else {"xytext": (-7, -6), "ha": "right", "va": "top"}
        text = axes.annotate(label, (share[i], error[i]), textcoords="offset points", **aside)
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    axes.margins(0.12)
    axes.set(title="Critical error against accuracy, by margin", xlabel="accuracy over all ranks")
    axes.set_ylabel(f"error rate between {boundary_name}", parse_math=False)
    return figure


def _accuracy_lines(along: Sequence[int], accuracies: Mapping[str, ArrayLike]) -> tuple[Figure, Any]:
    """A line for every name; a legend where there are several."""
    figure, axes = plt.subplots(figsize=(6.4 if len(accuracies) > 1 else 5.2, 3.8))
    lines = zip(_line_colours(len(accuracies)), cycle(MARKERS), accuracies.values(), strict=False)
    for colour, marker, values in lines:
        axes.plot(along, values, color=colour, marker=marker, markersize=5, linewidth=1.6, clip_on=False, label=" ")
    values = np.concatenate([np.asarray(line, dtype=np.float64) for line in accuracies.values()])
    space = max(0.05, 0.1 * float(np.ptp(values)))
    axes.set_ylim(max(0.0, values.min() - space), min(1.0, values.max() + space))
    if len(accuracies) > 1:
        write_names(figure.legend(loc="outside right center", frameon=False), list(accuracies))
    return figure, axes


def _line_colours(count: int) -> NDArray[np.float64]:
    """Those of ranks without the palest, which is lost on white."""
    return rank_colours(count + 1)[:-1]


def _margin_line(axes: Any, history: History, h: int, **style: Any) -> None:
    epochs, values = [epoch["epoch"] + 1 for epoch in history], [epoch[f"margin_{h}|{h + 1}"] for epoch in history]
    axes.plot(epochs, values, linewidth=1.8, marker="o" if len(epochs) <= FEW else "", markersize=4, **style)


def _mark_end_of_phase_one(axes: Any, history: History) -> None:
    """A line between the phases, named on the longer side."""
    last = sum(epoch["stage"] == 0 for epoch in history)
    if last < len(history):
        axes.axvline(last + 0.5, color="0.6", linewidth=1, zorder=0)
        before = last > len(history) / 2
        axes.annotate(
            "phase one ends", (last + 0.5, 1), xycoords=axes.get_xaxis_transform(), xytext=(-5 if before else 5, -10),
            textcoords="offset points", ha="right" if before else "left", color="0.4", fontsize=9,
        )  # fmt: skip
