"""Pictures of the protocols: what they draw is what was measured."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from ordinate_papers.figures import protocols as protocol_figures


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def lines_of(figure):
    return [container.lines[0].get_xydata().tolist() for container in figure.axes[0].containers]


@pytest.mark.parametrize("draw", [protocol_figures.error_by_severity, protocol_figures.error_by_training_size])
def test_a_line_goes_through_the_means_of_each_method(draw):
    figure = draw([1, 2, 4], {"supcr": ([3, 4, 5], [0, 0, 0]), "l1": ([4, 6, 8], [0.5, 0.5, 1])})
    assert lines_of(figure) == [[[1, 3], [2, 4], [4, 5]], [[1, 4], [2, 6], [4, 8]]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["supcr", "l1"]
    [bars] = figure.axes[0].containers[1].lines[2]
    assert [np.ptp(segment[:, 1]) for segment in bars.get_segments()] == [1, 1, 2]
    assert figure.axes[0].containers[0].lines[2] == ()  # no deviation to draw


def test_bars_stand_in_groups_side_by_side():
    figure = protocol_figures.grouped_bars(
        ["all", "seen"], {"supcr": ([1, 2], [0, 0]), "$l_1$": ([3, 4], [0, 0])}, "Title", "MAE"
    )
    axes = figure.axes[0]
    assert [bar.get_height() for bar in axes.patches] == [1, 2, 3, 4]
    edges = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    assert all(left[1] <= right[0] for left, right in zip(edges[:2], edges[2:], strict=True))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["supcr", "$l_1$"]


def test_embeddings_are_coloured_by_the_labels_of_training():
    rng = np.random.default_rng(0)
    pictures = {
        method: {kind: {"places": rng.normal(size=(5, 2)).tolist(), "labels": rng.random(5)} for kind in ("a", "b")}
        for method in ("supcon", "supremix")
    }
    figure = protocol_figures.embeddings_by_labels(pictures)
    drawn = iter(figure.axes)
    for by_kind in pictures.values():
        for picture in by_kind.values():
            points = next(drawn).collections[0]
            assert points.get_offsets().tolist() == picture["places"]
            assert (points.get_array() == picture["labels"]).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_every_version_of_an_image_is_shown(channels):
    images = [np.full((channels, 4, 6), value, dtype=np.uint8) for value in (10, 20)]
    figure = protocol_figures.corrupted_images({"zoom_blur": images, "fog": images})
    [axes] = figure.axes
    drawn = axes.images[0].get_array()
    places = [(int(y), int(x)) for y in axes.get_yticks() for x in axes.get_xticks()]
    assert [drawn[place].tolist() for place in places] == [[10] * 3, [20] * 3] * 2
    assert [label.get_text() for label in axes.get_yticklabels()] == ["zoom blur", "fog"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["clean", "1"]
