"""What the curves show, read back from their axes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from ordinate.report import curves, figures

ODD_NAMES = ["_low", "$_", "over $5", "é"]


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    yield
    plt.close("all")


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def points_of(line):
    return line.get_xydata().tolist()


# accuracies


@pytest.mark.parametrize("draw", [curves.knn_curve, curves.accuracy_by_embedding_size])
def test_every_name_has_its_line_and_can_be_told_with_and_without_colour(tmp_path, draw):
    accuracies = {name: [0.5 + i / 10, 0.6, 0.4] for i, name in enumerate(ODD_NAMES)}
    figure = draw([2, 8, 16], accuracies)
    lines = figure.axes[0].lines
    assert [points_of(line) for line in lines] == [
        [[2, first], [8, 0.6], [16, 0.4]] for first, _, _ in accuracies.values()
    ]
    assert len({to_rgba(line.get_color()) for line in lines}) == len({line.get_marker() for line in lines}) == 4
    assert legend_of(figure) == ODD_NAMES
    assert figures.save(figure, tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("draw", [curves.knn_curve, curves.accuracy_by_embedding_size])
def test_one_line_needs_no_legend(draw):
    assert draw([1, 2], {"embedding": [0.5, 0.6]}).legends == []


@pytest.mark.parametrize("draw", [curves.knn_curve, curves.accuracy_by_embedding_size])
@pytest.mark.parametrize("values", [[1.0, 1.0], [0.0, 0.0], [0.7, 0.7], [0.0, 1.0]])
def test_accuracies_keep_within_0_and_1_and_their_axis_spans_some_room(draw, values):
    low, high = draw([1, 2], {"embedding": values}).axes[0].get_ylim()
    assert 0 <= low <= min(values) <= max(values) <= high <= 1
    assert high - low >= 0.05


def test_neighbours_are_counted_from_the_first_k_in_whole_numbers():
    (axes,) = curves.knn_curve([1, 2], {"embedding": [0.9, 0.8]}).axes
    assert axes.get_xlim() == (0.5, 2.5)
    assert [tick for tick in axes.get_xticks() if 0.5 < tick < 2.5] == [1, 2]


def test_embedding_sizes_are_on_a_log_axis_with_a_tick_each():
    (axes,) = curves.accuracy_by_embedding_size([2, 10, 100], {"fingers": [0.9, 1.0, 1.0]}).axes
    assert axes.get_xscale() == "log"
    assert axes.get_xticks().tolist() == [2, 10, 100]
    assert labels(axes.xaxis) == ["2", "10", "100"]


# margins over training

NAMES = ["none", "mild", "severe"]


def train(first, second, fall=0.01):
    """What CLOC logs of two phases, the margins falling in the first."""
    epochs = []
    for epoch in range(first + second):
        margins = [start - fall * min(epoch, first - 1) for start in (0.9, 0.6)]
        epochs.append(
            {"epoch": float(epoch), "stage": float(epoch >= first), "margin_0|1": margins[0], "margin_1|2": margins[1]}
        )
    return epochs


def test_every_boundary_has_a_line_from_epoch_1_on_and_fixed_ones_are_dashed():
    figure = curves.margins_over_training(train(3, 2), NAMES, [False, True])
    drawn = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 5]
    for line, start in zip(drawn, (0.9, 0.6), strict=True):
        values = [start, start - 0.01, start - 0.02, start - 0.02, start - 0.02]
        np.testing.assert_allclose(line.get_xydata(), np.column_stack([range(1, 6), values]), rtol=0, atol=1e-12)
    assert [line.get_linestyle() for line in drawn] == ["-", "--"]
    assert len({to_rgba(line.get_color()) for line in drawn}) == 2
    assert legend_of(figure) == ["none | mild", "mild | severe", "fixed"]


@pytest.mark.parametrize(("first", "second", "side"), [(3, 30, "left"), (30, 3, "right")])
def test_the_end_of_phase_one_is_marked_and_named_where_there_is_room(first, second, side):
    (axes,) = curves.margins_over_training(train(first, second), NAMES, [False, False]).axes
    assert [first + 0.5] * 2 in [list(line.get_xdata()) for line in axes.lines]
    (text,) = axes.texts
    assert (text.get_text(), text.get_ha()) == ("phase one ends", side)


def test_a_training_in_one_phase_has_no_border_to_mark():
    (axes,) = curves.margins_over_training(train(5, 0), NAMES, [False, False]).axes
    assert len(axes.texts) == 0


def test_a_training_without_precautions_lies_dotted_over_it_in_the_same_colours():
    collapsing = train(4, 0, fall=0.2)
    figure = curves.margins_over_training(train(4, 2), NAMES, [False, False], without_precautions=collapsing)
    solid = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 6]
    dotted = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert [list(line.get_ydata()) for line in dotted] == [
        [epoch[f"margin_{h}|{h + 1}"] for epoch in collapsing] for h in (0, 1)
    ]
    assert [line.get_color().tolist() for line in dotted] == [line.get_color().tolist() for line in solid]
    assert legend_of(figure)[-1] == "without precautions"


def test_a_single_epoch_can_be_seen():
    (axes,) = curves.margins_over_training(train(1, 0), NAMES, [False, False]).axes
    assert {line.get_marker() for line in axes.lines} == {"o"}


def test_boundaries_between_ranks_of_any_name_are_written_as_they_are(tmp_path):
    figure = curves.margins_over_training(train(2, 2), ["_low", "$_", "over $5"], [True, False])
    figures.save(figure, tmp_path / "margins.png")
    assert legend_of(figure) == ["_low | $_", "$_ | over $5", "fixed"]


# a margin's trade


def test_the_sweep_is_a_path_in_the_order_of_the_margins_and_the_learned_one_stands_beside_it(tmp_path):
    margins, error, accuracy = [1.2, None, 0.4], [0.05, 0.2, 0.15], [0.6, 0.75, 0.7]
    figure = curves.margin_trade(margins, error, accuracy, "$_ | _high")
    (axes,) = figure.axes
    path, *marks = axes.lines
    assert points_of(path) == [[0.7, 0.15], [0.6, 0.05]]
    assert [points_of(mark) for mark in marks] == [[[a, e]] for a, e in zip(accuracy, error, strict=True)]
    assert [mark.get_marker() for mark in marks] == ["o", "D", "o"]
    assert [(text.get_text(), text.xy) for text in axes.texts] == [
        ("1.2", (0.6, 0.05)),
        ("learned", (0.75, 0.2)),
        ("0.4", (0.7, 0.15)),
    ]
    assert axes.get_ylabel() == "error rate between $_ | _high"
    figures.save(figure, tmp_path / "trade.png")


def test_deviations_are_bars_to_either_side():
    (axes,) = curves.margin_trade([0.5], [0.2], [0.6], "a | b", deviations=([0.03], [0.1])).axes
    ends = [bar.get_segments()[0] for bar in axes.collections]
    across = next(np.sort(end[:, 0]) for end in ends if end[0, 1] == end[1, 1])
    up = next(np.sort(end[:, 1]) for end in ends if end[0, 0] == end[1, 0])
    np.testing.assert_allclose([across, up], [[0.5, 0.7], [0.17, 0.23]], rtol=0, atol=1e-12)


def test_learned_margins_alone_can_be_drawn():
    (axes,) = curves.margin_trade([None], [0.2], [0.6], "a | b").axes
    assert [text.get_text() for text in axes.texts] == ["learned"]
