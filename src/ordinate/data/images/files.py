"""Image files, in folders or inside a zip: listed, opened, checked."""

import hashlib
import io
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ordinate.data import object_store
from ordinate.data.memory import read_member
from ordinate.data.paths import is_url, reading
from ordinate.errors import OrdinateError
from ordinate.optional import optional

if TYPE_CHECKING:
    from PIL.Image import Image
    from pyarrow import LargeStringArray

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # no other reader, such as that of PostScript, runs
MAX_PIXELS = 178_956_970  # of an image: Pillow's own limit; in colour they take half a GiB
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")

_limit = threading.Lock()


class ImageFiles:
    """Image files, by paths or URLs, or in a zip; an index opens one, an array of indices or a mask selects some.

    Example:
        >>> files = ImageFiles(["a.png", "b.png", "c.png"])
        >>> len(files), files[np.array([2, 0])].paths.tolist()
        (3, ['c.png', 'a.png'])
    """

    draws = False  # an image is the same whenever it is read
    has_eight_bits = False  # files may have more

    def __init__(self, paths: "Iterable[str | Path] | LargeStringArray", archive: str | Path | None = None) -> None:
        pa = optional("pyarrow", "images", "images")
        names = paths if isinstance(paths, pa.LargeStringArray) else [str(path) for path in paths]
        self.names: Any = pa.array(names, pa.large_string())  # a few bytes each, which processes share
        self.archive = None if archive is None else Path(archive)
        self._opened = threading.local()  # a zip is opened once per thread and process

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, rows: ArrayLike | slice) -> "ImageFiles":
        selected = np.atleast_1d(np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)])
        return ImageFiles(self.names.take(selected), self.archive)

    def __iter__(self) -> Iterator["Image"]:
        return (self.open(index) for index in range(len(self)))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return type(self), (self.names, self.archive)  # an open zip stays with its process

    @property
    def paths(self) -> NDArray[np.str_]:
        """The names of all files (n,), each as large as the longest."""
        return np.array(self.names.to_pylist(), dtype=np.str_)

    def name(self, index: int) -> str:
        """Return the name of a file."""
        name: str = self.names[index].as_py()
        return name

    def stamps(self) -> NDArray[np.int64]:
        """Return (n, 2): the size of each file in bytes, and when it was changed; no file is read.

        In place of the time of change, a file in a zip has its checksum, a file that is not there -1.
        """
        if self.archive is not None:
            with zipfile.ZipFile(self.archive) as archive:
                held = {info.filename: (info.file_size, info.CRC) for info in archive.infolist()}
            stamps: Iterable[tuple[int, int]] = (held.get(name.as_py(), (-1, -1)) for name in self.names)
        else:
            stamps = (file_stamp(name.as_py()) for name in self.names)
        return np.fromiter(stamps, dtype=np.dtype((np.int64, 2)), count=len(self))

    def repeated(self) -> list[list[int]]:
        """Return the groups of files (indices, ascending) of the same name, in whichever folders, and the same size.

        Example:
            >>> ImageFiles(["a/1.png", "b/1.png", "b/2.png"]).repeated()
            [[0, 1]]
        """
        names = pd.Series(self.names.to_pandas()).str.rpartition("/")[2]
        keys = pd.DataFrame({"name": names, "size": self.stamps()[:, 0]})
        groups = keys[keys.duplicated(keep=False)].groupby(["name", "size"], sort=False).groups
        return [rows.tolist() for rows in groups.values()]

    def digest(self) -> bytes:
        """Return a digest of the names, sizes and times of the files, of which none is read."""
        digest = hashlib.sha256(str(self.archive).encode())
        for part in (*filter(None, self.names.buffers()), self.stamps().tobytes()):
            digest.update(part)
        return digest.digest()

    def content(self, index: int) -> bytes:
        """Return the bytes of a file."""
        path = self.name(index)
        if self.archive is None:
            return object_store.content(path) if is_url(path) else Path(path).read_bytes()
        if getattr(self._opened, "process", None) != os.getpid():  # a forked process would share the place in the file
            self._opened.process, self._opened.zip = os.getpid(), zipfile.ZipFile(self.archive)
        archive: zipfile.ZipFile = self._opened.zip
        return read_member(archive, path)

    def open(self, index: int, max_pixels: int = MAX_PIXELS) -> "Image":
        """Return a decoded image; an `OrdinateError` names a file that is missing, empty, truncated or no image.

        One of more than ``max_pixels`` is an error too, and is not decoded.
        """
        image = optional("PIL.Image", "images", "images")
        name = self.name(index)
        with reading(name, "is damaged or truncated"):
            try:
                content = self.content(index)
                with _without_limit(image):
                    opened: Image = image.open(io.BytesIO(content), formats=FORMATS)
            except FileNotFoundError as error:
                raise OrdinateError(name, problem="no such file") from error
            except KeyError as error:
                raise OrdinateError(name, problem=f"is not in {self.archive}") from error
            except image.UnidentifiedImageError as error:
                wrong = "is no image that can be read" if content else "is empty, expected an image"
                raise OrdinateError(name, problem=wrong) from error
            if opened.width * opened.height > max_pixels:
                raise OrdinateError(
                    name, f"{opened.width} x {opened.height} pixels", f"at most {max_pixels}", "max_pixels=N allows N"
                )
            opened.load()
            with suppress(Exception):  # a damaged tag turns nothing
                optional("PIL.ImageOps", "images", "images").exif_transpose(opened, in_place=True)
        return opened


@contextmanager
def _without_limit(image: Any) -> Iterator[None]:
    """Let Pillow open images of any size, as its limit is the same for all threads and all of a program."""
    with _limit:
        before, image.MAX_IMAGE_PIXELS = image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            image.MAX_IMAGE_PIXELS = before


def file_stamp(path: str) -> tuple[int, int]:
    """Return the size of a file in bytes, and when it was changed; -1 where it is not there."""
    if is_url(path):
        return object_store.stamp(path)
    try:
        found = Path(path).stat()
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns
