"""Images of 8 bits, decoded by Pillow."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ordinate.errors import OrdinateError
from ordinate.optional import optional

if TYPE_CHECKING:
    from PIL.Image import Image

# No other reader, such as that of PostScript, runs.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
MAX_PIXELS = 178_956_970  # This is Pillow's own limit for an image; in colour, so many pixels take half a GiB.

_limit = threading.Lock()


def header_of(content: bytes, name: str, max_pixels: int) -> "Image":
    """Return an image whose header alone has been read; one of more than ``max_pixels`` is an error."""
    image = optional("PIL.Image", "images", "images")
    with _without_limit(image):
        opened: Image = image.open(io.BytesIO(content), formats=FORMATS)
    check_pixels(opened.width, opened.height, name, max_pixels)
    return opened


def turned(opened: "Image") -> "Image":
    """Return an image with its pixels, turned as its EXIF tag says."""
    opened.load()
    with suppress(Exception):  # A damaged tag does not turn the image.
        optional("PIL.ImageOps", "images", "images").exif_transpose(opened, in_place=True)
    return opened


def check_pixels(width: int, height: int, name: str, max_pixels: int) -> None:
    """Raise an error for an image of more pixels than are allowed."""
    if width * height > max_pixels:
        got = f"{width} x {height} pixels"
        raise OrdinateError(name, got, f"at most {max_pixels}", "max_pixels=N allows N")


@contextmanager
def _without_limit(image: Any) -> Iterator[None]:
    """Let Pillow open images of any size; its own limit is the same for all threads of a program."""
    with _limit:
        before = image.MAX_IMAGE_PIXELS
        image.MAX_IMAGE_PIXELS = None
        try:
            yield
        finally:
            image.MAX_IMAGE_PIXELS = before
