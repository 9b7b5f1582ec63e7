"""A matrix that lies in a file: batches are read from it, and the system gives memory back to whoever needs it."""

import math
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from ordinate.errors import OrdinateError


def mapped_matrix(shape: tuple[int, ...], folder: Path | None = None, dtype: DTypeLike = np.float32) -> np.ndarray:
    """Return zeros in a file without a name: it is gone with the array, and with the process.

    It lies in ``folder``, or among temporary files (``TMPDIR``); one that cannot hold all of it is an `OrdinateError`.

    Example:
        >>> matrix = mapped_matrix((1000, 3))
        >>> matrix[[5, 900]] = 1
        >>> float(matrix.sum())
        6.0
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            if sys.platform == "linux":  # A sparse file on a full disk would end the process.
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            return np.memmap(file, dtype, "r+", shape=shape)
    except (OSError, OverflowError) as error:
        place = "the folder of temporary files (TMPDIR)"
        if folder is not None:
            place = f"checkpoint_dir: {folder}"
        what = f"{place} cannot hold the {size / 2**30:.3g} GiB of the prepared samples"
        problem = getattr(error, "strerror", error)
        raise OrdinateError(what, problem=problem, expected="a folder on a disk with space for them") from error
