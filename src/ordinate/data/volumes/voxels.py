"""From NIfTI files, folders of DICOM slices or arrays to volumes of one size, in uint8, read once by worker processes.

A file is turned to RAS (the axes run to the right, to the front and up), resampled if a spacing is given, scaled to
0..1 and rounded to 256 levels, then cut or padded around its centre. A level is 1/255 of the range between the
percentiles, below the noise of an MR scan, and needs a quarter of float32's memory.
"""

import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8
from numpy.typing import NDArray

from ordinate.counts import counted
from ordinate.data.decoded import DecodedSamples, check_size, decode_samples, evenly_spread
from ordinate.data.memory import require_memory
from ordinate.data.named_files import NamedFiles
from ordinate.data.paths import reading
from ordinate.data.volumes.dicom_series import DicomSeries, open_series, slices_in
from ordinate.data.volumes.options import VolumeOptions
from ordinate.errors import OrdinateError
from ordinate.optional import optional

SUFFIXES = (".nii", ".nii.gz")


class VolumeFiles(NamedFiles):
    """Volumes in an order, of which an index array, a mask or a slice selects some.

    Each is a NIfTI file (``.nii``, ``.nii.gz``) or a folder with the DICOM slices of one series.

    Example:
        >>> files = VolumeFiles(["a.nii.gz", "b.nii", "c.nii"])
        >>> len(files), files[np.array([2, 0])].paths.tolist()
        (3, ['c.nii', 'a.nii.gz'])
    """

    kind = "volumes"
    package = "nibabel"

    def stamps(self) -> NDArray[np.int64]:
        stamps = super().stamps()
        for row, path in enumerate(self._paths):
            if Path(path).is_dir():
                found = [each.stat() for each in slices_in(Path(path))]
                stamps[row] = sum(each.st_size for each in found), max(each.st_mtime_ns for each in found)
        return stamps

    def extent(self, index: int) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        """Return, from the header alone, the number of channels, and voxels and mm per voxel along the axes of RAS."""
        nibabel = optional("nibabel", "volumes", "volumes")
        opened = self._open(index)
        places = np.argsort(nibabel.io_orientation(opened.affine)[:, 0])
        voxels = np.array(opened.shape[:3], dtype=np.float64)[places]
        lengths = np.array(nibabel.affines.voxel_sizes(opened.affine), dtype=np.float64)[places]
        channels = math.prod(opened.shape[3:]) * max(1, len(_colours(opened)))
        return channels, voxels, lengths

    def read(self, index: int, spacing: tuple[float, float, float] | None = None) -> Float[np.ndarray, "c d h w"]:
        """Return a volume in RAS, resampled to a spacing; an `OrdinateError` names one that cannot be read."""
        path = self.name(index)
        opened = self._open(index)
        colours = _colours(opened)
        require_memory(4 * math.prod(opened.shape) * max(1, len(colours)), path)
        with reading(path, "is damaged or truncated"):
            if path.endswith(".gz"):  # The checksum stands at the end, which is not read otherwise.
                opened = type(opened).from_bytes(_unpacked(path, opened))
            values = _values(opened.dataobj, colours)
        if np.isinf(values).any():
            raise OrdinateError(path, problem="holds infinity", expected="finite numbers")
        values = np.nan_to_num(values)  # Some programs write NaN outside of the brain.
        values = np.moveaxis(values, 3, 0)
        transforms = optional("monai.transforms", "volumes", "volumes")
        data = optional("monai.data", "volumes", "volumes")
        with reading(path, "cannot be turned and resampled"):
            axes = (("L", "R"), ("P", "A"), ("I", "S"))
            volume = transforms.Orientation("RAS", labels=axes)(data.MetaTensor(values, affine=opened.affine))
            if spacing is not None:
                channels, voxels, lengths = self.extent(index)
                size = 4 * channels * float(np.prod(voxels * lengths / spacing))
                require_memory(size, f"{path} at a spacing of {_by(spacing)} mm", "a larger one takes less")
                volume = transforms.Spacing(spacing)(volume)
        return np.ascontiguousarray(volume.numpy(), dtype=np.float32)

    def _open(self, index: int) -> Any:
        """Return the file with its data unread."""
        nibabel = optional("nibabel", "volumes", "volumes")
        path = self.name(index)
        if Path(path).is_dir():
            return open_series(Path(path))
        if not Path(path).is_file():
            raise OrdinateError(path, problem="no such file")
        if Path(path).stat().st_size == 0:
            raise OrdinateError(path, problem="is empty", expected="a NIfTI volume")
        with reading(path, "is no NIfTI volume that can be read"):
            opened = nibabel.load(path)
            shape = opened.shape
            if len(shape) not in (3, 4) or min(shape) <= 0:
                raise OrdinateError(path, problem=f"has shape {shape}", expected="(x, y, z) or (x, y, z, channels)")
            if opened.get_data_dtype().kind == "c":
                raise OrdinateError(path, problem="holds complex numbers", hint="save their magnitude")
            affine = opened.affine
            if not np.isfinite(affine).all() or np.isnan(nibabel.io_orientation(affine)).any():
                wrong = "its affine has an axis of length 0, NaN or infinity"
                raise OrdinateError(path, problem=f"does not give the orientation of its axes: {wrong}")
        return opened


