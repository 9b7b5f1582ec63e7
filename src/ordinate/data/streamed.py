"""Pixels of files that do not fit into memory, which are decoded whenever a batch needs them."""

import math
from collections.abc import Iterator
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ordinate.counts import counted
from ordinate.data.loader import Loader, workers_for
from ordinate.data.memory import available_memory
from ordinate.data.named_files import NamedFiles
from ordinate.data.preprocessing import Preprocessing
from ordinate.data.rows import random_part
from ordinate.data.samplers import InOrder


class StreamedPixels:
    """Pixels (n, c, *size), uint8, of files that are decoded when they are read, and not kept.

    ``pixels[rows]`` is a tensor of some, :meth:`split` reads all in their order. They are used like a tensor of all.
    The same rows give the same pixels, whichever process reads them.

    Args:
        files: Files (n) that the preprocessing can read.
        preprocessing: What is done to every file, see :class:`~ordinate.data.preprocessing.Preprocessing`.
        workers: Number of processes that decode.
    """

    dtype = torch.uint8

    def __init__(self, files: NamedFiles, preprocessing: Preprocessing, workers: int = 0) -> None:
        self.files = files
        self.preprocessing = preprocessing
        self.workers = workers
        self.shape = torch.Size((len(files), preprocessing.channels, *preprocessing.size))

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """The number of dimensions, as a tensor has it."""
        return len(self.shape)

    def dim(self) -> int:
        """Return the number of dimensions, as a tensor does."""
        return self.ndim

    def is_floating_point(self) -> bool:
        """Return whether the samples are floating-point numbers, as a tensor does."""
        return False

    def __getitem__(self, rows: ArrayLike | slice) -> Tensor:
        """Return the pixels of some rows.

        Raises:
            OrdinateError: A file that cannot be read.
        """
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        read = np.asarray(rows).tolist()
        pixels = np.empty((len(read), *self.shape[1:]), dtype=np.uint8)
        for place, row in enumerate(read):
            pixels[place] = self.preprocessing.read(self.files, row)
        return torch.from_numpy(pixels)

    def part(self, rows: np.ndarray | slice) -> Self:
        """Return some of the samples, still to be decoded."""
        return type(self)(self.files[rows], self.preprocessing, self.workers)

    def split(self, at_once: int) -> Iterator[Tensor]:
        """Yield all samples in their order, so many at a time."""
        batches = InOrder(len(self), at_once)
        workers = workers_for(len(batches), self.workers, most_here=1)
        return iter(Loader(self, sampler=batches, batch_size=None, num_workers=workers, generator=torch.Generator()))

    def sample(self, most: int = 512) -> Self:
        """Return a random part of the samples, the same each time, to learn the mean and the deviation of all from."""
        if len(self) <= most:
            return self
        return self.part(random_part(len(self), most))

    def digest(self) -> bytes:
        """Return a few bytes that identify the samples, without reading them."""
        return self.files.digest()


def loaded(x: Tensor | StreamedPixels, at_once: int = 64) -> Tensor:
    """Return all samples in memory."""
    return torch.cat([*x.split(at_once)]) if isinstance(x, StreamedPixels) else x


def too_large(shape: tuple[int, ...], share_of_memory: float = 0.5, default_bytes: int = 2**32) -> str | None:
    """Return a note that pixels of a shape have to stream because they would take too much memory, or None.

    Args:
        shape: Shape of all pixels, one byte each.
        share_of_memory: Largest share of the available memory that they may take.
        default_bytes: Largest number of bytes if the system does not say how much memory is available.
    """
    allowed: float = default_bytes
    if available := available_memory():
        allowed = share_of_memory * available
    if math.prod(shape) <= allowed:
        return None
    return (
        f"{counted(shape[0], 'sample')} are decoded as they are needed: in memory they would take "
        f"{math.prod(shape) / 2**30:.3g} GiB, more than {allowed / 2**30:.3g} GiB, which is half of what is available"
    )
