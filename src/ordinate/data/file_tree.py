"""The files under a folder, or in a zip."""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Self

from ordinate.data.file_formats import IMAGE_SUFFIXES, LABELS
from ordinate.data.memory import read_member, require_memory
from ordinate.data.paths import reading, walk
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class FileTree:
    """The files under a folder, or in a zip.

    Args:
        path: Folder or zip.
        names: Names of the files below it, with slashes, in order.
        listed_in: Name of the table that lists them, if it is another than a ``labels.csv`` at the top.
    """

    path: Path
    names: tuple[str, ...]
    listed_in: str | None = None

    @classmethod
    def of(cls, path: str | Path) -> Self:
        """List a folder or a zip; an image is one file of its folder."""
        path = Path(path)
        if path.is_dir():
            names = list(_files_below(path))
        elif path.is_file() and path.suffix.lower() in IMAGE_SUFFIXES:
            return cls(path.parent, (path.name,))
        elif path.is_file():
            with reading(path, "could not be read"), zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if not name.endswith("/")]
        else:
            raise OrdinateError(path, problem="no such folder or zip")
        return cls(path, tuple(sorted(name for name in names if not is_hidden(name))))

    @property
    def is_zip(self) -> bool:
        """Whether the files lie in a zip."""
        return self.path.is_file()

    @cached_property
    def root(self) -> str:
        """The folder that holds everything in a zip, as archivers like to make one; empty for a folder."""
        if not self.is_zip:
            return ""
        levels = zip(*(name.split("/")[:-1] for name in self.names), strict=False)
        common = takewhile(lambda level: len(set(level)) == 1, levels)
        return "".join(f"{level[0]}/" for level in common)

    @property
    def labels(self) -> str | None:
        """The name of the table that lists the files; None if there is none."""
        if self.listed_in is not None:
            return self.listed_in
        return self.root + LABELS if self.root + LABELS in self.names else None

    def content(self, name: str) -> bytes:
        """Return the bytes of a file."""
        with reading(self.path / name):
            if self.path.is_dir():
                require_memory((self.path / name).stat().st_size, self.path / name)
                return (self.path / name).read_bytes()
            with zipfile.ZipFile(self.path) as archive:
                return read_member(archive, name)

    def ending_in(self, suffixes: tuple[str, ...]) -> list[str]:
        """Return the names that end in such suffixes, in upper or lower case."""
        return [name for name in self.names if name.lower().endswith(suffixes)]

    def where(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.path / name)


def is_hidden(name: str) -> bool:
    """Return whether a file is one that systems and archivers add."""
    return re.fullmatch(r"(?:.*/)?(?:__MACOSX/.*|\.[^/]*)", name) is not None


def _files_below(path: Path) -> Iterator[str]:
    for folder, _, files in walk(path):
        above = folder.relative_to(path).as_posix()
        for file in files:
            yield f"{above}/{file}".removeprefix("./")
