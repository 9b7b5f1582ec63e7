"""DICOM files and their values, for images and for the slices of volumes."""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordinate.counts import counted
from ordinate.data.jpeg_streams import JPEG, StreamHeader, decode_stream
from ordinate.data.memory import require_memory
from ordinate.errors import OrdinateError
from ordinate.optional import optional

if TYPE_CHECKING:
    from pydicom import Dataset
    from pydicom.uid import UID

# The first bytes of files without the preamble, which older devices write: the groups 0002 and 0008, in both orders.
FIRST_GROUPS = (
    b"\x02\x00\x00\x00", b"\x08\x00\x00\x00", b"\x08\x00\x01\x00", b"\x08\x00\x05\x00", b"\x08\x00\x08\x00",
    b"\x00\x08\x00\x00", b"\x00\x08\x00\x05", b"\x00\x08\x00\x08",
)  # fmt: skip
COLOURS = ("RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT")
PIXELS = ("PixelData", "FloatPixelData", "DoubleFloatPixelData")
JPEG_SYNTAXES = "1.2.840.10008.1.2.4."
JPEG_NUMBERS = {*range(50, 71), 80, 81, 90, 91, 92, 93, 201, 202, 203}  # JPEG, JPEG-LS, JPEG 2000 and its HT variants.
FUNCTIONAL_GROUPS = ("PerFrameFunctionalGroupsSequence", "SharedFunctionalGroupsSequence")


@dataclass(frozen=True)
class StoredPixels:
    """The pixels of a file as they are stored.

    Args:
        values: Values (rows, columns), or (rows, columns, 3) of colours.
        kind: Photometric interpretation of the values, such as ``"MONOCHROME2"`` or ``"YBR_FULL"``.
    """

    values: np.ndarray
    kind: str


