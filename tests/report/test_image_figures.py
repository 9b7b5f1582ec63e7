"""What the pictures of images show, read back from their axes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from ordinate.errors import OrdinateError
from ordinate.report import figures, image_figures

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (2, 4, 3, 6, 5), dtype=np.uint8)
GREY = RNG.integers(0, 256, (2, 4, 1, 6, 5), dtype=np.uint8)
WRONG = np.array([[False, True, False], [False, False, False]])
NAMES = [["child", "child", "a very old adult indeed", "$_"], ["_x", "_x", "_x", "_x"]]


@pytest.fixture(autouse=True)
def no_figure_is_left_open():
    yield
    plt.close("all")


def frames(figure):
    """Colour and width of every picture's frame."""
    spines = [axes.spines["left"] for axes in figure.axes]
    assert all(spine.get_visible() for axes in figure.axes for spine in axes.spines.values())
    return [(to_hex(spine.get_edgecolor()), spine.get_linewidth()) for spine in spines]


def crossed(figure):
    """Whether every picture bears a cross."""
    return [len(axes.collections) == 2 for axes in figure.axes]


def test_a_row_is_a_query_and_its_neighbours_in_colour():
    figure = image_figures.image_search(COLOUR[:, 0], COLOUR[:, 1:], WRONG, NAMES)
    shown = [axes.images[0].get_array() for axes in figure.axes]
    np.testing.assert_array_equal(shown, COLOUR.reshape(8, 3, 6, 5).transpose(0, 2, 3, 1))
    assert [axes.get_title() for axes in figure.axes[:4]] == ["query", "1", "2", "3"]


def test_grey_images_are_grey_from_black_to_white():
    figure = image_figures.image_search(GREY[:, 0], GREY[:, 1:], WRONG, NAMES)
    np.testing.assert_array_equal([axes.images[0].get_array() for axes in figure.axes], GREY.reshape(8, 6, 5))
    assert {(axes.images[0].get_cmap().name, axes.images[0].get_clim()) for axes in figure.axes} == {("gray", (0, 255))}


def test_queries_are_framed_and_wrong_neighbours_framed_otherwise_and_crossed():
    figure = image_figures.image_search(COLOUR[:, 0], COLOUR[:, 1:], WRONG, NAMES)
    query, right, wrong = frames(figure)[0], frames(figure)[1], frames(figure)[2]
    assert len({query, right, wrong}) == 3
    assert frames(figure) == [query, right, wrong, right, query, right, right, right]
    assert crossed(figure) == [False, False, True] + [False] * 5
    assert figure.get_suptitle() == "Image search, errors crossed"


def test_labels_are_written_below_as_they_are_and_long_ones_in_lines(tmp_path):
    figure = image_figures.image_search(COLOUR[:, 0], COLOUR[:, 1:], WRONG, NAMES)
    written = [axes.get_xlabel() for axes in figure.axes]
    assert [label.replace("\n", " ") for label in written] == [name for row in NAMES for name in row]
    assert max(len(line) for label in written for line in label.split("\n")) <= 15
    assert figures.save(figure, tmp_path / "search.png").stat().st_size > 1000


def test_a_search_without_errors_does_not_speak_of_them():
    figure = image_figures.image_search(COLOUR[:, 0], COLOUR[:, 1:], np.zeros((2, 3), bool), NAMES)
    assert figure.get_suptitle() == "Image search"
    assert not any(crossed(figure))


def test_images_of_one_row_may_differ_in_size_and_colour():
    row = [COLOUR[0, 0], GREY[0, 0], COLOUR[0, 0, :, :3]]
    figure = image_figures.image_search(row[:1], [row[1:]], [[True, False]], [["a", "b", "a"]])
    assert [axes.images[0].get_array().shape for axes in figure.axes] == [(6, 5, 3), (6, 5), (3, 5, 3)]


def test_views_stand_beside_their_framed_original(tmp_path):
    titles = ["original", "view 1", "$_", "_x"]
    figure = image_figures.views(COLOUR, titles)
    shown = [axes.images[0].get_array() for axes in figure.axes]
    np.testing.assert_array_equal(shown, COLOUR.reshape(8, 3, 6, 5).transpose(0, 2, 3, 1))
    assert [axes.get_title() for axes in figure.axes] == [*titles, "", "", "", ""]
    original, view = frames(figure)[:2]
    assert original[1] > view[1]
    assert frames(figure) == [original, view, view, view] * 2
    figures.save(figure, tmp_path / "views.png")


IMAGES = COLOUR[:, 0], COLOUR[:, 1:]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: image_figures.image_search(IMAGES[0], IMAGES[1][:1], WRONG, NAMES),
            "neighbours: got 1 rows, expected 2",
        ),
        (
            lambda: image_figures.image_search(*IMAGES, WRONG[:, :2], NAMES),
            r"wrong: got shape \(2, 2\), expected \(2, 3\)",
        ),
        (lambda: image_figures.image_search(*IMAGES, WRONG, NAMES[:1]), r"names: got rows of \[4\], expected 2 of 4"),
        (lambda: image_figures.image_search([], [], WRONG, NAMES), "queries and neighbours: got rows of"),
        (lambda: image_figures.views(COLOUR / 255, ["a"] * 4), "images: got an image of .* float64, expected"),
        (lambda: image_figures.views(COLOUR[:, :, :2], ["a"] * 4), r"images: got an image of shape \(2, 6, 5\)"),
        (lambda: image_figures.views(COLOUR[:, :, 0], ["a"] * 4), r"images: got an image of shape \(6, 5\)"),
        (lambda: image_figures.views([COLOUR[0], COLOUR[0, :2]], ["a"] * 4), r"images: got rows of \[4, 2\] images"),
        (lambda: image_figures.views(COLOUR, ["a"] * 3), "titles: got 3, expected 4"),
    ],
)
def test_images_that_cannot_be_shown_are_named_and_no_figure_stays_open(call, message):
    with pytest.raises(OrdinateError, match=message):
        call()
    assert plt.get_fignums() == []
