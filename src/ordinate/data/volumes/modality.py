"""Volumes (n, channels, depth, height, width): arrays, or folders of NIfTI files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.data.decoded import stream
from ordinate.data.labelled import Labelled
from ordinate.data.modality import Modality, Request, are_paths
from ordinate.data.streamed import StreamedPixels
from ordinate.data.volumes.labelled import holds_volumes, read_labelled_volumes, read_volumes
from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.reader import VolumeReader
from ordinate.data.volumes.voxels import (
    SUFFIXES,
    DecodedVolumes,
    VolumeFiles,
    Volumes,
    as_volumes,
    choose_volume_preprocessing,
    decode_volumes,
)
from ordinate.encoders.given import Encoder


class VolumeModality(Modality):
    """Paths of NIfTI files, or numbers (n, channels, depth, height, width)."""

    name = "volumes"
    expected = "volumes: paths of NIfTI files, or (n, channels, depth, height, width)"
    readers = (VolumeReader,)
    parameter = "volumes"
    options_class = VolumeOptions
    command_options = ("stream", "skip_unreadable")

    def recognises(self, X: Any, options: VolumeOptions | None = None) -> bool:
        if isinstance(X, VolumeFiles | DecodedVolumes) or getattr(X, "ndim", 2) == 5:
            return True
        return are_paths(X) and str(next(iter(X))).lower().endswith(SUFFIXES)

    def check(self, estimator: Any, X: Any, *, reset: bool) -> Volumes | DecodedVolumes:
        if isinstance(X, VolumeFiles | DecodedVolumes):
            return X
        return as_volumes(np.asarray(X)) if hasattr(X, "ndim") and X.ndim == 5 else VolumeFiles(X)

    def fit(
        self, X: Volumes | DecodedVolumes, options: VolumeOptions, *, encoder: Encoder, progress: bool
    ) -> tuple[VolumeReader, DecodedVolumes]:
        return VolumeReader.fit(X, options, progress=progress)

    def describe(self, X: DecodedVolumes) -> str:
        return f"{' x '.join(map(str, X.preprocessing.size))} voxels"

    def paths(self, X: Any) -> NDArray[np.str_] | None:
        files = X.pixels.files if isinstance(X, DecodedVolumes) and isinstance(X.pixels, StreamedPixels) else X
        return files.paths if isinstance(files, VolumeFiles) else None

    def opens(self, path: str | Path) -> bool:
        return holds_volumes(path)

    def read_labelled(self, path: str | Path, request: Request) -> Labelled:
        return read_labelled_volumes(path, request, skip_unreadable=request.skip_unreadable)

    def read_unlabelled(self, path: str | Path, left_out: Callable[[str], None] | None = None) -> VolumeFiles:
        return read_volumes(path, left_out)

    def decode(
        self, X: Volumes, options: VolumeOptions | None, request: Request, choose: Any = None
    ) -> tuple[DecodedVolumes, dict[int, str]]:
        options = options or VolumeOptions()
        X = X if isinstance(X, VolumeFiles) else as_volumes(X)
        chosen, notes = choose_volume_preprocessing(X, options)
        for note in notes:
            request.say(f"note: {note}")
        if isinstance(X, VolumeFiles):
            streamed = stream(X, chosen, options, lambda note: request.say(f"note: {note}"))
            if streamed is not None:
                return DecodedVolumes(streamed, chosen), {}
        voxels, failures = decode_volumes(X, chosen, options.workers, request.progress)
        return DecodedVolumes(voxels, chosen), failures


MODALITY = VolumeModality()
