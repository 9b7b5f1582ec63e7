"""Batches from pools of rows that lie together in a file, fit for the loss they feed."""

from collections.abc import Iterator

import numpy as np

from ordinate.data.row_blocks import RowBlocks
from ordinate.data.samplers import ShuffledBatches


class PooledBatches(ShuffledBatches):
    """Batches by the rule of other batches, each from one pool of blocks, so that every block is read once per epoch.

    Every sample comes once per epoch. What the rule adds to a batch comes from its pool, and where the labels say that
    the pool lacks it, from a block drawn at random of those that have it.

    Args:
        rule: for batches of all samples.
        blocks: in which they lie.

    Example:
        >>> blocks = RowBlocks(np.arange(0, 101, 5), np.arange(20) // 4, pool_rows=40, at_once=4)
        >>> batches = list(PooledBatches(ShuffledBatches(100, batch_size=16), blocks))
        >>> {len(batch) for batch in batches}, sorted(sum(batches, [])) == list(range(100))
        ({14, 15}, True)
    """

    def __init__(self, rule: ShuffledBatches, blocks: RowBlocks) -> None:
        super().__init__(rule.size, rule.batch_size, rule.seed, rule.num_processes, rule.process)
        self.rule = rule
        self.blocks = blocks

    def __iter__(self) -> Iterator[list[int]]:
        random, share = self.random_numbers(), self.share()
        done, left = 0, np.empty(0, dtype=np.int64)
        for pool in self.blocks.pools(random):
            rows = random.permutation(np.concatenate([left, pool]))
            count = self._batches_of(self._rows_of(done) + len(rows))
            rows, left = np.split(rows, [self._rows_of(count) - self._rows_of(done)])
            added = self.rule.added(rows, self.blocks, random)
            part, known = self.rule.part(rows, count - done, added), np.concatenate([rows, added])
            for batch in part.split(random):
                yield known[part.complete(batch, random)][share].tolist()
            done = count

    def _rows_of(self, batches: int) -> int:
        """Return how many rows the first so many batches have; they are of nearly equal size."""
        least, larger = divmod(self.size, self.count)
        return batches * least + min(batches, larger)

    def _batches_of(self, rows: int) -> int:
        """Return how many whole batches the first so many rows make."""
        least, larger = divmod(self.size, self.count)
        return min(rows // (least + 1), larger) + max(0, rows - larger * (least + 1)) // least
