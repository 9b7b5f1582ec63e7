"""Ways to damage a file, by bytes and by what its format means; each returns whether what is read must be the same."""

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import write_array_header_1_0

Random = np.random.Generator
Damage = Callable[[Path, Random], Any]
HUGE = (2**40, 2**31, 2**32 + 1, 10**9)
CELLS = (
    "inf", "-1e999", "1e308", "NaN", "=1+1", "0x1F", '"', '""', "\0", "1,5", "a" * 100_000, "\u202e1", "1_000", "٣",
    "9" * 400, "1e-320", "None", "\n", "2024-01-01", "1+2j", "\ud83d".encode("utf-8", "surrogatepass").decode("latin1"),
)  # fmt: skip


def _bytes(change: Callable[[bytearray, Random], bytes | bytearray]) -> Callable[[Path, Random], None]:
    def damage(path: Path, random: Random) -> None:
        path.write_bytes(change(bytearray(path.read_bytes()), random))

    return damage


def _flip(content: bytearray, random: Random) -> bytearray:
    for place in random.integers(0, len(content), random.choice([1, 1, 2, 8])):
        content[place] ^= 1 << int(random.integers(8))
    return content


def _overwrite(content: bytearray, random: Random) -> bytearray:
    start = int(random.integers(len(content)))
    size = int(random.integers(1, 32))
    content[start : start + size] = random.bytes(len(content[start : start + size]))
    return content


def _without(content: bytearray, random: Random) -> bytearray:
    start = int(random.integers(len(content)))
    del content[start : start + int(random.integers(1, 32))]
    return content


def _twice(content: bytearray, random: Random) -> bytearray:
    start, stop = sorted(random.integers(0, len(content) + 1, 2))
    return content[:stop] + content[start:]


HEADS = (
    b"%!PS-Adobe", b"PK\x03\x04", b"\x89PNG\r\n\x1a\n", b"\x1f\x8b\x08\0\0\0\0\0", b"PAR1", b"\x93NUMPY\x01\0", b"BM",
    b"II*\0", b"RIFF\0\0\0\0WEBP", b"\x80\x04cos\nsystem\n", b"<svg/>", b"\xff\xd8\xff\xe0", b"GIF89a",
)  # fmt: skip
BYTES: dict[str, Callable[[Path, Random], None]] = {
    "bits flipped": _bytes(_flip),
    "bytes overwritten": _bytes(_overwrite),
    "truncated": _bytes(lambda content, random: content[: random.integers(len(content))]),
    "empty": _bytes(lambda *_: b""),
    "bytes left out": _bytes(_without),
    "a part twice": _bytes(_twice),
    "bytes before": _bytes(lambda content, random: random.bytes(int(random.integers(1, 20))) + content),
    "bytes behind": _bytes(lambda content, random: content + random.bytes(int(random.integers(1, 20)))),
    "another header": _bytes(lambda content, random: (h := HEADS[random.integers(len(HEADS))]) + content[len(h) :]),
    "random bytes": _bytes(lambda content, random: random.bytes(len(content))),
}


def _lines(change: Callable[[list[str], Random], list[str]], *, harmless: bool = False, end: str = "\n") -> Damage:
    """Change the lines of a text, or of a text in a gz."""

    def damage(path: Path, random: Random) -> bool:
        content = path.read_bytes()
        text = gzip.decompress(content) if path.suffix == ".gz" else content
        changed = end.join(change(text.decode().splitlines(), random)) + end
        written = changed.encode("utf-8", "surrogatepass")
        path.write_bytes(gzip.compress(written) if path.suffix == ".gz" else written)
        return harmless

    return damage


def _separator(lines: list[str]) -> str:
    return "\t" if "\t" in lines[0] else ","


def _in_a_row(change: Callable[[list[str], Random], list[str]]) -> Damage:
    """Change the cells of one row."""

    def damage(lines: list[str], random: Random) -> list[str]:
        mark, row = _separator(lines), int(random.integers(1, len(lines)))
        lines[row] = mark.join(change(lines[row].split(mark), random))
        return lines

    return _lines(damage)


def _hostile(cells: list[str], random: Random) -> list[str]:
    cells[random.integers(len(cells))] = str(random.choice(CELLS))
    return cells


