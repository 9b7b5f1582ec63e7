"""Images in tar shards, as WebDataset lays them out: ``key.jpg`` beside ``key.cls`` or ``key.json``.

A pass over the headers of all shards finds where every image lies, and reads the labels; then images are read in any
order. An image takes 8 bytes, which lie in memory or, of large sets, in a file that later runs use again.
"""

import hashlib
import io
import json
import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from torch.utils.data import Dataset

from ordinate.data import object_store
from ordinate.data.images.files import SUFFIXES, ImageFiles, file_stamp
from ordinate.data.images.shard_index import Index, index_file, keep_index, kept_index
from ordinate.data.paths import is_url
from ordinate.data.streamed import Loader
from ordinate.data.worker_processes import usable_workers
from ordinate.errors import OrdinateError

NAME, PREFIX, KIND = slice(0, 100), slice(345, 500), 156  # of a header's bytes
SUM = slice(148, 156)  # of all of them, its own taken as spaces
PLAIN = (0, ord("0"))  # kinds of a file
GNU, POSIX = LONG_NAMES = (ord("L"), ord("x"))  # kinds of what holds the long name of the file that follows
HEADERS_AT_ONCE = 1024
BLOCK = 512  # bytes; whatever lies in a tar starts at a multiple
READ_AT_ONCE = 2**16  # bytes of a shard in a store: the header of an image and most images
ENDINGS = frozenset(suffix.removeprefix(".").encode() for suffix in SUFFIXES)
COLUMN, LABEL, JSON = "cls", b"cls", b"json"  # a label that is alone in its file, or one with others
KNOWN = ENDINGS | {LABEL, JSON}


class Shards(ImageFiles):
    """Images in tar shards; an index opens one, an array of indices or a mask selects some.

    Args:
        shards: paths or URLs.
        places: (n,), for each image the number of its shard, shifted by 32 bits, and the block of its header in it.
    """

    archive = None

    def __init__(self, shards: Sequence[str], places: NDArray[np.uint64]) -> None:
        self.shards = tuple(shards)
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, rows: ArrayLike | slice) -> "Shards":
        return Shards(self.shards, np.atleast_1d(self.places[rows if isinstance(rows, slice) else np.asarray(rows)]))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Shards, (self.shards, self.places)

    @property
    def paths(self) -> NDArray[np.str_]:
        """The names of all images (n,), read from the shards, each as large as the longest."""
        return np.array([self.name(index) for index in range(len(self))], dtype=np.str_)

    def name(self, index: int) -> str:
        """Return the shard and the name in it of an image, or its place where the shard cannot be read."""
        shard, start = self._place(index)
        before = max(0, start - 2 * BLOCK)  # where the header of a long name lies, if there is one
        try:
            read = _read(shard, before, start - before + BLOCK)
        except OSError:
            return f"{shard}, byte {start}"
        return f"{shard}/{_text(_name_before(read[:-BLOCK]) or _name(read[-BLOCK:]))}"

    def content(self, index: int) -> bytes:
        """Return the bytes of an image."""
        shard, start = self._place(index)
        size = 0 if is_url(shard) else _size(_read(shard, start, BLOCK))
        read = _read(shard, start, BLOCK + size or READ_AT_ONCE)
        missing = BLOCK + _size(read) - len(read)
        return (read if missing <= 0 else read + _read(shard, start + len(read), missing))[BLOCK : BLOCK + _size(read)]

    def digest(self) -> bytes:
        """Return a digest of the shards' names, sizes and times, and of the places of the images."""
        stamps = [(shard, *file_stamp(shard)) for shard in self.shards]
        return hashlib.sha256(repr(stamps).encode() + self.places.tobytes()).digest()

    def repeated(self) -> list[list[int]]:
        """Return no groups: one shard has every key once."""
        return []

    @property
    def shard_numbers(self) -> NDArray[np.int64]:
        """The place of every image's shard among the shards (n,)."""
        return (self.places >> np.uint64(32)).astype(np.int64)

    def _place(self, index: int) -> tuple[str, int]:
        place = int(self.places[index])
        return self.shards[place >> 32], BLOCK * (place & 0xFFFFFFFF)


def index_shards(shards: Sequence[str], columns: Sequence[str] | None = None) -> tuple[Shards, pd.DataFrame]:
    """Return the images of shards in their order, and a table of what is known of them, one row each.

    That of 100,000 images or more is kept in ``~/.cache/ordinate/shards`` (or ``$ORDINATE_CACHE/shards``) until a shard
    is changed, see :mod:`~ordinate.data.images.shard_index`. Its columns are ``cls``, where there are such files, and
    the single values of the json files.

    Args:
        shards: paths or URLs of tar files that are not compressed.
        columns: that are kept, with ``cls``; None keeps all. An empty one reads no labels.

    Raises:
        OrdinateError: a shard that is damaged or compressed, a key with two images, an image without a label that
            others have, a label that cannot be read.
    """
    path = index_file(shards, columns)
    places, table = kept_index(path) or keep_index(path, _read_headers(shards, columns))
    return Shards(shards, places), table


