"""What the pictures show, read back from their axes."""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.metrics import confusion_matrix

from ordinate.errors import OrdinateError
from ordinate.metrics import rank_cosine_matrix
from ordinate.report import figures

RNG = np.random.default_rng(0)
EMBEDDINGS = RNG.normal(size=(40, 5)) * [5, 3, 1, 0.5, 0.2] + 7
TARGETS, RANKS, NAMES = RNG.normal(size=40), np.arange(40) % 3, ["low", "mid", "high"]


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    yield
    plt.close("all")


def cells(axes):
    """The texts in a matrix, by row and column."""
    texts = [(round(text.get_position()[1]), round(text.get_position()[0]), text.get_text()) for text in axes.texts]
    side = round(len(texts) ** 0.5)
    return np.array([text for _, _, text in sorted(texts)]).reshape(side, side)


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_a_saved_picture_is_on_disk_and_closed(tmp_path):
    path = figures.save(figures.embedding(EMBEDDINGS, TARGETS), tmp_path / "embedding.png")
    assert path == tmp_path / "embedding.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == []


# the embedding


def test_targets_are_shown_on_the_principal_components_of_scikit_learn():
    axes, colours = figures.embedding(EMBEDDINGS, TARGETS).axes
    (points,) = axes.collections
    pca = PCA(2).fit(EMBEDDINGS)
    np.testing.assert_allclose(abs(points.get_offsets()), abs(pca.transform(EMBEDDINGS)), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(points.get_array(), TARGETS)
    first, second = pca.explained_variance_ratio_
    assert axes.get_xlabel() == f"first, {first:.0%} of the variance"
    assert axes.get_ylabel() == f"second, {second:.0%}"
    assert colours.get_ylabel() == "target"


def test_each_rank_has_its_points_its_colour_and_its_name():
    (axes,) = figures.embedding(EMBEDDINGS, RANKS, NAMES).axes
    expected = PCA(2).fit_transform(EMBEDDINGS)
    for rank, points in enumerate(axes.collections):
        np.testing.assert_allclose(abs(points.get_offsets()), abs(expected[rank == RANKS]), rtol=0, atol=1e-9)
    assert len({to_rgba(points.get_facecolor()[0]) for points in axes.collections}) == 3
    assert [text.get_text() for text in axes.get_legend().get_texts()] == NAMES


def test_a_rank_without_samples_keeps_its_name():
    (axes,) = figures.embedding(EMBEDDINGS, RANKS % 2 * 2, NAMES).axes
    assert [len(points.get_offsets()) for points in axes.collections] == [27, 0, 13]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == NAMES


@pytest.mark.parametrize(
    "embeddings",
    [EMBEDDINGS[:, :1], EMBEDDINGS[:1], np.ones((4, 3)), EMBEDDINGS.astype(np.float32)],
    ids=["one dimension", "one sample", "coinciding", "float32"],
)
def test_embeddings_of_every_kind_are_shown(tmp_path, embeddings):
    figure = figures.embedding(embeddings, TARGETS[: len(embeddings)])
    assert np.isfinite(figure.axes[0].collections[0].get_offsets()).all()
    assert figures.save(figure, tmp_path / "embedding.png").stat().st_size > 1000


@pytest.mark.thorough  # to compile its loops for the cosine takes six seconds
def test_umap_keeps_near_what_is_near_by_cosine_and_gives_the_same_picture_again_without_a_warning():
    around = RNG.uniform(0, np.pi, 60)
    embeddings = np.column_stack([np.cos(around), np.sin(around)]) * RNG.uniform(1, 100, (60, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (axes,) = figures.embedding(embeddings, np.digitize(around, [1, 2]), NAMES, projection="umap").axes
        again = figures.embedding(embeddings, around, projection="umap").axes[0]
        few = figures.embedding(embeddings[:5], around[:5], projection="umap").axes[0]
    points = np.empty((60, 2))
    for rank, marks in enumerate(axes.collections):
        points[np.digitize(around, [1, 2]) == rank] = marks.get_offsets()
    assert trustworthiness(embeddings, points, n_neighbors=5, metric="cosine") > 0.95
    np.testing.assert_array_equal(again.collections[0].get_offsets(), points)
    assert axes.get_title(loc="left") == "Embedding, UMAP by cosine"
    assert labels(axes.xaxis) == labels(axes.yaxis) == []
    assert np.isfinite(few.collections[0].get_offsets()).all()


@pytest.mark.parametrize(
    ("embeddings", "projection", "message"),
    [
        (EMBEDDINGS, "umap", r'projection="umap": requires umap .*pip install "ordinate\[umap\]"'),
        (EMBEDDINGS[:4], "umap", "embeddings: got 4 samples, expected at least 5"),
        (EMBEDDINGS, "tsne", "projection: got 'tsne', expected 'pca' or 'umap'"),
    ],
    ids=["not installed", "few samples", "unknown"],
)
def test_a_projection_that_cannot_be_made_is_refused(monkeypatch, embeddings, projection, message):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(OrdinateError, match=message):
        figures.embedding(embeddings, TARGETS[: len(embeddings)], projection=projection)
    assert plt.get_fignums() == []


# predictions


def test_predicted_ranks_are_counted_as_by_scikit_learn_and_coloured_by_their_share():
    predicted = np.where(RANKS == 2, RNG.integers(0, 3, 40), RANKS)
    axes = figures.predicted_ranks(RANKS, predicted, NAMES).axes[0]
    counts = confusion_matrix(RANKS, predicted)
    np.testing.assert_array_equal(cells(axes).astype(int), counts)
    np.testing.assert_allclose(axes.images[0].get_array(), counts / counts.sum(1, keepdims=True), rtol=1e-12)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")
    assert labels(axes.xaxis) == labels(axes.yaxis) == NAMES


def test_a_true_rank_without_samples_is_an_empty_row():
    axes = figures.predicted_ranks(np.array([0, 2]), np.array([1, 2]), NAMES).axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), [[0, 1, 0], [0, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize(("count", "written"), [(12, 144), (13, 0)])
def test_many_ranks_are_coloured_without_counts(count, written):
    ranks = np.arange(count)
    axes = figures.predicted_ranks(ranks, ranks, [str(rank) for rank in ranks]).axes[0]
    assert len(axes.texts) == written
    assert axes.images[0].get_array().shape == (count, count)


def test_predicted_targets_stand_over_the_true_ones_beside_the_line_where_they_agree():
    predicted = TARGETS + 0.5
    (axes,) = figures.predicted_targets(TARGETS, predicted).axes
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
    (axes,) = figures.margins(np.array([0.8, 0.125]), NAMES, fixed).axes
    assert [bar.get_height() for bar in axes.patches] == [0.8, 0.125]
    assert [bool(bar.get_hatch()) for bar in axes.patches] == fixed
    assert labels(axes.xaxis) == ["low | mid", "mid | high"]
    assert [text.get_text() for text in axes.texts] == ["0.80", "0.12"]
    assert axes.get_title(loc="left") == title


def test_the_cosine_matrix_is_the_metric_and_leaves_open_what_has_no_samples():
    ranks = np.where(RANKS == 1, 0, RANKS)
    axes = figures.cosine_matrix(EMBEDDINGS, ranks, NAMES).axes[0]
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
    legend = figures.embedding(EMBEDDINGS, RANKS, names)
    for figure in (
        legend,
        figures.predicted_ranks(RANKS, RANKS, names),
        figures.margins(np.array([0.5, 0.7]), names, [True, False]),
    ):
        figures.save(figure, tmp_path / "picture.png")
    assert [text.get_text() for text in legend.axes[0].get_legend().get_texts()] == names


# what a loss costs

LINES = {
    "mmnp": [(16, 1.0), (32, 4.0)],
    "mmnp published": [(16, 2.0)],
    "matrix products": [(16, 0.125), (32, 0.5)],
    "SupConLoss": [(16, 3.0), (32, 5.0)],
}


def test_growth_is_log_log_with_a_line_a_contender_and_a_slope_of_two():
    figure = figures.growth({"Time, s": LINES, "Peak memory, MiB": {"mmnp": [(16, 7.0)]}}, ["mmnp"])
    time, memory = figure.axes
    assert (time.get_xscale(), time.get_yscale(), time.get_title(loc="left")) == ("log", "log", "Time, s")
    drawn = {line.get_label(): line for line in time.lines}
    assert drawn.keys() == LINES.keys() | {"slope 2"}
    for name, points in LINES.items():
        assert drawn[name].get_xydata().tolist() == [list(point) for point in points]
    assert drawn["slope 2"].get_xydata().tolist() == [[16, 0.125], [32, 0.5]]
    assert labels(time.xaxis) == ["16", "32"]
    assert memory.lines[0].get_xydata().tolist() == [[16, 7]]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [*LINES, "slope 2"]


def test_a_published_loop_is_dashed_in_the_colour_of_its_loss_and_the_rest_is_grey():
    (axes,) = figures.growth({"Time, s": LINES}, ["mmnp"]).axes
    ours, published, products, peer, _ = axes.lines
    assert to_rgba(ours.get_color()) == to_rgba(published.get_color()) != to_rgba(peer.get_color())
    assert (ours.get_linestyle(), published.get_linestyle(), peer.get_linestyle()) == ("-", "--", ":")
    assert products.get_color() == peer.get_color()
    assert products.get_marker() != peer.get_marker()
