"""Files under a URL, such as ``s3://bucket/folder``, through fsspec and its package for the store."""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ordinate.data.paths import is_url, reading
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def listed(url: str) -> list[str]:
    """Return the names of the files below a URL, with slashes, in order; a file has none below it."""
    store, root = _opened(url)
    try:
        found = [str(path) for path in store.find(root)]
    except (OSError, ValueError) as error:
        raise OrdinateError(url, problem=f"could not be listed: {error}") from error
    start = root.rstrip("/") + "/"
    return sorted(path.removeprefix(start) for path in found if path.startswith(start))


def content(url: str) -> bytes:
    """Return the bytes of a file."""
    store, path = _opened(url)
    return store.cat_file(path)


def stamp(url: str) -> tuple[int, int]:
    """Return the size of a file in bytes, and a number that follows from its tag or time of change; -1 for none.

    Those of a folder follow from all of its files.
    """
    store, path = _opened(url)
    try:
        info = store.info(path)
        if info.get("type") != "directory":
            return info.get("size") or 0, zlib.crc32(_changed(info).encode())
        files = store.find(path, detail=True)
    except OSError:
        return -1, -1
    changed = sorted((name, of_file.get("size") or 0, _changed(of_file)) for name, of_file in files.items())
    return sum(size for _, size, _ in changed), zlib.crc32(repr(changed).encode())


def local_path(path: str | Path) -> Path:
    """Return a path, or for a URL that of a copy of its file or folder, which is deleted when the process ends."""
    if not is_url(path):
        return Path(path)
    return Path(_copy(str(path)).name) / _name(str(path))


@contextmanager
def named_as(path: str | Path) -> Iterator[Path]:
    """Give :func:`local_path`, and let errors that name the copy of a URL name the URL."""
    local = local_path(path)
    try:
        yield local
    except OrdinateError as error:
        if str(local) == str(path):
            raise
        raise error.naming(str(local), str(path)) from error.__cause__


_copies: dict[tuple[str, tuple[int, int]], "TemporaryDirectory[str]"] = {}


def _copy(url: str) -> "TemporaryDirectory[str]":
    """Return a folder with a copy of a file or folder, made again once its size or tag has changed."""
    key = url, stamp(url)
    if key not in _copies:
        _copies[key] = _download(url)
    return _copies[key]


def _download(url: str) -> "TemporaryDirectory[str]":
    store, path = _opened(url)
    folder = TemporaryDirectory(prefix="ordinate-", ignore_cleanup_errors=True)
    with reading(url):
        if store.info(path)["type"] == "directory":
            store.get(path, f"{folder.name}/{_name(url)}", recursive=True)
        else:
            store.get_file(path, f"{folder.name}/{_name(url)}")
    return folder


def _changed(info: Mapping[str, object]) -> str:
    """Return the tag of a file, or its time of change, as the store names it."""
    names = ("ETag", "mtime", "LastModified", "updated", "created")
    return str(next((info[name] for name in names if name in info), ""))


def _name(url: str) -> str:
    return url.partition("?")[0].rstrip("/").rpartition("/")[2]


def _opened(url: str) -> "tuple[AbstractFileSystem, str]":
    """Return the store, which each process opens for itself, and the path in it."""
    from fsspec.core import url_to_fs

    try:
        store, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise OrdinateError(url, problem=f"cannot be opened: {error}") from error
    return store, str(path)
