"""Images of a ``torch.utils.data.Dataset``, which is asked for a sample anew whenever it is needed."""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch.utils.data import Dataset

from ordinate.data.decoded import evenly_spread
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pillow import MAX_PIXELS
from ordinate.data.images.pixels import as_images, as_picture
from ordinate.data.loader import Loader, usable_workers
from ordinate.data.named_files import selected_rows
from ordinate.data.paths import reading

if TYPE_CHECKING:
    from PIL.Image import Image


class DatasetImages(ImageFiles):
    """Images of a Dataset; an index array, a mask or a slice selects some.

    Numbers that the Dataset draws at random, from the generators of torch, NumPy and Python, follow from the sample,
    and in training also from the epoch and the place in it.

    Args:
        dataset: Dataset whose samples are (image, ...) or the image: a tensor or array (c, h, w) or (h, w), uint8 or
            floats from 0 to 1, or a picture of Pillow.
        rows: Rows of the Dataset that are used; None for all.
        draw: Numbers that its random numbers also follow from.
    """

    archive = None
    draws = True
    has_eight_bits = True

    def __init__(self, dataset: Any, rows: NDArray[np.int64] | None = None, draw: tuple[int, ...] = ()) -> None:
        self.dataset = dataset
        self.rows = np.arange(len(dataset)) if rows is None else rows
        self.draw = draw

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: ArrayLike | slice) -> Self:
        return type(self)(self.dataset, self.rows[selected_rows(len(self), rows)], self.draw)

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), (self.dataset, self.rows, self.draw)

    def drawn(self, *draw: int) -> Self:
        """Return the same images, whose random numbers also follow from these numbers."""
        return type(self)(self.dataset, self.rows, draw)

    @property
    def paths(self) -> NDArray[np.str_]:
        return np.array([self.name(index) for index in range(len(self))])

    def name(self, index: int) -> str:
        return f"sample {self.rows[index]} of the Dataset"

    def open(self, index: int, max_pixels: int = MAX_PIXELS) -> "Image":
        """Return an image as the Dataset gives it, of any size; every exception becomes an `OrdinateError`."""
        with reading(self.name(index)):
            return as_picture(self._item(index)[0])

    def labels(self, workers: int) -> np.ndarray | None:
        """Return the second part of every sample, read by worker processes; None if samples have none."""
        held = Loader(_Labels(self), batch_size=None, num_workers=usable_workers(workers), generator=torch.Generator())
        labels = list(held)
        if not labels or labels[0] is None:
            return None
        return np.array([np.asarray(label) for label in labels])

    def digest(self) -> bytes:
        """Return a digest of the class of the Dataset, the rows, and a few images."""
        digest = hashlib.sha256(f"{type(self.dataset).__module__}.{type(self.dataset).__qualname__}".encode())
        digest.update(self.rows.tobytes())
        for row in evenly_spread(len(self), most=16):
            digest.update(self.open(row).tobytes())
        return digest.digest()

    def codes(self) -> NDArray[np.int64]:
        """Return a code of its own for every image, as those of a Dataset have no names."""
        return np.arange(len(self))

    def _item(self, index: int) -> tuple[NDArray[np.uint8], object]:
        """Return an image (c, h, w) of the Dataset, and its label."""
        row = int(self.rows[index])
        with _seeded(hash((row, *self.draw)) % 2**63):
            item = self.dataset[row]
        label: object = None
        if isinstance(item, tuple | list):
            item, *rest = item
            label = next(iter(rest), None)
        pixels = np.asarray(item)
        if pixels.ndim == 2:
            pixels = pixels[None]
        return as_images(pixels[None])[0], label


class _Labels(Dataset[object]):
    """The labels of the samples of a Dataset."""

    def __init__(self, images: DatasetImages) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> object:
        return self.images._item(index)[1]


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Draw from a seed, and leave the random numbers of torch, NumPy and Python as they were."""
    python = random.getstate()
    arrays = np.random.get_state()  # noqa: NPY002  # A Dataset may draw from it.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(arrays)  # noqa: NPY002
