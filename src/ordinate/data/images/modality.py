"""Images (n, channels, height, width): arrays, or folders and zips of image files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.data.images.labelled import holds_images, read_images, read_labelled_images
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import Decoded, as_images
from ordinate.data.images.reader import ImageReader
from ordinate.data.labelled import Labelled
from ordinate.data.modality import Request
from ordinate.data.pixel_modality import PixelModality
from ordinate.data.typed import Reading


class ImageModality(PixelModality):
    """Paths of image files, or uint8 or floats from 0 to 1 (n, channels, height, width)."""

    name = "images"
    expected = "images: paths, or (n, channels, height, width)"
    readers = (ImageReader,)
    reader = ImageReader
    dimensions = 4
    as_array = staticmethod(as_images)
    opens = staticmethod(holds_images)
    parameter = "images"
    options_class = ImageOptions
    command_options = ("image_size", "pretrained", "stream", "skip_unreadable")
    plans_training = True

    def describe(self, X: Decoded) -> str:
        height, width = X.preprocessing.size
        colour = "grey" if X.preprocessing.channels == 1 else "in colour"
        return f"{height} x {width} pixels, {colour}"

    def pictures(self, X: object) -> NDArray[np.uint8] | None:
        return X.pixels if isinstance(X, Decoded) else None

    def read_unlabelled(
        self, path: str | Path, left_out: Callable[[str], None] | None = None, how: Reading = Reading()
    ) -> Any:
        return read_images(path, left_out)

    def read_labelled(self, path: str | Path, request: Request) -> Labelled:
        return read_labelled_images(path, request, skip_unreadable=request.skip_unreadable)


MODALITY = ImageModality()
