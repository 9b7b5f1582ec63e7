"""Images in tar shards, as WebDataset lays them out: ``key.jpg`` next to ``key.cls`` or ``key.json``.

A pass over the headers of all shards finds where every image lies, and reads the labels; then images are read in any
order. An image takes 8 bytes, which lie in memory or, of large sets, in a file that later runs use again.
"""

import hashlib
import io
import json
import mmap
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from torch.utils.data import Dataset

from ordinate.data import object_store
from ordinate.data.file_tree import IMAGE_SUFFIXES
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.shard_index import Index, index_file, keep_index, kept_index
from ordinate.data.loader import Loader, usable_workers
from ordinate.data.named_files import file_stamp, selected_rows
from ordinate.data.paths import is_url
from ordinate.errors import OrdinateError

# These are the fields of a tar header.
NAME, SIZE, MAGIC, PREFIX, KIND = slice(0, 100), slice(124, 136), slice(257, 262), slice(345, 500), 156
SUM = slice(148, 156)  # The checksum covers all bytes, with its own bytes counted as spaces.
PLAIN = (0, ord("0"))  # These kinds mark a regular file.
GNU, POSIX = LONG_NAMES = (ord("L"), ord("x"))  # These kinds mark an entry that holds the long name of the next file.
HEADERS_AT_ONCE = 1024
BLOCK = 512  # Every entry of a tar starts at a multiple of this many bytes.
READ_AT_ONCE = 2**16  # This many bytes, read at once from a store, hold the header of an image and most images.
ENDINGS = frozenset(suffix.removeprefix(".").encode() for suffix in IMAGE_SUFFIXES)
COLUMN, LABEL, JSON = "cls", b"cls", b"json"  # A label has its own file, or is one of several in a json file.
KNOWN = ENDINGS | {LABEL, JSON}


class Shards(ImageFiles):
    """Images in tar shards; an index opens one, an array of indices or a mask selects some.

    Args:
        shards: Paths or URLs.
        places: Places (n,) of the images: the number of the shard, shifted by 32 bits, and the block of the header in
            it.
    """

    archive = None

    def __init__(self, shards: Sequence[str], places: NDArray[np.uint64]) -> None:
        self.shards = tuple(shards)
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, rows: ArrayLike | slice) -> Self:
        return type(self)(self.shards, self.places[selected_rows(len(self), rows)])

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return type(self), (self.shards, self.places)

    @property
    def paths(self) -> NDArray[np.str_]:
        """The names of all images (n,), read from the shards, each as large as the longest."""
        return np.array([self.name(index) for index in range(len(self))], dtype=np.str_)

    def name(self, index: int) -> str:
        """Return the shard and the name in it of an image, or its place where the shard cannot be read."""
        shard, start = self._place(index)
        before = max(0, start - 2 * BLOCK)  # The header of a long name would start here.
        try:
            read = _read(shard, before, start - before + BLOCK)
        except OSError:
            return f"{shard}, byte {start}"
        return f"{shard}/{_text(_name_before(read[:-BLOCK]) or _name(read[-BLOCK:]))}"

    def content(self, index: int) -> bytes:
        """Return the bytes of an image."""
        shard, start = self._place(index)
        size = 0 if is_url(shard) else _number(_read(shard, start, BLOCK)[SIZE])
        read = _read(shard, start, BLOCK + size or READ_AT_ONCE)
        end = BLOCK + _number(read[SIZE])
        return (read if end <= len(read) else read + _read(shard, start + len(read), end - len(read)))[BLOCK:end]

    def digest(self) -> bytes:
        """Return a digest of the shards' names, sizes and times, and of the places of the images."""
        stamps = [(shard, *file_stamp(shard)) for shard in self.shards]
        return hashlib.sha256(repr(stamps).encode() + self.places.tobytes()).digest()

    def codes(self) -> NDArray[np.int64]:
        """Return a code of its own for every image: one shard has every key once."""
        return np.arange(len(self))

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
        shards: Paths or URLs of tar files that are not compressed.
        columns: Columns that are kept in addition to ``cls``; None keeps all. An empty sequence reads no labels.

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
        reads = self.columns is None or len(self.columns) > 0
        blocks: list[int] = []
        # The keys are the columns, then the numbers of the images.
        known: dict[str, dict[int, Any]] = defaultdict(dict)
        last: bytes | None = None
        image: int | None = None

        def end() -> None:
            if image is not None:
                blocks.append(image)
            else:
                for column in known.values():
                    column.pop(len(blocks), None)

        with _mapped(shard) as content:
            for block, start, size, name in _members(content, shard):
                key, _, ending = name.partition(b".")
                if b"/" in ending:  # The folder's name has a dot.
                    folder, slash, file = name.rpartition(b"/")
                    stem, _, ending = file.partition(b".")
                    key = folder + slash + stem
                if key != last:
                    end()
                    last, image = key, None
                if ending not in KNOWN:
                    ending = ending.lower()
                    after_dots = ending.rpartition(b".")[2]
                    ending = after_dots if after_dots in ENDINGS else ending
                if ending in ENDINGS:
                    if image is not None:
                        raise OrdinateError(shard, problem=f"holds two images of {_text(key)!r}", expected="one")
                    image = block
                elif ending == LABEL and reads:
                    known[COLUMN][len(blocks)] = content[start : start + size]
                elif ending == JSON and reads:
                    for column, value in self._values(content[start : start + size], f"{shard}/{_text(name)}").items():
                        known[column][len(blocks)] = value
            end()
        numbers = range(len(blocks))
        values: dict[str, Any] = {name: list(map(of.get, numbers)) for name, of in known.items() if of}
        if COLUMN in values:
            values[COLUMN] = _labels(values[COLUMN])
        frame = pd.DataFrame(values, index=numbers)
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


