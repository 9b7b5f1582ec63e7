"""Pictures of distributions and of distances: what they show is what they were given."""

import matplotlib.pyplot as plt
import pytest

from ordinate_papers.figures.distributions import logit_distributions, training_targets


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_ranges_without_a_sample_are_shaded_whole():
    shown = {"centres": [0, 1, 2, 3, 4, 6, 7], "counts": [0, 0, 5, 1, 0, 0, 2], "width": 1}
    (axes,) = training_targets({"modes": shown}).axes
    assert [bar.get_height() for bar in axes.containers[0]] == shown["counts"]
    spans = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches[7:]]
    assert [(round(span.x0, 6), round(span.x1, 6)) for span in spans] == [(-0.5, 1.5), (3.5, 6.5)]


def test_logits_are_shares_of_their_kind_of_pairs():
    counts = {"positive": [[1, 1], [0, 4]], "negative": [[30, 10], [10, 10]]}
    figure = logit_distributions(["first", "last"], [-1, 0, 1], counts)
    drawn = [[patch.get_data().values.tolist() for patch in axes.patches] for axes in figure.axes]
    assert drawn == [[[0.5, 0.5], [0.75, 0.25]], [[0.0, 1.0], [0.5, 0.5]]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["positive pairs", "negative pairs"]