def _header(change: Callable[[list[str]], list[str]]) -> Damage:
    def damage(lines: list[str], _: Random) -> list[str]:
        mark = _separator(lines)
        return [mark.join(change(lines[0].split(mark))), *lines[1:]]

    return _lines(damage)


def _recoded(encoding: str) -> Damage:
    return _bytes(lambda content, _: content.decode().encode(encoding, "replace"))


def _mark_of_order(path: Path, _: Random) -> bool:
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    return True


def _npy(header: dict[str, Any]) -> bytes:
    content = io.BytesIO()
    write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": (4, 3), **header})
    return content.getvalue() + bytes(96)


def _npy_header(random: Random) -> bytes:
    huge = int(random.choice(HUGE))
    headers = (
        {"shape": (huge, 3)}, {"shape": (huge, huge)}, {"shape": (-1, 3)}, {"shape": (0, 3)}, {"shape": ()},
        {"shape": (12,)}, {"shape": (1,) * 40},
        {"descr": "|O"}, {"descr": "<c16"}, {"descr": "<M8[s]"}, {"descr": "<U2"}, {"descr": "|V8"},
        {"descr": [("a", "<f4"), ("b", "<f4")]}, {"descr": "<f2", "shape": (2**31, 1)}, {"descr": "<U2147483647"},
    )  # fmt: skip
    return _npy(headers[random.integers(len(headers))])


def _npz_member(path: Path, random: Random) -> bool:
    """Replace an array of an npz."""
    with np.load(path) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    replaced = str(random.choice(list(kept)))
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in kept.items():
            content = io.BytesIO()
            np.save(content, array)
            archive.writestr(f"{name}.npy", _npy_header(random) if name == replaced else content.getvalue())
    return False


def _npz_layout(path: Path, random: Random) -> bool:
    with np.load(path) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    kept["X"] = np.asfortranarray(kept["X"]) if random.random() < 0.5 else kept["X"].astype(">f8")
    np.savez_compressed(path, **kept)
    return True


def _zip_field(path: Path, random: Random) -> bool:
    """Overwrite one field of a member's headers: flags, method, sums, sizes, offsets."""
    content = bytearray(path.read_bytes())
    fields = {
        b"PK\x03\x04": (6, 8, 14, 18, 22, 26, 28),
        b"PK\x01\x02": (8, 10, 16, 20, 24, 28, 30, 42),
        b"PK\x05\x06": (8, 12, 16),
    }
    mark = list(fields)[random.integers(3)]
    places = [at for at in range(len(content)) if content[at : at + 4] == mark]
    at = places[random.integers(len(places))] + int(random.choice(fields[mark]))
    content[at : at + 2] = struct.pack("<H", int(random.choice([0, 1, 99, 0xFFFF, 0x7FFF])))
    path.write_bytes(content)
    return False


def _zip_names(path: Path, random: Random) -> bool:
    """Give members names that lead elsewhere, or one name twice."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    other = str(
        random.choice(["../../etc/passwd", "/etc/passwd", "0.png", "C:\\0.png", "a\nb.png", "x" * 5000 + ".png", "."])
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(other if name == "3.png" else name, content)
    return False


def _tar_field(path: Path, random: Random) -> bool:
    """Overwrite a field of a member's header: name, mode, size, sum, type, link, magic."""
    content = bytearray(path.read_bytes())
    with tarfile.open(path) as tar:
        places = [member.offset for member in tar]
    start, size = ((0, 100), (100, 8), (124, 12), (148, 8), (156, 1), (157, 100), (257, 6))[random.integers(7)]
    values = (b"\xff" * size, b"7" * size, b"\x80" + b"\xff" * (size - 1), b"-1".ljust(size, b"\0"), random.bytes(size))
    at = int(random.choice(places)) + start
    content[at : at + size] = values[random.integers(len(values))][:size]
    path.write_bytes(content)
    return True  # as a header has a sum


