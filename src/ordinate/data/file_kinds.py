"""What a file is by its first bytes, for messages on files whose name ends otherwise. Imports nothing heavy."""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from ordinate.errors import OrdinateError

LOOKED_AT = 1024  # Bytes.
EXPORT = "export its table as csv"
AS_PNG = "convert it to PNG, or to TIFF with LZW compression"
SAVE = "open it in a spreadsheet, and save it as csv"
PULL = "git lfs pull fetches the file"
EXCEL, UNPACK = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), "unpack it"


@dataclass(frozen=True)
class Kind:
    """What a file is.

    Args:
        name: Name of the kind, with its article.
        endings: Endings of files of this kind that are read; empty if none is.
        hint: What to do with such a file; None if it is to be renamed.
    """

    name: str
    endings: tuple[str, ...] = ()
    hint: str | None = None


CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f-\xff]")  # No text in English has these bytes.
TEXT = Kind("text", (), "rename it to end in .csv if it is a table")
BINARY = (*EXCEL, ".sav", ".zsav", ".dta", ".sas7bdat", ".parquet", ".feather", ".arrow", ".npz", ".gz")
# The first pattern that fits tells.
KINDS: dict[bytes, Kind] = {
    rb"PK\x03\x04.{26}(\[Content_Types\]|_rels/|docProps/|xl/)": Kind("an Excel workbook", EXCEL),
    rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument\.spreadsheet": Kind("an OpenDocument table", EXCEL),
    rb"PK\x03\x04.{26}[^/]{1,80}\.npy": Kind("an npz archive of NumPy", (".npz",)),
    rb"PK\x03\x04": Kind("a zip archive", (".zip", *EXCEL, ".npz"), UNPACK),
    rb"\x1f\x8b\x08": Kind("compressed with gzip", (".gz", ".rds", ".rda", ".rdata"), UNPACK),
    rb"BZh\d1AY&SY": Kind("compressed with bzip2", (".rds", ".rda", ".rdata"), UNPACK),
    rb"\xfd7zXZ\x00": Kind("compressed with xz", (".rds", ".rda", ".rdata"), UNPACK),
    rb"\x28\xb5\x2f\xfd": Kind("compressed with Zstandard", (), UNPACK),
    rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07": Kind("a packed archive", (), UNPACK),
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": Kind("an Excel workbook of the old form", (".xls",)),
    rb"\$FL[23]": Kind("a table of SPSS", (".sav", ".zsav")),
    rb"SR\x00[\x04\x06]": Kind("a file of IDL", (), "write its variables as csv, as WRITE_CSV of IDL does"),
    rb".{0,200}SPSS PORT FILE": Kind("a portable table of SPSS", (".por",)),
    rb"<stata_dta>|[\x6c-\x73][\x01\x02]\x01\x00": Kind("a table of Stata", (".dta",)),
    rb"\x00{12}\xc2\xea\x81\x60\xb3\x14\x11\xcf": Kind("a table of SAS", (".sas7bdat",)),
    rb"HEADER RECORD\*{7}LIB": Kind("a transport file of SAS", (".xpt",)),
    rb"RD[AX][23]\n": Kind("a file of R", (".rda", ".rdata")),
    rb"[XA]\n\x00\x00\x00[\x02\x03]": Kind("a file of R", (".rds",)),
    rb"PAR1[^ -~\t\r\n]": Kind("a parquet file", (".parquet",)),
    rb"ARROW1\x00|FEA1[^ -~\t\r\n]": Kind("a file of Arrow", (".feather", ".arrow")),
    rb"\x89HDF\r\n": Kind("an HDF5 file", (), EXPORT),
    rb"MATLAB 5\.0 MAT": Kind("a file of MATLAB", (), "write its table as csv, as writetable of MATLAB does"),
    rb"SQLite format 3\x00": Kind("a database of SQLite", (), EXPORT),
    rb"\x93NUMPY": Kind("an array of NumPy", (".npy",), "write it as an npz with the arrays X and the label"),
    rb"\x80[\x02-\x05](\x95|c|\})": Kind("a pickle of Python", (), "write its table as csv or parquet"),
    rb"%PDF-": Kind("a PDF document", (), EXPORT),
    rb"(?i:\s*(%[^\n]*\n\s*)*@relation\s)": Kind("a table in ARFF", (".arff",)),
    rb"\s*(\{\s*\"[^\"]*\"\s*:|\[\s*[\[{])": Kind("JSON", (".json", ".jsonl", ".ndjson")),
    rb"version https://git-lfs": Kind("a pointer of Git LFS", (), PULL),
    rb"(?i:\s*<(!doctype html|html|table)[\s>])": Kind("an HTML page", (), SAVE),
    rb"\x89PNG\r\n": Kind("a PNG image", (".png",)),
    rb"\xff\xd8\xff": Kind("a JPEG image", (".jpg", ".jpeg")),
    rb"GIF8[79]a": Kind("a GIF image", (".gif",)),
    rb"\xff\x0a|\x00\x00\x00\x0cJXL \r\n": Kind("an image in JPEG XL", (), AS_PNG),
    rb"\x00\x00\x00\x0cjP  \r\n|\xff\x4f\xff\x51": Kind("an image in JPEG 2000", (), AS_PNG),
    rb"II\xbc\x01": Kind("an image in JPEG XR", (), AS_PNG),
    rb".{4}ftyp(avif|avis)": Kind("an image in AVIF", (), AS_PNG),
    rb".{4}ftyp(heic|heix|mif1|msf1)": Kind("an image in HEIF", (), AS_PNG),
    rb"qoif": Kind("an image in QOI", (), AS_PNG),
    rb"8BPS": Kind("an image of Photoshop", (), AS_PNG),
    rb"v/1\x01": Kind("an image in OpenEXR", (), AS_PNG),
    rb"\s*(<\?xml[^>]*>\s*)?(<!--.{0,400}?-->\s*)?(<!DOCTYPE svg[^>]*>\s*)?<svg[\s>]": Kind("SVG", (), AS_PNG),
}  # fmt: skip


def kind_of(start: bytes) -> Kind | None:
    """Return what a file is by its first bytes; None if they do not tell.

    Example:
        >>> kind_of(b"%PDF-1.7").name, kind_of(b"a,b")
        ('a PDF document', None)
    """
    start = start[:LOOKED_AT].removeprefix(codecs.BOM_UTF8)
    for pattern, kind in KINDS.items():
        if re.match(pattern, start, re.DOTALL):
            return kind
    return None


def require_kind(start: bytes, where: Path | str) -> None:
    """Raise an error for a file that is of another kind than its name says.

    Args:
        start: First bytes of the file.
        where: Path of the file.
    """
    kind = kind_of(start)
    name = str(where).lower()
    if kind is None and name.endswith(BINARY) and start and not CONTROL.search(start):
        kind = TEXT
    if kind is None or name.endswith(kind.endings):
        return
    hint = kind.hint
    if hint is None:
        hint = f"rename it to end in {kind.endings[0]}"
    elif kind.name == "compressed with gzip" and name.endswith((".csv", ".tsv", ".txt")):
        hint = f"rename it to end in {name[-4:]}.gz"
    raise OrdinateError(where, problem=f"is {kind.name}, whatever its name says", hint=hint)
