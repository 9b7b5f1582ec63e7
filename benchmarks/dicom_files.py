"""Which DICOM files of pydicom's own tests Ordinate reads as an image, and why it refuses the others.

    python benchmarks/dicom_files.py

The files come with pydicom; those of the package ``pydicom-data`` are added where it is installed. Prints one line per
file and writes them to ``benchmarks/results/dicom_files.json``.
"""

import argparse
import importlib.util
from pathlib import Path

import pydicom
from pydicom.errors import InvalidDicomError

from ordinate.data.dicom import read_dicom
from ordinate.data.images.files import ImageFiles
from ordinate.errors import OrdinateError
from runs import results_of, write


def installed_files() -> list[Path]:
    """Return the DICOM files that are installed with pydicom, and with pydicom-data."""
    folders = [Path(pydicom.__file__).parent / "data" / "test_files"]
    data = importlib.util.find_spec("data_store")
    if data is not None and data.origin is not None:
        folders.append(Path(data.origin).parent / "data")
    return [path for folder in folders for path in sorted(folder.glob("*.dcm"))]


def compression(path: Path) -> str:
    """Return the name of the compression, or of the encoding of a file without it."""
    try:
        return str(read_dicom(path).file_meta.TransferSyntaxUID.name)
    except InvalidDicomError:
        return "not DICOM"


def refusal(path: Path) -> str:
    """Return why a file is not read as an image; nothing if it is."""
    try:
        ImageFiles([path]).open(0)
    except OrdinateError as error:
        return str(error).replace(f"{path}: ", "")
    return ""


def main() -> None:
    """Read every file, print and write what comes of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    found = {}
    for path in installed_files():
        found[path.name] = {"compression": compression(path), "refused": refusal(path)}
        print(f"{path.name:44} {found[path.name]['compression']:36.36} {found[path.name]['refused'] or 'read'}")
    read = sum(not file["refused"] for file in found.values())
    print(f"{read} of {len(found)} files are read")
    write(results_of(__file__), {"pydicom": pydicom.__version__, "read": read, "total": len(found), "files": found})


if __name__ == "__main__":
    main()
