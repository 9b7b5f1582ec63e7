"""Image files, in folders or inside a zip: listed, opened, checked."""

import os
import threading
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordinate.data.images.deep import DeepImage
from ordinate.data.images.formats import open_image
from ordinate.data.images.pillow import MAX_PIXELS
from ordinate.data.memory import read_member
from ordinate.data.named_files import NamedFiles
from ordinate.data.paths import reading
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from PIL.Image import Image


class ImageFiles(NamedFiles):
    """Image files, by paths, or in a zip; an index array, a mask or a slice selects some.

    Example:
        >>> files = ImageFiles(["a.png", "b.png", "c.png"])
        >>> len(files), files[np.array([2, 0])].paths.tolist()
        (3, ['c.png', 'a.png'])
    """

    kind = "images"
    package = "PIL"

    def __init__(self, paths: Iterable[str | Path], archive: str | Path | None = None) -> None:
        super().__init__(paths, archive)
        self._opened = threading.local()  # A zip is opened once per thread and process.

    def __iter__(self) -> Iterator["Image | DeepImage"]:
        return (self.open(index) for index in range(len(self)))

    def stamps(self) -> NDArray[np.int64]:
        """Return (n, 2): the size of each file in bytes, and its time of change; no file is read.

        A file in a zip has its checksum instead of a time, and a file that is not there -1.
        """
        if self.archive is None:
            return super().stamps()
        with zipfile.ZipFile(self.archive) as archive:
            held = {info.filename: (info.file_size, info.CRC) for info in archive.infolist()}
        return np.array([held.get(path, (-1, -1)) for path in self.paths], dtype=np.int64).reshape(-1, 2)

    def content(self, index: int) -> bytes:
        """Return the bytes of a file."""
        path = self.name(index)
        if self.archive is not None:
            return read_member(self._zip(), path)
        return Path(path).read_bytes()

    def _zip(self) -> zipfile.ZipFile:
        if getattr(self._opened, "process", None) != os.getpid():  # A forked process would share the place in the file.
            self._opened.process = os.getpid()
            self._opened.zip = zipfile.ZipFile(str(self.archive))
        archive: zipfile.ZipFile = self._opened.zip
        return archive

    def open(self, index: int, max_pixels: int = MAX_PIXELS) -> "Image | DeepImage":
        """Return a decoded image; an `OrdinateError` names a file that is missing, empty, truncated or no image.

        An image of more than ``max_pixels`` is an error too, and is not decoded. Images whose values fit in 8 bits are
        pictures of Pillow.
        """
        name = self.name(index)
        with reading(name, "is damaged or truncated"):
            try:
                content = self.content(index)
            except FileNotFoundError as error:
                raise OrdinateError(name, problem="no such file") from error
            except KeyError as error:
                raise OrdinateError(name, problem=f"is not in {self.archive}") from error
            return open_image(content, name, max_pixels)
