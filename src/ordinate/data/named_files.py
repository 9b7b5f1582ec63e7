"""Files by their paths, of which some can be selected, and which can be recognised again."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ordinate.optional import optional


class NamedFiles:
    """Files in an order; an index array, a mask or a slice selects some.

    Args:
        paths: Paths of the files, or their names in an archive.
        archive: Zip that holds the files; None if they lie in folders.

    Attributes:
        kind: Kind of the files, for messages; the extra of Ordinate that reads them has its name.
        package: Package of that extra that reads them.
    """

    kind: ClassVar[str]
    package: ClassVar[str]

    def __init__(self, paths: Iterable[str | Path], archive: str | Path | None = None) -> None:
        optional(self.package, self.kind, self.kind)
        self._paths = np.array([str(path) for path in paths], dtype=np.str_)
        self.archive = None if archive is None else Path(archive)

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, rows: ArrayLike | slice) -> Self:
        return type(self)(self._paths[selected_rows(len(self), rows)], self.archive)

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), (self._paths, self.archive)

    @property
    def paths(self) -> NDArray[np.str_]:
        """The names of all files (n,)."""
        return self._paths

    def name(self, index: int) -> str:
        """Return the name of a file."""
        return str(self._paths[index])

    def stamps(self) -> NDArray[np.int64]:
        """Return (n, 2): the size of each file in bytes, and its time of change; no file is read."""
        stamps = (_stamp(str(path)) for path in self._paths)
        return np.fromiter(stamps, dtype=np.dtype((np.int64, 2)), count=len(self))

    def codes(self) -> NDArray[np.int64]:
        """Return codes (n,) that files of the same name, in any folders, and the same size share; no file is read."""
        names = pd.Series(self._paths).str.rpartition("/")[2]
        files = pd.DataFrame({"name": names, "size": self.stamps()[:, 0]})
        return np.asarray(files.groupby(["name", "size"]).ngroup())

    def digest(self) -> bytes:
        """Return a digest of the names, sizes and times of the files, of which none is read."""
        names = repr((self.archive, self._paths.tolist()))
        return hashlib.sha256(names.encode() + self.stamps().tobytes()).digest()


def selected_rows(n: int, rows: ArrayLike | slice) -> NDArray[np.int64]:
    """Return the rows of n that an index, an index array, a mask or a slice selects."""
    if not isinstance(rows, slice):
        rows = np.asarray(rows)
    return np.atleast_1d(np.arange(n)[rows])


def _stamp(path: str) -> tuple[int, int]:
    """Return the size of a file in bytes, and its time of change; -1 for a file that is not there."""
    try:
        found = Path(path).stat()
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns
