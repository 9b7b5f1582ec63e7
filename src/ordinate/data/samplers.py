"""Batches of indices: seeded, every sample once per epoch, and fit for the loss they feed."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DistributedSampler

from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, place_among, processes


class SharedBatches(DistributedSampler[Any]):
    """Batches that are shared out over processes already, which a Lightning ``Trainer`` therefore leaves alone."""

    def __init__(self) -> None:
        # The constructor of torch needs a data set and a process group, which nothing here uses.
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next."""
        self.epoch = epoch


class WrappedBatches(SharedBatches):
    """Batches that are made of those of another sampler, of the same epoch."""

    def __init__(self, batches: SharedBatches) -> None:
        super().__init__()
        self.batches = batches

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next."""
        super().set_epoch(epoch)
        self.batches.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.batches)


class InOrder(SharedBatches):
    """All samples in their order, in batches, in every process."""

    def __init__(self, size: int, batch_size: int) -> None:
        super().__init__()
        self.size = size
        self.batch_size = batch_size

    def __len__(self) -> int:
        return len(range(0, self.size, self.batch_size))

    def __iter__(self) -> Iterator[list[int]]:
        for start in range(0, self.size, self.batch_size):
            yield list(range(start, min(start + self.batch_size, self.size)))


class ShuffledBatches(SharedBatches):
    """Shuffled batches of nearly equal size that together hold every sample once.

    The order follows from the seed and the epoch alone, so that a resumed training draws what it would have drawn. Each
    pass is the next epoch; :meth:`set_epoch` chooses another one.
    Every process draws the same batches and uses its part of each.

    A ``DataLoader`` takes it as ``sampler`` with ``batch_size=None``, or in a single process as ``batch_sampler``.

    Args:
        size: Number of samples.
        batch_size: Largest number of samples per batch, those of all processes together.
        seed: Seed of the order.

    Example:
        >>> batches = list(ShuffledBatches(10, batch_size=4, seed=0))
        >>> [len(batch) for batch in batches], sorted(sum(batches, []))
        ([4, 3, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """

    def __init__(self, size: int, batch_size: int, seed: int = 0) -> None:
        super().__init__()
        self.size = size
        self.batch_size = batch_size
        self.seed = seed
        self.share()
        self.count = max(1, -(-size // batch_size))

    def share(self) -> slice:
        """Return which samples of a batch are this process's; torch.distributed may be set up after the sampler.

        Raises:
            OrdinateError: There are too few samples for so many processes.
        """
        group = all_processes()
        count = processes(group)
        self.check_processes(count)
        return slice(place_among(group), None, count)

    def check_processes(self, count: int) -> None:
        """Raise an error if batches are too small for so many processes."""
        if self.batch_size < 2 * count:  # Batches of nearly equal size may be half as large.
            expected = f"at least {counted(2 * count, 'sample')} to contrast, two per process"
            raise OrdinateError("batch_size", self.batch_size, expected)
        if self.size < count:
            raise OrdinateError("processes", count, f"at most {self.size}, one per sample")

    @property
    def sampler(self) -> Self:
        """The sampler itself: Lightning sets the epoch of this attribute of a ``batch_sampler``."""
        return self

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[list[int]]:
        random, share = self.random_numbers(), self.share()
        self.epoch += 1  # With the first batch: a DataLoader with workers asks twice for an iterator.
        for batch in self.split(random):
            yield self.complete(batch, random)[share].tolist()

    def random_numbers(self) -> np.random.Generator:
        """Return the generator of the order of the present epoch, the same in every process."""
        return np.random.default_rng([self.seed, self.epoch])

    def split(self, random: np.random.Generator) -> Iterable[NDArray[np.int64]]:
        """Return the samples of an epoch in batches; here, at random."""
        rows = np.arange(self.size, dtype=np.min_scalar_type(self.size))  # It halves the memory of many samples.
        order = random.permutation(rows)
        bounds = map(self.rows_before, range(len(self) + 1))
        return (order[start:end] for start, end in pairwise(bounds))

    def rows_before(self, batch: int) -> int:
        """Return how many rows the first so many batches hold; batches are of nearly equal size."""
        least, larger = divmod(self.size, len(self))
        return batch * least + min(batch, larger)

    def complete(self, batch: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Return the batch as the loss needs it; here, as it is."""
        return batch


class RankBatches(ShuffledBatches):
    """Shuffled batches that always hold enough of the ranks that a loss contrasts.

    A batch that lacks some is completed with samples drawn at random from those ranks; every sample still comes once
    per epoch. The batch of all processes together holds the required samples. As ``batch_sampler`` of a DataLoader it
    serves loops of your own.

    Args:
        ranks: Rank of every sample (n,), 0..C-1.
        batch_size: Largest number of samples per batch, those of all processes together, before any is added.
        required: Smallest number of samples per batch by rank (OTD: of the two extreme ranks).
        distinct: Number of ranks of which every batch holds at least two samples (CLOC, Section 3.3: 2).
        seed: Seed of the order.

    Example:
        >>> ranks = np.array([0] * 18 + [1, 1])
        >>> all((ranks[batch] == 1).sum() >= 2 for batch in RankBatches(ranks, batch_size=5, distinct=2))
        True
    """

    def __init__(
        self,
        ranks: NDArray[np.int64],
        batch_size: int,
        required: Mapping[int, int] | None = None,
        distinct: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__(len(ranks), batch_size, seed)
        self.ranks = np.asarray(ranks)
        expected = "whole numbers 0..C-1, one per sample"
        if self.ranks.ndim != 1 or self.ranks.dtype.kind not in "iu":
            raise OrdinateError("ranks", f"{self.ranks.dtype} of shape {self.ranks.shape}", expected)
        if self.ranks.min() < 0:
            raise OrdinateError("ranks", int(self.ranks.min()), expected)
        counts = np.bincount(self.ranks)
        present = set(np.flatnonzero(counts).tolist())
        self.required = {rank: count for rank, count in (required or {}).items() if rank in present}
        self.distinct = distinct
        self.pairs = np.flatnonzero(counts >= 2).tolist()
        if distinct > len(self.pairs):
            expected = f"at least {distinct}, for pairs of the same rank in every batch"
            raise OrdinateError("labels", f"{counted(len(self.pairs), 'rank')} with two samples or more", expected)

    def complete(self, batch: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Return the batch with what it lacks added at its end."""
        for rank, count in self.required.items():
            batch = self._add(batch, rank, count, random)
        held = [rank for rank in self.pairs if (self.ranks[batch] == rank).sum() >= 2]
        others = [rank for rank in self.pairs if rank not in held]
        for rank in random.permutation(others)[: max(0, self.distinct - len(held))]:
            batch = self._add(batch, int(rank), 2, random)
        return batch

    def _add(self, batch: NDArray[np.int64], rank: int, count: int, random: np.random.Generator) -> NDArray[np.int64]:
        lacking = count - int((self.ranks[batch] == rank).sum())
        if lacking <= 0:
            return batch
        candidates = np.setdiff1d(np.flatnonzero(self.ranks == rank), batch)
        return np.concatenate([batch, random.permutation(candidates)[:lacking]])
