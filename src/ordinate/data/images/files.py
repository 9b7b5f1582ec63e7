"""Image files, in folders or inside a zip: listed, opened, checked."""

import io
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.errors import OrdinateError
from ordinate.optional import optional

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


class ImageFiles:
    """Image files in an order, or in a zip; an index opens one, an array of indices or a mask selects some.

    Example:
        >>> files = ImageFiles(["a.png", "b.png", "c.png"])
        >>> len(files), files[np.array([2, 0])].paths.tolist()
        (3, ['c.png', 'a.png'])
    """

    def __init__(self, paths: Iterable[str | Path], archive: str | Path | None = None) -> None:
        self.paths: NDArray[np.str_] = np.array([str(path) for path in paths], dtype=np.str_)
        self.archive = None if archive is None else Path(archive)
        self._opened = threading.local()  # a zip is opened once per thread and process

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, rows: ArrayLike | slice) -> "ImageFiles":
        selected = self.paths[rows if isinstance(rows, slice) else np.asarray(rows)]
        return ImageFiles(np.atleast_1d(selected), self.archive)

    def __iter__(self) -> Iterator["Image"]:
        return (self.open(index) for index in range(len(self)))

    def __reduce__(self) -> tuple[type["ImageFiles"], tuple[Any, ...]]:
        return ImageFiles, (self.paths, self.archive)  # an open zip stays with its process

    def content(self, index: int) -> bytes:
        """Return the bytes of a file."""
        path = str(self.paths[index])
        if self.archive is None:
            return Path(path).read_bytes()
        if getattr(self._opened, "process", None) != os.getpid():  # a forked process would share the place in the file
            self._opened.process, self._opened.zip = os.getpid(), zipfile.ZipFile(self.archive)
        archive: zipfile.ZipFile = self._opened.zip
        return archive.read(path)

    def open(self, index: int) -> "Image":
        """Return a decoded image; an `OrdinateError` names a file that is missing, empty, truncated or no image."""
        image = optional("PIL.Image", "images", "images")
        path = self.paths[index]
        try:
            content = self.content(index)
            opened: Image = image.open(io.BytesIO(content))
            opened.load()
        except FileNotFoundError as error:
            raise OrdinateError(path, problem="no such file") from error
        except KeyError as error:
            raise OrdinateError(path, problem=f"is not in {self.archive}") from error
        except image.UnidentifiedImageError as error:
            wrong = "is no image that can be read" if content else "is empty, expected an image"
            raise OrdinateError(path, problem=wrong) from error
        except (OSError, SyntaxError, ValueError, EOFError, zipfile.BadZipFile, image.DecompressionBombError) as error:
            raise OrdinateError(path, problem=f"is damaged or truncated: {error}") from error
        return opened
