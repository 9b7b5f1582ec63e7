"""The image in the bytes of a file: which reader reads it."""

import logging
from typing import TYPE_CHECKING

import numpy as np

from ordinate.counts import counted
from ordinate.data.dicom import is_dicom
from ordinate.data.file_kinds import AS_PNG, PULL, kind_of
from ordinate.data.images.deep import DeepImage
from ordinate.data.images.dicom import open_dicom
from ordinate.data.images.pillow import check_pixels, header_of, turned
from ordinate.data.images.portable_maps import is_deep_map, open_deep_map
from ordinate.data.images.tiff import is_tiff, open_tiff
from ordinate.data.jpeg_streams import StreamHeader, decode_stream
from ordinate.errors import OrdinateError
from ordinate.optional import optional

if TYPE_CHECKING:
    from PIL.Image import Image

PNG = b"\x89PNG\r\n\x1a\n"
EXIF_OF_PNG = b"eXIf"
JPEG = b"\xff\xd8"
PLACE_OF_PNG_DEPTH = 24
ORIENTATION = 274  # This is a number of EXIF.

for library in ("imagecodecs", "tifffile"):  # Their notes on files would be printed; what matters is an error.
    logging.getLogger(library).addHandler(logging.NullHandler())


def open_image(content: bytes, name: str, max_pixels: int) -> "Image | DeepImage":
    """Return the decoded image in the bytes of a file, turned as its EXIF tag says.

    Images whose values fit in 8 bits are Pillow's.

    Args:
        content: Bytes of the file.
        name: Name of the file, for messages.
        max_pixels: Largest number of pixels; an image of more is an error and not decoded.

    Raises:
        OrdinateError: The file is empty or no image, has too many pixels or several images, or is of a kind that
            cannot be read; the readers raise errors of their own for damage.
    """
    image = optional("PIL.Image", "images", "images")
    if is_dicom(content):
        return open_dicom(content, name, max_pixels)
    if is_tiff(content):
        return open_tiff(content, name, max_pixels)
    if is_deep_map(content):
        return open_deep_map(content, name, max_pixels)
    try:
        opened = header_of(content, name, max_pixels)
    except image.UnidentifiedImageError as error:
        if not content:
            raise OrdinateError(name, problem="is empty", expected="an image") from error
        if content.startswith(JPEG):
            return _deep_jpeg(content, name, max_pixels)
        kind = kind_of(content)
        if kind is not None:
            hint = kind.hint if kind.hint in (AS_PNG, PULL) else None
            raise OrdinateError(name, problem=f"is {kind.name}, which cannot be read", hint=hint) from error
        raise OrdinateError(name, problem="is no image that can be read") from error
    if content.startswith(PNG) and content[PLACE_OF_PNG_DEPTH] == 16:
        return _deep_png(content, name, opened)
    picture = turned(opened)
    return DeepImage.of(picture) or picture


def _deep_png(content: bytes, name: str, opened: "Image") -> DeepImage:
    """Return a PNG of 16 bits, of which Pillow keeps 8 where it has colours or opacity."""
    codecs = optional("imagecodecs", "images", f"{name} (PNG of 16 bits)")
    values = codecs.png_decode(content)
    values = values.reshape(opened.height, opened.width, -1)
    opacity = None
    if values.shape[2] in (2, 4):
        opacity = values[..., -1] / np.float32(2**16 - 1)
    colours = values[..., 0] if values.shape[2] < 3 else values[..., :3]
    # Pillow decodes a file without the tag to look for it at its end.
    orientation = opened.getexif().get(ORIENTATION, 1) if EXIF_OF_PNG in content else 1
    return DeepImage(colours, 2**16 - 1, opacity).turned(orientation)


def _deep_jpeg(content: bytes, name: str, max_pixels: int) -> "Image | DeepImage":
    """Return a JPEG of more than 8 bits or of a lossless process, which Pillow does not know."""
    header = StreamHeader.of(content)
    check_pixels(header.width, header.height, name, max_pixels)
    if header.channels not in (1, 3):
        raise OrdinateError(name, counted(header.channels, "channel"), "grey or RGB")
    codecs = optional("imagecodecs", "images", f"{name} (JPEG of {header.precision} bits)")
    values = decode_stream(content, header, codecs) if header.is_lossless else codecs.jpeg8_decode(content)
    image = DeepImage(values, 2**header.precision - 1)
    return image if header.precision > 8 else image.scaled(0, 255)
