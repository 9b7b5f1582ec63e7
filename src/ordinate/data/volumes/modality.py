"""Volumes (n, channels, depth, height, width): arrays, NIfTI files, or folders of DICOM slices."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ordinate.data.labelled import Labelled
from ordinate.data.modality import Request, are_paths
from ordinate.data.options import DataOptions
from ordinate.data.pixel_modality import PixelModality
from ordinate.data.typed import Reading
from ordinate.data.volumes.labelled import holds_volumes, read_labelled_volumes, read_volumes
from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.reader import VolumeReader
from ordinate.data.volumes.voxels import SUFFIXES, DecodedVolumes, as_volumes


class VolumeModality(PixelModality):
    """Paths of NIfTI files or of folders of DICOM slices, or numbers (n, channels, depth, height, width)."""

    name = "volumes"
    expected = "volumes: paths of NIfTI files or folders of DICOM slices, or (n, channels, depth, height, width)"
    readers = (VolumeReader,)
    reader = VolumeReader
    dimensions = 5
    suffixes = SUFFIXES
    as_array = staticmethod(as_volumes)
    opens = staticmethod(holds_volumes)
    parameter = "volumes"
    options_class = VolumeOptions
    command_options = ("stream", "skip_unreadable")

    def recognises(self, X: object, options: DataOptions | None = None) -> bool:
        if super().recognises(X, options):
            return True
        with suppress(OSError):  # Text may be too long for a path.
            return are_paths(X) and Path(next(iter(X))).is_dir()
        return False

    def describe(self, X: DecodedVolumes) -> str:
        return f"{' x '.join(map(str, X.preprocessing.size))} voxels"

    def read_unlabelled(
        self, path: str | Path, left_out: Callable[[str], None] | None = None, how: Reading = Reading()
    ) -> Any:
        return read_volumes(path, left_out)

    def read_labelled(self, path: str | Path, request: Request) -> Labelled:
        return read_labelled_volumes(path, request, skip_unreadable=request.skip_unreadable)


MODALITY = VolumeModality()
