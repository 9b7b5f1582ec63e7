"""Batches of indices: seeded, every sample once per epoch, and fit for the loss they feed."""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch.utils.data import DistributedSampler

from ordinate.data.row_blocks import RowBlocks
from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, place_among, processes
from ordinate.functional.inputs import check_whole


class SharedBatches(DistributedSampler[Any]):
    """Batches that are shared out over processes already, which a Lightning ``Trainer`` therefore leaves alone."""

    def __init__(self) -> None:
        """Leave out what torch's sampler, which needs a data set and a process group, sets."""


class InOrder(SharedBatches):
    """All samples in their order, in batches, in every process."""

    def __init__(self, size: int, batch_size: int) -> None:
        self.starts = range(0, size, batch_size)
        self.size = size

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[list[int]]:
        return (list(range(start, min(start + self.starts.step, self.size))) for start in self.starts)

    def set_epoch(self, epoch: int) -> None:
        """Do nothing: every epoch is alike."""


class ShuffledBatches(SharedBatches):
    """Shuffled batches of nearly equal size that together hold every sample once.

    The order follows from the seed and the epoch alone, so that a resumed run draws what it would have drawn. Every
    process draws the same batches and uses its part of each.

    A ``DataLoader`` has it as ``sampler`` with ``batch_size=None``, or in a single process as ``batch_sampler``.

    Args:
        size: number of samples.
        batch_size: most samples per batch, those of all processes together.
        seed: of the order.
        num_processes: processes that share a batch; by default those of torch.distributed.
        process: which of them this one is, from 0; likewise.

    Example:
        >>> batches = list(ShuffledBatches(10, batch_size=4, seed=0))
        >>> [len(batch) for batch in batches], sorted(sum(batches, []))
        ([4, 3, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """

    def __init__(
        self, size: int, batch_size: int, seed: int = 0, num_processes: int | None = None, process: int | None = None
    ) -> None:
        self.size = size
        self.batch_size = batch_size
        self.seed = seed
        self.num_processes = num_processes
        self.process = process
        self.epoch = 0
        self.share()
        self.count = max(1, -(-size // batch_size))

    def share(self) -> slice:
        """Return which samples of a batch are this process's; torch.distributed may be set up after the sampler.

        Raises:
            OrdinateError: too few samples for so many processes.
        """
        group = all_processes()
        count = processes(group) if self.num_processes is None else self.num_processes
        self.check_processes(count)
        process = check_whole(place_among(group) if self.process is None else self.process, "process", least=0)
        if process >= count:
            raise OrdinateError("process", process, f"0 to {count - 1} ({count} processes)")
        return slice(process, None, count)

    def check_processes(self, count: int) -> None:
        """Raise where batches are too small for so many processes."""
        check_whole(count, "num_processes")
        if self.batch_size < 2 * count:  # batches of nearly equal size may be half as large
            raise OrdinateError(
                "batch_size", self.batch_size, f"at least {2 * count} samples to contrast, two per process"
            )
        if self.size < count:
            raise OrdinateError("num_processes", count, f"at most {self.size}, one per sample")

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next."""
        self.epoch = epoch

    @property
    def sampler(self) -> Self:
        """Itself: where Lightning looks in a ``batch_sampler`` for what has an epoch to set."""
        return self

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[list[int]]:
        random, share = self.random_numbers(), self.share()
        for batch in self.split(random):
            yield self.complete(batch, random)[share].tolist()

    def random_numbers(self) -> np.random.Generator:
        """Return what draws the order of the present epoch, the same in every process."""
        return np.random.default_rng([self.seed, self.epoch])

    def split(self, random: np.random.Generator) -> Iterable[NDArray[np.int64]]:
        """Return the samples of an epoch in batches; here, at random."""
        rows = np.arange(self.size, dtype=np.min_scalar_type(self.size))  # half of the memory, where samples are many
        order = random.permutation(rows)
        least, larger = divmod(self.size, len(self))
        starts = (batch * least + min(batch, larger) for batch in range(len(self) + 1))
        return (order[start:end] for start, end in pairwise(starts))

    def complete(self, batch: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Return the batch as the loss needs it; here, as it is."""
        return batch

    def added(self, rows: NDArray[np.int64], blocks: RowBlocks, random: np.random.Generator) -> NDArray[np.int64]:
        """Return other rows, of few blocks drawn at random, that batches of these rows need; here, none."""
        return rows[:0]

    def part(self, rows: NDArray[np.int64], count: int, added: NDArray[np.int64]) -> Self:
        """Return the rule for ``count`` batches of some rows, counted from 0, which ``added`` ones complete."""
        part = copy(self)
        part.size, part.count = len(rows), count
        return part


class RankBatches(ShuffledBatches):
    """Shuffled batches that always hold enough of the ranks that a loss contrasts.

    A batch that lacks some is completed with samples drawn at random from those ranks; every sample still comes once
    per epoch. What is required is held by the batch of all processes together.

    Args:
        ranks: (n,), the rank of every sample, 0..C-1.
        batch_size: samples per batch, those of all processes together, before any is added.
        required: ``{rank: samples}`` that every batch holds at least (OTD: the two extreme ranks).
        distinct: how many ranks every batch holds two samples of at least (CLOC, Section 3.3: 2).
        seed, num_processes, process: as in :class:`ShuffledBatches`. It is the batch of all processes together that
            holds what is required.

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
        num_processes: int | None = None,
        process: int | None = None,
    ) -> None:
        super().__init__(len(ranks), batch_size, seed, num_processes, process)
        self.ranks = np.asarray(ranks)
        counts = np.bincount(self.ranks)
        self.required = {rank: count for rank, count in (required or {}).items() if counts[rank : rank + 1].any()}
        self.distinct = distinct
        self.pairs = np.flatnonzero(counts >= 2).tolist()
        if distinct > len(self.pairs):
            raise OrdinateError(
                "labels", f"{len(self.pairs)} ranks with two samples or more", f"{distinct} (CLOC, Section 3.3)"
            )

    def added(self, rows: NDArray[np.int64], blocks: RowBlocks, random: np.random.Generator) -> NDArray[np.int64]:
        """Return other rows, of few blocks drawn at random, of the ranks that these rows lack."""
        counts = np.bincount(self.ranks[rows], minlength=max((*self.required, *self.pairs), default=0) + 1)
        lacking = {rank: count - int(counts[rank]) for rank, count in self.required.items() if counts[rank] < count}
        others = [rank for rank in self.pairs if counts[rank] < 2]
        for rank in random.permutation(others)[: max(0, self.distinct - len(self.pairs) + len(others))].tolist():
            lacking[rank] = max(lacking.get(rank, 0), 2 - int(counts[rank]))
        found = [rows[:0]]
        for block in random.permutation(len(blocks)) if lacking else ():
            there = blocks.rows(block)
            ranks = self.ranks[there]
            for rank in list(lacking):
                found.append(np.setdiff1d(there[ranks == rank], rows))
                lacking[rank] -= len(found[-1])
                if lacking[rank] <= 0:
                    del lacking[rank]
            if not lacking:
                break
        return np.concatenate(found)

    def part(self, rows: NDArray[np.int64], count: int, added: NDArray[np.int64]) -> Self:
        part = super().part(rows, count, added)
        part.ranks = self.ranks[np.concatenate([rows, added])]
        part.pairs = np.flatnonzero(np.bincount(part.ranks) >= 2).tolist()
        return part

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


class LabelSpreadBatches(ShuffledBatches):
    """Shuffled batches that are each spread over the whole range of continuous labels.

    Sorted by label, the samples are cut into strata of as many samples as there are batches, and every stratum is
    dealt at random over the batches, one sample each.

    Args:
        labels: (n,) or (n, p); several dimensions are sorted along their first principal component.
        batch_size, seed, num_processes, process: as in :class:`ShuffledBatches`.

    Example:
        >>> [sorted(batch) for batch in LabelSpreadBatches([0.1, 7.0, 0.2, 8.0], batch_size=2)]
        [[0, 3], [1, 2]]
    """

    def __init__(
        self,
        labels: ArrayLike,
        batch_size: int,
        seed: int = 0,
        num_processes: int | None = None,
        process: int | None = None,
    ) -> None:
        self.labels = _along_a_line(np.asarray(labels, dtype=np.float64))
        super().__init__(len(self.labels), batch_size, seed, num_processes, process)

    def part(self, rows: NDArray[np.int64], count: int, added: NDArray[np.int64]) -> Self:
        part = super().part(rows, count, added)
        part.labels = self.labels[rows]
        return part

    def split(self, random: np.random.Generator) -> list[NDArray[np.int64]]:
        """Return the samples of an epoch in batches, one of every stratum in each."""
        strata = -(-self.size // len(self))
        by_label = np.lexsort((random.random(self.size), self.labels))  # ties in random order
        batch_of = random.permuted(np.tile(np.arange(len(self)), (strata, 1)), axis=1).ravel()[: self.size]
        # at random within the batch too: chunks of it, and the parts of processes, are then spread as well
        by_batch = np.lexsort((random.random(self.size), batch_of))
        return np.split(by_label[by_batch], np.bincount(batch_of).cumsum()[:-1])


def _along_a_line(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return labels (n,) as they are, and (n, p) as their places along the line that they vary most along."""
    if labels.ndim not in (1, 2) or labels.size == 0:
        raise OrdinateError("labels", f"shape {labels.shape}", "(n,) or (n, p)")
    if not np.isfinite(labels).all():
        raise OrdinateError("labels", "NaN or infinity", "finite values")
    if labels.ndim == 1 or labels.shape[1] == 1:
        return labels.reshape(-1)
    centred = labels - labels.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False).Vh[0]