def _png_header(path: Path, random: Random) -> bool:
    """Give a picture another size, depth or colour type, with a right sum."""
    content = bytearray(path.read_bytes())
    at, form = ((16, ">I"), (20, ">I"), (24, "B"), (25, "B"))[random.integers(4)]
    value = int(random.choice([0, 1, 16, 60_000, 2**31 - 1])) if form == ">I" else int(random.integers(256))
    struct.pack_into(form, content, at, value)
    struct.pack_into(">I", content, 29, zlib.crc32(content[12:29]))
    path.write_bytes(content)
    return False


def _nii_field(path: Path, random: Random) -> bool:
    """Overwrite a field of a volume's header: its dimensions, type, spacing, offset, scale, affine."""
    content = path.read_bytes()
    voxels = bytearray(gzip.decompress(content) if path.suffix == ".gz" else content)
    fields = {"<i": (0,), "<h": (40, 42, 44, 70, 72, 252), "<f": (80, 108, 112, 116, 280, 292)}
    form = str(random.choice(list(fields)))
    at = int(random.choice(fields[form]))
    whole, real = (-1, 0, 1, 7, 99, 32767, -32768), (float("nan"), float("inf"), -1.0, 0.0, 1e38, 1e-38)
    struct.pack_into(form, voxels, at, random.choice(real) if form == "<f" else int(random.choice(whole)))
    path.write_bytes(gzip.compress(bytes(voxels)) if path.suffix == ".gz" else bytes(voxels))
    return False


def _ts_header(lines: list[str], random: Random) -> list[str]:
    name = str(
        random.choice(["@dimensions", "@serieslength", "@missing", "@equallength", "@univariate", "@timestamps"])
    )
    value = str(random.choice(["0", "-1", "1e9", "99999999999999999999", "true", "false", "", "٣", "nan"]))
    return [f"{name} {value}", *lines]


def _json_value(path: Path, random: Random) -> bool:
    content = path.read_bytes()
    value = random.choice([b"1e999,", b"NaN  ", b'"2"  ', b"null ", b"[2]  ", b"{}   ", b"-2   ", b"1e5  "])
    path.write_bytes(content.replace(b'": 22', b'": ' + value[:2], 1))
    return False


_TABLE: dict[str, Damage] = {
    "a separator behind every row": _lines(
        lambda lines, _: [lines[0], *(line + _separator(lines) for line in lines[1:])], harmless=True
    ),
    "an empty line": _lines(lambda lines, _: [lines[0], "", *lines[1:]], harmless=True),
    "lines that end as on Windows": _lines(lambda lines, _: lines, harmless=True, end="\r\n"),
    "a cell too many": _in_a_row(lambda cells, random: [*cells, str(random.choice(CELLS))]),
    "a cell too few": _in_a_row(lambda cells, _: cells[1:]),
    "a hostile cell": _in_a_row(_hostile),
    "quotes that do not end": _in_a_row(lambda cells, _: ['"' + cells[0], *cells[1:]]),
    "a name twice": _header(lambda names: [names[0], *names[:-1]]),
    "names left out": _header(lambda names: [""] * len(names)),
    "a name too few": _header(lambda names: names[1:]),
    "no header": _lines(lambda lines, _: lines[1:]),
    "the header alone": _lines(lambda lines, _: lines[:1]),
}  # fmt: skip
DAMAGES: dict[str, dict[str, Damage]] = {
    ".csv": {
        **_TABLE, "a mark of byte order": _mark_of_order, "as UTF-16": _recoded("utf-16"),
        "as Latin-1": _recoded("latin-1"),
    },
    ".csv.gz": _TABLE,
    ".tsv": _TABLE,
    ".npz": {"an array replaced": _npz_member, "another layout": _npz_layout, "a field of the zip": _zip_field},
    ".npy": {"an array replaced": lambda path, random: path.write_bytes(_npy_header(random)) and False},
    ".zip": {"a field of the zip": _zip_field, "names that lead elsewhere": _zip_names},
    ".tar": {"a field of the tar": _tar_field, "a value of the json": _json_value},
    ".png": {"a field of the header": _png_header},
    ".nii": {"a field of the header": _nii_field},
    ".nii.gz": {"a field of the header": _nii_field},
    ".ts": {"a field of the header": _lines(_ts_header), "as UTF-16": _recoded("utf-16")},
}  # fmt: skip
