"""Batches that training reads: samples or augmented views of them, with labels and weights."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from ordinate.data.loader import usable_workers
from ordinate.data.samplers import SharedBatches, WrappedBatches
from ordinate.data.streamed import StreamedPixels
from ordinate.data.views import DrawView
from ordinate.functional.global_batch import all_processes, place_among


class ArrayBatches(Dataset[tuple[Tensor, ...]]):
    """Inputs and labels, and the weights of weighted samples, a whole batch of indices at a time.

    Args:
        x: Samples (n, ...).
        y: Labels (n,) or (n, p).
        weights: Weights (n,) of the samples; None for equal ones.

    Attributes:
        workers: Number of worker processes that read the samples; 0 for those in memory.

    Example:
        >>> x, y = ArrayBatches(torch.zeros(6, 2), torch.arange(6))[[0, 3]]
        >>> x.shape, y.tolist()
        (torch.Size([2, 2]), [0, 3])
    """

    def __init__(self, x: Tensor | StreamedPixels, y: Tensor, weights: Tensor | None = None) -> None:
        self.x: Any = x  # A tensor or StreamedPixels; methods take it as a tensor.
        self.y = y
        self.weights = weights
        self.workers = 0
        if isinstance(x, StreamedPixels):
            self.workers = usable_workers(x.workers)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, request: Any) -> tuple[Tensor, ...]:
        """Return a batch for what the sampler of :meth:`requests` yields."""
        x, rows = self.read(request)
        return x, *self.labels_of(rows)

    def read(self, rows: list[int]) -> tuple[Tensor, Tensor]:
        """Return samples, and their rows as an index on the device of the samples."""
        index = torch.from_numpy(
            np.array(rows, dtype=np.int64)
        )  # It takes a quarter of the time of a tensor of a list.
        if isinstance(self.x, StreamedPixels):
            return self.x[rows], index
        index = index.to(self.x.device)
        return self.x.index_select(0, index), index

    def labels_of(self, rows: Tensor) -> list[Tensor]:
        """Return the labels of some rows, and their weights if samples are weighted."""
        labels = [self.y[rows]]
        if self.weights is not None:
            labels.append(self.weights[rows])
        return labels

    def weights_of(self, rows: NDArray[np.int64]) -> Tensor | None:
        """Return the weights of some rows in float64; None if samples are not weighted."""
        if self.weights is None:
            return None
        return self.weights[torch.from_numpy(rows)].double()

    def requests(self, batches: SharedBatches, seed: int) -> SharedBatches:
        """Return the sampler of a DataLoader that reads these batches; ``seed`` is that of the training."""
        return batches


class ViewBatches(ArrayBatches):
    """Augmented views of images (n, c, h, w), uint8, or series (n, c, t), a whole batch of them at a time.

    The views of a sample lie next to each other in the batch, each with its label and, if there are some, its weight.
    Worker processes draw those that take long, and those of samples that are not in memory.

    Args:
        x: Samples (n, ...).
        y: Labels (n,) or (n, p).
        augmentation: Function that draws a view of each sample.
        views: Number of views per sample.
        workers: Largest number of worker processes.
        weights: Weights (n,) of the samples; None for equal ones.
    """

    def __init__(
        self,
        x: Tensor | StreamedPixels,
        y: Tensor,
        augmentation: DrawView,
        views: int,
        workers: int,
        weights: Tensor | None = None,
    ) -> None:
        super().__init__(x, y, weights)
        self.augmentation = augmentation
        self.views = views
        self.workers = 0
        if augmentation.takes_long or isinstance(x, StreamedPixels):
            self.workers = usable_workers(workers)

    def __getitem__(self, request: Any) -> tuple[Tensor, ...]:
        seed, rows = request
        x, read = self.read(rows)
        with torch.random.fork_rng(devices=[]):
            # Views are drawn on the CPU, and seeding every device takes longer.
            torch.default_generator.manual_seed(seed)
            drawn = self.augmentation(x.repeat_interleave(self.views, dim=0))
        return drawn, *(part.repeat_interleave(self.views, dim=0) for part in self.labels_of(read))

    def requests(self, batches: SharedBatches, seed: int) -> SharedBatches:
        return SeededBatches(batches, seed)


class SeededBatches(WrappedBatches):
    """Batches, each with a seed that follows from the training's seed, the epoch and the place in the epoch."""

    def __init__(self, batches: SharedBatches, seed: int) -> None:
        super().__init__(batches)
        self.seed = seed

    def __iter__(self) -> Iterator[tuple[int, list[int]]]:
        process, epoch = place_among(all_processes()), self.batches.epoch
        for place, rows in enumerate(self.batches):
            known: tuple[int, ...] = (self.seed, epoch, place)
            if process > 0:
                known = (*known, process)
            yield hash(known) % 2**63, rows
