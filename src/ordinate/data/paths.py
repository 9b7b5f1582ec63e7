"""Files and columns that are asked for but not there, or cannot be read. Imports nothing heavy."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ordinate.errors import OrdinateError, did_you_mean


def is_url(path: str | Path) -> bool:
    """Return whether a path is a URL, such as that of a store."""
    return "://" in str(path)


def walk(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield every folder below one with the names of its folders, which may be sorted, and of its files.

    Links are followed, as they may lead to another disk, but into no folder that they stand in.
    """
    for here, below, files in os.walk(folder, followlinks=True):
        path = Path(here)
        for link in [path / name for name in below if (path / name).is_symlink()]:
            if link.resolve() in {above.resolve() for above in link.parents}:
                below.remove(link.name)
        yield path, below, files


def require_path(path: Path) -> None:
    """Raise an error if no file or folder is there, and name the nearest that is."""
    try:
        there = path.exists()
    except OSError as error:  # such as a name that is too long
        raise OrdinateError(path, problem=error.strerror) from error
    if there and not (path.is_file() or path.is_dir()):
        raise OrdinateError(path, problem="is a pipe or device", expected="a file or folder")
    if not there:
        names = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        raise OrdinateError(path, problem="no such file", hint=did_you_mean(path.name, names, str))


@contextmanager
def reading(path: str | Path, problem: str | None = None) -> Iterator[None]:
    """Name the file where reading it fails, whatever the reader raises: each format has its own errors.

    ``problem`` is what is said of every failure; None says that the file could not be read, or is not in UTF-8.
    """
    try:
        yield
    except OrdinateError:
        raise
    except Exception as error:
        if problem is None and isinstance(error, UnicodeDecodeError):
            raise not_utf8(path, error) from error
        said = next(iter(str(error).splitlines()), "not enough memory" if isinstance(error, MemoryError) else "")
        said = said or type(error).__name__
        raise OrdinateError(path, problem=f"{problem or 'could not be read'}: {said}") from error


def not_utf8(path: str | Path, error: UnicodeDecodeError) -> OrdinateError:
    """Return what is said of a file of text in another encoding."""
    byte = error.object[error.start]
    return OrdinateError(path, problem=f"is not text in UTF-8: it holds the byte 0x{byte:02x}", hint="save it as UTF-8")


def require_names(columns: Iterable[str], names: Sequence[str], path: Path | str) -> None:
    """Raise an error if a name is not among the columns of a table, and name the nearest that is."""
    columns = list(columns)
    for name in names:
        if name not in columns:
            hint = did_you_mean(name, columns) or f"it has {', '.join(map(repr, columns[:20]))}"
            raise OrdinateError(path, problem=f"no column {name!r}", hint=hint)