def _colours(opened: Any) -> tuple[str, ...]:
    """Return the names of the colours of a file whose voxels are RGB; none for one whose voxels are numbers."""
    if isinstance(opened, DicomSeries):
        return ()
    return tuple(name for name in opened.get_data_dtype().names or () if name in ("R", "G", "B"))


def _values(stored: Any, colours: Sequence[str]) -> Float[np.ndarray, "x y z c"]:
    """Return the voxels of a file, every colour as a channel."""
    if colours:
        voxels = np.asarray(stored)
        stored = np.stack([voxels[colour] for colour in colours], axis=-1)
    values = np.asarray(stored, dtype=np.float32)
    return values.reshape(*values.shape[:3], -1)


def _unpacked(path: str, opened: Any) -> bytes:
    """Return the bytes of a volume in a gz, which is read to its end."""
    size = opened.dataobj.offset + math.prod(opened.shape) * opened.dataobj.dtype.itemsize
    with gzip.open(path) as file:
        content = file.read(size)
        while file.read(2**20):
            pass
    return content


Volumes = VolumeFiles | np.ndarray


@dataclass(frozen=True)
class VolumePreprocessing:
    """What is done to every volume, the same in training and in prediction.

    Args:
        size: Size (depth, height, width) in voxels of the volumes that the encoder sees.
        channels: Number of channels of every volume.
        spacing: Spacing of the voxels of files in mm; None keeps each file's own.
        intensity: Values (low, high) that become 0 and 1; None uses percentiles of each channel's voxels that are not
            0.

    Example:
        >>> VolumePreprocessing(size=(2, 2, 1), channels=1).scaled(np.float32([[[[0, 50], [25, 100]]]])).tolist()
        [[[[0, 85], [0, 255]]]]
    """

    size: tuple[int, int, int]
    channels: int
    spacing: tuple[float, float, float] | None = None
    intensity: tuple[float, float] | None = None

    def read(self, volumes: Volumes, index: int) -> UInt8[np.ndarray, "c d h w"]:
        """Return a volume as the encoder sees it; an `OrdinateError` names one that cannot be read as such."""
        if isinstance(volumes, VolumeFiles):
            name = volumes.name(index)
            values = volumes.read(index, self.spacing)
        else:
            name = f"volume {index}"
            values = volumes[index]
        if len(values) != self.channels:
            raise OrdinateError(name, problem=f"has {counted(len(values), 'channel')}", expected=self.channels)
        resized = optional("monai.transforms", "volumes", "volumes").ResizeWithPadOrCrop(self.size)(self.scaled(values))
        return np.asarray(resized.numpy(), dtype=np.uint8)

    def scaled(self, values: np.ndarray) -> UInt8[np.ndarray, "c d h w"]:
        """Return the channels scaled to 0..255, what lies beyond the range at its ends."""
        levels = np.empty(values.shape, dtype=np.uint8)
        for place, channel in enumerate(values.astype(np.float32)):
            low, high = self.intensity or _range(channel)
            shares = (channel - low) / (high - low or 1.0)
            levels[place] = (shares.clip(0, 1) * 255).round()
        return levels


