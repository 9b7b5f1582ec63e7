"""Ways to damage the bytes of a file, some of which know its format: functions of its content and a generator."""

import gzip
import io
import struct
import warnings
import zipfile
import zlib

import pydicom
from numpy.lib.format import write_array_header_1_0
from pydicom.encaps import encapsulate

HUGE = [2**40, 2**31, 2**32 + 1, 10**9]
CELLS = [
    "inf", "-1e999", "1e308", "NaN", "=1+1", "0x1F", '"', '""', "\0", "1,5", "a" * 100_000, "\u202e1", "1_000", "٣",
    "9" * 400, "1e-320", "None", "\n", "2024-01-01", "1+2j", "\ud83d".encode("utf-8", "surrogatepass").decode("latin1"),
]  # fmt: skip
HEADS = [
    b"%!PS-Adobe", b"PK\x03\x04", b"\x89PNG\r\n\x1a\n", b"\x1f\x8b\x08\0\0\0\0\0", b"PAR1", b"\x93NUMPY\x01\0", b"BM",
    b"II*\0", b"RIFF\0\0\0\0WEBP", b"\x80\x04cos\nsystem\n", b"<svg/>", b"\xff\xd8\xff\xe0", b"GIF89a",
]  # fmt: skip


def pick(random, values):
    return values[random.integers(len(values))]


# Bytes


def flip_bits(content, random):
    changed = bytearray(content)
    for place in random.integers(0, len(content), pick(random, [1, 1, 2, 8])):
        changed[place] ^= 1 << int(random.integers(8))
    return bytes(changed)


def overwrite(content, random):
    start = int(random.integers(len(content)))
    stop = min(len(content), start + int(random.integers(1, 32)))
    return content[:start] + random.bytes(stop - start) + content[stop:]


def leave_out(content, random):
    start = int(random.integers(len(content)))
    return content[:start] + content[start + int(random.integers(1, 32)) :]


def swap_head(content, random):
    head = pick(random, HEADS)
    return head + content[len(head) :]


BYTES = {
    "bits flipped": flip_bits,
    "bytes overwritten": overwrite,
    "bytes left out": leave_out,
    "another head": swap_head,
    "truncated": lambda content, random: content[: random.integers(len(content))],
    "empty": lambda content, random: b"",
    "bytes behind": lambda content, random: content + random.bytes(7),
    "random bytes": lambda content, random: random.bytes(len(content)),
}


def put(content, form, place, *values):
    changed = bytearray(content)
    struct.pack_into(form, changed, place, *values)
    return bytes(changed)


# Tables


def lines(change, end="\n"):
    """Return a damage that changes the lines of a text."""

    def damage(content, random):
        return "".join(line + end for line in change(content.decode().splitlines(), random)).encode()

    return damage


def cells(change, header=False):
    """Return a damage that changes the cells of a random row, or of the header."""

    def damage(rows, random):
        mark = "\t" if "\t" in rows[0] else ","
        place = 0 if header else int(random.integers(1, len(rows)))
        rows[place] = mark.join(change(rows[place].split(mark), random))
        return rows

    return lines(damage)


TABLE = {
    "a cell too many": cells(lambda row, random: [*row, pick(random, CELLS)]),
    "a hostile cell": cells(lambda row, random: [*row[:-1], pick(random, CELLS)]),
    "quotes that do not end": cells(lambda row, random: ['"' + row[0], *row[1:]]),
    "a name twice": cells(lambda names, random: [names[0], *names[:-1]], header=True),
    "names left out": cells(lambda names, random: [""] * len(names), header=True),
    "no header": lines(lambda rows, random: rows[1:]),
}
HARMLESS_IN_TABLES = {
    "an empty line": lines(lambda rows, random: [rows[0], "", *rows[1:]]),
    "ends of lines as on Windows": lines(lambda rows, random: rows, end="\r\n"),
}


# Arrays, archives and headers


def npy(content, random):
    huge = pick(random, HUGE)
    change = pick(random, [
        {"shape": (huge, 3)}, {"shape": (huge, huge)}, {"shape": (-1, 3)}, {"shape": (0, 3)}, {"shape": ()},
        {"shape": (12,)}, {"shape": (1,) * 40}, {"descr": "<f2", "shape": (2**31, 1)}, {"descr": "<U2147483647"},
        {"descr": "|O"}, {"descr": "<c16"}, {"descr": "<M8[s]"}, {"descr": "<U2"}, {"descr": "|V8"},
        {"descr": [("a", "<f4"), ("b", "<f4")]},
    ])  # fmt: skip
    written = io.BytesIO()
    write_array_header_1_0(written, {"descr": "<f8", "fortran_order": False, "shape": (4, 3), **change})
    return written.getvalue() + bytes(96)


