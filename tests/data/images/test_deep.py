import numpy as np
import pytest
from PIL import Image, ImageOps

from ordinate.data.images.deep import DeepImage
from ordinate.errors import OrdinateError

RANDOM = np.random.default_rng(0)
NAN = np.nan


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (DeepImage(np.uint16([[5, 9], [7, 300]])), (5, 300)),
        (DeepImage(np.uint16([[[5, 9, 7], [8, 8, 2]]])), (2, 9)),
        (DeepImage(np.float32([[5, NAN], [-np.inf, 6]])), (5, 6)),
        (DeepImage(np.uint16([[5, 9]]), missing=np.array([[False, True]])), (5, 5)),
        (DeepImage(np.float32([[NAN, NAN]])), None),
        (DeepImage(np.uint16([[5, 9]]), missing=np.array([[True, True]])), None),
    ],
)
def test_extremes_are_those_of_all_channels_and_pixels_with_data(image, expected):
    assert image.extremes() == expected


def test_pictures_of_pillow_that_have_more_bits_become_deep():
    values = RANDOM.integers(0, 2**16, (4, 5)).astype(np.uint16)
    for dtype, white in ((np.uint16, 65535), (np.int32, None), (np.float32, None)):
        image = DeepImage.of(Image.fromarray(values.astype(dtype)))
        np.testing.assert_array_equal(image.values, values)
        assert image.white == white
    for mode in ("L", "RGB", "P", "1", "LA"):
        assert DeepImage.of(Image.new(mode, (2, 2))) is None


@pytest.mark.parametrize(
    ("values", "white", "expected"),
    [
        (np.uint16([[0, 65535]]), 65535, (0, 65535)),
        (np.uint16([[0, 4096]]), 65535, (0, 65535)),
        (np.uint16([[0, 4000]]), 65535, None),
        (np.uint16([[0, 0]]), 65535, (0, 65535)),
        (np.uint16([[0, 3000]]), 4095, (0, 4095)),
        (np.uint32([[0, 2**31]]), 2**32 - 1, (0, 2**32 - 1)),
        (np.int32([[0, 200]]), None, (0, 255)),
        (np.int32([[0, 300]]), None, None),
        (np.int16([[-1, 200]]), None, None),
        (np.float32([[0, 0.5]]), None, (0, 1)),
        (np.float32([[0, 1.5]]), None, (0, 255)),
        (np.float32([[0, 300]]), None, None),
        (np.float32([[NAN, NAN]]), None, (0, 1)),
    ],
)
def test_an_images_own_range_is_that_of_its_kind_if_it_is_filled(values, white, expected):
    image = DeepImage(values, white)
    if expected is not None:
        assert image.own_range() == expected
        return
    with pytest.raises(OrdinateError, match=r"image: got values from .*, expected 8 bits, as in training"):
        image.own_range()


def test_values_beyond_the_range_are_its_ends_and_no_data_is_black():
    values = np.float32([[NAN, 0, 100], [np.inf, 150, -np.inf]])
    missing = np.array([[False, False, False], [False, True, False]])
    shown = DeepImage(values, missing=missing).scaled(50, 100)
    assert np.asarray(shown).tolist() == [[0, 0, 255], [255, 0, 0]]


def test_opacity_darkens():
    values = np.full((2, 2, 3), 1000, dtype=np.uint16)
    opacity = np.float32([[0, 0.5], [1, 0.2]])
    shown = np.asarray(DeepImage(values, 65535, opacity).scaled(0, 1000))
    assert shown[..., 0].tolist() == [[0, 128], [255, 51]]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_are_turned_as_pillow_turns_them(orientation):
    values = np.arange(12, dtype=np.uint8).reshape(3, 4)
    picture = Image.fromarray(values)
    picture.getexif()[274] = orientation
    expected = np.asarray(ImageOps.exif_transpose(picture))
    image = DeepImage(values, opacity=values.astype(np.float32), missing=values > 5).turned(orientation)
    np.testing.assert_array_equal(image.values, expected)
    np.testing.assert_array_equal(image.opacity, expected)
    np.testing.assert_array_equal(image.missing, expected > 5)
    assert (image.height, image.width) == expected.shape


@pytest.mark.parametrize(
    ("colours", "expected"),
    [
        ([[[100, 100, 100], [4000, 4000, 4000]]], True),
        ([[[100, 120, 100], [4000, 4000, 4000]]], True),  # 20 of 3,900 are half a percent.
        ([[[100, 200, 100], [4000, 4000, 4000]]], False),
        ([[[7, 7, 7]]], True),
    ],
)
def test_channels_that_hardly_differ_are_grey(colours, expected):
    assert DeepImage(np.uint16(colours)).is_grey(3 / 255) is expected
