"""Image files, in folders or inside a zip: listed, opened, checked."""

import io
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinate.data import object_store
from ordinate.data.dicom import is_dicom
from ordinate.data.images.dicom import open_dicom
from ordinate.data.memory import read_member
from ordinate.data.named_files import NamedFiles
from ordinate.data.paths import is_url, reading
from ordinate.errors import OrdinateError
from ordinate.optional import optional

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 178_956_970  # This is Pillow's own limit for an image; in colour, so many pixels take half a GiB.

_limit = threading.Lock()


class ImageFiles(NamedFiles):
    """Image files, by paths or URLs, or in a zip; an index array, a mask or a slice selects some.

    Attributes:
        has_eight_bits: Whether no image has more than 8 bits.

    Example:
        >>> files = ImageFiles(["a.png", "b.png", "c.png"])
        >>> len(files), files[np.array([2, 0])].paths.tolist()
        (3, ['c.png', 'a.png'])
    """

    kind = "images"
    package = "PIL"
    has_eight_bits = False

    def __init__(self, paths: Iterable[str | Path], archive: str | Path | None = None) -> None:
        super().__init__(paths, archive)
        self._opened = threading.local()  # A zip is opened once per thread and process.

    def __iter__(self) -> Iterator["Image"]:
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
        if is_url(path):
            return object_store.content(path)
        return Path(path).read_bytes()

    def _zip(self) -> zipfile.ZipFile:
        if getattr(self._opened, "process", None) != os.getpid():  # A forked process would share the place in the file.
            self._opened.process = os.getpid()
            self._opened.zip = zipfile.ZipFile(str(self.archive))
        archive: zipfile.ZipFile = self._opened.zip
        return archive

    def open(self, index: int, max_pixels: int = MAX_PIXELS) -> "Image":
        """Return a decoded image; an `OrdinateError` names a file that is missing, empty, truncated or no image.

        An image of more than ``max_pixels`` is an error too, and is not decoded.
        """
        image = optional("PIL.Image", "images", "images")
        name = self.name(index)
        with reading(name, "is damaged or truncated"):
            try:
                content = self.content(index)
                if is_dicom(content):
                    return open_dicom(content, name, max_pixels)
                # No other reader, such as that of PostScript, runs.
                formats = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
                with _without_limit(image):
                    opened: Image = image.open(io.BytesIO(content), formats=formats)
            except FileNotFoundError as error:
                raise OrdinateError(name, problem="no such file") from error
            except KeyError as error:
                raise OrdinateError(name, problem=f"is not in {self.archive}") from error
            except image.UnidentifiedImageError as error:
                if not content:
                    raise OrdinateError(name, problem="is empty", expected="an image") from error
                raise OrdinateError(name, problem="is no image that can be read") from error
            if opened.width * opened.height > max_pixels:
                got = f"{opened.width} x {opened.height} pixels"
                raise OrdinateError(name, got, f"at most {max_pixels}", "max_pixels=N allows N")
            opened.load()
            with suppress(Exception):  # A damaged tag does not turn the image.
                optional("PIL.ImageOps", "images", "images").exif_transpose(opened, in_place=True)
        return opened


@contextmanager
def _without_limit(image: Any) -> Iterator[None]:
    """Let Pillow open images of any size; its own limit is the same for all threads of a program."""
    with _limit:
        before = image.MAX_IMAGE_PIXELS
        image.MAX_IMAGE_PIXELS = None
        try:
            yield
        finally:
            image.MAX_IMAGE_PIXELS = before
