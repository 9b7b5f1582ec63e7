"""TIFF files of every depth keep their values, their order and their polarity; several pages are refused."""

import io
import itertools
import struct

import numpy as np
import pytest
import tifffile
from PIL import Image

from ordinate.data.images.deep import DeepImage
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pixels import ImagePreprocessing, choose_preprocessing
from ordinate.errors import OrdinateError

RANDOM = np.random.default_rng(0)
DEPTHS = {
    "uint16": RANDOM.integers(0, 2**16, (21, 34)).astype(np.uint16),
    "uint32": RANDOM.integers(0, 2**32, (21, 34)).astype(np.uint32),
    "int8": RANDOM.integers(-(2**7), 2**7, (21, 34)).astype(np.int8),
    "int16": RANDOM.integers(-(2**15), 2**15, (21, 34)).astype(np.int16),
    "int32": RANDOM.integers(-(2**31), 2**31, (21, 34)).astype(np.int32),
    "float16": RANDOM.normal(size=(21, 34)).astype(np.float16),
    "float32": RANDOM.normal(size=(21, 34)).astype(np.float32),
    "float64": 1e9 + RANDOM.normal(size=(21, 34)),
}
GREY = DEPTHS["uint16"]
COLOUR = RANDOM.integers(0, 2**12, (21, 34, 3)).astype(np.uint16)


def write(path, values, **options):
    tifffile.imwrite(path, values, **{"photometric": "rgb" if values.ndim == 3 else "minisblack"} | options)
    return path


def opened(path):
    return ImageFiles([path]).open(0)


def eight_bits(path):
    """Return what the encoder sees of an image whose own range becomes 0 to 255."""
    files = ImageFiles([path])
    return choose_preprocessing(files).read(files, 0)[0]


@pytest.mark.parametrize("compression", [None, "lzw", "zlib", "packbits", "zstd", "lzma"])
@pytest.mark.parametrize("depth", DEPTHS)
def test_values_of_every_depth_and_compression_are_those_that_were_written(tmp_path, depth, compression):
    values = DEPTHS[depth]
    image = opened(write(tmp_path / "a.tif", values, compression=compression))
    assert isinstance(image, DeepImage)
    np.testing.assert_array_equal(image.values, values)


@pytest.mark.parametrize(
    "options",
    [
        {"bigtiff": True},
        {"byteorder": ">"},
        {"tile": (16, 16)},
        {"tile": (32, 48), "compression": "zlib", "predictor": True},
        {"rowsperstrip": 4, "compression": "lzw", "predictor": True},
        {"planarconfig": "separate"},
        {"planarconfig": "separate", "tile": (16, 16), "compression": "zlib"},
        {"compression": "jpeg2000", "compressionargs": {"level": 0}},
    ],
    ids=str,
)
def test_every_layout_gives_the_same_colours(tmp_path, options):
    values = COLOUR
    if options.get("planarconfig"):
        values = np.ascontiguousarray(np.moveaxis(COLOUR, -1, 0))
    np.testing.assert_array_equal(opened(write(tmp_path / "a.tif", values, **options)).values, COLOUR)


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_order_of_values_is_that_of_what_the_encoder_sees(tmp_path, depth):
    values = DEPTHS[depth]
    shown = eight_bits(write(tmp_path / "a.tif", values)).astype(int)
    order = np.argsort(values, axis=None)
    assert (np.diff(shown.ravel()[order]) >= 0).all()
    assert (shown.min(), shown.max()) == (0, 255)


@pytest.mark.parametrize("depth", [*DEPTHS, "uint8", "bool"])
def test_zero_is_white_where_the_file_says_so(tmp_path, depth):
    values = DEPTHS.get(depth, (GREY > 30_000).astype(depth) if depth == "bool" else (GREY >> 8).astype(np.uint8))
    shown = eight_bits(write(tmp_path / "a.tif", values, photometric="miniswhite"))
    plain = eight_bits(write(tmp_path / "b.tif", values))
    assert np.abs(255.0 - shown - plain).max() <= 1