def rewrite_zip(content, change):
    """Write the members of a zip again, each as ``change(name, content)``."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(written, "w") as new:
        for name in old.namelist():
            new.writestr(*change(name, old.read(name)))
    return written.getvalue()


def npz_member(content, random):
    return rewrite_zip(content, lambda name, old: (name, npy(old, random) if name == "X.npy" else old))


def zip_names(content, random):
    other = pick(random, ["../../etc/passwd", "/etc/passwd", "0.png", "C:\\0.png", "a\nb.png", "x" * 5000 + ".png"])
    return rewrite_zip(content, lambda name, old: (other if name == "3.png" else name, old))


def zip_field(content, random):
    marks = {b"PK\x03\x04": (6, 8, 14, 18, 22, 26, 28), b"PK\x01\x02": (8, 10, 16, 20, 24, 28, 30, 42)}
    marks[b"PK\x05\x06"] = (8, 12, 16)
    mark = pick(random, list(marks))
    place = pick(random, [at for at in range(len(content)) if content[at : at + 4] == mark])
    return put(content, "<H", place + pick(random, marks[mark]), pick(random, [0, 1, 99, 0xFFFF, 0x7FFF]))


def png_header(content, random):
    """Give a picture another size, depth or colour type, with the right sum."""
    place, form = pick(random, [(16, ">I"), (20, ">I"), (24, "B"), (25, "B")])
    value = pick(random, [0, 1, 16, 60_000, 2**31 - 1]) if form == ">I" else int(random.integers(256))
    changed = put(content, form, place, value)
    return put(changed, ">I", 29, zlib.crc32(changed[12:29]))


def tiff_entry(content, random):
    """Give an entry of a TIFF page's list of tags another number, type, count or value, or change where the list is."""
    (start,) = struct.unpack_from("<I", content, 4)
    (count,) = struct.unpack_from("<H", content, start)
    place = start + 2 + 12 * int(random.integers(count))
    form, offset, values = pick(random, [
        ("<H", 0, [254, 256, 258, 259, 262, 277, 284, 322, 338, 339, 42113]),
        ("<H", 2, [0, 1, 2, 3, 4, 5, 11, 12, 16]),
        ("<I", 4, [0, 1, 2, 1000, 2**31]),
        ("<I", 8, [0, 1, 2, 3, 5, 7, 8, 12, 32, 64, 60_000, 33005, 2**31, 2**32 - 1]),
    ])  # fmt: skip
    if random.random() < 0.1:
        return put(content, "<I", 4, pick(random, [0, start + 2, 2**31]))
    return put(content, form, place + offset, pick(random, values))


def map_header(content, random):
    """Give a portable map another kind, width, height or largest value."""
    parts = content.split(maxsplit=4)
    place = int(random.integers(4))
    numbers = [b"0", b"-1", b"7", b"255", b"256", b"65536", b"60000", b"99999999999", b"x"]
    parts[place] = pick(random, [b"P1", b"P2", b"P3", b"P5", b"P6", b"P7"] if place == 0 else numbers)
    return b"\n".join(parts)


def jpeg_frame(content, random):
    """Give the frame of a JPEG another kind, depth, size or number of channels."""
    starts = [
        place for place in range(len(content) - 9) if content[place] == 0xFF and content[place + 1] in range(0xC0, 0xC4)
    ]
    form, offset, values = pick(random, [
        ("B", 1, [0xC0, 0xC1, 0xC2, 0xC3, 0xC9, 0xF7]), ("B", 4, [0, 1, 2, 8, 12, 16, 17]),
        (">H", 5, [0, 1, 60_000]), (">H", 7, [0, 1, 60_000]), ("B", 9, [0, 1, 3, 4, 255]),
    ])  # fmt: skip
    return put(content, form, pick(random, starts) + offset, pick(random, values))