@contextmanager
def quiet_pydicom() -> Iterator[None]:
    """Silence pydicom's warnings of values that deviate from the standard, which it gives when a value is asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_dicom(content: bytes) -> bool:
    """Return whether the bytes of a file are DICOM, with the preamble or without it."""
    return content[128:132] == b"DICM" or content.startswith(FIRST_GROUPS)


def read_dicom(source: Path | io.BytesIO, *, header_only: bool = False) -> "Dataset":
    """Return a DICOM file as pydicom reads it, without its pixels if only the header is wanted."""
    pydicom = optional("pydicom", "dicom", "dicom")
    with quiet_pydicom():
        file = pydicom.dcmread(source, stop_before_pixels=header_only, force=_has_no_preamble(source))
    if "TransferSyntaxUID" not in file.file_meta:
        file.file_meta.TransferSyntaxUID = _native_syntax(file)
    return file


def printable(text: str) -> str:
    """Return text of a file for a message of one line."""
    return text if text.isprintable() else repr(text)


def check_one_frame(file: "Dataset", name: str) -> None:
    """Raise an error for a file of several frames."""
    frames = str(file.get("NumberOfFrames") or 1).strip()
    if not frames.isdecimal() or int(frames) > 1:
        hint = "save every frame as a file of its own"
        raise OrdinateError(name, f"{printable(frames)} frames", "one image per file", hint)


def stored_pixels(file: "Dataset", name: str) -> StoredPixels:
    """Return the pixels of a file of one frame.

    Raises:
        OrdinateError: It has no image, its kind of compression or colours cannot be read, the decoder is not
            installed, or memory does not hold the pixels.
        Exception: Pydicom and the decoders raise errors of their own for damage.
    """
    if not len(file):  # This is how pydicom reads a compressed file that ends early.
        raise ValueError("it ends early")
    if not any(pixels in file for pixels in PIXELS) or not {"Rows", "Columns"} <= set(file.dir()):
        raise OrdinateError(name, problem="is a DICOM file without an image")
    channels = int(file.get("SamplesPerPixel", 1))
    kind = str(file.get("PhotometricInterpretation", ""))
    if channels not in (1, 3):
        got = f"{counted(channels, 'value')} per pixel ({printable(kind)})"
        raise OrdinateError(name, got, "1 for grey or a palette, or 3 for colours")
    if channels == 3 and kind not in COLOURS:
        raise OrdinateError(name, f"colours as {printable(kind)}", " or ".join(COLOURS), "save it as RGB")
    require_memory(2 * file.Rows * file.Columns * channels * max(1, int(file.BitsAllocated) // 8), name)
    syntax = file.file_meta.TransferSyntaxUID
    with quiet_pydicom():
        if _is_jpeg(syntax):
            return _decompressed(file, name, syntax, channels, kind)
        pixels = optional("pydicom.pixels", "dicom", "dicom")
        try:
            pixels.get_decoder(syntax)
        except NotImplementedError as error:
            problem = f"is compressed as {printable(syntax.name)}, which cannot be read"
            raise OrdinateError(name, problem=problem, hint="save it without compression") from error
        return StoredPixels(pixels.pixel_array(file, index=0, raw=True), kind)


def rescaled(values: np.ndarray, file: "Dataset") -> NDArray[np.float64]:
    """Return grey values rescaled by the slope and intercept of a file, or by its table."""
    table = next(iter(file.get("ModalityLUTSequence") or ()), None)
    if table is not None:
        return looked_up(values, *lookup_table(table, file)).astype(np.float64)
    transformation = functional_group(file, "PixelValueTransformationSequence")
    slope, intercept = transformation.get("RescaleSlope"), transformation.get("RescaleIntercept")
    if slope is None or intercept is None:
        return values.astype(np.float64)
    return values.astype(np.float64) * float(slope) + float(intercept)


def lookup_table(table: "Dataset", file: "Dataset") -> tuple[int, NDArray[np.uint16]]:
    """Return the first value and the entries of a lookup table of a file."""
    entries, first, _ = table.LUTDescriptor
    return first, table_entries(table["LUTData"].value, entries, file)


def table_entries(data: bytes | Sequence[int], entries: int, file: "Dataset") -> NDArray[np.uint16]:
    """Return the entries of a lookup table, which are stored in 8 or 16 bits."""
    order = ">" if file.original_encoding[1] is False else "<"
    if not isinstance(data, bytes):
        data = np.array(data, dtype=f"{order}u2").tobytes()
    entries = entries or 2**16  # The number does not fit in 16 bits.
    dtype = "u1" if len(data) < 2 * entries else f"{order}u2"
    return np.frombuffer(data, dtype=dtype)[:entries].astype(np.uint16)


def looked_up(values: np.ndarray, first: int, entries: np.ndarray) -> np.ndarray:
    """Return the entries of a lookup table for values; those beyond its ends get the first or last entry.

    Pydicom's own functions count the entries of a table of 8 bits modulo 256.
    """
    if first >= 2**15 and values.min() < 0:
        first -= 2**16  # Some files give a first value below 0 as an unsigned number.
    return entries[(np.rint(values).astype(np.int64) - first).clip(0, len(entries) - 1)]


def functional_group(file: "Dataset", sequence: str) -> "Dataset":
    """Return the dataset that holds the elements of a functional group: its item in files of the multi-frame kinds.

    The file itself holds them in all other files.
    """
    for groups in FUNCTIONAL_GROUPS:
        for group in file.get(groups) or ():
            for item in group.get(sequence) or ():
                return item
    return file


def padding(values: np.ndarray, file: "Dataset") -> NDArray[np.bool_]:
    """Return which stored grey values are padding around the image."""
    if values.dtype.kind == "f":
        number = file.get("FloatPixelPaddingValue", file.get("DoubleFloatPixelPaddingValue"))
        limit = file.get("FloatPixelPaddingRangeLimit", file.get("DoubleFloatPixelPaddingRangeLimit", number))
    else:
        number = file.get("PixelPaddingValue")
        limit = file.get("PixelPaddingRangeLimit", number)
    if number is None or limit is None:
        return np.zeros(values.shape, dtype=bool)
    # Some files give a value below 0 as an unsigned number, or the other way round.
    low, high = np.sort(np.array([number, limit]).astype(values.dtype))
    return (values >= low) & (values <= high)


def _has_no_preamble(source: Path | io.BytesIO) -> bool:
    if isinstance(source, Path):
        with source.open("rb") as file:
            start = file.read(132)
    else:
        start = source.getvalue()[:132]
    return start[128:132] != b"DICM" and is_dicom(start)


def _native_syntax(file: "Dataset") -> "UID":
    """Return the transfer syntax of a file that names none, as its elements are encoded."""
    uid = optional("pydicom.uid", "dicom", "dicom")
    is_implicit, is_little_endian = file.original_encoding
    if is_implicit:
        return uid.ImplicitVRLittleEndian
    return uid.ExplicitVRLittleEndian if is_little_endian else uid.ExplicitVRBigEndian


def _is_jpeg(syntax: "UID") -> bool:
    number = syntax.removeprefix(JPEG_SYNTAXES)
    return syntax.startswith(JPEG_SYNTAXES) and number.isdecimal() and int(number) in JPEG_NUMBERS


def _decompressed(file: "Dataset", name: str, syntax: "UID", channels: int, kind: str) -> StoredPixels:
    codecs = optional("imagecodecs", "dicom", f"{name} (compressed as {syntax.name})")
    stream = optional("pydicom.encaps", "dicom", "dicom").get_frame(file.PixelData, 0, number_of_frames=1)
    header = StreamHeader.of(stream)
    found, expected = (header.height, header.width, header.channels), (file.Rows, file.Columns, channels)
    if found != expected:
        raise ValueError(f"the compressed image has rows, columns and channels {found}, the file says {expected}")
    values = decode_stream(stream, header, codecs)
    if kind in ("YBR_ICT", "YBR_RCT"):  # Decoders of JPEG 2000 reverse these.
        kind = "RGB"
    elif channels == 3:
        kind = header.colours or kind
    bits = int(file.BitsStored) if header.family == JPEG else header.precision
    return StoredPixels(_with_sign(values, bits, is_signed=file.get("PixelRepresentation") == 1), kind)


def _with_sign(values: np.ndarray, bits: int, *, is_signed: bool) -> np.ndarray:
    """Return the lowest bits of whole numbers as signed or unsigned ones, whatever the compressed image calls them."""
    values = values.view(f"{'i' if is_signed else 'u'}{values.itemsize}")
    unused = max(0, 8 * values.itemsize - bits)
    return (values << unused) >> unused
