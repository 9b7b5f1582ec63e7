"""Portable grey and colour maps (PGM, PPM) of more than 8 bits."""

import re

import numpy as np

from ordinate.data.images.deep import DeepImage
from ordinate.data.images.pillow import check_pixels

WHITE = 2**16 - 1
SPACE = rb"(?:\s|#[^\n]*\n)+"  # Comments reach to the end of a line.
HEADER = re.compile(rb"(P[2356])" + 3 * (SPACE + rb"(\d{1,10})") + rb"(?:#[^\n]*)?\s")


def is_deep_map(content: bytes) -> bool:
    """Return whether the bytes of a file are a portable map whose largest value needs more than 8 bits."""
    header = HEADER.match(content)
    return header is not None and int(header[4]) > 255


def open_deep_map(content: bytes, name: str, max_pixels: int) -> DeepImage:
    """Return the image in a portable map, whose largest value becomes that of 16 bits.

    Args:
        content: Bytes of the file.
        name: Name of the file, for messages.
        max_pixels: Largest number of pixels; an image of more is an error and not decoded.
    """
    header = HEADER.match(content)
    if header is None:
        raise ValueError("the header is not complete")
    kind, (width, height, most) = header[1], map(int, header.groups()[1:])
    check_pixels(width, height, name, max_pixels)
    shape = (height, width, 3) if kind in (b"P3", b"P6") else (height, width)
    count = int(np.prod(shape))
    pixels = content[header.end() :]
    if kind in (b"P2", b"P3"):
        numbers = re.sub(rb"#[^\n]*", b"", pixels).split()[:count]
        values = np.array(numbers, dtype=np.float64)
    else:
        values = np.frombuffer(pixels, dtype=">u2", count=count).astype(np.float64)
    if most > WHITE or not (values <= most).all():
        raise ValueError("its values are above the largest that it gives")
    return DeepImage((values.reshape(shape) / most * WHITE).astype(np.float32), WHITE)
