"""Batches of augmented views, drawn by worker processes, the same whichever process draws them."""

from collections.abc import Iterator, Sized
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from ordinate.data.samplers import SharedBatches
from ordinate.data.streamed import Streamed, read_rows
from ordinate.data.worker_processes import usable_workers
from ordinate.functional.global_batch import all_processes, place_among

Request = tuple[int, list[int]]


class EpochSampler(Sized, Protocol):
    """A sampler of batches that knows epochs."""

    epoch: int

    def set_epoch(self, epoch: int) -> None: ...

    def __iter__(self) -> Iterator[list[int]]: ...


class DrawView(Protocol):
    """What draws a view of every sample, such as an augmentation of images or a crop of series."""

    @property
    def name(self) -> str: ...

    @property
    def changes(self) -> bool: ...

    @property
    def takes_long(self) -> bool: ...

    def __call__(self, samples: Tensor, /) -> Tensor: ...


class ViewBatches(Dataset[tuple[Tensor, ...]]):
    """Augmented views of images (n, c, h, w), uint8, or series (n, c, t), a whole batch of them at a time.

    The ``views`` of a sample lie next to each other in the batch, each with its label and, where there are some, its
    weight. Worker processes draw those that take long, and those of samples that are not in memory.
    """

    def __init__(
        self,
        x: Tensor | Streamed,
        y: Tensor,
        augmentation: DrawView,
        views: int,
        workers: int,
        weights: Tensor | None = None,
    ) -> None:
        self.x: Any = x
        self.y = y
        self.augmentation = augmentation
        self.views = views
        self.weights = weights
        self.workers = usable_workers(workers) if augmentation.takes_long or isinstance(x, Streamed) else 0

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, request: Request) -> tuple[Tensor, ...]:
        seed, rows = request
        views = self.views
        if isinstance(self.x, Streamed) and self.x.draws:  # every view is read by itself
            rows, views = np.repeat(rows, views).tolist(), 1
        x, read = read_rows(self.x, rows, seed)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)  # views are drawn on the CPU; seeding every device takes longer
            drawn = self.augmentation(x.repeat_interleave(views, dim=0))
        labels = (self.y,) if self.weights is None else (self.y, self.weights)
        return drawn, *(part[read].repeat_interleave(views, dim=0) for part in labels)

    def requests(self, batches: EpochSampler, seed: int) -> "SeededBatches":
        """Return the sampler that a DataLoader is to have."""
        return SeededBatches(batches, seed)


class SeededBatches(SharedBatches):
    """Batches, each with a seed that follows from the run's seed, the epoch and the place in the epoch."""

    def __init__(self, batches: EpochSampler, seed: int) -> None:
        self.batches = batches
        self.seed = seed

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next."""
        self.batches.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[Request]:
        process = place_among(all_processes())
        for place, rows in enumerate(self.batches):
            known = (self.seed, self.batches.epoch, place)
            yield hash(known if process == 0 else (*known, process)) % 2**63, rows