@pytest.mark.parametrize("bits", [10, 12, 14])
def test_values_may_be_packed_in_fewer_bits(tmp_path, bits):
    values = GREY >> (16 - bits)
    for photometric in ("minisblack", "miniswhite"):
        image = opened(write(tmp_path / "a.tif", values, bitspersample=bits, photometric=photometric))
        white = 2**bits - 1
        np.testing.assert_array_equal(image.values, white - values if photometric == "miniswhite" else values)
        assert image.own_range() == (0, white)


@pytest.mark.parametrize(
    ("dtype", "no_data"), [("<f4", "-9999"), ("<f4", "-3.4028234663852886e+38"), ("<i2", "-32768")]
)
def test_no_data_is_black_and_does_not_widen_the_range(tmp_path, dtype, no_data):
    values = np.linspace(100, 200, 64).reshape(8, 8).astype(dtype)
    values[2, 3] = float(no_data)
    image = opened(write(tmp_path / "a.tif", values, extratags=[(42113, "s", 0, no_data, False)]))
    assert image.extremes() == (100, 200)
    shown = eight_bits(tmp_path / "a.tif")
    assert shown[2, 3] == 0
    assert shown[0, 1] > 0


@pytest.mark.parametrize("photometric", ["minisblack", "miniswhite"])
def test_no_data_of_8_bits_is_black_too(tmp_path, photometric):
    values = np.full((4, 4), 70, dtype=np.uint8)
    values[1, 2] = 255
    tag = [(42113, "s", 0, "255", False)]
    shown = np.asarray(opened(write(tmp_path / "a.tif", values, photometric=photometric, extratags=tag)))
    assert shown[1, 2] == 0
    assert (shown[values == 70] == (185 if photometric == "miniswhite" else 70)).all()


def test_nan_is_no_data(tmp_path):
    values = np.array([[1, np.nan], [3, 2]], dtype=np.float32)
    assert eight_bits(write(tmp_path / "a.tif", values)).tolist() == [[0, 0], [255, 128]]


@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_transparent_is_black(tmp_path, channels):
    alpha = np.linspace(0, 65535, 21 * 34).reshape(21, 34, 1).astype(np.uint16)
    values = np.concatenate([np.full((21, 34, channels), 60000, dtype=np.uint16), alpha], axis=-1)
    photometric = "rgb" if channels == 3 else "minisblack"
    path = write(tmp_path / "a.tif", values, photometric=photometric, extrasamples=["unassalpha"])
    shown = np.asarray(opened(path).scaled(0, 65535)).reshape(21, 34, channels)
    expected = 255 * 60000 / 65535 * alpha / 65535
    assert np.abs(shown - expected).max() <= 0.51
    premultiplied = write(tmp_path / "b.tif", values, photometric=photometric, extrasamples=["assocalpha"])
    assert (np.asarray(opened(premultiplied).scaled(0, 65535)) == round(255 * 60000 / 65535)).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_deep_images_are_turned_as_those_of_8_bits_are(tmp_path, orientation):
    tag = [(274, "H", 1, orientation, True)]
    deep = opened(write(tmp_path / "a.tif", COLOUR, extratags=tag)).values
    plain = np.asarray(opened(write(tmp_path / "b.tif", (COLOUR >> 4).astype(np.uint8), extratags=tag)))
    np.testing.assert_array_equal(deep >> 4, plain)


def test_inks_become_light(tmp_path):
    inks = RANDOM.integers(0, 2**16, (4, 5, 4)).astype(np.uint16)
    found = opened(write(tmp_path / "a.tif", inks, photometric="separated")).values / 65535
    light = 1 - inks / 65535
    np.testing.assert_allclose(found, light[..., :3] * light[..., 3:], atol=1e-5)


def test_a_palette_of_16_bits_gives_its_colours(tmp_path):
    table = RANDOM.integers(0, 2**16, (3, 2**16)).astype(np.uint16)
    path = write(tmp_path / "a.tif", GREY, photometric="palette", colormap=table)
    np.testing.assert_array_equal(opened(path).values, np.moveaxis(table[:, GREY], 0, -1))


EIGHT = (COLOUR >> 4).astype(np.uint8)


