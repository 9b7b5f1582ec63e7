"""From images to what an encoder takes, the same in training and in prediction."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import Decoded, Images, Preprocessing, choose_preprocessing, decode, require_readable

COUNTED = 2**26  # pixels at a time, which take 8 bytes each while they are counted


class ImageReader:
    """Brings every image to one size and number of channels.

    Args:
        preprocessing: done to every image.
        mean, scale: (c,) of the training pixels, in units of 0..1.
        workers: processes that decode.
        notes: what the user should know of the training images.
    """

    def __init__(
        self,
        preprocessing: Preprocessing,
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
        cls, images: Images | Decoded, options: ImageOptions, *, progress: bool = False
    ) -> tuple["ImageReader", Decoded]:
        """Choose the preprocessing from the training images; return the reader and the images as it reads them."""
        if isinstance(images, Decoded):
            preprocessing = images.preprocessing
        else:
            preprocessing = choose_preprocessing(images, options.size, options.channels, options.crop, options.equalize)
        pixels, failures = decode(images, preprocessing, options.workers, progress)
        require_readable(failures, len(images))
        mean, scale = moments(pixels)
        return cls(preprocessing, mean, scale, options.workers), Decoded(pixels, preprocessing)

    def transform(self, images: Images | Decoded) -> Tensor:
        """Return the pixels (n, c, h, w), uint8.

        Raises:
            OrdinateError: images that cannot be read; names them.
        """
        pixels, failures = decode(images, self.preprocessing, self.workers, self.progress)
        require_readable(failures, len(images))
        return torch.from_numpy(pixels)

    @property
    def sample_shape(self) -> tuple[int, int, int]:
        return (self.preprocessing.channels, *self.preprocessing.size)

    def to_dict(self) -> dict[str, Any]:
        """Return what :meth:`from_dict` takes, ready for JSON."""
        chosen = self.preprocessing
        return {
            "size": list(chosen.size),
            "channels": chosen.channels,
            "crop": None if chosen.crop is None else list(chosen.crop),
            "equalize": chosen.equalize,
            "mean": list(self.mean),
            "scale": list(self.scale),
            "workers": self.workers,
            "notes": self.notes,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "ImageReader":
        crop = None if state["crop"] is None else (state["crop"][0], state["crop"][1])
        preprocessing = Preprocessing((state["size"][0], state["size"][1]), state["channels"], crop, state["equalize"])
        return cls(preprocessing, tuple(state["mean"]), tuple(state["scale"]), state["workers"], state["notes"])


def moments(pixels: NDArray[np.uint8]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of every channel, in units of 0..1; a constant channel has the deviation 1."""
    values = np.arange(256) / 255
    mean, scale = [], []
    for channel in range(pixels.shape[1]):
        counts = np.zeros(256)
        for part in np.array_split(pixels[:, channel], max(1, pixels[:, channel].size // COUNTED)):
            counts += np.bincount(part.ravel(), minlength=256)
        share = counts / counts.sum()
        centre = float(share @ values)
        spread = float(np.sqrt(share @ (values - centre) ** 2))
        mean.append(centre)
        scale.append(spread if spread > 0 else 1.0)
    return tuple(mean), tuple(scale)
