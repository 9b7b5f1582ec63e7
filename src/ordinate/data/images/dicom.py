"""DICOM files as pictures of 8 bits, as a viewer shows them."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinate.data.dicom import (
    check_one_frame,
    functional_group,
    looked_up,
    lookup_table,
    padding,
    quiet_pydicom,
    read_dicom,
    rescaled,
    stored_pixels,
    table_entries,
)
from ordinate.data.images.grey_windows import LINEAR, LINEAR_EXACT, SIGMOID, is_window, windowed
from ordinate.data.images.pillow import check_pixels
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from PIL.Image import Image
    from pydicom import Dataset


@quiet_pydicom()
def open_dicom(content: bytes, name: str, max_pixels: int) -> "Image":
    """Return the picture in a DICOM file: grey, or RGB where it has colours.

    Grey values are rescaled by slope and intercept, or a table. The file's first table of grey levels or first window
    gives the range of grey; without either, all values but the lowest and highest half percent become 0 to 255.
    MONOCHROME1 is inverted, so that high values are bright. Padding around the image is black. Overlays are ignored.

    Args:
        content: Bytes of the file.
        name: Name of the file, for messages.
        max_pixels: Largest number of pixels; an image of more is an error and not decoded.

    Raises:
        OrdinateError: no image, several frames, too many pixels, or a kind that cannot be read; pydicom and the
            decoders raise errors of their own for damage.
    """
    file = read_dicom(io.BytesIO(content))
    from PIL import Image

    check_one_frame(file, name)
    check_pixels(file.get("Columns", 0), file.get("Rows", 0), name, max_pixels)
    stored = stored_pixels(file, name)
    if stored.kind == "PALETTE COLOR":
        return Image.fromarray(_of_palette(stored.values, file, name))
    if stored.values.ndim == 3:
        return Image.fromarray(_rgb(stored.values, stored.kind, int(file.BitsStored)))
    values = rescaled(stored.values, file)
    is_image = np.isfinite(values) & ~padding(stored.values, file)
    grey = _shown(values, file, is_image)
    if stored.kind == "MONOCHROME1":
        grey = 1 - grey
    grey[~is_image] = 0
    return Image.fromarray((255 * grey).round().astype(np.uint8))


def _of_palette(values: np.ndarray, file: "Dataset", name: str) -> NDArray[np.uint8]:
    """Return the colours (h, w, 3) of values, by the tables of a file."""
    if "RedPaletteColorLookupTableData" not in file:
        return _of_segments(values, file, name)
    channels = []
    for channel in ("Red", "Green", "Blue"):
        entries, first, _ = file[f"{channel}PaletteColorLookupTableDescriptor"].value
        table = table_entries(file[f"{channel}PaletteColorLookupTableData"].value, entries, file)
        channels.append(looked_up(values, first, table))
    colours = np.stack(channels, axis=-1)
    if colours.max() > 255:  # Some files have 8 bits of colour in entries of 16.
        colours >>= 8
    return colours.astype(np.uint8)


def _of_segments(values: np.ndarray, file: "Dataset", name: str) -> NDArray[np.uint8]:
    """Return the colours (h, w, 3) of values, by tables that are given in segments, which pydicom expands."""
    from pydicom.pixels.processing import apply_color_lut

    entries, _, bits = file.RedPaletteColorLookupTableDescriptor
    if bits == 8 and not 0 < entries <= 256:  # Pydicom counts these modulo 256.
        problem = f"has a palette in segments with {entries or 2**16} entries of 8 bits, which cannot be read"
        raise OrdinateError(name, problem=problem, hint="save it as RGB")
    colours = apply_color_lut(values, file)[..., :3]
    return (colours >> 8 * (colours.itemsize - 1)).astype(np.uint8)


def _rgb(values: np.ndarray, kind: str, bits: int) -> NDArray[np.uint8]:
    """Return the colours (h, w, 3) in 8 bits."""
    from pydicom.pixels.processing import convert_color_space

    eight = (values >> max(0, bits - 8)).astype(np.uint8)
    return np.asarray(convert_color_space(eight, kind, "RGB"))


def _shown(values: NDArray[np.float64], file: "Dataset", is_image: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return grey from 0 to 1, by the first table or window of a file, or by the percentiles of its image."""
    display = functional_group(file, "FrameVOILUTSequence")
    table = next(iter(display.get("VOILUTSequence") or ()), None)
    if table is not None:
        first, entries = lookup_table(table, file)
        return np.asarray(looked_up(values, first, entries) / _white(entries, bits=table.LUTDescriptor[2]))
    function = str(display.get("VOILUTFunction") or LINEAR)
    if function not in (LINEAR_EXACT, SIGMOID):
        function = LINEAR
    centre, width = (_first_number(display.get(name)) for name in ("WindowCenter", "WindowWidth"))
    if is_window(centre, width, function):
        return windowed(values, centre, width, function)
    if not is_image.any():
        return np.zeros_like(values)
    low, high = np.percentile(values[is_image], [0.5, 99.5])
    return ((values - low) / (high - low or 1)).clip(0, 1)


def _white(entries: NDArray[np.uint16], bits: int) -> int:
    """Return the entry that is white in a table of grey levels, whose bits some files give as those that are stored."""
    largest = int(entries.max())
    if bits == 16 or largest >= 2**bits:
        bits = max(8, largest.bit_length())
    return 2**bits - 1


def _first_number(given: Any) -> float:
    """Return the first of several numbers, or the one that is given; NaN if there is none."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        given = next(iter(given), None)
    return np.nan if given in (None, "") else float(given)
