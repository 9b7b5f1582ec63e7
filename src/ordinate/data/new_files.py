"""Files and folders that are written whole or not at all.

An unfinished file is next to the result as ``.NAME.partial``. The next process overwrites what a killed one left there.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from ordinate.errors import OrdinateError


@contextmanager
def new_file(path: Path, argument: str = "out") -> Iterator[Path]:
    """Give a file to write, which takes its name once it is whole; a full disk is an error of the argument."""
    pending = path.with_name(f".{path.name}.partial")
    try:
        with _writing(path, argument):
            yield pending
            pending.replace(path)
    finally:
        pending.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path, argument: str) -> Iterator[Path]:
    """Give an empty folder next to a path, in which the result is made and from which it is moved; then it is gone."""
    pending = path.with_name(f".{path.name}.partial")
    try:
        with _writing(path, argument):
            shutil.rmtree(pending, ignore_errors=True)
            pending.mkdir()
            yield pending
    finally:
        shutil.rmtree(pending, ignore_errors=True)


def held(argument: str, folder: Path, way_out: str = "remove that model first") -> OrdinateError:
    """Return the error of a folder to write that holds something already; ``way_out`` is that of a model."""
    hint = "name another one, or remove it first"
    if folder.is_dir() and folder.name:
        free = next(name for number in count(2) if not (name := folder.with_name(f"{folder.name}-{number}")).exists())
        hint = f"{free} is free"
        if (folder / "config.json").exists():  # Files of the user are not to be removed.
            hint += f", or {way_out}"
    problem = f"{folder} already holds something"
    return OrdinateError(argument, problem=problem, expected="a new or empty folder", hint=hint)


@contextmanager
def _writing(path: Path, argument: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OrdinateError(argument, problem=f"{path} cannot be written: {error.strerror or error}") from error
