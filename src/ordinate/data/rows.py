"""Rows of samples, whatever holds them: some of them, a random part, or all in batches."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Rows = NDArray[np.int64]  # Places of samples.
Labels = NDArray[Any]  # Labels as the user gives them, ranks or targets.


class Samples(Protocol):
    """n samples: a table, an array, a list, or files; :func:`take` selects some of them."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


@runtime_checkable
class Undecoded(Protocol):
    """Samples that an index decodes, and of which ``part`` selects some without decoding them."""

    def part(self, rows: np.ndarray) -> Self: ...


def take(X: Any, rows: NDArray[np.int64], *, renumber: bool = False) -> Any:
    """Return rows of a table, array, files or list; ``renumber`` gives those of pandas the index 0, 1, ..."""
    if isinstance(X, pd.DataFrame | pd.Series):
        X = X.iloc[rows]
        if renumber:
            X = X.reset_index(drop=True)
        return X
    if isinstance(X, Undecoded):
        return X.part(rows)
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X[rows]


def column_of(values: ArrayLike | None, rows: NDArray[np.int64]) -> np.ndarray | None:
    """Return the values of some rows, such as their groups or weights; None if there are none."""
    return None if values is None else np.asarray(values)[rows]


def random_part(n: int, most: int, seed: int = 0, *, max_permuted: int = 2**26) -> NDArray[np.int64]:
    """Return ``most`` of n rows, ascending, the same each time; all of them if there are no more.

    Args:
        n: Number of rows.
        most: Largest number of rows to return.
        seed: Seed of the draw.
        max_permuted: Largest n of which a permutation is drawn, which takes seconds and a GB beyond it.

    Example:
        >>> random_part(3, most=5).tolist(), len(random_part(1000, most=5))
        ([0, 1, 2], 5)
    """
    random = np.random.default_rng(seed)
    if n <= max_permuted:
        return np.sort(random.permutation(n)[:most])
    return np.sort(random.choice(n, min(n, most), replace=False))


def random_part_of_ranks(ranks: NDArray[np.int64], most: int, least: int) -> NDArray[np.int64]:
    """Return about ``most`` rows, ascending: the same share of every rank, and at least ``least`` rows of each.

    Example:
        >>> ranks = np.array([0] * 90 + [1] * 10)
        >>> np.bincount(ranks[random_part_of_ranks(ranks, most=20, least=3)]).tolist()
        [18, 3]
    """
    if len(ranks) <= most:
        return np.arange(len(ranks))
    parts = []
    for rank in np.unique(ranks):
        rows = np.flatnonzero(ranks == rank)
        parts.append(rows[random_part(len(rows), max(least, len(rows) * most // len(ranks)))])
    return np.sort(np.concatenate(parts))


def row_codes(X: Any) -> NDArray[np.uint64]:
    """Return codes (n,) of samples, equal where samples are equal in every value.

    Example:
        >>> codes = row_codes(pd.DataFrame({"size": [1, 2, 1], "colour": ["red", "red", "red"]}))
        >>> codes[0] == codes[2], codes[0] == codes[1]
        (np.True_, np.False_)
    """
    if isinstance(X, pd.DataFrame):
        codes = _hashes(X[_telling(X)])
        equal = np.isin(codes, repeated(codes))
        codes[equal] = _hashes(X[equal])
        return codes
    if hasattr(X, "in_order"):  # It is a table in files.
        codes = np.empty(len(X), dtype=np.uint64)
        for places, part in X.in_order(1 << 16):
            codes[places] = _hashes(part)
        return codes
    digests = (hashlib.blake2b(np.asarray(sample).tobytes(), digest_size=8).digest() for sample in X)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def repeated(codes: NDArray[Any]) -> NDArray[Any]:
    """Return the codes that occur more than once, as often as they do so.

    Example:
        >>> repeated(np.array([7, 8, 7, 9])).tolist()
        [7]
    """
    ordered = np.sort(codes)
    return ordered[1:][ordered[1:] == ordered[:-1]]


def _telling(X: pd.DataFrame, most: int = 4) -> list[Any]:
    """Return a few columns in which most rows differ: fractions, if there are any."""
    fractions = [name for name in X.columns if pd.api.types.is_float_dtype(X[name].dtype)]
    return (fractions or list(X.columns))[:most]


def _hashes(X: pd.DataFrame) -> NDArray[np.uint64]:
    """Return codes (n,) of the rows of a table, equal where all values are."""
    types: dict[Any, type] = dict.fromkeys(X.select_dtypes("number", exclude="timedelta").columns, np.float64)
    for name in X.columns:
        if X[name].dtype == object and X[name].map(pd.api.types.is_list_like).any():
            types[name] = str  # A cell of several values, such as a list, cannot be hashed; reading names its column.
    return np.array(pd.util.hash_pandas_object(X.astype(types), index=False), dtype=np.uint64)


@dataclass(frozen=True)
class BatchedSamples:
    """n samples in their order, in batches of ``rows``, as often as they are iterated over.

    ``len`` is n. Samples that have a method ``batches(rows)``, such as tables in files, are asked for their batches.

    Args:
        samples: Samples to read.
        rows: Number of samples per batch.

    Example:
        >>> batches = BatchedSamples(["a", "b", "c"], rows=2)
        >>> len(batches), list(batches)
        (3, [['a', 'b'], ['c']])
    """

    samples: Samples
    rows: int

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Any]:
        if hasattr(self.samples, "batches"):
            return iter(self.samples.batches(self.rows))
        if len(self) <= self.rows:
            return iter([self.samples])
        starts = range(0, len(self), self.rows)
        parts = (np.arange(start, min(start + self.rows, len(self))) for start in starts)
        return (take(self.samples, part, renumber=True) for part in parts)
