"""The pictures that Bokeh draws: points and lines between axes, their colours left to the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from bokeh.document import Document
from bokeh.models import BoxSelectTool, ColumnDataSource, LassoSelectTool, PanTool, Plot, WheelZoomTool
from bokeh.plotting import figure
from numpy.typing import ArrayLike, NDArray

from ordinate.report.page.measures import Calibration

INK = "#000000"  # The page replaces it by its own.


def document(plots: Sequence[Plot]) -> object:
    """Return what BokehJS draws, ready for JSON; the page places every plot by its name."""
    drawn = Document()
    for plot in plots:
        drawn.add_root(plot)
    return _renumbered(drawn.to_json(deferred=False), {})


def _renumbered(node: object, known: dict[str, str]) -> object:
    """Return a node of the JSON with its models numbered from 1, whatever was drawn before: the same page each time."""
    if isinstance(node, list):
        return [_renumbered(each, known) for each in node]
    if not isinstance(node, dict):
        return node
    renumbered: dict[object, object] = {}
    for key, value in node.items():
        if key == "id" and isinstance(value, str):
            renumbered[key] = known.setdefault(value, f"p{len(known) + 1}")
        else:
            renumbered[key] = _renumbered(value, known)
    return renumbered


def point_source(**columns: NDArray[np.generic]) -> ColumnDataSource:
    """Return the samples; plots that share them share what is selected. The page gives them their colours."""
    return ColumnDataSource(dict[str, Any](columns), name="samples")


def uncoloured(n: int) -> NDArray[np.uint32]:
    """Return the colours of n samples before the page gives them theirs."""
    return np.zeros(n, dtype=np.uint32)


def cloud(name: str, source: ColumnDataSource, of: str = "", size: float = 6) -> Plot:
    """Return an embedding: points without axes, whose distances mean the same both ways.

    ``of`` ends the names of the columns x, y and colour; ``size`` is a point's, in pixels.
    """
    plot = _plot(name, match_aspect=True, height=460, sizing_mode="stretch_both")
    plot.axis.visible = False
    plot.grid.visible = False
    points = _points(plot, source, f"x{of}", f"y{of}", size, f"colour{of}")
    plot.x_range.renderers = plot.y_range.renderers = [points]
    if name == "embedding":
        nearest = ColumnDataSource({"x0": [], "y0": [], "x1": [], "y1": []}, name="neighbours")
        plot.segment(
            "x0", "y0", "x1", "y1", source=nearest, line_color=INK, line_width=1.2, line_alpha=0.55, name="ink"
        )
        plot.scatter("x1", "y1", source=nearest, size=11, fill_color=None, line_color=INK, line_width=1.5, name="ink")
        chosen = ColumnDataSource({"x": [], "y": []}, name="chosen")
        plot.scatter("x", "y", source=chosen, size=15, fill_color=None, line_color=INK, line_width=2.5, name="ink")
    return plot


def predicted_targets(source: ColumnDataSource, values: ArrayLike, of: str = "") -> Plot:
    """Return predicted against true targets, with the line where they agree.

    ``of`` ends the name of the plot, and those of its columns true and predicted.
    """
    low, high = float(np.min(values)), float(np.max(values))
    space = 0.04 * (high - low or 1)
    ends = (low - space, high + space)
    plot = _plot(f"predicted{of}", x_range=ends, y_range=ends, height=420)
    plot.line(ends, ends, line_color=INK, line_alpha=0.45, line_width=1.2, name="ink")
    _points(plot, source, f"true{of}", f"predicted{of}", 5)
    _name_axes(plot, "true", "predicted")
    return plot


def margins_over_training(history: Sequence[dict[str, float]], boundaries: int) -> Plot:
    """Return the margin of every boundary after each epoch; the page colours the lines by rank."""
    epochs = [epoch["epoch"] + 1 for epoch in history]
    plot = _plot("margin-history", height=300)
    for h in range(boundaries):
        values = [epoch[f"margin_{h}|{h + 1}"] for epoch in history]
        plot.line(epochs, values, line_width=2.2, line_color=INK, name=f"rank-{h}")
    first = sum(epoch["stage"] == 0 for epoch in history)
    if 0 < first < len(history):
        high = max(max(epoch[f"margin_{h}|{h + 1}"] for h in range(boundaries)) for epoch in history)
        middle = (epochs[first - 1] + epochs[first]) / 2
        plot.line([middle, middle], [0, 1.08 * high], line_color=INK, line_alpha=0.45, line_dash="dashed", name="ink")
    plot.y_range.start = 0
    _name_axes(plot, "epoch", "margin, in cosine")
    return plot


def learning_curve(history: Sequence[dict[str, float]]) -> Plot:
    """Return the loss of each epoch on training samples, and on validation samples where it was measured."""
    plot = _plot("learning", height=280)
    for stage in sorted({epoch["stage"] for epoch in history}):
        for name, colour, dash in (("train_loss", "ink", "solid"), ("val_loss", "accent", "dashed")):
            points = [(place + 1, epoch[name]) for place, epoch in enumerate(history)
                      if epoch["stage"] == stage and name in epoch]  # fmt: skip
            if points:
                x, y = zip(*points, strict=True)
                plot.line(x, y, line_width=2, line_color=INK, line_dash=dash, name=colour)
    _name_axes(plot, "epoch", "loss")
    return plot


def reliability(calibration: Calibration) -> Plot:
    """Return the share that is right against the probability promised, a point for every tenth, larger for more."""
    kept = calibration.counts > 0
    source = ColumnDataSource(
        {
            "promised": calibration.promised[kept],
            "measured": calibration.measured[kept],
            "size": 7 + 17 * np.sqrt(calibration.counts[kept] / calibration.counts.max()),
        },
        name="reliability",
    )
    plot = _plot("calibration", x_range=(-0.02, 1.06), y_range=(-0.02, 1.08), height=320)
    plot.line([0, 1], [0, 1], line_color=INK, line_alpha=0.45, line_width=1.2, name="ink")
    plot.line("promised", "measured", source=source, line_width=1.6, line_color=INK, name="accent")
    plot.scatter("promised", "measured", size="size", source=source, fill_color=INK, line_color=INK, name="accent")
    _name_axes(plot, "probability promised", "share right")
    return plot


def promised_coverage(coverage: pd.DataFrame, of: str = "") -> Plot:
    """Return the measured coverage of prediction sets against the promised one; ``of`` ends the name of the plot."""
    source = ColumnDataSource({name: coverage[name].to_numpy(dtype=float) for name in ("promised", "measured")})
    low = max(0.0, float(coverage[["promised", "measured"]].to_numpy(dtype=float).min()) - 0.05)
    plot = _plot(f"coverage{of}", x_range=(low, 1.01), y_range=(low, 1.01), height=320)
    plot.line([low, 1], [low, 1], line_color=INK, line_alpha=0.45, line_width=1.2, name="ink")
    plot.line("promised", "measured", source=source, line_width=1.6, line_color=INK, name="accent")
    plot.scatter("promised", "measured", size=10, source=source, fill_color=INK, line_color=INK, name="accent")
    _name_axes(plot, "promised", "measured")
    return plot


def _plot(name: str, **options: Any) -> Any:
    plot = figure(
        **{"sizing_mode": "stretch_width", "tools": "", **options}, name=name, toolbar_location=None, min_border=4
    )
    plot.output_backend = "canvas"
    plot.background_fill_color = plot.border_fill_color = None
    plot.outline_line_color = None
    plot.axis.axis_line_color = None
    plot.axis.major_tick_line_color = None
    plot.axis.minor_tick_line_color = None
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_font_size = plot.axis.major_label_text_font_size = "13px"
    return plot


def _points(plot: Any, source: ColumnDataSource, x: str, y: str, size: float, colour: str = "colour") -> Any:
    plot.add_tools(PanTool(name="pan"), BoxSelectTool(name="box"), LassoSelectTool(name="lasso"))
    plot.add_tools(WheelZoomTool(name="zoom", zoom_on_axis=False))
    plot.toolbar.active_drag = None
    return plot.scatter(
        x, y, source=source, size=size, fill_color=colour, line_color=colour, line_width=0.5, fill_alpha=0.85,
        line_alpha=0.9, nonselection_fill_alpha=0.07, nonselection_line_alpha=0.0, selection_fill_alpha=0.95,
        selection_line_alpha=0.9, name="points",
    )  # fmt: skip


def _name_axes(plot: Any, x: str, y: str) -> None:
    plot.xaxis.axis_label, plot.yaxis.axis_label = x, y
