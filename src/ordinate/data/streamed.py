"""Samples that do not fit into memory, which are decoded whenever a batch needs them, and such pixels."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ordinate.data.loader import Loader, workers_for
from ordinate.data.memory import available_memory
from ordinate.data.named_files import NamedFiles
from ordinate.data.paths import first_named
from ordinate.data.preprocessing import Preprocessing
from ordinate.data.row_blocks import RowBlocks
from ordinate.data.rows import random_part
from ordinate.data.samplers import InOrder
from ordinate.errors import OrdinateError


class Streamed(ABC):
    """Samples (n, ...) that are used like a tensor of all of them, and are decoded when they are read.

    The same rows give the same samples, whichever process reads them.

    Attributes:
        dtype: Type of the samples.
        shape: Shape of the tensor of all samples.
        workers: Number of processes that decode.
        draws: Whether a sample is drawn at random whenever it is read.
        blocks: Blocks of samples that are read together, if batches must come from few of them.
    """

    dtype: torch.dtype
    shape: torch.Size
    workers: int
    draws: bool = False
    blocks: RowBlocks | None = None

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
        return self.dtype.is_floating_point

    def __getitem__(self, rows: ArrayLike | slice) -> Tensor:
        return self.read(rows)[0]

    @abstractmethod
    def read(self, rows: ArrayLike | slice, seed: int | None = None) -> tuple[Tensor, list[int]]:
        """Return some samples and their rows, which are other rows if samples that cannot be read are replaced."""

    @abstractmethod
    def part(self, rows: np.ndarray | slice) -> Self:
        """Return some of the samples, still to be decoded."""

    @abstractmethod
    def split(self, at_once: int) -> Iterator[Tensor]:
        """Yield all samples in their order, so many at a time."""

    @abstractmethod
    def digest(self) -> bytes:
        """Return a few bytes that identify the samples, without reading them."""

    @property
    @abstractmethod
    def note(self) -> str | None:
        """A note on the samples that were read so far; None if there is nothing to say."""


class StreamedPixels(Streamed):
    """Pixels (n, c, *size), uint8, of files that are decoded when they are read, and not kept.

    ``pixels[rows]`` is a tensor of some, :meth:`split` reads all in their order.

    Args:
        files: Files (n) that the preprocessing can read. ``files.draws`` says whether a sample is drawn whenever it is
            read, as those of a Dataset may be.
        preprocessing: What is done to every file, see :class:`~ordinate.data.preprocessing.Preprocessing`.
        workers: Number of processes that decode.
        labels: Labels (n,) or (n, p). A file that cannot be read is replaced by another with the nearest label, the
            next in order among several; None raises an `OrdinateError` that names it.
    """

    dtype = torch.uint8

    def __init__(
        self, files: NamedFiles, preprocessing: Preprocessing, workers: int = 0, labels: np.ndarray | None = None
    ) -> None:
        self.files = files
        self.preprocessing = preprocessing
        self.workers = workers
        self.shape = torch.Size((len(files), preprocessing.channels, *preprocessing.size))
        self.draws = files.draws
        self.labels = labels
        self._replaced: dict[int, int] = {}
        replaceable = 0 if labels is None else len(files)
        self._unreadable = torch.zeros(replaceable, dtype=torch.bool).share_memory_()  # Worker processes set it.

    def part(self, rows: np.ndarray | slice) -> Self:
        labels = self.labels
        if labels is not None:
            labels = labels[rows]
        return type(self)(self.files[rows], self.preprocessing, self.workers, labels)

    def replacing(self, labels: np.ndarray) -> Self:
        """Return the same samples, of which one that cannot be read is replaced by another with the nearest label."""
        return type(self)(self.files, self.preprocessing, self.workers, labels)

    def read(self, rows: ArrayLike | slice, seed: int | None = None) -> tuple[Tensor, list[int]]:
        """Return the pixels of some rows, and the rows that they belong to.

        With a ``seed``, every place of the batch draws its sample by itself.
        """
        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        read = [self._replaced.get(row, row) for row in np.asarray(rows).tolist()]
        pixels = np.empty((len(read), *self.shape[1:]), dtype=np.uint8)
        for place, row in enumerate(read):
            files = self.files
            if seed is not None:
                files = files.drawn(seed, place)
            try:
                pixels[place] = self.preprocessing.read(files, row)
            except OrdinateError as error:
                if self.labels is None:
                    raise
                read[place], pixels[place] = self._another(row, self.labels, error)
        return torch.from_numpy(pixels), read

    def split(self, at_once: int) -> Iterator[Tensor]:
        batches = InOrder(len(self), at_once)
        workers = workers_for(len(batches), self.workers, most_here=1)
        return iter(Loader(self, sampler=batches, batch_size=None, num_workers=workers, generator=torch.Generator()))

    def sample(self, most: int = 512) -> Self:
        """Return a random part of the samples, the same each time, to learn the mean and the deviation of all from."""
        if len(self) <= most:
            return self
        return self.part(random_part(len(self), most))

    def digest(self) -> bytes:
        return self.files.digest()

    @property
    def note(self) -> str | None:
        """A note on files that this process or its workers could not read; None if all could be read."""
        rows = self._unreadable.nonzero()[:, 0].tolist()
        if not rows:
            return None
        return (
            f"{len(rows)} of the {len(self)} files that were streamed could not be read, and others with the nearest "
            f"label took their place: {first_named(map(self.files.name, rows))}"
        )

    def _another(
        self, row: int, labels: np.ndarray, error: OrdinateError, max_tried: int = 100
    ) -> tuple[int, NDArray[np.uint8]]:
        """Return a row that replaces one that cannot be read, and its pixels."""
        self._unreadable[row] = True
        warnings.warn(f"{error}; another sample takes its place", UserWarning, stacklevel=4)
        distance = np.abs(labels - labels[row]).reshape(len(labels), -1).sum(axis=1, dtype=np.float64)
        distance[row] = np.inf
        distance = np.roll(distance, -row)  # The next of the equally near rows then comes first.
        for _ in range(min(max_tried, len(labels) - 1)):
            other = (int(distance.argmin()) + row) % len(labels)
            try:
                pixels = self.preprocessing.read(self.files, other)
            except OrdinateError:
                distance[(other - row) % len(labels)] = np.inf
            else:
                self._replaced[row] = other
                return other, pixels
        raise error


def read_rows(x: Tensor | Streamed, rows: list[int], seed: int | None = None) -> tuple[Tensor, Tensor]:
    """Return samples, and the rows whose labels they have, which differ if samples that cannot be read are replaced."""
    if isinstance(x, Streamed):
        read, rows = x.read(rows, seed)
        return read, _as_index(rows)
    index = _as_index(rows).to(x.device)
    return x.index_select(0, index), index


def _as_index(rows: list[int]) -> Tensor:
    return torch.from_numpy(np.array(rows, dtype=np.int64))  # It takes a quarter of the time of a tensor of a list.


def blocks_of(x: Tensor | Streamed) -> RowBlocks | None:
    """Return the blocks of samples that are read together, if batches must come from few of them."""
    return x.blocks if isinstance(x, Streamed) else None


def loaded(x: Tensor | Streamed, at_once: int = 64) -> Tensor:
    """Return all samples in memory."""
    return torch.cat([*x.split(at_once)]) if isinstance(x, Streamed) else x


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
        f"{shape[0]} samples are decoded as they are needed: in memory they would take "
        f"{math.prod(shape) / 2**30:.3g} GiB, more than {allowed / 2**30:.3g} GiB, which is half of what is available"
    )
