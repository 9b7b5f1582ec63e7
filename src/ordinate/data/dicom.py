"""DICOM files and their values, for images and for the slices of volumes."""

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordinate.errors import OrdinateError
from ordinate.optional import optional

if TYPE_CHECKING:
    from pydicom import Dataset


def is_dicom(content: bytes) -> bool:
    """Return whether the bytes of a file are DICOM."""
    return content[128:132] == b"DICM"


def read_dicom(source: Path | io.BytesIO, *, header_only: bool = False) -> "Dataset":
    """Return a DICOM file as pydicom reads it, without its pixels if only the header is wanted."""
    pydicom = optional("pydicom", "dicom", "dicom")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pydicom warns of values that deviate from the standard.
        return pydicom.dcmread(source, stop_before_pixels=header_only)


def check_one_frame(file: "Dataset", name: str) -> None:
    """Raise an error for a file of several frames."""
    frames = int(file.get("NumberOfFrames") or 1)
    if frames > 1:
        raise OrdinateError(name, f"{frames} frames", "one image per file")


def rescaled(values: np.ndarray, file: "Dataset") -> NDArray[np.float64]:
    """Return grey values rescaled by the slope and intercept of a file, or by its table."""
    from pydicom.pixels.processing import apply_modality_lut

    return np.asarray(apply_modality_lut(values, file), dtype=np.float64)
