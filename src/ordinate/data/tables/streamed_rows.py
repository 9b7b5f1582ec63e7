"""Rows of parquet files that are decoded whenever a batch needs them."""

import os
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ordinate.data.row_blocks import RowBlocks
from ordinate.data.streamed import Streamed
from ordinate.data.tables.parquet_table import ParquetTable

if TYPE_CHECKING:
    import pyarrow as pa

    from ordinate.data.tables.features import TableFeatures

POOL_BYTES = 2**25  # Batches are drawn from a pool of rows of this size.
KEPT_BYTES = 2**25  # Rows up to this size are decoded once and kept.
FEWEST_ROWS = 64  # A block has at least this many rows.

Decoded = tuple[NDArray[np.float32], dict[str, set[str]]]


class StreamedRows(Streamed):
    """The float32 rows (n, width) of a parquet table, of which those of some pools are in memory.

    They are decoded a block at a time, and a row group is read on where it was left, so that batches drawn from pools
    of :attr:`blocks` decode every row once per epoch. While the rows of a block are in use, a thread decodes the block
    after it, so that the next pool is mostly there when training comes to it.

    Args:
        table: Table of n rows.
        features: Features that turn its rows into numbers.
    """

    dtype = torch.float32
    blocks: RowBlocks
    _kept: Tensor | None
    workers = 0  # A transfer from another process takes longer than decoding.

    def __init__(self, table: ParquetTable, features: "TableFeatures") -> None:
        self.table = table
        self.features = features
        self.shape = torch.Size((len(table), features.width))
        self._few = 4 * self.shape.numel() <= KEPT_BYTES
        self._unseen = torch.zeros(len(features.names), dtype=torch.bool).share_memory_()
        self._groups = table.row_groups
        # A pool draws from up to 8 parts of the files; fewer of a wide table, as the reader of a column holds 2 MB.
        at_once = min(8, max(1, 256 // len(features.names)))
        self._block_rows = max(FEWEST_ROWS, POOL_BYTES // (4 * at_once * features.width))
        starts = self._groups.starts
        blocks = -(-np.diff(starts) // self._block_rows)  # Blocks of each group.
        self._first = np.cumsum([0, *blocks])
        group = np.repeat(np.arange(len(blocks)), blocks)
        self._starts = starts[group] + (np.arange(self._first[-1]) - self._first[group]) * self._block_rows
        self.blocks = RowBlocks(
            table.places(np.append(self._starts, starts[-1])), group, at_once * self._block_rows, at_once, table.order
        )
        self._forget()

    def part(self, rows: np.ndarray | slice) -> Self:
        """Return some of the rows, still to be decoded."""
        return type(self)(self.table[rows], self.features)

    def read(self, rows: ArrayLike | slice, seed: int | None = None) -> tuple[Tensor, list[int]]:
        """Return rows, and their numbers."""
        wanted = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows)
        if self._process != os.getpid():  # Processes that share an open file would also share its position.
            self._forget()
        if self._few:
            if self._kept is None:
                self._kept = torch.from_numpy(self.features.transform(self.table))
            return self._kept[wanted], wanted.tolist()
        decoded = np.empty((len(wanted), self.shape[1]), dtype=np.float32)
        blocks, places = self.blocks.find(wanted)
        for block in np.unique(blocks):
            here = np.flatnonzero(blocks == block)
            decoded[here] = self._block(int(block)).take(places[here], axis=0)
        self._read_ahead()
        return torch.from_numpy(decoded), wanted.tolist()

    def split(self, at_once: int) -> Iterator[Tensor]:
        """Yield all rows in their order, so many at a time."""
        return (self[start : start + at_once] for start in range(0, len(self), at_once))

    def digest(self) -> bytes:
        """Return the names, sizes and times of the files, and which columns and rows are used, in a few bytes."""
        return self._groups.digest() + self.table.digest()

    @property
    def note(self) -> str | None:
        """What to say of values that were not among those that the columns were learned from; None without any."""
        names = [self.features.names[place] for place in self._unseen.nonzero()[:, 0].tolist()]
        if not names:
            return None
        return f"values of {', '.join(names)} that were not among the rows learned from are treated as missing"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.table, self.features), {"_unseen": self._unseen}  # Files are opened again.

    def _forget(self) -> None:
        self._process = os.getpid()
        self._kept = None
        self._decoded: OrderedDict[int, NDArray[np.float32]] = OrderedDict()
        self._readers: OrderedDict[int, Iterator[pa.Table]] = OrderedDict()  # The key is the next block of the reader.
        self._reading = Lock()  # Guards the readers and their positions.
        self._ahead: dict[int, Future[Decoded]] = {}

    def _block(self, block: int) -> NDArray[np.float32]:
        """Return the rows (m, width) of a block in the order of the files."""
        if block not in self._decoded:
            ahead = self._ahead.pop(block, None)
            self._decoded[block], unseen = self._decode(block) if ahead is None else ahead.result()
            self._say(unseen)
            held = sum(map(len, self._decoded.values()))
            most = 4 * self.blocks.pool_rows  # Two pools have at most twice as many rows each.
            while held > most and len(self._decoded) > 1:
                held -= len(self._decoded.popitem(last=False)[1])
        self._decoded.move_to_end(block)
        return self._decoded[block]

    def _read_ahead(self) -> None:
        """Let a thread decode what readers come to after blocks in use; it ends with the last of them."""
        if not all(ahead.done() for ahead in self._ahead.values()):
            return
        known, following = self._decoded.keys() | self._ahead.keys(), self.blocks.following
        coming = [
            block for block in self._readers if block - 1 in self._decoded and block in following and block not in known
        ]
        if coming:
            for block in list(self._ahead)[: -self.blocks.at_once]:  # These blocks were never requested.
                del self._ahead[block]
            thread = ThreadPoolExecutor(1, thread_name_prefix="ordinate-rows")
            self._ahead |= {block: thread.submit(self._decode, block) for block in coming}
            thread.shutdown(wait=False)

    def _decode(self, block: int) -> Decoded:
        """Return the rows of a block, and the categories of each column that were never seen in training."""
        with self._reading:
            part = self._next(block)
        wanted = self.table.in_files(self.blocks.rows(block)) - self._starts[block]
        frame = self.table.as_frame(part, wanted)
        decoded = np.empty((len(frame), self.shape[1]), dtype=np.float32)
        return decoded, self.features.fill(frame, decoded)

    def _say(self, unseen: dict[str, set[str]]) -> None:
        for place, name in enumerate(self.features.names):
            if unseen[name] and not self._unseen[place]:
                self._unseen[place] = True
                warnings.warn(unseen_warning(name, unseen[name]), UserWarning, stacklevel=5)

    def _next(self, block: int) -> "pa.Table":
        """Return a block of the files, from the reader that stands before it where there is one."""
        group = int(self.blocks.runs[block])
        reader = self._readers.pop(block, None)
        if reader is None:
            reader = self.table.readable(self._groups.read(group, self._block_rows))
            for _ in range(block - int(self._first[group])):
                next(reader)
        part = next(reader)
        if block + 1 < self._first[group + 1]:
            self._readers[block + 1] = reader
        if len(self._readers) > self.blocks.at_once + 1:
            self._readers.popitem(last=False)
        return part


def unseen_warning(name: str, values: set[str]) -> str:
    """Return what to say of values of a column that were not there when it was learned."""
    return f"column {name!r}: {', '.join(sorted(values)[:5])} not seen in training, treated as missing"
