"""A plain encoder of lossless JPEG (ISO/IEC 10918-1, annex H), to test decoders with."""

import struct

import numpy as np

PREDICTORS = {
    1: lambda left, above, corner: left,
    2: lambda left, above, corner: above,
    3: lambda left, above, corner: corner,
    4: lambda left, above, corner: left + above - corner,
    5: lambda left, above, corner: left + ((above - corner) >> 1),
    6: lambda left, above, corner: above + ((left - corner) >> 1),
    7: lambda left, above, corner: (left + above) >> 1,
}


def encode(pixels, precision, predictor=1):
    """Return pixels (h, w) or (h, w, c) as a stream of process 14; lengths of differences have codes of 5 bits."""
    planes = np.atleast_3d(pixels).astype(int)
    height, width, channels = planes.shape
    bits = []
    for row in range(height):
        for column in range(width):
            for channel in range(channels):
                plane = planes[:, :, channel]
                bits.append(difference(plane[row, column] - prediction(plane, row, column, precision, predictor)))
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    scan = bytes(int(text[place : place + 8], 2) for place in range(0, len(text), 8)).replace(b"\xff", b"\xff\0")
    frame = struct.pack(">BHHB", precision, height, width, channels)
    frame += b"".join(bytes([name, 0x11, 0]) for name in range(1, channels + 1))
    table = bytes([0, *(0, 0, 0, 0, 17, *[0] * 11), *range(17)])
    start = bytes([channels, *(value for name in range(1, channels + 1) for value in (name, 0)), predictor, 0, 0])
    segments = ((0xC3, frame), (0xC4, table), (0xDA, start))
    head = b"".join(bytes([0xFF, kind]) + struct.pack(">H", len(part) + 2) + part for kind, part in segments)
    return b"\xff\xd8" + head + scan + b"\xff\xd9"


def prediction(plane, row, column, precision, predictor):
    if row == 0:
        return plane[0, column - 1] if column else 1 << (precision - 1)
    if column == 0:
        return plane[row - 1, 0]
    return PREDICTORS[predictor](plane[row, column - 1], plane[row - 1, column], plane[row - 1, column - 1])


def difference(value):
    """Return the bits of a difference modulo 2**16: the number of its bits, and the bits themselves."""
    value = int((value + 2**15 - 1) % 2**16 - (2**15 - 1))
    length = abs(value).bit_length()
    if length == 16:
        return f"{length:05b}"
    if value < 0:
        value += 2**length - 1
    return f"{length:05b}" + (f"{value:0{length}b}" if length else "")