class DecodedVolumes(DecodedSamples):
    """Voxels (n, c, d, h, w) of volumes."""

    preprocessing: VolumePreprocessing


def choose_volume_preprocessing(
    volumes: Volumes, options: VolumeOptions, max_side: int = 100
) -> tuple[VolumePreprocessing, list[str]]:
    """Return the preprocessing with what was left open chosen from the volumes, and what the user should know of it.

    Up to 256 headers of files, evenly spread, are read. A size that is not given has at most ``max_side`` voxels per
    side, as in SupReMix (B.1.4).
    """
    channels, sizes = _extents(volumes, options)
    size: Any = options.size
    if size is None:
        size = sizes[0]
        if len(set(sizes)) > 1 or max(size) > max_side:
            size = (max_side,) * 3
    spacing: Any = options.spacing  # The options have made it three lengths.
    largest = np.max(sizes, axis=0)
    notes = []
    if (largest > size).any():
        notes = [
            f"volumes of up to {_by(largest)} voxels are cut to their central {_by(size)}; a larger size keeps more, "
            "and so does a larger spacing of files"
        ]
    chosen = VolumePreprocessing(tuple(size), channels, spacing, options.intensity)
    check_size(chosen, 4)  # Voxels are in float32.
    return chosen, notes


def decode_volumes(
    volumes: Volumes | DecodedVolumes, preprocessing: VolumePreprocessing, workers: int = 2, progress: bool = False
) -> tuple[NDArray[np.uint8], dict[int, str]]:
    """Return the voxels (n, c, d, h, w) of volumes, see :func:`~ordinate.data.decoded.decode_samples`."""
    if not isinstance(volumes, DecodedVolumes):
        optional("monai.transforms", "volumes", "volumes")  # Check once, before processes start.
    return decode_samples(volumes, preprocessing, "volume", workers=workers, progress=progress)


def as_volumes(array: np.ndarray) -> np.ndarray:
    """Return an array of volumes (n, c, d, h, w), checked to hold finite numbers."""
    if array.ndim != 5 or 0 in array.shape:
        raise OrdinateError("X", f"shape {array.shape}", "volumes (n, channels, depth, height, width)")
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise OrdinateError("X", f"volumes of {array.dtype} or not finite", "finite numbers")
    return array


def _extents(volumes: Volumes, options: VolumeOptions) -> tuple[int, list[tuple[int, ...]]]:
    """Channels of the first volume, and (depth, height, width) of those looked at, at the spacing asked for."""
    if not isinstance(volumes, VolumeFiles):
        return volumes.shape[1], [volumes.shape[2:]]
    channels, sizes = 1, []
    for row in reversed(evenly_spread(len(volumes))):
        try:
            channels, voxels, lengths = volumes.extent(row)
        except OrdinateError:
            continue  # The error is reported when the file is read.
        if options.spacing is not None:
            voxels = (voxels - 1) * lengths / np.asarray(options.spacing) + 1
        sizes.append(tuple(max(1, round(side)) for side in voxels))
    return channels, sizes[::-1] or [(1, 1, 1)]


def _range(channel: NDArray[np.float32]) -> tuple[float, float]:
    """Return percentiles of the voxels that are not 0, or the extremes of all if these leave no range."""
    inside = channel[channel != 0]
    if inside.size:
        low, high = np.percentile(inside, (0.5, 99.5))
        if high > low:
            return float(low), float(high)
    return float(channel.min()), float(channel.max())


def _by(sides: Sequence[float] | NDArray[np.int64]) -> str:
    return " x ".join(map(str, sides))
