"""From volumes to what an encoder takes, the same in training and in prediction."""

from typing import Any

import torch
from torch import Tensor

from ordinate.data.images.pixels import require_readable
from ordinate.data.images.reader import moments
from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.voxels import (
    DecodedVolumes,
    VolumePreprocessing,
    Volumes,
    choose_volume_preprocessing,
    decode_volumes,
)


class VolumeReader:
    """Brings every volume to one orientation, size and range.

    Args:
        preprocessing: done to every volume.
        mean, scale: (c,) of the training voxels, in units of 0..1.
        workers: processes that read.
        notes: what the user should know of the training volumes.
    """

    def __init__(
        self,
        preprocessing: VolumePreprocessing,
        mean: tuple[float, ...],
        scale: tuple[float, ...],
        workers: int = 2,
        notes: list[str] | None = None,
    ) -> None:
        self.preprocessing = preprocessing
        self.mean = mean
        self.scale = scale
        self.workers = workers
        self.notes = notes or []
        self.progress = False

    @classmethod
    def fit(
        cls, volumes: Volumes | DecodedVolumes, options: VolumeOptions, *, progress: bool = False
    ) -> tuple["VolumeReader", DecodedVolumes]:
        """Choose the preprocessing from the training volumes; return the reader and the volumes as it reads them."""
        if isinstance(volumes, DecodedVolumes):
            preprocessing, notes = volumes.preprocessing, list[str]()
        else:
            preprocessing, notes = choose_volume_preprocessing(volumes, options)
        voxels, failures = decode_volumes(volumes, preprocessing, options.workers, progress)
        require_readable(failures, len(volumes), "volumes")
        mean, scale = moments(voxels)
        return cls(preprocessing, mean, scale, options.workers, notes), DecodedVolumes(voxels, preprocessing)

    def transform(self, volumes: Volumes | DecodedVolumes) -> Tensor:
        """Return the voxels (n, c, d, h, w), uint8.

        Raises:
            OrdinateError: volumes that cannot be read; names them.
        """
        voxels, failures = decode_volumes(volumes, self.preprocessing, self.workers, self.progress)
        require_readable(failures, len(volumes), "volumes")
        return torch.from_numpy(voxels)

    @property
    def sample_shape(self) -> tuple[int, int, int, int]:
        return (self.preprocessing.channels, *self.preprocessing.size)

    def to_dict(self) -> dict[str, Any]:
        """Return what :meth:`from_dict` takes, ready for JSON."""
        chosen = self.preprocessing
        return {
            "size": list(chosen.size),
            "channels": chosen.channels,
            "spacing": None if chosen.spacing is None else list(chosen.spacing),
            "intensity": None if chosen.intensity is None else list(chosen.intensity),
            "mean": list(self.mean),
            "scale": list(self.scale),
            "workers": self.workers,
            "notes": self.notes,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "VolumeReader":
        spacing, intensity = (None if state[name] is None else tuple(state[name]) for name in ("spacing", "intensity"))
        preprocessing = VolumePreprocessing(tuple(state["size"]), state["channels"], spacing, intensity)
        return cls(preprocessing, tuple(state["mean"]), tuple(state["scale"]), state["workers"], state["notes"])
