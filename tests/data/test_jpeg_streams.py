"""Compressed images of every family and depth are decoded as the encoder got them."""

import io

import imagecodecs
import numpy as np
import pytest
from PIL import Image

from ordinate.data.jpeg_streams import StreamHeader, decode_stream
from tests.data import lossless_jpeg

RANDOM = np.random.default_rng(0)


def draw(bits, channels=1, shape=(7, 9)):
    pixels = RANDOM.integers(0, 2**bits, (*shape, channels)).astype(np.uint8 if bits <= 8 else np.uint16)
    return pixels[..., 0] if channels == 1 else pixels


def decoded(stream):
    return decode_stream(stream, StreamHeader.of(stream), imagecodecs)


@pytest.mark.parametrize("predictor", lossless_jpeg.PREDICTORS)
@pytest.mark.parametrize(("bits", "channels"), [(2, 1), (8, 1), (10, 1), (12, 1), (16, 1), (8, 3), (16, 3)])
def test_lossless_jpeg_is_decoded_exactly(bits, channels, predictor):
    pixels = draw(bits, channels)
    found = decoded(lossless_jpeg.encode(pixels, bits, predictor))
    np.testing.assert_array_equal(found, pixels)
    assert found.dtype == pixels.dtype


ENCODERS = {
    "JPEG": lambda pixels, bits: imagecodecs.jpeg8_encode(pixels, 100, bitspersample=bits),
    "JPEG-LS": lambda pixels, bits: imagecodecs.jpegls_encode(pixels),
    "JPEG 2000": lambda pixels, bits: imagecodecs.jpeg2k_encode(pixels, level=0, codecformat="J2K", bitspersample=bits),
    "JPEG 2000 in a JP2 file": lambda pixels, bits: imagecodecs.jpeg2k_encode(pixels, level=0, codecformat="JP2"),
}


@pytest.mark.parametrize("family", [family for family in ENCODERS if family != "JPEG"])
@pytest.mark.parametrize(("bits", "channels"), [(8, 1), (8, 3), (12, 1), (16, 1)])
def test_lossless_streams_are_decoded_exactly(family, bits, channels):
    pixels = draw(bits, channels)
    np.testing.assert_array_equal(decoded(bytes(ENCODERS[family](pixels, bits))), pixels)


@pytest.mark.parametrize("channels", [1, 3])
def test_high_throughput_jpeg_2000_is_decoded_exactly(channels):
    pixels = draw(16, channels, shape=(64, 48))
    np.testing.assert_array_equal(decoded(bytes(imagecodecs.htj2k_encode(pixels, level=0))), pixels)


@pytest.mark.parametrize("family", ENCODERS)
@pytest.mark.parametrize(("bits", "channels"), [(8, 1), (8, 3), (12, 1)])
def test_the_header_is_that_of_the_image(family, bits, channels):
    stream = bytes(ENCODERS[family](draw(bits, channels), bits))
    header = StreamHeader.of(b"\0\0" + stream if family.startswith("JPEG 2000") else stream)
    expected = 16 if (bits == 12 and family in ("JPEG-LS", "JPEG 2000 in a JP2 file")) else bits
    assert header.family == family.removesuffix(" in a JP2 file")
    assert (header.height, header.width, header.channels, header.precision) == (7, 9, channels, expected)


@pytest.mark.parametrize(
    "stream", [b"", b"grade,path", b"\xff\xd8", b"\xff\xd8\xff\xe0\0\x10JFIF", b"\xff\x4f\xff\x51\0"]
)
def test_what_has_no_header_is_an_error(stream):
    with pytest.raises(ValueError, match=r"no JPEG, JPEG-LS or JPEG 2000 image|ends in its header"):
        StreamHeader.of(stream)


@pytest.mark.parametrize("family", ENCODERS)
def test_a_stream_that_ends_early_is_an_error(family):
    pixels = draw(8, shape=(64, 64))
    stream = bytes(ENCODERS[family](pixels, 8))
    with pytest.raises(ValueError, match="ends early"):
        decoded(stream[: len(stream) * 2 // 3])


def test_bytes_between_the_segments_of_a_jpeg_are_skipped():
    stream = lossless_jpeg.encode(draw(8), 8)
    assert StreamHeader.of(stream[:2] + b"\xff\xff\0\x12" + stream[2:]) == StreamHeader.of(stream)


ADOBE = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00"


def without_jfif(stream):
    return stream[:2] + stream[stream.index(b"\xff\xdb") :]


def of_pillow(subsampling="4:4:4"):
    written = io.BytesIO()
    Image.fromarray(draw(8, 3)).save(written, "JPEG", subsampling=subsampling)
    return written.getvalue()


@pytest.mark.parametrize(
    ("stream", "colours"),
    [
        (of_pillow(), "YBR_FULL"),
        (without_jfif(of_pillow()), ""),
        (without_jfif(of_pillow("4:2:0")), "YBR_FULL"),
        (without_jfif(of_pillow("4:2:2")), "YBR_FULL"),
        (b"\xff\xd8" + ADOBE + b"\x01" + without_jfif(of_pillow())[2:], "YBR_FULL"),
        (b"\xff\xd8" + ADOBE + b"\x00" + without_jfif(of_pillow())[2:], "RGB"),
        (bytes(imagecodecs.jpeg8_encode(draw(8, 3), colorspace="RGB", outcolorspace="RGB")), "RGB"),
        (lossless_jpeg.encode(draw(8, 3), 8), ""),
        (b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(10) + lossless_jpeg.encode(draw(8, 3), 8)[2:], ""),
    ],
)
def test_markers_or_the_resolution_of_channels_say_the_colours_of_a_jpeg(stream, colours):
    assert StreamHeader.of(stream).colours == colours


def test_colours_stay_as_they_are_stored():
    pixels = np.full((16, 16, 3), (200, 90, 30), dtype=np.uint8)
    stored = decoded(bytes(imagecodecs.jpeg8_encode(pixels, 100)))  # The encoder stores YCbCr.
    red, green, blue = 200, 90, 30
    luminance = 0.299 * red + 0.587 * green + 0.114 * blue
    expected = [luminance, 128 + (blue - luminance) / 1.772, 128 + (red - luminance) / 1.402]
    np.testing.assert_allclose(stored[3, 3], expected, atol=1.5)