def _labels(contents: list[Any]) -> Any:
    """Return the labels that files have, as numbers where all are; one from a json file is what it is."""
    texts = {label: _text(label).strip() for label in set(contents) if isinstance(label, bytes)}
    read = [texts.get(label, label) for label in contents]
    are_files = set(map(type, contents)) == {bytes}  # Few texts differ then.
    numbers = pd.to_numeric(pd.Series([*texts.values()] if are_files else read), errors="coerce")
    if numbers.isna().any():
        return read
    if numbers.dtype == np.int64 and (numbers.abs() < 2**31).all():
        numbers = numbers.astype(np.int32)
    if not are_files:
        return numbers
    known = dict(zip(texts, numbers, strict=True))
    return np.array([known[label] for label in contents], dtype=numbers.to_numpy().dtype)


def _members(content: Any, where: str) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield the block of the header, the start and size in bytes, and the name of every file in a tar."""
    place, long_name = 0, None
    while True:
        place, places, sizes, headers = _follow(content, place)
        _check_sums(headers, places, where)
        if min(sizes, default=0) < 0:
            raise OrdinateError(where, problem="is damaged: a file in it has a negative size")
        if places and places[-1] + BLOCK + sizes[-1] > len(content):
            name = _text(_name(headers[-1].tobytes()))
            raise OrdinateError(where, problem=f"is truncated: {name} ends beyond it")
        letters = np.ascontiguousarray(headers[:, NAME])
        ends_early = ((letters[:, :-1] == 0) & (letters[:, 1:] > 0)).any(axis=1)
        special = ~np.isin(headers[:, KIND], PLAIN) | (headers[:, PREFIX.start] > 0) | ends_early
        names = letters.view(f"S{NAME.stop}")[:, 0].tolist()  # This drops the zeros at the end.
        blocks = [at // BLOCK for at in places]
        starts = [at + BLOCK for at in places]
        members = zip(blocks, starts, sizes, names, strict=True)
        if long_name is None and not special.any():
            yield from members
        else:
            for (block, start, size, name), is_special, header in zip(members, special, headers, strict=True):
                if is_special and header[KIND] in LONG_NAMES:
                    long_name = _long_name(header[KIND], content[start : start + size])
                elif not is_special or header[KIND] in PLAIN:
                    yield block, start, size, long_name or (_name(header.tobytes()) if is_special else name)
                    long_name = None
        if len(places) < HEADERS_AT_ONCE:
            break
    if place + BLOCK <= len(content) and any(content[place : place + BLOCK]):  # A block of zeros marks the end.
        raise OrdinateError(where, problem="is damaged, or compressed", expected="a tar file")


def _follow(content: Any, place: int) -> tuple[int, list[int], list[int], NDArray[np.uint8]]:
    """Return the place after the next headers, and of each its place, the size of its file, and its bytes (n, 512)."""
    places: list[int] = []
    sizes: list[int] = []
    read: list[bytes] = []
    is_mapped = isinstance(content, mmap.mmap)  # From a store, whole headers are read.
    last, start, stop = len(content) - BLOCK, SIZE.start, SIZE.stop
    while 0 <= place <= last and len(places) < HEADERS_AT_ONCE:
        if is_mapped:
            digits = content[place + start : place + stop]
        else:
            read.append(content[place : place + BLOCK])
            digits = read[-1][SIZE]
        try:
            size = int(digits.rstrip(b"\0"), 8)
        except ValueError:
            size = _number(digits)
        places.append(place)
        sizes.append(size)
        place += (size + 2 * BLOCK - 1) // BLOCK * BLOCK
    if min(sizes, default=0) < 0:  # A negative size points back to an earlier entry.
        whole = next(number for number, size in enumerate(sizes) if size < 0) + 1
        place, places, sizes, read = places[whole - 1], places[:whole], sizes[:whole], read[:whole]
    if is_mapped:
        count = len(content) // BLOCK
        blocks = np.frombuffer(content, dtype=np.uint8, count=count * BLOCK).reshape(count, BLOCK)
        headers = blocks[np.array(places, dtype=np.int64) // BLOCK]
    else:
        headers = np.frombuffer(b"".join(read), dtype=np.uint8).reshape(-1, BLOCK)
    for end in np.flatnonzero((headers[:, MAGIC] != np.frombuffer(b"ustar", np.uint8)).any(axis=1))[:1]:
        return places[end], places[:end], sizes[:end], headers[:end]
    return place, places, sizes, headers


def _check_sums(headers: NDArray[np.uint8], places: list[int], where: str) -> None:
    """Raise an error if the bytes of a header (n, 512) have another sum than it says."""
    stated = np.zeros(len(headers), dtype=np.int64)
    for digits in headers[:, SUM].T.astype(np.int64) - ord("0"):
        stated = np.where((digits >= 0) & (digits < 8), 8 * stated + digits, stated)
    sums = headers.sum(axis=1, dtype=np.uint32) - headers[:, SUM].sum(axis=1, dtype=np.uint32) + sum(b" " * 8)
    for wrong in np.flatnonzero(sums != stated)[:1]:
        raise OrdinateError(where, problem=f"is damaged: wrong checksum of the header at byte {places[wrong]}")


def _number(digits: bytes) -> int:
    """Return a number of a header, in octal digits or, beyond 8 GiB, in binary; 0 if it is damaged."""
    if digits[0] & 0x80:
        return int.from_bytes(digits[1:], "big")
    try:
        return int(digits.strip(b"\0 ") or b"0", 8)
    except ValueError:
        return 0


def _name(header: bytes) -> bytes:
    name = header[NAME].partition(b"\0")[0]
    if header[PREFIX.start] and header[262] == 0:  # POSIX headers store the folder separately.
        return header[PREFIX].partition(b"\0")[0] + b"/" + name
    return name


def _long_name(kind: int, content: bytes) -> bytes | None:
    """Return the name of the file that follows a header with this content; None if it has another's."""
    if kind == GNU:
        return content.rstrip(b"\0")
    records = content.split(b" path=", 1)
    return records[1].split(b"\n")[0] if len(records) > 1 else None


def _name_before(blocks: bytes) -> bytes | None:
    """Return the long name that the two blocks before a header hold, None if they are something else."""
    header, content = blocks[:BLOCK], blocks[BLOCK:]
    if len(content) < BLOCK or header[MAGIC] != b"ustar" or header[KIND] not in LONG_NAMES:
        return None
    size = _number(header[SIZE])
    return _long_name(header[KIND], content[:size]) if 0 < size <= BLOCK else None


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
            # The map is closed with the last array that views it.
            yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
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
