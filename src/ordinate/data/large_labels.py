"""Labels of more samples than memory should hold: they lie in a file, and are computed with some at a time."""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ordinate.data.mapped_matrix import mapped_matrix

IN_MEMORY = 2**27  # Larger arrays, in bytes, go to a file.
AT_ONCE = 1 << 20  # Labels are processed in parts of this size.


def in_parts(labels: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield a million labels at a time, and where they stand."""
    for start in range(0, len(labels), AT_ONCE):
        where = slice(start, min(start + AT_ONCE, len(labels)))
        yield where, labels[where]


def are_large(n: int, dtype: DTypeLike) -> bool:
    """Return whether so many labels are more than 128 MiB."""
    return n * np.dtype(dtype).itemsize > IN_MEMORY


def are_in_file(labels: object) -> bool:
    """Return whether labels lie in a file, and are computed with some at a time."""
    return isinstance(labels, np.memmap)


def empty_labels(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an array for labels, in a file without a name where they are large."""
    return mapped_matrix(shape, dtype=dtype) if are_large(math.prod(shape), dtype) else np.empty(shape, dtype)


def computed(
    labels: np.ndarray, shape: tuple[int, ...], dtype: DTypeLike, compute: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return what is computed of labels, a million at a time, in another array of labels."""
    out = empty_labels(shape, dtype)
    for where, part in in_parts(labels):
        out[where] = compute(part)
    return out


def without(labels: np.ndarray, rows: NDArray[np.int64]) -> np.ndarray:
    """Return labels without those of some rows.

    Example:
        >>> without(np.arange(5), np.array([1, 3])).tolist()
        [0, 2, 4]
    """
    kept = empty_labels((len(labels) - len(rows), *labels.shape[1:]), labels.dtype)
    done = 0
    for where, part in in_parts(labels):
        here = np.delete(part, rows[slice(*np.searchsorted(rows, (where.start, where.stop)))] - where.start, axis=0)
        kept[done : done + len(here)] = here
        done += len(here)
    return kept
