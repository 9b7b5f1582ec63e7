"""Fetching a file that may be fetched, whole and as it was published."""

import hashlib
import http.client
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ordinate.counts import counted
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class Download:
    """A public file, known by its size in bytes and its content."""

    url: str
    file: str
    size: int
    sha256: str


def fetch(download: Download, folder: str | Path) -> Path:
    """Fetch a file into a folder and return its path; one that is there already is checked, not fetched again.

    It is written as ``.part`` and renamed when size and hash are right.

    Raises:
        OrdinateError: it cannot be fetched or written, or is not the file that was published; nothing is left behind.
    """
    path = Path(folder) / download.file
    if path.exists():
        if not path.is_file() or _sha256(path) != download.sha256:
            raise OrdinateError(path, "another file", "the one published", "remove it first")
        return path
    part = path.with_name(path.name + ".part")
    try:
        size = _stream(download, part)
        if size != download.size:
            raise OrdinateError(download.url, counted(size, "byte"), f"{download.size:,}", "try again later")
        if _sha256(part) != download.sha256:
            raise OrdinateError(download.url, "a file with another sha256", "that published", "removed it")
        part.replace(path)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error or type(error).__name__
        raise OrdinateError(download.url, problem=f"could not be fetched to {path}: {reason}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return path


def _stream(download: Download, part: Path, *, chunk_size: int = 1 << 16, timeout: float = 30) -> int:
    """Write what the server sends, no more than a chunk beyond the size, and return its length.

    Args:
        download: File to fetch.
        part: File to write.
        chunk_size: Bytes per read.
        timeout: Seconds without an answer.
    """
    size = 0
    with urllib.request.urlopen(download.url, timeout=timeout) as response:  # noqa: S310  # The URL is our own.
        part.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            while size <= download.size and (chunk := response.read(chunk_size)):
                size += file.write(chunk)
    return size


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
