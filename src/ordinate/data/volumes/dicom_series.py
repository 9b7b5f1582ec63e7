"""A folder of DICOM slices as one volume."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordinate.data.dicom import check_one_frame, padding, quiet_pydicom, read_dicom, rescaled, stored_pixels
from ordinate.data.file_formats import DICOM
from ordinate.data.file_tree import is_hidden
from ordinate.data.paths import reading
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from pydicom import Dataset


@dataclass(frozen=True)
class DicomSeries:
    """The slices of a series in their order, with the attributes of an image of nibabel.

    Args:
        paths: Files of the slices.
        shape: Number of columns, rows and slices.
        affine: Matrix (4, 4) from voxels to mm in RAS.
    """

    paths: tuple[Path, ...]
    shape: tuple[int, int, int]
    affine: NDArray[np.float64]

    @cached_property
    def dataobj(self) -> NDArray[np.float32]:
        """The values (columns, rows, slices), rescaled by slope and intercept; padding has the lowest of them."""
        values = np.empty(self.shape, dtype=np.float32)
        is_padding = np.empty(self.shape, dtype=bool)
        for place, path in enumerate(self.paths):
            with reading(path, "is damaged or no DICOM image"), quiet_pydicom():
                file = read_dicom(path)
                stored = stored_pixels(file, str(path)).values
                values[:, :, place] = rescaled(stored, file).T
                is_padding[:, :, place] = padding(stored, file).T
            if not np.isfinite(values[:, :, place]).all():
                raise OrdinateError(path, problem="is not finite after rescaling", expected="finite values")
        if not is_padding.all():
            values[is_padding] = values[~is_padding].min()
        return values


def slices_in(folder: Path) -> list[Path]:
    """Return the DICOM files of a folder."""
    return sorted(path for path in folder.iterdir() if path.name.lower().endswith(DICOM) and not is_hidden(path.name))


def is_series(folder: Path) -> bool:
    """Return whether a folder holds several DICOM files, all of one series."""
    paths = slices_in(folder)
    series = {header.get("SeriesInstanceUID") for header in map(_header, paths)}
    return len(paths) > 1 and len(series) == 1 and None not in series


def open_series(folder: Path) -> DicomSeries:
    """Read the headers of a folder's slices, and return the slices in their order.

    They are sorted by their positions along the normal of the slices, or else by their instance numbers.

    Raises:
        OrdinateError: Slices of several series, sizes or orientations, of several frames or in colour, two in one
            place, one that is missing, positions of some slices alone, or lengths that are not finite and above 0.
    """
    headers = {path: _header(path) for path in slices_in(folder)}
    if len(headers) < 2:
        raise OrdinateError(folder, f"{len(headers)} DICOM slices", "at least 2 of one series")
    for path, header in headers.items():
        check_one_frame(header, str(path))
    with reading(folder, "holds DICOM slices that cannot be read"):
        slices = headers.values()
        _require_one(folder, "series", (header.get("SeriesInstanceUID") for header in slices))
        _require_one(folder, "sizes", (f"{header.Columns} x {header.Rows}" for header in slices))
        _require_one(folder, "numbers of channels", [1, *(header.get("SamplesPerPixel", 1) for header in slices)])
        placed = ["ImagePositionPatient" in header and "ImageOrientationPatient" in header for header in slices]
        if not any(placed):
            return _by_number(folder, headers)
        if not all(placed):
            problem = f"holds {placed.count(False)} DICOM slices without position or orientation among {len(placed)}"
            raise OrdinateError(folder, problem=problem, expected="both in all slices, or in none")
        return _by_position(folder, headers)


def _header(path: Path) -> "Dataset":
    with reading(path, "is damaged or no DICOM file"):
        return read_dicom(path, header_only=True)


def _require_one(folder: Path, noun: str, values: Iterable[object]) -> None:
    """Raise an error if the values of the slices differ."""
    found = list(dict.fromkeys(values))
    if len(found) > 1:
        shown = ", ".join(map(str, found[:3]))
        raise OrdinateError(folder, problem=f"holds DICOM slices of several {noun}: {shown}", expected="one series")


def _by_position(folder: Path, headers: "dict[Path, Dataset]", max_gap: float = 1.5) -> DicomSeries:
    """Return the slices by their positions; a gap of ``max_gap`` times the usual one means that a slice is missing."""
    orientations = np.array([header.ImageOrientationPatient for header in headers.values()], dtype=np.float64)
    if np.abs(orientations - orientations[0]).max() > 1e-2:
        raise OrdinateError(folder, problem="holds DICOM slices of several orientations", expected="one series")
    along_row, along_column = orientations[0].reshape(2, 3)
    positions = np.array([header.ImagePositionPatient for header in headers.values()], dtype=np.float64)
    places = positions @ np.cross(along_row, along_column)
    order = np.argsort(places, kind="stable")
    gaps = np.diff(places[order])
    if gaps.min() < 1e-3:
        raise OrdinateError(folder, problem="holds two DICOM slices in the same place", expected="one volume")
    if gaps.max() > max_gap * np.median(gaps):
        problem = f"lacks a slice: a gap of {gaps.max():g} mm among gaps of {np.median(gaps):g} mm"
        raise OrdinateError(folder, problem=problem, expected="all slices of the series")
    first, last = positions[order[0]], positions[order[-1]]
    axes = np.column_stack([along_row, along_column, (last - first) / (len(order) - 1)])
    return _series(headers, order, axes, first)


def _by_number(folder: Path, headers: "dict[Path, Dataset]") -> DicomSeries:
    numbers = [header.get("InstanceNumber") for header in headers.values()]
    if None in numbers or len(set(numbers)) < len(numbers):
        problem = "holds DICOM slices without positions and without instance numbers that differ"
        raise OrdinateError(folder, problem=problem, expected="ImagePositionPatient, or InstanceNumber")
    header = next(iter(headers.values()))
    thickness = float(header.get("SpacingBetweenSlices") or header.get("SliceThickness") or 1)
    axes = np.diag([1.0, 1.0, thickness])
    return _series(headers, np.argsort(np.array(numbers, dtype=np.int64)), axes, np.zeros(3))


def _series(
    headers: "dict[Path, Dataset]", order: NDArray[np.int64], axes: NDArray[np.float64], first: NDArray[np.float64]
) -> DicomSeries:
    """Return the slices in an order; ``axes`` (3, 3) has unit steps along rows and columns, and one to a next slice."""
    paths = list(headers)
    header = headers[paths[0]]
    between_rows, between_columns = map(float, header.get("PixelSpacing") or (1, 1))
    to_ras = np.diag([-1.0, -1.0, 1.0])  # The axes of DICOM run to the left, to the back and up.
    affine = np.eye(4)
    affine[:3, :3] = to_ras @ axes * [between_columns, between_rows, 1]
    affine[:3, 3] = to_ras @ first
    if not np.isfinite(affine).all() or min(between_rows, between_columns, np.linalg.det(axes)) <= 0:
        problem = "holds DICOM slices with a position that is not finite, or a spacing that is not above 0"
        raise OrdinateError(paths[0].parent, problem=problem, expected="lengths in mm")
    shape = int(header.Columns), int(header.Rows), len(paths)
    return DicomSeries(tuple(paths[place] for place in order), shape, affine)
