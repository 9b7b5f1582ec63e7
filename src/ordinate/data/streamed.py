"""Samples that do not fit into memory, which are decoded whenever a batch needs them, and such pixels."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from ordinate.data.memory import available_memory
from ordinate.data.part import random_part
from ordinate.data.row_blocks import RowBlocks
from ordinate.data.samplers import InOrder
from ordinate.data.worker_processes import usable_workers
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from ordinate.data.decoded import Preprocessing

LOOKED_AT = 512  # samples, drawn at random, that tell the mean and the deviation of all
TRIED = 100  # samples that may take the place of one that cannot be read
LOADED_AT_ONCE = 64
NAMED = 5  # of those that could not be read, in a note
SHARE_OF_MEMORY = 0.5  # that pixels may take
WITHOUT_MEMINFO = 4 * 2**30  # bytes of pixels, where the system does not say how much memory is available


class Streamed(ABC):
    """Samples (n, ...) that stand where a tensor of all would, and are decoded when they are read.

    The same rows give the same samples, whichever process reads them.
    """

    dtype: torch.dtype
    shape: torch.Size
    workers: int  # processes that decode
    draws: bool = False  # whether a sample is drawn at random whenever it is read
    blocks: RowBlocks | None = None  # of samples that are read together, where batches must come from few of them

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

    def __getitem__(self, rows: Any) -> Tensor:
        return self.read(rows)[0]

    @abstractmethod
    def read(self, rows: Any, seed: int | None = None) -> tuple[Tensor, list[int]]:
        """Return some samples, and the rows that they are of where others could not be read."""

    @abstractmethod
    def part(self, rows: NDArray[Any] | slice) -> Self:
        """Return some of the samples, still to be decoded."""

    @abstractmethod
    def split(self, at_once: int) -> Iterator[Tensor]:
        """Yield all samples in their order, so many at a time."""

    @abstractmethod
    def digest(self) -> bytes:
        """Return what tells the samples from others in a few bytes, without reading them."""

    @property
    @abstractmethod
    def note(self) -> str | None:
        """What to say of the samples that were read so far; None for nothing."""


class StreamedPixels(Streamed):
    """Pixels (n, c, *size), uint8, of files that are decoded when they are read, and not kept.

    ``pixels[rows]`` is a tensor of some, :meth:`split` reads all in their order.

    Args:
        files: n of them, which the preprocessing can read; rows of them can be selected. They say whether a sample is
            drawn whenever it is read, as those of a Dataset may be (``draws``), and have ``drawn`` then.
        preprocessing: see :class:`~ordinate.data.decoded.Preprocessing`.
        workers: processes that decode.
        labels: (n,) or (n, p), where a file that cannot be read is to be replaced by another with the nearest label,
            the next in order among several; None raises an `OrdinateError` that names it.
    """

    dtype = torch.uint8

    def __init__(
        self, files: Any, preprocessing: "Preprocessing", workers: int = 0, labels: NDArray[Any] | None = None
    ) -> None:
        self.files = files
        self.preprocessing = preprocessing
        self.workers = workers
        self.shape = torch.Size((len(files), preprocessing.channels, *preprocessing.size))
        self.draws = files.draws
        self.labels = labels
        self._replaced: dict[int, int] = {}
        self._unreadable = None if labels is None else torch.zeros(len(files), dtype=torch.bool).share_memory_()

    def part(self, rows: NDArray[Any] | slice) -> Self:
        """Return some of the samples, still to be decoded."""
        labels = None if self.labels is None else self.labels[rows]
        return type(self)(self.files[rows], self.preprocessing, self.workers, labels)

    def replacing(self, labels: NDArray[Any]) -> Self:
        """Return the same samples, of which one that cannot be read is replaced by another with the nearest label."""
        return type(self)(self.files, self.preprocessing, self.workers, labels)

    def read(self, rows: Any, seed: int | None = None) -> tuple[Tensor, list[int]]:
        """Return the pixels of some rows, and the rows that they are of where a file could not be read.

        With a ``seed``, samples that are drawn are so for every place of the batch by itself.
        """
        if isinstance(rows, slice):
            rows = range(*rows.indices(len(self)))
        read = [self._replaced.get(row, row) for row in np.asarray(rows).tolist()]
        pixels = np.empty((len(read), *self.shape[1:]), dtype=np.uint8)
        for place, row in enumerate(read):
            try:
                files = self.files.drawn(seed, place) if self.draws and seed is not None else self.files
                pixels[place] = self.preprocessing.read(files, row)
            except OrdinateError as error:
                if self.labels is None:
                    raise
                read[place], pixels[place] = self._another(row, self.labels, error)
        return torch.from_numpy(pixels), read

    def split(self, at_once: int) -> Iterator[Tensor]:
        """Yield all pixels in their order, so many samples at a time, decoded by worker processes."""
        batches = InOrder(len(self), at_once)
        workers = usable_workers(self.workers) if len(batches) > 1 else 0
        data: Any = self
        return iter(Loader(data, sampler=batches, batch_size=None, num_workers=workers, generator=torch.Generator()))

    def sample(self) -> Self:
        """Return up to 512 samples, drawn at random, the same each time."""
        return self if len(self) <= LOOKED_AT else self.part(random_part(len(self), LOOKED_AT))

    def digest(self) -> bytes:
        """Return the names, sizes and times of the files in a few bytes; no file is read."""
        digest: bytes = self.files.digest()
        return digest

    @property
    def note(self) -> str | None:
        """What to say of files that could not be read, in this process or its workers; None where all could be."""
        rows = [] if self._unreadable is None else self._unreadable.nonzero()[:, 0].tolist()
        if not rows:
            return None
        names = ", ".join(self.files.name(row) for row in rows[:NAMED]) + (", ..." if len(rows) > NAMED else "")
        return (
            f"{len(rows)} of the {len(self)} files that were streamed could not be read, and others with the nearest "
            f"label took their place: {names}"
        )

    def _another(self, row: int, labels: NDArray[Any], error: OrdinateError) -> tuple[int, NDArray[np.uint8]]:
        """Return the row that takes the place of one that cannot be read, and its pixels."""
        assert self._unreadable is not None  # noqa: S101  # as there are labels
        self._unreadable[row] = True
        warnings.warn(f"{error}; another sample takes its place", UserWarning, stacklevel=4)
        distance = np.abs(labels - labels[row]).reshape(len(labels), -1).sum(axis=1, dtype=np.float64)
        distance[row] = np.inf
        distance = np.roll(distance, -row)  # so that the next of the nearest comes first
        for _ in range(min(TRIED, len(labels) - 1)):
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
    """Return samples, and the rows that their labels have: others where one could not be read."""
    if isinstance(x, Streamed):
        read, rows = x.read(rows, seed)
        return read, _as_index(rows)
    index = _as_index(rows).to(x.device)
    return x.index_select(0, index), index


def _as_index(rows: list[int]) -> Tensor:
    return torch.from_numpy(np.array(rows, dtype=np.int64))  # a quarter of the time that torch takes for a list


def blocks_of(x: Tensor | Streamed) -> RowBlocks | None:
    """Return the blocks of samples that are read together, where batches must come from few of them."""
    return x.blocks if isinstance(x, Streamed) else None


def loaded(x: Tensor | Streamed) -> Tensor:
    """Return all samples in memory."""
    return torch.cat([*x.split(LOADED_AT_ONCE)]) if isinstance(x, Streamed) else x


def too_large(shape: tuple[int, ...]) -> str | None:
    """Return a note that pixels of a shape have to stream, where they would take too much of the memory; or None."""
    allowed = SHARE_OF_MEMORY * available if (available := available_memory()) else WITHOUT_MEMINFO
    if math.prod(shape) <= allowed:
        return None
    return (
        f"{shape[0]} samples are decoded as they are needed: in memory they would take "
        f"{math.prod(shape) / 2**30:.3g} GiB, more than {allowed / 2**30:.3g} GiB, which is half of what is available"
    )


class Loader(DataLoader[Any]):
    """A DataLoader that raises an `OrdinateError` of a worker process as it is, not as the text of a traceback."""

    def __init__(self, dataset: Dataset[Any], **options: Any) -> None:
        super().__init__(_HandsOver(dataset) if options.get("num_workers") else dataset, **options)

    def __iter__(self) -> Any:
        """Yield batches."""
        for batch in super().__iter__():
            if isinstance(batch, OrdinateError):
                raise batch
            yield batch


class _HandsOver(Dataset[Any]):
    """Samples, or in their place the `OrdinateError` that says why they cannot be read."""

    def __init__(self, samples: Any) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, request: Any) -> Any:
        try:
            return self.samples[request]
        except OrdinateError as error:
            return error
