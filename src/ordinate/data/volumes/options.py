"""How an estimator reads volumes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ordinate.checks import check_positive, check_stream, check_whole
from ordinate.data.options import DataOptions
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class VolumeOptions(DataOptions):
    """How an estimator reads volumes, from NIfTI files, folders of DICOM slices or arrays.

    SupReMix (B.1.4) reads UK Biobank's T1 volumes with ``size=100, spacing=2.0``. There is no augmentation, as there.

    Args:
        size: Size (depth, height, width) in voxels that the encoder sees, or one number for all: larger volumes lose
            their edges, smaller ones get margins of 0. None keeps the volumes' own size if they share one of at most
            100 voxels per side, and otherwise uses 100 for every side.
        spacing: Spacing of voxels in mm along the three axes, or one number for all; files are resampled to it
            linearly. None keeps each file's own. Arrays have none and stay as they are.
        intensity: Values (low, high) that become 0 and 1, such as ``(-1000, 1000)`` for CT in Hounsfield units; None
            uses the 0.5th and 99.5th percentile of each volume's own voxels that are not 0, as T1 has no unit.
        workers: Number of processes that read; 0 for none.
        stream: Whether files are read as batches need them, in every epoch, and not kept. False reads all before
            training; beyond 4 GiB they lie in an unnamed file. None streams if they would take more than half of the
            available memory. Mean and deviation are then those of 512 volumes.

    Example:
        >>> VolumeOptions(size=100, spacing=2.0).spacing
        (2.0, 2.0, 2.0)
    """

    size: int | tuple[int, int, int] | None = None
    spacing: float | tuple[float, float, float] | None = None
    intensity: tuple[float, float] | None = None
    workers: int = field(default=2, repr=False, compare=False)  # It affects only the time.
    stream: bool | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.size is not None:
            sides = _three(self.size, "size", "(depth, height, width) in voxels")
            object.__setattr__(self, "size", tuple(check_whole(side, "size") for side in sides))
        if self.spacing is not None:
            lengths = _three(self.spacing, "spacing", "a length in mm, or one along each of the three axes")
            object.__setattr__(self, "spacing", tuple(check_positive(length, "spacing") for length in lengths))
        if self.intensity is not None:
            object.__setattr__(self, "intensity", _range(self.intensity))
        check_whole(self.workers, "workers", least=0)
        check_stream(self.stream)


def _three(given: object, name: str, expected: str) -> tuple[float, ...]:
    if isinstance(given, int | float):
        return given, given, given
    if not isinstance(given, tuple | list) or len(given) != 3:  # JSON has lists.
        raise OrdinateError(name, repr(given), expected)
    return tuple(given)


def _range(given: object) -> tuple[float, float]:
    if isinstance(given, Sequence) and len(given) == 2 and all(isinstance(end, int | float) for end in given):
        low, high = map(float, given)
        if math.isfinite(low) and math.isfinite(high) and low < high:
            return low, high
    raise OrdinateError("intensity", repr(given), "(low, high), two finite numbers in ascending order")
