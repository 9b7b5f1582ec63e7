"""Batches of indices: seeded, every sample once an epoch, and fit for the loss they feed."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

from ordinate.errors import OrdinateError


class ShuffledBatches(Sampler[list[int]]):
    """Shuffled batches of nearly equal size that together hold every sample once.

    The order follows from the seed and the epoch alone, so that a resumed run draws what it would have drawn.

    Example:
        >>> batches = list(ShuffledBatches(10, batch_size=4, seed=0))
        >>> [len(batch) for batch in batches], sorted(sum(batches, []))
        ([4, 3, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """

    def __init__(self, size: int, batch_size: int, seed: int = 0) -> None:
        if batch_size < 2:
            raise OrdinateError(f"batch_size: got {batch_size}, takes at least 2 samples to contrast")
        self.size = size
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next."""
        self.epoch = epoch

    def __len__(self) -> int:
        return max(1, -(-self.size // self.batch_size))

    def __iter__(self) -> Iterator[list[int]]:
        random = np.random.default_rng([self.seed, self.epoch])
        for batch in np.array_split(random.permutation(self.size), len(self)):
            yield self.complete(batch, random).tolist()

    def complete(self, batch: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Return the batch as the loss needs it; here, as it is."""
        return batch


class RankBatches(ShuffledBatches):
    """Shuffled batches that always hold enough of the ranks that a loss contrasts.

    A batch that lacks some is completed with samples drawn at random from those ranks; every sample still comes
    once an epoch.

    Args:
        ranks: (n,), the rank of every sample, 0..C-1.
        batch_size: samples a batch, before any is added.
        required: ``{rank: samples}`` that every batch holds at least (OTD: the two extreme ranks).
        distinct: how many ranks every batch holds two samples of at least (CLOC, Section 3.3: 2).
        seed: of the order.

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
        self.members = {int(rank): np.flatnonzero(self.ranks == rank) for rank in np.unique(self.ranks)}
        self.required = {rank: count for rank, count in (required or {}).items() if rank in self.members}
        self.distinct = distinct
        self.pairs = [rank for rank, members in self.members.items() if len(members) >= 2]
        if distinct > len(self.pairs):
            raise OrdinateError(
                f"labels: got {len(self.pairs)} ranks with two samples or more, takes {distinct} (CLOC, Section 3.3)"
            )

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
        candidates = np.setdiff1d(self.members[rank], batch)
        return np.concatenate([batch, random.permutation(candidates)[:lacking]])
