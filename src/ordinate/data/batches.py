"""Samples in batches, of which those that stay in a file are read one batch at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinate.data.rows import take


@dataclass(frozen=True)
class Batches:
    """n samples, ``rows`` at a time, in their order, as often as they are iterated over.

    ``len`` is n. Samples that have a method ``batches(rows)``, as tables in files do, are asked for their batches.

    Example:
        >>> batches = Batches(["a", "b", "c"], rows=2)
        >>> len(batches), list(batches)
        (3, [['a', 'b'], ['c']])
    """

    samples: Any
    rows: int

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Any]:
        if hasattr(self.samples, "batches"):
            return iter(self.samples.batches(self.rows))
        if len(self) <= self.rows:
            return iter([self.samples])
        starts = range(0, len(self), self.rows)
        return (take(self.samples, np.arange(start, min(start + self.rows, len(self)))) for start in starts)
