"""Images compressed as JPEG, JPEG-LS or JPEG 2000, of any depth, as DICOM and TIFF files contain them."""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

JPEG, JPEG_LS, JPEG_2000 = "JPEG", "JPEG-LS", "JPEG 2000"
START_OF_JPEG_2000 = b"\xff\x4f\xff\x51"
WITHOUT_LENGTH = {0x00, 0x01, *range(0xD0, 0xDA)}  # Markers of JPEG that no segment follows.
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
        colours: Colours of a JPEG as its markers say, ``"RGB"`` or ``"YBR_FULL"``; empty if they do not say it.
    """

    family: str
    height: int
    width: int
    channels: int
    precision: int
    is_lossless: bool = False
    colours: str = ""

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
        place = 2
        colours = {}
        while True:
            while stream[place] != 0xFF or stream[place + 1] == 0xFF:  # Decoders skip what is between the segments.
                place += 1
            kind = stream[place + 1]
            if kind in WITHOUT_LENGTH:
                place += 2
                continue
            if kind == 0xF7 or (0xC0 <= kind <= 0xCF and kind not in NO_FRAME):
                break
            length = struct.unpack_from(">H", stream, place + 2)[0]
            segment = stream[place + 4 : place + 2 + length]
            if kind == 0xE0 and segment.startswith(b"JFIF"):
                colours["JFIF"] = "YBR_FULL"
            elif kind == 0xEE and segment.startswith(b"Adobe") and len(segment) >= 12:
                colours["Adobe"] = "YBR_FULL" if segment[11] else "RGB"
            place += 2 + length
        precision, height, width, channels = struct.unpack_from(">BHHB", stream, place + 4)
        names = stream[place + 10 : place + 10 + 3 * channels : 3]
        factors = stream[place + 11 : place + 10 + 3 * channels : 3]
        if names in (b"RGB", b"rgb"):
            colours = {"names": "RGB"}
        elif len(set(factors)) > 1:  # Only the resolution of chrominance is reduced.
            colours.setdefault("sampling", "YBR_FULL")
        if kind in LOSSLESS:  # It has no transformation of colours, whatever the markers say.
            colours.pop("JFIF", None)
        said = next(iter(colours.values()), "")
        return cls(JPEG_LS if kind == 0xF7 else JPEG, height, width, channels, precision, kind in LOSSLESS, said)


def decode_stream(stream: bytes, header: StreamHeader, imagecodecs: Any) -> np.ndarray:
    """Return the pixels (h, w) or (h, w, c) of a compressed image, colours as they are stored.

    It takes the memory that the header asks for, so compare that with what you expect before.

    Args:
        stream: Compressed image.
        header: Its header.
        imagecodecs: The package of that name.

    Raises:
        ValueError: The image ends early; the decoder raises errors of its own for other damage.
    """
    # All three families mark their end by these bytes, which nothing before it contains.
    if b"\xff\xd9" not in stream[2:]:
        raise ValueError("the compressed image ends early")
    if header.family == JPEG_LS:
        return np.ascontiguousarray(imagecodecs.jpegls_decode(stream))
    if header.family == JPEG_2000:
        return np.asarray(imagecodecs.jpeg2k_decode(stream))
    stored = "YCBCR" if header.channels == 3 else None  # The same colours on both sides: nothing is converted.
    return np.asarray(imagecodecs.jpeg8_decode(stream, colorspace=stored, outcolorspace=stored))
