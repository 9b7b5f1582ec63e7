"""A plain writer of PNG with 16 bits per channel (ISO/IEC 15948), to test decoders with."""

import struct
import zlib

import numpy as np

COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # They follow from the number of channels.
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def encode(pixels, *, interlaced=False, before=()):
    """Return pixels (h, w) or (h, w, c), uint16, as a file; ``before`` holds the chunks before those of the pixels."""
    pixels = np.atleast_3d(pixels)
    height, width, channels = pixels.shape
    parts = [pixels]
    if interlaced:
        parts = [pixels[top::down, left::right] for top, left, down, right in ADAM7]
    rows = b"".join(filtered(part, channels) for part in parts if part.size)
    head = struct.pack(">IIBBBBB", width, height, 16, COLOUR_TYPES[channels], 0, 0, int(interlaced))
    chunks = [(b"IHDR", head), *before, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks)


def filtered(part, channels):
    """Return the rows of an image, each with the next of the five filters."""
    rows = np.frombuffer(part.astype(">u2").tobytes(), np.uint8).reshape(len(part), -1).astype(int)
    above = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    left, corner = (np.pad(each, ((0, 0), (2 * channels, 0)))[:, : rows.shape[1]] for each in (rows, above))
    estimate = left + above - corner
    distances = np.abs([estimate - left, estimate - above, estimate - corner])
    paeth = np.choose(distances.argmin(axis=0), [left, above, corner])
    guesses = [np.zeros_like(rows), left, above, (left + above) // 2, paeth]
    return b"".join(
        bytes([number % 5]) + ((row - guesses[number % 5][number]) % 256).astype(np.uint8).tobytes()
        for number, row in enumerate(rows)
    )
