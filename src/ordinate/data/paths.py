"""Files and columns that are asked for but not there, or cannot be read. Imports nothing heavy."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PureWindowsPath

from ordinate.errors import OrdinateError, argument, did_you_mean


def refuse_url(path: str | Path) -> None:
    """Raise an error if a path is a URL."""
    if "://" in str(path):
        hint = "download it first, or in Python give the DataFrame that pandas reads from it"
        raise OrdinateError(path, problem="is a URL", expected="a file or folder", hint=hint)


def first_named(names: Iterable[object], most: int = 5) -> str:
    """Return the first names for a message, which says with an ellipsis that there are more."""
    named = list(map(str, names))
    if len(named) > most:
        named = [*named[:most], "..."]
    return ", ".join(named)


def absent_files(
    where: Path | str, names: Sequence[str], noun: str, *, may_skip: bool, below: bool = True
) -> OrdinateError:
    """Return the error of a labels.csv that names files which are not there.

    Args:
        where: Path of the labels.csv.
        names: Names of the files.
        noun: Noun for several of them.
        may_skip: Whether an option leaves them out.
        below: Whether all names have to be relative to its folder.
    """
    hint = None
    if below and any(name.startswith("/") or PureWindowsPath(name).is_absolute() for name in names):
        hint = "paths begin at the folder of that file; absolute ones are not read"
    elif may_skip:
        hint = f"{argument('skip_unreadable', True)} leaves them out"
    are = "is" if len(names) == 1 else "are"
    problem = f"{len(names)} of its {noun} {are} not there: {first_named(names)}"
    return OrdinateError(where, problem=problem, hint=hint)


def is_file(path: Path) -> bool:
    """Return whether there is such a file, of any text: none can have a name that is too long."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def no_image_there(where: Path | str, first: str, column: str) -> OrdinateError:
    """Return the error of a table that names images, none of which is there, such as the first."""
    problem = f"none of its images is there, such as {first}, below {Path(where).parent.absolute()}"
    hint = f"paths start at the folder of the table; {argument('drop', column)} trains on the other columns instead"
    return OrdinateError(where, problem=problem, hint=hint)


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
    except OSError as error:  # The name may be too long.
        raise OrdinateError(path, problem=error.strerror) from error
    if there and not (path.is_file() or path.is_dir()):
        raise OrdinateError(path, problem="is a pipe or device", expected="a file or folder")
    if not there:
        beside = sorted(path.parent.glob("*"), key=lambda near: near.suffix == path.suffix)
        names = {near.stem: near.name for near in beside}  # A common ending alone does not make two names similar.
        raise OrdinateError(path, problem="no such file", hint=did_you_mean(path.stem, names, names.__getitem__))


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
            raise not_text(path, error) from error
        said = next(iter(str(error).splitlines()), "")
        if not said and isinstance(error, MemoryError):
            said = "not enough memory"
        said = said or type(error).__name__
        raise OrdinateError(path, problem=f"{problem or 'could not be read'}: {said}") from error


def require_unique(names: Iterable[object], path: Path | str) -> None:
    """Raise an error if several columns of a table have the same name."""
    twice = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if twice:
        found = ", ".join(map(repr, twice[:5]))
        raise OrdinateError(path, problem=f"several columns are named {found}", expected="one name per column")


def not_text(
    path: str | Path, error: UnicodeDecodeError, encoding: str = "utf-8", hint: str = "save it as UTF-8"
) -> OrdinateError:
    """Return what is said of a file of text in another encoding than the one it was read in."""
    byte = error.object[error.start]
    problem = f"is not text in {encoding.upper()}: it holds the byte 0x{byte:02x}"
    return OrdinateError(path, problem=problem, hint=hint)


def lacks_columns(where: Path | str, absent: Sequence[str], others: Iterable[str]) -> OrdinateError:
    """Return the error of a table without columns that a model was trained on, given its other columns."""
    problem = f"lacks the {'column' if len(absent) == 1 else 'columns'} {', '.join(absent)}"
    hint = did_you_mean(absent[0], others)
    return OrdinateError(where, problem=problem, expected="those that the model was trained on", hint=hint)


def require_names(columns: Iterable[str], names: Sequence[str], path: Path | str) -> None:
    """Raise an error if a name is not among the columns of a table, and name the nearest that is."""
    columns = list(columns)
    unnamed = [column for column in columns if str(column).startswith("Unnamed: ")]
    for name in names:
        if name not in columns:
            hint = did_you_mean(name, columns) or f"it has {', '.join(map(repr, columns[:20]))}"
            if 0 < len(columns) <= 2 * len(unnamed):
                hint = f"its first row, {columns[0]!r}, may be a title: remove the rows above the names of the columns"
            raise OrdinateError(path, problem=f"no column {name!r}", hint=hint)
