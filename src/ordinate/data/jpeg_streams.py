"""Images compressed as JPEG, JPEG-LS or JPEG 2000, of any depth, as DICOM and TIFF files contain them."""

import struct
from dataclasses import dataclass

import numpy as np

from ordinate.optional import optional

JPEG, JPEG_LS, JPEG_2000 = "JPEG", "JPEG-LS", "JPEG 2000"
START_OF_JPEG_2000 = b"\xff\x4f\xff\x51"
WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD9)}  # Markers of JPEG that no segment follows.
NO_FRAME = {0xC4, 0xC8, 0xCC}  # Tables between the markers of frames.
LOSSLESS = {0xC3, 0xC7, 0xCB, 0xCF}


@dataclass(frozen=True)
class StreamHeader:
    """What a compressed image says of itself before any pixel.

    Args:
        family: ``"JPEG"``, ``"JPEG-LS"`` or ``"JPEG 2000"``.
        height: Number of rows.
        width: Number of columns.
        channels: Number of channels.
        precision: Number of bits per value.
        is_lossless: Whether a JPEG is of a lossless process.
        is_jfif: Whether a JPEG has the marker of JFIF, whose colours are YCbCr.
        names: Identifiers of the channels of a JPEG, such as ``b"RGB"``.
    """

    family: str
    height: int
    width: int
    channels: int
    precision: int
    is_lossless: bool = False
    is_jfif: bool = False
    names: bytes = b""

    @classmethod
    def of(cls, stream: bytes) -> "StreamHeader":
        """Return the header of a compressed image; a `ValueError` says what is wrong with it."""
        try:
            if stream.startswith(b"\xff\xd8"):
                return cls._of_jpeg(stream)
            start = stream.find(START_OF_JPEG_2000)  # Boxes of a JP2 file may precede it.
            if start < 0:
                raise ValueError("no JPEG, JPEG-LS or JPEG 2000 image")
            right, down, left, up = struct.unpack_from(">4I", stream, start + 8)
            channels, precision = struct.unpack_from(">HB", stream, start + 40)
            return cls(JPEG_2000, down - up, right - left, channels, (precision & 0x7F) + 1)
        except (struct.error, IndexError):
            raise ValueError("a compressed image that ends in its header") from None

    @classmethod
    def _of_jpeg(cls, stream: bytes) -> "StreamHeader":
        place, is_jfif = 2, False
        while True:
            mark, kind = stream[place], stream[place + 1]
            if mark != 0xFF:
                raise ValueError("a JPEG image without a frame")
            if kind == 0xFF or kind in WITHOUT_LENGTH:
                place += 1 if kind == 0xFF else 2
                continue
            if kind == 0xF7 or (0xC0 <= kind <= 0xCF and kind not in NO_FRAME):
                break
            is_jfif |= kind == 0xE0 and stream[place + 4 : place + 8] == b"JFIF"
            place += 2 + struct.unpack_from(">H", stream, place + 2)[0]
        precision, height, width, channels = struct.unpack_from(">BHHB", stream, place + 4)
        names = stream[place + 10 : place + 10 + 3 * channels : 3]
        family = JPEG_LS if kind == 0xF7 else JPEG
        return cls(family, height, width, channels, precision, kind in LOSSLESS, is_jfif, names)


def decode_stream(stream: bytes, header: StreamHeader, purpose: str, extra: str) -> np.ndarray:
    """Return the pixels (h, w) or (h, w, c) of a compressed image, colours as they are stored.

    The memory that is taken is that of the header, which the caller has compared with what it expects.

    Args:
        stream: Compressed image.
        header: Its header.
        purpose: File that requires the decoder, for the message if it is not installed.
        extra: Extra of Ordinate that installs it.

    Raises:
        OrdinateError: The decoder is not installed.
        ValueError: The image ends early; the decoder raises errors of its own for other damage.
    """
    codecs = optional("imagecodecs", extra, purpose)
    # All three families mark their end by these bytes, which nothing before it contains.
    if b"\xff\xd9" not in stream[2:]:
        raise ValueError("the compressed image ends early")
    if header.family == JPEG_LS:
        return np.ascontiguousarray(codecs.jpegls_decode(stream))
    if header.family == JPEG_2000:
        return np.asarray(codecs.jpeg2k_decode(stream))
    stored = "YCBCR" if header.channels == 3 else None  # The same colours on both sides: nothing is converted.
    return np.asarray(codecs.jpeg8_decode(stream, colorspace=stored, outcolorspace=stored))
