"""DICOM files as pictures of 8 bits, as a viewer shows them."""

import io
import warnings
from typing import TYPE_CHECKING

import numpy as np

from ordinate.data.dicom import check_one_frame, read_dicom, rescaled
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from PIL.Image import Image
    from pydicom import Dataset


def open_dicom(content: bytes, name: str, max_pixels: int) -> "Image":
    """Return the picture in a DICOM file: grey, or RGB where it has colours.

    Grey values are rescaled by slope and intercept. The first window of the file becomes 0 to 255; without one, all
    values but the lowest and highest half percent do. MONOCHROME1 is inverted, so that high values are bright.

    Args:
        content: Bytes of the file.
        name: Name of the file, for messages.
        max_pixels: Largest number of pixels; an image of more is an error and not decoded.

    Raises:
        OrdinateError: no image, several frames, or too many pixels; pydicom raises errors of its own for damage.
    """
    file = read_dicom(io.BytesIO(content))
    from PIL import Image
    from pydicom.pixels.processing import apply_color_lut

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pydicom warns of values that deviate from the standard.
        if "PixelData" not in file:
            raise OrdinateError(name, problem="is a DICOM file without an image")
        check_one_frame(file, name)
        if file.Rows * file.Columns > max_pixels:
            got = f"{file.Columns} x {file.Rows} pixels"
            raise OrdinateError(name, got, f"at most {max_pixels}", "max_pixels=N allows N")
        values: np.ndarray = file.pixel_array
        kind, bits = str(file.get("PhotometricInterpretation")), int(file.BitsStored)
        if kind == "PALETTE COLOR":
            values = apply_color_lut(values, file)
            bits = 8 * values.itemsize
        if values.ndim == 3:
            return Image.fromarray((values >> max(0, bits - 8)).astype(np.uint8))
        values = rescaled(values, file)
        low, high = _window(file) or np.percentile(values, [0.5, 99.5])
    grey = ((values - low) / (high - low or 1)).clip(0, 1)
    if kind == "MONOCHROME1":
        grey = 1 - grey
    return Image.fromarray((255 * grey).round().astype(np.uint8))


def _window(file: "Dataset") -> tuple[float, float] | None:
    """Return the lowest and highest value that the first window of a file shows; None if it has no window."""
    ends = []
    for name in ("WindowCenter", "WindowWidth"):
        given = file.get(name)
        if hasattr(given, "__len__") and not isinstance(given, str):
            given = next(iter(given), None)
        if given is None:
            return None
        ends.append(float(given))
    centre, width = ends
    if not width > 1 or not np.isfinite(centre):
        return None
    return centre - 0.5 - (width - 1) / 2, centre - 0.5 + (width - 1) / 2
