"""Portable maps of more than 8 bits keep their values."""

import io

import numpy as np
import pytest
from PIL import Image

from ordinate.data.images.formats import open_image
from ordinate.data.images.pillow import MAX_PIXELS
from ordinate.errors import OrdinateError

RANDOM = np.random.default_rng(0)


def opened(content, max_pixels=MAX_PIXELS):
    return open_image(content, "a", max_pixels)


def encode(kind, values, most, comment=""):
    head = f"{kind}\n{comment}{values.shape[1]} {values.shape[0]}\n{most}\n".encode()
    if kind in ("P2", "P3"):
        return head + " ".join(map(str, values.ravel())).encode()
    return head + values.astype(">u2").tobytes()


@pytest.mark.parametrize("most", [256, 4095, 65535])
@pytest.mark.parametrize("kind", ["P2", "P3", "P5", "P6"])
def test_the_largest_value_is_white(kind, most):
    shape = (5, 7, 3) if kind in ("P3", "P6") else (5, 7)
    values = RANDOM.integers(0, most + 1, shape)
    image = opened(encode(kind, values, most, comment="# a comment\n#\n"))
    np.testing.assert_allclose(image.values, values / most * 65535, rtol=1e-6)
    assert image.own_range() == (0, 65535)


def test_grey_is_that_of_pillow():
    values = RANDOM.integers(0, 4096, (5, 7))
    content = encode("P5", values, 4095)
    with Image.open(io.BytesIO(content)) as expected:
        np.testing.assert_allclose(opened(content).values, np.asarray(expected), atol=0.51)


@pytest.mark.parametrize("most", [1, 100, 255])
def test_maps_of_8_bits_stay_pictures_of_pillow(most):
    values = RANDOM.integers(0, most + 1, (5, 7, 3)).astype(np.uint8)
    content = f"P6 7 5 {most}\n".encode() + values.tobytes()
    with Image.open(io.BytesIO(content)) as expected:
        np.testing.assert_array_equal(np.asarray(opened(content)), np.asarray(expected))


@pytest.mark.parametrize(
    "content",
    [
        b"P6 7 5 4095\n" + bytes(10),
        b"P3 7 5 4095\n1 2 3",
        b"P5 7 5 4095\n" + b"\xff" * 70,
        b"P5 7 5 70000\n" + bytes(70),
        b"P2 1 1 4095\nx",
    ],
)
def test_what_does_not_fit_its_header_is_damage(content):
    with pytest.raises(ValueError, match=r"buffer|reshape|above the largest|could not convert"):
        opened(content)


def test_an_image_of_too_many_pixels_is_not_decoded():
    with pytest.raises(OrdinateError, match="a: got 60000 x 60000 pixels, expected at most"):
        opened(b"P6 60000 60000 4095\n")
