"""From volumes to the batch of an encoder, the same in training and in prediction."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ordinate.data.decoded import PixelReader
from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.voxels import (
    DecodedVolumes,
    VolumeFiles,
    VolumePreprocessing,
    choose_volume_preprocessing,
    decode_volumes,
)


class VolumeReader(PixelReader):
    """Bring every volume to one orientation, size and range, see :class:`~ordinate.data.decoded.PixelReader`."""

    kind = "volumes"
    preprocessing_class = VolumePreprocessing
    files_class = VolumeFiles
    decoded_class = DecodedVolumes
    choose = staticmethod(choose_volume_preprocessing)
    decode_all = staticmethod(decode_volumes)
    preprocessing: VolumePreprocessing
    export_note: ClassVar[str] = (
        "samples holds voxels 0 to 255: each volume in RAS, resampled linearly to reader.spacing (mm) if given; every "
        "channel's low becomes 0 and its high 255, rounded, what lies beyond at these ends; low and high are those of "
        "reader.intensity, or else the percentiles 0.5 and 99.5 of its voxels that are not 0; then cut or padded with "
        "0 around its centre to reader.size (depth, height, width). The graph normalises them."
    )

    def embedded_at_once(self, x: Tensor) -> int:
        return 1

    def options(self) -> VolumeOptions:
        used = self.preprocessing
        return VolumeOptions(size=used.size, spacing=used.spacing, intensity=used.intensity)

    def describe(self, x: Tensor) -> str:
        return f"volumes of {' x '.join(map(str, self.preprocessing.size))} voxels"

    def shown(self, X: object, x: Tensor) -> NDArray[np.uint8]:
        middle = x[:, :1, :, :, x.shape[4] // 2]  # In RAS this is the view from above, with the front up.
        return middle.rot90(1, (2, 3)).numpy()
