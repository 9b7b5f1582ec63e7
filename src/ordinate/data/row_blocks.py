"""Rows of a file in blocks, and pools of blocks that training draws its batches from."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


class RowBlocks:
    """Rows of a file in blocks that are read together, and pools of blocks from all over the file.

    Args:
        bounds: Number of rows (b+1,) before each of b blocks, and of all, counted in the order of the file.
        runs: Number (b,) of the run of each block; consecutive blocks of the same run are read in one go.
        pool_rows: Approximate number of rows of a pool.
        at_once: Number of parts of the file that a pool has blocks of.
        order: Row (n,) at each place in the order of the file; None if the rows are in that order.

    Example:
        >>> blocks = RowBlocks(np.arange(0, 101, 5), np.arange(20) // 4, pool_rows=40, at_once=4)
        >>> [len(pool) for pool in blocks.pools(np.random.default_rng(0))]
        [20, 20, 20, 20, 20]
    """

    def __init__(
        self,
        bounds: NDArray[np.int64],
        runs: NDArray[np.int64],
        pool_rows: int,
        at_once: int,
        order: NDArray[np.int64] | None = None,
    ) -> None:
        self.bounds = bounds
        self.runs = runs
        self.pool_rows = pool_rows
        self.at_once = at_once
        self._parts = np.array_split(np.flatnonzero(np.diff(bounds)), at_once)
        self._order = order
        self._places: NDArray[np.int64] | None = None
        if order is not None:
            self._places = np.empty_like(order)
            self._places[order] = np.arange(len(order))

    def __len__(self) -> int:
        return len(self.runs)

    def rows(self, block: int) -> NDArray[np.int64]:
        """Return the rows of a block, in the order of the file."""
        places = np.arange(self.bounds[block], self.bounds[block + 1])
        return places if self._order is None else self._order[places]

    def find(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the blocks of rows, and their places in these."""
        places = rows if self._places is None else self._places[rows]
        blocks = np.searchsorted(self.bounds, places, side="right") - 1
        return blocks, places - self.bounds[blocks]

    @cached_property
    def following(self) -> frozenset[int]:
        """The blocks that pools come to after others, of the same part of the file."""
        return frozenset(np.concatenate([part[1:] for part in self._parts]).tolist())

    def pools(self, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        """Yield all rows once, in pools whose blocks come from every part of the file; each run is read in order."""
        parts = [self._runs_in_random_order(part, random) for part in self._parts]
        pool: list[NDArray[np.int64]] = []
        held, left = 0, int(self.bounds[-1])
        for turn in range(len(parts[0])):  # The first part is the longest.
            pool += [self.rows(part[turn]) for part in parts if turn < len(part)]
            held = sum(map(len, pool))
            # The last pool must not consist of a few blocks, which may have a single label.
            if 2 * held >= self.pool_rows and 2 * (left - held) >= self.pool_rows:
                yield np.concatenate(pool)
                left -= held
                pool = []
        if pool:
            yield np.concatenate(pool)

    def _runs_in_random_order(self, blocks: NDArray[np.int64], random: np.random.Generator) -> list[int]:
        runs = np.split(blocks, np.flatnonzero(np.diff(self.runs[blocks])) + 1)
        return [int(block) for run in random.permutation(len(runs)) for block in runs[run]]
