"""What the pictures show, read back from their axes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.decomposition import PCA
from sklearn.metrics import confusion_matrix

from ordinate.metrics import rank_cosine_matrix
from ordinate_papers.figures import plots

RNG = np.random.default_rng(0)
EMBEDDINGS = RNG.normal(size=(40, 5)) * [5, 3, 1, 0.5, 0.2] + 7
TARGETS, RANKS, NAMES = RNG.normal(size=40), np.arange(40) % 3, ["low", "mid", "high"]
ODD_NAMES = ["_low", "$_", "over $5", "é"]
IMAGES = RNG.integers(0, 256, (2, 4, 3, 6, 5), dtype=np.uint8)


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    yield
    plt.close("all")


def cells(axes):
    """The texts in a matrix, by row and column."""
    texts = [(round(text.get_position()[1]), round(text.get_position()[0]), text.get_text()) for text in axes.texts]
    side = round(len(texts) ** 0.5)
    return np.array([text for _, _, text in sorted(texts)]).reshape(side, side)


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def points_of(line):
    return line.get_xydata().tolist()


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_a_saved_picture_is_on_disk_and_closed(tmp_path):
    path = plots.save(plots.embedding(EMBEDDINGS, TARGETS), tmp_path / "embedding.png")
    assert path == tmp_path / "embedding.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == []


# the embedding


def test_targets_are_shown_on_the_principal_components_of_scikit_learn():
    axes, colours = plots.embedding(EMBEDDINGS, TARGETS).axes
    (points,) = axes.collections
    pca = PCA(2).fit(EMBEDDINGS)
    np.testing.assert_allclose(abs(points.get_offsets()), abs(pca.transform(EMBEDDINGS)), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(points.get_array(), TARGETS)
    first, second = pca.explained_variance_ratio_
    assert axes.get_xlabel() == f"first, {first:.0%} of the variance"
    assert axes.get_ylabel() == f"second, {second:.0%}"
    assert colours.get_ylabel() == "target"


@pytest.mark.parametrize(
    "embeddings",
    [EMBEDDINGS[:, :1], EMBEDDINGS[:1], np.ones((4, 3)), EMBEDDINGS.astype(np.float32)],
    ids=["one dimension", "one sample", "coinciding", "float32"],
)
def test_embeddings_of_every_kind_are_shown(tmp_path, embeddings):
    figure = plots.embedding(embeddings, TARGETS[: len(embeddings)])
    assert np.isfinite(figure.axes[0].collections[0].get_offsets()).all()
    assert plots.save(figure, tmp_path / "embedding.png").stat().st_size > 1000


# predictions


def test_predicted_ranks_are_counted_as_by_scikit_learn_and_coloured_by_their_share():
    predicted = np.where(RANKS == 2, RNG.integers(0, 3, 40), RANKS)
    axes = plots.predicted_ranks(RANKS, predicted, NAMES).axes[0]
    counts = confusion_matrix(RANKS, predicted)
    np.testing.assert_array_equal(cells(axes).astype(int), counts)
    np.testing.assert_allclose(axes.images[0].get_array(), counts / counts.sum(1, keepdims=True), rtol=1e-12)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")
    assert labels(axes.xaxis) == labels(axes.yaxis) == NAMES


def test_predicted_targets_stand_over_the_true_ones_beside_the_line_where_they_agree():
    predicted = TARGETS + 0.5
    (axes,) = plots.predicted_targets(TARGETS, predicted).axes
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), np.column_stack([TARGETS, predicted]))
    ends = [TARGETS.min(), predicted.max()]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.column_stack([ends, ends]))
    assert axes.get_title(loc="left") == "Predicted against true, mean error 0.5"


# margins and cosines


@pytest.mark.parametrize(
    ("fixed", "title"),
    [([True, False], "Margins, hatched: fixed"), ([False, False], "Margins")],
    ids=["fixed", "learned"],
)
def test_each_boundary_has_a_bar_as_high_as_its_margin_hatched_where_fixed(fixed, title):
    (axes,) = plots.margins(np.array([0.8, 0.125]), NAMES, fixed).axes
    assert [bar.get_height() for bar in axes.patches] == [0.8, 0.125]
    assert [bool(bar.get_hatch()) for bar in axes.patches] == fixed
    assert labels(axes.xaxis) == ["low | mid", "mid | high"]
    assert [text.get_text() for text in axes.texts] == ["0.80", "0.12"]
    assert axes.get_title(loc="left") == title


def test_the_cosine_matrix_is_the_metric_and_leaves_open_what_has_no_samples():
    ranks = np.where(RANKS == 1, 0, RANKS)
    axes = plots.cosine_matrix(EMBEDDINGS, ranks, NAMES).axes[0]
    expected = rank_cosine_matrix(EMBEDDINGS, ranks, 3)
    np.testing.assert_array_equal(np.ma.filled(axes.images[0].get_array(), np.nan), expected)
    assert axes.images[0].get_clim() == (-1, 1)
    written = cells(axes)
    assert written[0, 2] == f"{expected[0, 2]:.2f}"
    assert set(written[1]) | set(written[:, 1]) == {""}


# names


@pytest.mark.parametrize(
    "names",
    [
        ["1", "2", "3"],
        ["under 20 years", "20 to 40 years", "over 40 years"],
        ["é", "<1 %", "#{2}"],
        ["$_", "_$", "over $5"],
        ["_low", "_mid", "high"],
    ],
    ids=lambda names: names[0],
)
def test_ranks_may_have_any_name(tmp_path, names):
    legend = plots.embedding(EMBEDDINGS, RANKS, names)
    for figure in (
        legend,
        plots.predicted_ranks(RANKS, RANKS, names),
        plots.margins(np.array([0.5, 0.7]), names, [True, False]),
    ):
        plots.save(figure, tmp_path / "picture.png")
    assert [text.get_text() for text in legend.axes[0].get_legend().get_texts()] == names


# accuracies


def test_every_name_has_its_line_and_can_be_told_with_and_without_colour(tmp_path):
    accuracies = {name: [0.5 + i / 10, 0.6, 0.4] for i, name in enumerate(ODD_NAMES)}
    figure = plots.knn_curve([2, 8, 16], accuracies)
    lines = figure.axes[0].lines
    assert [points_of(line) for line in lines] == [
        [[2, first], [8, 0.6], [16, 0.4]] for first, _, _ in accuracies.values()
    ]
    assert len({to_rgba(line.get_color()) for line in lines}) == len({line.get_marker() for line in lines}) == 4
    assert legend_of(figure) == ODD_NAMES
    assert plots.save(figure, tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("values", [[1.0, 1.0], [0.0, 0.0], [0.7, 0.7], [0.0, 1.0]])
def test_accuracies_keep_within_0_and_1_and_their_axis_spans_some_room(values):
    low, high = plots.knn_curve([1, 2], {"embedding": values}).axes[0].get_ylim()
    assert 0 <= low <= min(values) <= max(values) <= high <= 1
    assert high - low >= 0.05


# margins over training


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
    figure = plots.margins_over_training(train(3, 2), NAMES, [False, True])
    drawn = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 5]
    for line, start in zip(drawn, (0.9, 0.6), strict=True):
        values = [start, start - 0.01, start - 0.02, start - 0.02, start - 0.02]
        np.testing.assert_allclose(line.get_xydata(), np.column_stack([range(1, 6), values]), rtol=0, atol=1e-12)
    assert [line.get_linestyle() for line in drawn] == ["-", "--"]
    assert len({to_rgba(line.get_color()) for line in drawn}) == 2
    assert legend_of(figure) == ["low | mid", "mid | high", "fixed"]


@pytest.mark.parametrize(("first", "second", "side"), [(3, 30, "left"), (30, 3, "right")])
def test_the_end_of_phase_one_is_marked_and_named_where_there_is_room(first, second, side):
    (axes,) = plots.margins_over_training(train(first, second), NAMES, [False, False]).axes
    assert [first + 0.5] * 2 in [list(line.get_xdata()) for line in axes.lines]
    (text,) = axes.texts
    assert (text.get_text(), text.get_ha()) == ("phase one ends", side)


def test_a_training_without_precautions_lies_dotted_over_it_in_the_same_colours():
    collapsing = train(4, 0, fall=0.2)
    figure = plots.margins_over_training(train(4, 2), NAMES, [False, False], without_precautions=collapsing)
    solid = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 6]
    dotted = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert [list(line.get_ydata()) for line in dotted] == [
        [epoch[f"margin_{h}|{h + 1}"] for epoch in collapsing] for h in (0, 1)
    ]
    assert [line.get_color().tolist() for line in dotted] == [line.get_color().tolist() for line in solid]
    assert legend_of(figure)[-1] == "without precautions"


# image search


@pytest.mark.parametrize("images", [IMAGES, IMAGES[:, :, :1]], ids=["colour", "grey"])
def test_queries_come_first_and_images_of_other_labels_are_crossed_out(images):
    names = [[ODD_NAMES[0], *NAMES], [*NAMES, ODD_NAMES[1]]]
    wrong = np.array([[True, False, False], [False, False, True]])
    figure = plots.image_search(images[:, 0], images[:, 1:], wrong, names)
    grid = np.reshape(figure.axes, (2, 4))
    assert [[bool(axes.lines) for axes in row] for row in grid[:, 1:]] == wrong.tolist()
    assert not any(axes.lines for axes in grid[:, 0])
    assert [[axes.get_xlabel() for axes in row] for row in grid] == names
    assert [axes.get_title() for axes in grid[0]] == ["query", "1", "2", "3"]
    for axes, image in zip(figure.axes, images.reshape(8, *images.shape[2:]), strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), np.squeeze(image.transpose(1, 2, 0)))