def _read_headers(shards: Sequence[str], columns: Sequence[str] | None) -> Index:
    """Return the places of all images, and the table of what is known of them."""
    workers = usable_workers(os.cpu_count() or 1) if len(shards) > 1 else 0
    passes = Loader(
        _Passes(shards, columns),
        batch_size=None,
        num_workers=workers,
        generator=torch.Generator(),
        collate_fn=_as_it_is,
    )
    places, frames = [], []
    for number, (blocks, frame) in enumerate(passes):
        places.append(blocks.astype(np.uint64) | np.uint64(number << 32))
        frames.append(frame)
    return np.concatenate(places), pd.concat(frames, ignore_index=True)


def _as_it_is(found: Any) -> Any:
    return found


class _Passes(Dataset[tuple[NDArray[np.uint32], pd.DataFrame]]):
    """Shards, each with the blocks of its images and their labels."""

    def __init__(self, shards: Sequence[str], columns: Sequence[str] | None) -> None:
        self.shards = shards
        self.columns = columns

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, index: int) -> tuple[NDArray[np.uint32], pd.DataFrame]:
        shard = self.shards[index]
        blocks: list[int] = []
        values: dict[str, list[Any]] = {}
        reads = self.columns is None or len(self.columns) > 0
        of_last: bytes | None = None
        last: bytes | None = None  # with its folder, the key
        row: dict[str, Any] = {}
        image: int | None = None

        def end() -> None:
            if image is not None:
                for name, value in row.items():
                    column = values.setdefault(name, [])
                    if len(column) < len(blocks):
                        column.extend([None] * (len(blocks) - len(column)))
                    column.append(value)
                blocks.append(image)

        with _mapped(shard) as content:
            for block, start, size, name in _members(content, shard):
                folder, slash, file = name.rpartition(b"/")
                stem, _, ending = file.partition(b".")
                if stem != last or folder != of_last:
                    end()
                    of_last, last, row, image = folder, stem, {}, None
                if ending not in KNOWN:
                    ending = ending.lower()
                    after_dots = ending.rpartition(b".")[2]
                    ending = after_dots if after_dots in ENDINGS else ending
                if ending in ENDINGS:
                    if image is not None:
                        key = _text(folder + slash + stem)
                        raise OrdinateError(shard, problem=f"holds two images of {key!r}", expected="one per key")
                    image = block
                elif ending == LABEL and reads:
                    row[COLUMN] = _text(content[start : start + size]).strip()
                elif ending == JSON and reads:
                    row |= self._values(content[start : start + size], f"{shard}/{_text(name)}")
            end()
        for column in values.values():
            column.extend([None] * (len(blocks) - len(column)))
        frame = pd.DataFrame(values, index=range(len(blocks)))
        if COLUMN in frame and not (numbers := pd.to_numeric(frame[COLUMN], errors="coerce")).isna().any():
            is_small = numbers.dtype == np.int64 and (numbers.abs() < 2**31).all()
            frame[COLUMN] = numbers.astype(np.int32) if is_small else numbers
        return np.array(blocks, dtype=np.uint32), frame

    def _values(self, content: bytes, where: str) -> dict[str, Any]:
        """Return the single values of a json file."""
        try:
            known = json.loads(content)
        except ValueError as error:
            raise OrdinateError(where, problem=f"is no JSON that can be read: {error}") from error
        if not isinstance(known, dict):
            raise OrdinateError(where, f"{type(known).__name__}", "an object of names and values")
        single = {name: value for name, value in known.items() if not isinstance(value, dict | list)}
        return single if self.columns is None else {name: single[name] for name in self.columns if name in single}


