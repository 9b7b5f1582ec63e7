"""Read labelled series: a folder of matrices, such as activity by brain region and time, with a labels.csv."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy.typing import NDArray

from ordinate.counts import counted
from ordinate.data.decoded import require_readable
from ordinate.data.file_formats import LABELS
from ordinate.data.file_tree import FileTree
from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import Columns, listed_names, read_listed
from ordinate.data.paths import reading
from ordinate.data.ts_files import stack_series
from ordinate.errors import OrdinateError, argument


def holds_matrices(path: str | Path) -> bool:
    """Return whether a path is a folder whose labels.csv names matrices."""
    labels = Path(path) / LABELS
    if not labels.is_file():
        return False
    with labels.open(encoding="utf-8", errors="replace") as lines:
        head = [next(lines, ""), next(lines, "")]
    return any(cell.strip().strip('"').lower().endswith((".csv", ".npy")) for cell in head[1].split(","))


def read_matrices(path: str | Path, columns: Columns = Columns(), *, skip_unreadable: bool | None = False) -> Labelled:
    r"""Read a folder of matrices (regions, time), one per sample, and their labels; errors name the files.

    The parcellated functional MRI of HCP-Aging, on which SupReMix predicts ages, may be kept so: a matrix per subject,
    one row per region, one column per point in time, of any number of points. A ``labels.csv`` at the top of the folder
    names the files (csv without a header, or npy) and their labels, as
    :func:`~ordinate.data.labels_file.labelled_by` says.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "labels.csv").write_text("path,age\na.csv,41\nb.csv,67\n")
        ...     _ = (Path(folder) / "a.csv").write_text("1,2,3\n4,5,6\n")
        ...     _ = (Path(folder) / "b.csv").write_text("1,2\n4,5\n")
        ...     read = read_matrices(folder)
        >>> read.samples.shape, read.labels.tolist()
        ((2, 2, 3), [41, 67])
    """
    tree = FileTree.of(path)
    listed = read_listed(tree, "files", skip_unreadable)
    paths = np.array([tree.where(name) for name in listed.names])
    labelled = listed.labelled(paths, columns)
    series, rows, failures = _read_all(paths, path, skip_unreadable=skip_unreadable)
    labelled = labelled.take(rows)
    return replace(labelled, samples=series, paths=labelled.samples, left_out=(*labelled.left_out, *failures))


def read_unlabelled_matrices(
    path: str | Path, left_out: Callable[[str], None] | None = None
) -> Float[np.ndarray, "n c t"]:
    """Return the matrices that a folder's labels.csv names, whether it has labels or not.

    ``left_out`` gets the reason for every file that is not there, which is an error without it.
    """
    tree = FileTree.of(path)
    names = listed_names(tree, "files", left_out)
    return _read_all(np.array([tree.where(name) for name in names]), path, skip_unreadable=None)[0]


def _read_all(
    paths: NDArray[np.str_], path: str | Path, *, skip_unreadable: bool | None
) -> tuple[Float[np.ndarray, "n c t"], NDArray[np.int64], tuple[str, ...]]:
    """Return the matrices that can be read, stacked, their rows, and why the others cannot."""
    matrices, failures = {}, {}
    for row, file in enumerate(paths):
        try:
            with reading(file):
                matrices[row] = _read_matrix(Path(file))
        except OrdinateError as error:
            failures[row] = str(error)
    regions = {len(matrix) for matrix in matrices.values()}
    if len(regions) > 1:
        few = min(matrices, key=lambda row: len(matrices[row]))
        many = max(matrices, key=lambda row: len(matrices[row]))
        problem = f"{paths[few]} has {counted(min(regions), 'row')} and {paths[many]} {max(regions)}"
        raise OrdinateError(path, problem=problem, expected="the same regions")
    require_readable_series(failures, path, len(paths), skip_unreadable=skip_unreadable)
    return stack_series(list(matrices.values())), np.array(list(matrices)), tuple(failures.values())


def require_readable_series(
    failures: dict[int, str], path: str | Path, total: int, *, skip_unreadable: bool | None
) -> None:
    """Raise an error if files could not be read, unless they are left out and others could be read.

    Args:
        failures: Reasons why files could not be read, by their row.
        path: Folder of the files.
        total: Number of all files.
        skip_unreadable: Whether such files are left out; None raises an error that names no way out.
    """
    if not skip_unreadable or len(failures) == total:
        way_out = ""
        if skip_unreadable is False and len(failures) < total:
            way_out = f"; {argument('skip_unreadable', True)} leaves them out"
        require_readable(failures, total, "files", str(path), way_out, max_named=5)


def _read_matrix(path: Path) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        matrix = np.array(np.load(path, mmap_mode="r", allow_pickle=False))  # A memory map cannot exceed its file.
    elif path.suffix.lower() == ".csv":
        matrix = pd.read_csv(path, header=None, dtype=np.float64).to_numpy()
    else:
        raise ValueError("expected a file that ends in .csv or .npy")
    if matrix.ndim != 2 or matrix.size == 0 or matrix.dtype.kind not in "biuf":
        raise ValueError(f"has shape {matrix.shape} and {matrix.dtype}, expected numbers (regions, time)")
    if np.isinf(matrix).any():
        raise ValueError("holds infinity, expected finite numbers, or none (csv) or NaN where one is missing")
    return matrix