def nifti_field(content, random):
    """Overwrite the dimensions, type, spacing, offset, scale or affine of a volume."""
    form, places, values = pick(random, [
        ("<i", [0], [-1, 0, 7, 32767]),
        ("<h", [40, 42, 44, 70, 72, 252], [-1, 0, 1, 7, 99, 32767, -32768]),
        ("<f", [80, 108, 112, 116, 280, 292], [float("nan"), float("inf"), -1.0, 0.0, 1e38, 1e-38]),
    ])  # fmt: skip
    return put(content, form, pick(random, places), pick(random, values))


AMBIGUOUS = {"PixelData": "OW", "PixelPaddingValue": "US", "RedPaletteColorLookupTableDescriptor": "US"}


def dicom_element(content, random):
    """Give an element of a DICOM slice another value, or remove it."""
    numbers = ["nan", "inf", "1e308", "-1", "0"]
    values = {
        "ImagePositionPatient": [[number, "0", "0"] for number in numbers],
        "ImageOrientationPatient": [["0"] * 6, ["nan"] * 6, ["1", "0", "0"]],
        "PixelSpacing": [["1", number] for number in numbers],
        "RescaleSlope": numbers,
        "InstanceNumber": [1, -5, 2**31 - 1],
        "SeriesInstanceUID": ["1.2.3", ""],
        "NumberOfFrames": [0, -1, 2, 2**31 - 1],
        "Rows": [0, 1, 60_000],
        "Columns": [0, 1, 60_000],
        "SamplesPerPixel": [0, 3],
        "BitsAllocated": [0, 1, 7, 8, 64],
        "BitsStored": [0, 7, 99],
        "PixelRepresentation": [0, 5],
        "PhotometricInterpretation": ["RGB", "PALETTE COLOR", "x"],
        "PixelPaddingValue": [0, 65_535],
        "RedPaletteColorLookupTableDescriptor": [[0, 0, 16], [256, 60_000, 8], [1, 0, 8]],
        "RedPaletteColorLookupTableData": [b"", bytes(6), bytes(1000)],
        "PixelData": [b"", bytes(6), bytes(1000)],
    }
    name = pick(random, list(values))
    value = pick(random, [None, *values[name]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = pydicom.dcmread(io.BytesIO(content))
        file.pop(name, None)
        if value is not None:
            setattr(file, name, value)
        for keyword, vr in AMBIGUOUS.items():  # It follows from other elements, which may be gone.
            if keyword in file:
                file[keyword].VR = vr
        if "PixelData" in file and name == "PixelData" and file.file_meta.TransferSyntaxUID.is_compressed:
            file.PixelData = encapsulate([file.PixelData or bytes(2)])
        written = io.BytesIO()
        file.save_as(written)
    return written.getvalue()


def series_header(rows, random):
    name = pick(random, ["@dimensions", "@serieslength", "@missing", "@equallength", "@univariate", "@timestamps"])
    value = pick(random, ["0", "-1", "1e9", "99999999999999999999", "true", "false", "", "٣", "nan"])
    return [f"{name} {value}", *rows]


def zipped(damages):
    """Return the damages for a file that is compressed with gzip."""

    def wrap(damage):
        return lambda content, random: gzip.compress(damage(gzip.decompress(content), random))

    return {name: wrap(damage) for name, damage in damages.items()}


def recoded(encoding):
    return lambda content, random: content.decode().encode(encoding, "replace")


NIFTI = {"a field of the header": nifti_field}
DAMAGES = {
    ".csv": TABLE | {"UTF-16": recoded("utf-16"), "Latin-1": recoded("latin-1")},
    ".csv.gz": zipped(TABLE),
    ".tsv": TABLE,
    ".npz": {"an array replaced": npz_member, "a field of the zip": zip_field},
    ".npy": {"an array replaced": npy},
    ".zip": {"a field of the zip": zip_field, "names that lead elsewhere": zip_names},
    ".png": {"a field of the header": png_header},
    ".tif": {"an entry of the page": tiff_entry},
    ".ppm": {"a field of the header": map_header},
    ".jpg": {"a field of the frame": jpeg_frame},
    ".nii": NIFTI,
    ".nii.gz": zipped(NIFTI),
    ".dcm": {"an element": dicom_element},
    ".ts": {"a field of the header": lines(series_header), "UTF-16": recoded("utf-16")},
}
HARMLESS = {
    ".csv": HARMLESS_IN_TABLES | {"a mark of byte order": lambda content, random: b"\xef\xbb\xbf" + content},
    ".csv.gz": zipped(HARMLESS_IN_TABLES),
    ".tsv": HARMLESS_IN_TABLES,
}