def _members(content: Any, where: str) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield the block of the header, the start and size in bytes, and the name of every file in a tar."""
    place, total, long_name = 0, len(content), None
    while True:
        place, places, sizes, read = _follow(content, place)
        headers = np.frombuffer(b"".join(read), dtype=np.uint8).reshape(-1, BLOCK)
        _check_sums(headers, places, where)
        letters = np.ascontiguousarray(headers[:, NAME])
        ends_early = ((letters[:, :-1] == 0) & (letters[:, 1:] > 0)).any(axis=1)
        special = ~np.isin(headers[:, KIND], PLAIN) | (headers[:, PREFIX.start] > 0) | ends_early
        names = letters.view(f"S{NAME.stop}")[:, 0].tolist()  # without zeros at the end
        for at, size, name, header, is_special in zip(places, sizes, names, read, special.tolist(), strict=True):
            start = at + BLOCK
            if start + size > total:
                raise OrdinateError(where, problem=f"is truncated: {_text(_name(header))} ends beyond it")
            if not is_special:
                yield at // BLOCK, start, size, long_name or name
                long_name = None
            elif header[KIND] in LONG_NAMES:
                long_name = _long_name(header, content[start : start + size])
            elif header[KIND] in PLAIN:
                yield at // BLOCK, start, size, long_name or _name(header)
                long_name = None
        if len(read) < HEADERS_AT_ONCE:
            break
    if place + BLOCK <= total and any(content[place : place + BLOCK]):  # zeros are the end
        raise OrdinateError(where, problem="is damaged, or compressed", expected="a tar file")


def _follow(content: Any, place: int) -> tuple[int, list[int], list[int], list[bytes]]:
    """Return the place after the next headers, and of each its place, the size of its file, and its bytes."""
    places: list[int] = []
    sizes: list[int] = []
    headers: list[bytes] = []
    last = len(content) - BLOCK
    while place <= last and len(headers) < HEADERS_AT_ONCE:
        header = content[place : place + BLOCK]
        if header[257:262] != b"ustar":
            break
        size = _size(header)
        places.append(place)
        sizes.append(size)
        headers.append(header)
        place += BLOCK + (size + BLOCK - 1) // BLOCK * BLOCK
    return place, places, sizes, headers


def _check_sums(headers: NDArray[np.uint8], places: list[int], where: str) -> None:
    """Raise where the bytes of a header (n, 512) have another sum than it says."""
    stated = np.zeros(len(headers), dtype=np.int64)
    for digits in headers[:, SUM].T.astype(np.int64) - ord("0"):
        stated = np.where((digits >= 0) & (digits < 8), 8 * stated + digits, stated)
    sums = headers.sum(axis=1, dtype=np.int64) - headers[:, SUM].sum(axis=1, dtype=np.int64) + sum(b" " * 8)
    for wrong in np.flatnonzero(sums != stated)[:1]:
        raise OrdinateError(where, problem=f"is damaged: the sum of the header at byte {places[wrong]} is another")


def _size(header: bytes) -> int:
    """Return the size of a file by its header, in octal digits or, beyond 8 GiB, in binary; 0 where it is damaged."""
    if header[124] & 0x80:
        return int.from_bytes(header[125:136], "big")
    try:
        return int(header[124:136].strip(b"\0 ") or b"0", 8)
    except ValueError:
        return 0


def _name(header: bytes) -> bytes:
    name = header[NAME].partition(b"\0")[0]
    if header[PREFIX.start] and header[262] == 0:  # of POSIX, with a folder that is kept apart
        return header[PREFIX].partition(b"\0")[0] + b"/" + name
    return name


def _long_name(header: bytes, content: bytes) -> bytes | None:
    """Return the name of the file that follows a header with this content; None where it has another's."""
    if header[KIND] == GNU:
        return content.rstrip(b"\0")
    records = content.split(b" path=", 1)
    return records[1].split(b"\n")[0] if len(records) > 1 else None


def _name_before(blocks: bytes) -> bytes | None:
    """Return the long name that the two blocks before a header hold, None where they are something else."""
    header, content = blocks[:BLOCK], blocks[BLOCK:]
    if len(content) < BLOCK or header[257:262] != b"ustar" or header[KIND] not in LONG_NAMES:
        return None
    size = _size(header)
    return _long_name(header, content[:size]) if 0 < size <= BLOCK else None


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _read(shard: str, start: int, size: int) -> bytes:
    if is_url(shard):
        return object_store.content(shard, start, start + size)
    with Path(shard).open("rb") as file:
        file.seek(start)
        return file.read(size)


@contextmanager
def _mapped(shard: str) -> Iterator[Any]:
    """Give a shard's bytes, of which only those are read that are asked for."""
    if is_url(shard):
        with object_store.opened(shard) as file:
            yield _Seekable(file)
        return
    try:
        with Path(shard).open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                yield b""
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield content
    except OSError as error:
        raise OrdinateError(shard, problem=f"could not be read: {error}") from error


class _Seekable:
    """A file as a sequence of bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.size = file.seek(0, io.SEEK_END)

    def __len__(self) -> int:
        return int(self.size)

    def __getitem__(self, part: slice) -> bytes:
        self.file.seek(part.start)
        read: bytes = self.file.read(part.stop - part.start)
        return read