@pytest.mark.parametrize(
    "options",
    [{}, *({"compression": name} for name in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"))],
    ids=str,
)
@pytest.mark.parametrize("mode", ["RGB", "L", "P", "1", "CMYK", "RGBA"])
def test_images_of_8_bits_are_those_that_pillow_reads(tmp_path, mode, options):
    if "jpeg" in options.values() and mode in ("P", "1", "RGBA"):
        options = {"compression": "group4"} if mode == "1" else {}
    Image.fromarray(EIGHT).convert(mode).save(tmp_path / "a.tif", **options)
    found = opened(tmp_path / "a.tif")
    with Image.open(tmp_path / "a.tif") as expected:
        assert found.mode == expected.mode
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("pages", [2, 5])
def test_several_pages_are_refused_as_frames_are(tmp_path, dtype, pages):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((pages, 8, 8), dtype=dtype), photometric="minisblack")
    expected = rf"a\.tif: got {pages} pages, expected one image per file; save every page as a file of its own"
    with pytest.raises(OrdinateError, match=expected):
        opened(tmp_path / "a.tif")


def test_a_stack_of_imagej_in_one_page_is_several(tmp_path):
    description = "ImageJ=1.53t\nimages=7\nslices=7\n"
    write(tmp_path / "a.tif", GREY, description=description, metadata=None)
    with pytest.raises(OrdinateError, match="got 7 pages"):
        opened(tmp_path / "a.tif")


def write_pages(path, pages):
    with tifffile.TiffWriter(path) as file:
        for values, options in pages:
            kind = {"photometric": "rgb" if values.ndim == 3 else "minisblack"}
            file.write(values, metadata=None, **kind | options)
    return path


LARGE = np.kron(COLOUR, np.ones((4, 4, 1), dtype=np.uint16))
REDUCED, MASK = {"subfiletype": 1}, {"subfiletype": 4, "photometric": "mask"}


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize(
    "further",
    [
        [(COLOUR, REDUCED)],
        [(COLOUR[:5, :5], REDUCED)],
        [(LARGE[..., 0] > 2000, MASK)],
        [(LARGE[::2, ::2], {"tile": (16, 16)}), (COLOUR, {"rowsperstrip": 5}), (COLOUR[:9, :9], {"subfiletype": 9})],
    ],
    ids=["a smaller copy", "a label", "a mask", "a slide with levels, an overview and its label"],
)
def test_smaller_copies_and_masks_are_no_pages(tmp_path, further, depth):
    pages = [(LARGE, {"tile": (16, 16)}), *further]
    if depth == 8:
        pages = [
            ((values >> 4).astype(np.uint8) if values.dtype == np.uint16 else values, options)
            for values, options in pages
        ]
    found = opened(write_pages(tmp_path / "a.tif", pages))
    values = found.values if depth == 16 else np.asarray(found)
    np.testing.assert_array_equal(values, pages[0][0])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_the_image_may_follow_its_smaller_copy(tmp_path, dtype):
    small, large = (values.astype(dtype) for values in (COLOUR, LARGE))
    found = opened(write_pages(tmp_path / "a.tif", [(small, REDUCED), (large, {})]))
    np.testing.assert_array_equal(found.values if dtype == np.uint16 else np.asarray(found), large)


def test_levels_in_sub_pages_do_not_count(tmp_path):
    with tifffile.TiffWriter(tmp_path / "a.ome.tif", ome=True) as file:
        file.write(LARGE, subifds=2, tile=(16, 16), photometric="rgb")
        file.write(LARGE[::2, ::2], subfiletype=1, tile=(16, 16), photometric="rgb")
        file.write(LARGE[::4, ::4], subfiletype=1, tile=(16, 16), photometric="rgb")
    np.testing.assert_array_equal(opened(tmp_path / "a.ome.tif").values, LARGE)


@pytest.mark.parametrize(
    ("options", "values", "message"),
    [
        ({"photometric": "cielab"}, COLOUR, "got colours as CIELAB, expected grey or RGB; save it as grey or RGB"),
        (
            {"compression": "lerc"},
            GREY,
            "is compressed as LERC, which cannot be read; save it as PNG, or as TIFF with LZW",
        ),
        ({"compression": "webp"}, EIGHT, "is compressed as WEBP, which cannot be read"),
        ({}, GREY.astype(np.complex64), "got values as complex64, expected whole numbers or floats"),
        ({"photometric": "minisblack", "planarconfig": "contig"}, COLOUR[..., :2], "got 2 channels, expected grey"),
        ({"photometric": "minisblack", "planarconfig": "contig"}, EIGHT[..., :2], "got 2 channels, expected grey"),
        ({"photometric": "minisblack", "planarconfig": "contig"}, COLOUR, "got 3 channels, expected grey"),
    ],
    ids=str,
)
def test_other_kinds_are_named(tmp_path, options, values, message):
    path = write(tmp_path / "a.tif", values, **options)
    with pytest.raises(OrdinateError, match=rf"a\.tif: {message}"):
        opened(path)


def test_an_image_of_too_many_pixels_is_not_decoded(tmp_path):
    path = write(tmp_path / "a.tif", GREY)
    with pytest.raises(OrdinateError, match=r"a\.tif: got 34 x 21 pixels, expected at most 100; max_pixels=N allows N"):
        ImageFiles([path]).open(0, 100)


def entry(content, tag, form, value):
    """Return the bytes of a TIFF with another value of a tag."""
    start = struct.unpack_from("<I", content, 4)[0]
    for number in range(struct.unpack_from("<H", content, start)[0]):
        place = start + 2 + 12 * number
        if struct.unpack_from("<H", content, place)[0] == tag:
            changed = bytearray(content)
            struct.pack_into(form, changed, place + 8, value)
            return bytes(changed)
    raise AssertionError(tag)


WIDTH, STRIP_COUNTS, ROWS_PER_STRIP, TILE_WIDTH = 256, 279, 278, 322


@pytest.mark.parametrize(
    ("options", "tag", "value"),
    [
        ({}, WIDTH, 60_000),
        ({"compression": "zlib"}, WIDTH, 60_000),
        ({"compression": "zlib"}, STRIP_COUNTS, 0),
        ({"compression": "lzw"}, STRIP_COUNTS, 9),
        ({"compression": "zlib"}, ROWS_PER_STRIP, 5),
        ({"tile": (16, 48), "compression": "zlib"}, TILE_WIDTH, 2**30),
        ({"compression": "jpeg2000"}, WIDTH, 3),
    ],
    ids=str,
)
def test_sizes_that_do_not_fit_the_data_are_damage(tmp_path, options, tag, value):
    written = io.BytesIO()
    tifffile.imwrite(written, GREY, photometric="minisblack", metadata=None, **options)
    (tmp_path / "a.tif").write_bytes(entry(written.getvalue(), tag, "<I", value))
    with pytest.raises(OrdinateError, match=r"a\.tif: is damaged or truncated: "):
        opened(tmp_path / "a.tif")


@pytest.mark.parametrize("compression", [None, "lzw", "zlib", "packbits", "jpeg2000"])
def test_a_truncated_file_is_damaged(tmp_path, compression):
    written = io.BytesIO()
    tifffile.imwrite(written, np.tile(GREY, (4, 4)), photometric="minisblack", metadata=None, compression=compression)
    content = written.getvalue()
    (tmp_path / "a.tif").write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(OrdinateError, match=r"a\.tif: is damaged or truncated: "):
        opened(tmp_path / "a.tif")


def test_twelve_bits_of_colour_in_sixteen_are_not_black(tmp_path):
    paths = [write(tmp_path / f"{number}.tif", COLOUR // 3**number) for number in range(3)]
    files = ImageFiles(paths)
    chosen = choose_preprocessing(files)
    assert chosen == ImagePreprocessing((21, 34), 3, intensity=(COLOUR.min() // 9, COLOUR.max()))
    shown = [chosen.read(files, number) for number in range(3)]
    for number, dark in itertools.product(range(3), range(3)):
        assert (shown[number].mean() > shown[dark].mean()) == (number < dark)
    low, high = chosen.intensity
    expected = (255 * (COLOUR - low) / (high - low)).round()
    assert np.abs(shown[0] - np.moveaxis(expected, -1, 0)).max() <= 1
