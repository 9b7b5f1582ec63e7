"""PNG and JPEG of more than 8 bits keep their values; what cannot be read is named."""

import sys

import imagecodecs
import numpy as np
import pytest
from PIL import Image

from ordinate.data.images.deep import DeepImage
from ordinate.data.images.formats import open_image
from ordinate.data.images.pillow import MAX_PIXELS
from ordinate.errors import OrdinateError
from tests.data import lossless_jpeg
from tests.data.images import png_16

RANDOM = np.random.default_rng(0)
ORIENTATION = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0%c\0\0\0\0\0\0\0"


def opened(content):
    return open_image(bytes(content), "a", MAX_PIXELS)


def draw(channels, top=2**16):
    pixels = RANDOM.integers(0, top, (13, 17, channels)).astype(np.uint16)
    return pixels[..., 0] if channels == 1 else pixels


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_of_16_bits_keeps_values_and_opacity(channels, interlaced):
    pixels = draw(channels)
    image = opened(png_16.encode(pixels, interlaced=interlaced))
    colours = {1: pixels, 2: pixels[..., 0], 3: pixels, 4: pixels[..., :3]}[channels]
    np.testing.assert_array_equal(image.values, colours)
    if channels in (2, 4):
        np.testing.assert_allclose(image.opacity, pixels[..., -1] / 65535, atol=1e-6)
    else:
        assert image.opacity is None


@pytest.mark.parametrize("channels", [1, 3])
def test_the_colour_that_a_png_calls_transparent_is_black(channels):
    pixels = draw(channels, top=5) * 10_000 + 5_000
    colour = np.full(channels, 25_000, dtype=">u2")
    image = opened(png_16.encode(pixels, before=[(b"tRNS", colour.tobytes())]))
    is_colour = (np.atleast_3d(pixels) == 25_000).all(axis=-1)
    shown = np.atleast_3d(np.asarray(image.scaled(0, 65535)))
    assert is_colour.any()
    assert not shown[is_colour].any()
    assert shown[~is_colour].all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_png_of_16_bits_is_turned_as_it_says(orientation):
    pixels = draw(3)
    plain = Image.fromarray((pixels >> 8).astype(np.uint8))
    exif = ORIENTATION % orientation
    deep = opened(png_16.encode(pixels, before=[(b"eXIf", exif)]))
    content = imagecodecs.png_encode(np.asarray(plain))
    turned = opened(content[:33] + png_16.chunk(b"eXIf", exif) + content[33:])
    np.testing.assert_array_equal(deep.values >> 8, np.asarray(turned))


def test_a_changed_byte_of_a_png_is_damage():
    content = png_16.encode(draw(3))
    for place in range(len(content) // 2, len(content) - 12, 40):
        changed = content[:place] + bytes([content[place] ^ 8]) + content[place + 1 :]
        with pytest.raises(RuntimeError):  # The error of imagecodecs is one.
            opened(changed)


@pytest.mark.parametrize("bits", [8, 12, 16])
@pytest.mark.parametrize("channels", [1, 3])
def test_lossless_jpeg_keeps_every_bit(bits, channels):
    pixels = draw(channels, top=2**bits)
    image = opened(lossless_jpeg.encode(pixels, bits))
    if bits == 8:
        np.testing.assert_array_equal(np.asarray(image), pixels)
    else:
        np.testing.assert_array_equal(image.values, pixels)
        assert image.white == 2**bits - 1


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_of_12_bits_keeps_them(channels):
    smooth = np.linspace(100, 3900, 64 * 64 * channels).reshape(64, 64, channels).astype(np.uint16)
    pixels = smooth[..., 0] if channels == 1 else np.sort(smooth, axis=-1)
    image = opened(imagecodecs.jpeg8_encode(pixels, 98, bitspersample=12))
    assert isinstance(image, DeepImage)
    assert np.abs(image.values.astype(int) - pixels).max() < 60


def test_jpeg_of_other_channels_is_named():
    stream = lossless_jpeg.encode(draw(2, top=4096), 12)
    with pytest.raises(OrdinateError, match="a: got 2 channels, expected grey or RGB"):
        opened(stream)


@pytest.mark.parametrize(
    ("content", "kind"),
    [(png_16.encode(draw(3)), "PNG of 16 bits"), (lossless_jpeg.encode(draw(1), 16), "JPEG of 16 bits")],
)
def test_without_its_decoder_the_message_names_file_kind_and_package(monkeypatch, content, kind):
    monkeypatch.setitem(sys.modules, "imagecodecs", None)
    with pytest.raises(
        OrdinateError, match=rf'^a \({kind}\): requires imagecodecs .*: pip install "ordinate\[images\]"$'
    ):
        opened(content)


@pytest.mark.parametrize(
    ("content", "kind", "hint"),
    [
        (
            imagecodecs.jpegxl_encode(draw(3)),
            "an image in JPEG XL",
            "convert it to PNG, or to TIFF with LZW compression",
        ),
        (b"\xff\x0a" + bytes(20), "an image in JPEG XL", "convert it to PNG"),
        (imagecodecs.jpeg2k_encode(draw(1)), "an image in JPEG 2000", "convert it to PNG"),
        (imagecodecs.avif_encode((draw(3) >> 8).astype(np.uint8)), "an image in AVIF", "convert it to PNG"),
        (b"<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG", "convert it to PNG"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS", "git lfs pull fetches the file"),
    ],
)
def test_images_of_other_formats_are_named_with_the_way_out(content, kind, hint):
    with pytest.raises(OrdinateError, match=f"^a: is {kind}, which cannot be read; {hint}"):
        opened(content)


@pytest.mark.parametrize("content", [png_16.encode(draw(3)), lossless_jpeg.encode(draw(1), 16)])
def test_an_image_of_too_many_pixels_is_not_decoded(content):
    with pytest.raises(OrdinateError, match="a: got 17 x 13 pixels, expected at most 100; max_pixels=N allows N"):
        open_image(content, "a", 100)
