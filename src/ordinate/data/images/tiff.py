"""TIFF files of any depth."""

import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinate.counts import counted
from ordinate.data.images.deep import DeepImage
from ordinate.data.images.pillow import check_pixels, header_of, turned
from ordinate.data.jpeg_streams import StreamHeader
from ordinate.data.memory import require_memory
from ordinate.errors import OrdinateError
from ordinate.optional import optional

if TYPE_CHECKING:
    from PIL.Image import Image

STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
REDUCED_OR_MASK = 0b101  # Bits of NewSubfileType: a smaller copy of another page, and a mask for another page.
ORIENTATION, GDAL_NODATA = 274, 42113  # Numbers of tags.
WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, PALETTE, SEPARATED = 0, 1, 2, 3, 5
COLOURS = {WHITE_IS_ZERO: 1, BLACK_IS_ZERO: 1, PALETTE: 1, RGB: 3, SEPARATED: 4}  # Values per pixel, without opacity.
PREMULTIPLIED, OPACITY = 1, 2  # Kinds of further values per pixel; colours that are premultiplied are over black.
# None, LZW, deflate, PackBits, LZMA and Zstandard yield as many bytes as they are asked for; images have sizes of
# their own, which are compared with those of the page first.
COMPRESSIONS = (1, 5, 8, 32773, 32946, 34925, 50000)
IMAGE_COMPRESSIONS = (7, 33003, 33004, 33005, 34712)
PILLOWS_COMPRESSIONS = (1, 2, 3, 4, 5, 6, 7, 8, 32771, 32773, 32809, 32946)  # The libraries of others may be absent.
LARGEST_TILE = 2**24  # Pixels of a tile that is larger than its image.


def is_tiff(content: bytes) -> bool:
    """Return whether the bytes of a file are TIFF."""
    return content.startswith(STARTS)


def open_tiff(content: bytes, name: str, max_pixels: int) -> "Image | DeepImage":
    """Return the image in a TIFF file, turned as it says; smaller copies of it and masks do not count.

    Args:
        content: Bytes of the file.
        name: Name of the file, for messages.
        max_pixels: Largest number of pixels; an image of more is an error and not decoded.

    Raises:
        OrdinateError: several pages, too many pixels, or a kind that cannot be read; the decoders raise errors of
            their own for damage.
    """
    tifffile = optional("tifffile", "images", f"{name} (TIFF)")
    with tifffile.TiffFile(io.BytesIO(content)) as file:
        page = _only_page(file, name)
        check_pixels(page.imagewidth, page.imagelength, name, max_pixels)
        is_grey = page.photometric in (WHITE_IS_ZERO, BLACK_IS_ZERO)
        if is_grey and page.samplesperpixel > 1 and page.extrasamples[:1] not in ((PREMULTIPLIED,), (OPACITY,)):
            raise OrdinateError(
                name, counted(page.samplesperpixel, "channel"), "grey or RGB", "save every channel as a file"
            )
        if _has_eight_bits(page) and page.compression in PILLOWS_COMPRESSIONS:
            image = _by_pillow(content, page, name, max_pixels)
            if image is not None:
                return image
        return _by_tifffile(content, page, name)


def _only_page(file: Any, name: str) -> Any:
    """Return the page of a file that has one; smaller copies of it and masks do not count."""
    pages = [page for page in file.pages if not page.subfiletype & REDUCED_OR_MASK] or [file.pages[0]]
    first = pages[0]
    others = [page for page in pages[1:] if not (first.is_tiled and _is_smaller(page, first))]
    count = max(1 + len(others), first.imagedepth)
    # ImageJ writes large stacks as one page, whose description has the number of images.
    in_description = re.search(r"\AImageJ=.*^images=(\d+)", first.description, re.DOTALL | re.MULTILINE)
    if in_description is not None:
        count = max(count, int(in_description[1]))
    if count > 1:
        raise OrdinateError(name, counted(count, "page"), "one image per file", "save every page as a file of its own")
    return first


def _is_smaller(page: Any, first: Any) -> bool:
    """Return whether a page has the sides of another in a smaller scale, as the levels of slide scanners have."""
    height = first.imagelength * page.imagewidth / first.imagewidth
    return page.imagewidth < first.imagewidth and abs(page.imagelength - height) <= 1


def _has_eight_bits(page: Any) -> bool:
    """Return whether a page has whole numbers of up to 8 bits, without a sign."""
    bits = np.atleast_1d(page.bitspersample)
    return bool((bits <= 8).all()) and page.sampleformat in (1, 4)


