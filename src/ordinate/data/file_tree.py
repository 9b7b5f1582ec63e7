"""The files under a folder or a URL, or in a zip."""

import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ordinate.data import object_store
from ordinate.data.images.files import SUFFIXES, ImageFiles
from ordinate.data.memory import read_member, require_memory
from ordinate.data.paths import is_url, reading, walk
from ordinate.errors import OrdinateError

SHARD = ".tar"
HIDDEN = re.compile(r"(?:.*/)?(?:__MACOSX/.*|\.[^/]*)")  # what systems and archivers add


@dataclass(frozen=True)
class FileTree:
    """The files under a folder or a URL, or in a zip, by their names below it, with slashes, in order."""

    path: Path
    names: tuple[str, ...]
    url: str | None = None  # of a store, in the place of the path

    @classmethod
    def of(cls, path: str | Path) -> Self:
        """List a folder, a URL or a zip; a tar shard is listed alone."""
        if is_url(path):
            return cls._of_url(str(path).rstrip("/"))
        path = Path(path)
        if path.is_dir():
            folders = ((folder.relative_to(path).as_posix(), files) for folder, _, files in walk(path))
            names = [f"{folder}/{file}".removeprefix("./") for folder, files in folders for file in files]
        elif path.is_file() and path.suffix.lower() == SHARD:
            return cls(path.parent, (path.name,))
        elif path.is_file():
            with reading(path, "could not be read"), zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if not name.endswith("/")]
        else:
            raise OrdinateError(path, problem="no such folder or zip")
        return cls(path, tuple(sorted(name for name in names if not HIDDEN.fullmatch(name))))

    @classmethod
    def _of_url(cls, url: str) -> Self:
        above, _, last = url.rpartition("/")
        if last.lower().endswith(SHARD):
            return cls(Path(above), (last,), above)
        names = tuple(name for name in object_store.listed(url) if not HIDDEN.fullmatch(name))
        if not names:
            raise OrdinateError(url, problem="no files below it", expected="a folder, or a tar shard")
        return cls(Path(last), names, url)

    @property
    def images(self) -> list[str]:
        """The names that end as those of images do."""
        return [name for name in self.names if name.lower().endswith(SUFFIXES)]

    def content(self, name: str) -> bytes:
        """Return the bytes of a file."""
        if self.url is not None:
            return object_store.content(self.where(name))
        with reading(self.path / name):
            if self.path.is_dir():
                require_memory((self.path / name).stat().st_size, self.path / name)
                return (self.path / name).read_bytes()
            with zipfile.ZipFile(self.path) as archive:
                return read_member(archive, name)

    def files(self, names: Iterable[str]) -> ImageFiles:
        """Return the named files as images."""
        if self.is_zip:
            return ImageFiles(names, self.path)
        return ImageFiles(self.where(name) for name in names)

    @property
    def is_zip(self) -> bool:
        """Whether the files lie in a zip."""
        return self.url is None and self.path.is_file()

    @property
    def shards(self) -> list[str]:
        """The names of tar files."""
        return [name for name in self.names if name.lower().endswith(SHARD)]

    def where(self, name: str) -> str:
        """Return the path or URL of a file."""
        return str(self.path / name) if self.url is None else f"{self.url}/{name}"
