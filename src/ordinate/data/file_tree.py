"""The files under a folder or in a zip."""

import os
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ordinate.data.images.files import SUFFIXES, ImageFiles
from ordinate.errors import OrdinateError

HIDDEN = re.compile(r"(?:.*/)?(?:__MACOSX/.*|\.[^/]*)")  # what systems and archivers add


@dataclass(frozen=True)
class FileTree:
    """The files under a folder or in a zip, by their names below it, with slashes, in order."""

    path: Path
    names: tuple[str, ...]

    @classmethod
    def of(cls, path: str | Path) -> Self:
        """List a folder or a zip."""
        path = Path(path)
        if path.is_dir():
            walk = os.walk(path, followlinks=True)  # a link may lead to another disk
            folders = ((Path(folder).relative_to(path).as_posix(), files) for folder, _, files in walk)
            names = [f"{folder}/{file}".removeprefix("./") for folder, files in folders for file in files]
        elif path.is_file():
            try:
                with zipfile.ZipFile(path) as archive:
                    names = [name for name in archive.namelist() if not name.endswith("/")]
            except (zipfile.BadZipFile, OSError) as error:
                raise OrdinateError(path, problem=f"could not be read: {error}") from error
        else:
            raise OrdinateError(path, problem="no such folder or zip")
        return cls(path, tuple(sorted(name for name in names if not HIDDEN.fullmatch(name))))

    @property
    def images(self) -> list[str]:
        """The names that end as those of images do."""
        return [name for name in self.names if name.lower().endswith(SUFFIXES)]

    def content(self, name: str) -> bytes:
        """Return the bytes of a file."""
        if self.path.is_dir():
            return (self.path / name).read_bytes()
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(name)

    def files(self, names: Iterable[str]) -> ImageFiles:
        """Return the named files as images."""
        if self.path.is_dir():
            return ImageFiles(self.path / name for name in names)
        return ImageFiles(names, self.path)