def _by_pillow(content: bytes, page: Any, name: str, max_pixels: int) -> "Image | None":
    """Return a page of 8 bits; None if its kind is not one of Pillow's."""
    image = optional("PIL.Image", "images", "images")
    try:
        opened = header_of(content, name, max_pixels)
        opened.seek(page.index)
    except (image.UnidentifiedImageError, KeyError):
        return None
    check_pixels(opened.width, opened.height, name, max_pixels)
    no_data = _no_data(page)
    upright = turned(opened)
    if no_data is None or upright.mode != "L":
        return upright
    if page.photometric == WHITE_IS_ZERO:
        no_data = 255 - no_data
    pixels = np.array(upright)
    pixels[pixels == no_data] = 0
    return image.fromarray(pixels)


def _no_data(page: Any) -> float | None:
    """Return the number of a page that means that there is no data."""
    tag = page.tags.get(GDAL_NODATA)
    try:
        return float(str(tag.value).strip(" \0"))
    except (AttributeError, ValueError):
        return None


def _by_tifffile(content: bytes, page: Any, name: str) -> "Image | DeepImage":
    """Return a page of any depth; values of up to 8 bits as a picture of Pillow."""
    _check_kind(page, name)
    _check_segments(content, page)
    require_memory(3 * np.prod(page.shaped, dtype=np.float64) * page.dtype.itemsize, name)
    values = page.asarray(squeeze=False, maxworkers=1)  # Its axes are: separate channel, depth, h, w, channel.
    values = np.moveaxis(values[:, 0], 0, 2).reshape(page.imagelength, page.imagewidth, page.samplesperpixel)
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    white = None
    if values.dtype.kind == "u":
        bits = page.bitspersample if isinstance(page.bitspersample, int) else 8 * values.itemsize
        white = 2**bits - 1
    colours, further = np.split(values, [COLOURS[page.photometric]], axis=-1)
    no_data = _no_data(page)
    missing = None if no_data is None else (colours == no_data).all(axis=-1)
    opacity = None
    if OPACITY in page.extrasamples:
        opacity = (further[..., page.extrasamples.index(OPACITY)] / np.float32(white or 1)).clip(0, 1)
    colours, white = _grey_or_rgb(colours, page, white)
    image = DeepImage(colours, white, opacity, missing).turned(page.tags.valueof(ORIENTATION, 1))
    if white is not None and white <= 255:
        return image.scaled(0, white)
    return image


def _check_kind(page: Any, name: str) -> None:
    """Raise an error for a page of a kind that cannot be read."""
    if page.photometric not in COLOURS:
        raise OrdinateError(name, f"colours as {_word(page.photometric)}", "grey or RGB", "save it as grey or RGB")
    if page.compression not in (*COMPRESSIONS, *IMAGE_COMPRESSIONS):
        problem = f"is compressed as {_word(page.compression)}, which cannot be read"
        raise OrdinateError(name, problem=problem, hint="save it as PNG, or as TIFF with LZW compression or none")
    if page.dtype is None or page.dtype.kind not in "buif":
        kind = page.dtype or f"{counted(page.bitspersample, 'bit')} of format {page.sampleformat}"
        raise OrdinateError(name, f"values as {kind}", "whole numbers or floats")


def _check_segments(content: bytes, page: Any) -> None:
    """Raise an error if parts of a page's image are missing, or larger than the page says."""
    segments = list(zip(page.dataoffsets, page.databytecounts, strict=True))
    if len(segments) < np.prod(page.chunked):
        raise ValueError("a part of the image is missing")
    height, width = page.rowsperstrip, page.imagewidth
    if page.is_tiled:
        height, width = page.tilelength, page.tilewidth
    if height * width > max(page.imagelength * page.imagewidth, LARGEST_TILE):
        raise ValueError("a part of the image is larger than the image")
    for offset, length in segments:
        if (offset == 0) != (length == 0) or offset >= len(content):  # Both are 0 where all is no data.
            raise ValueError("a part of the image is missing")
        if page.compression in IMAGE_COMPRESSIONS and length:
            header = StreamHeader.of(content[offset : offset + length])
            if header.height > height or header.width > width:
                raise ValueError("a part of the image is larger than the image")


def _grey_or_rgb(values: np.ndarray, page: Any, white: int | None) -> tuple[np.ndarray, int | None]:
    """Return grey (h, w) or RGB (h, w, 3), more of it where values are higher, and the number that is white."""
    if page.photometric == RGB:
        return values, white
    if page.photometric == SEPARATED:
        top = white or 1
        light = top - values.astype(np.float32)
        return light[..., :3] * light[..., 3:] / top, top
    grey = values[..., 0]
    if page.photometric == PALETTE:
        return np.moveaxis(page.colormap[:, grey], 0, -1), 2**16 - 1
    if page.photometric == BLACK_IS_ZERO:
        return grey, white
    if grey.dtype.kind == "f":
        return -grey, white
    if white is None:
        return ~grey, white
    return grey.dtype.type(white) - grey, white


def _word(value: Any) -> str:
    """Return the name of a number that a tag has."""
    return str(getattr(value, "name", value))
