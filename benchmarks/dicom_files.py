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


def installed_files() -> dict[str, list[Path]]:
    """Return the DICOM files of pydicom's own tests, by the package that they are installed with."""
    folders = {"pydicom": Path(pydicom.__file__).parent / "data" / "test_files"}
    data = importlib.util.find_spec("data_store")
    if data is not None and data.origin is not None:
        folders["pydicom-data"] = Path(data.origin).parent / "data"
    return {package: sorted(folder.glob("*.dcm")) for package, folder in folders.items()}


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
    """Read every file, and print and write the results."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    results: dict[str, object] = {"version of pydicom": pydicom.__version__}
    for package, paths in installed_files().items():
        files = {path.name: {"compression": compression(path), "refused": refusal(path)} for path in paths}
        for name, file in files.items():
            print(f"{name:42} {file['compression']:40.40} {file['refused'] or 'read'}")
        read = sum(not file["refused"] for file in files.values())
        print(f"{read} of {len(files)} files of {package} are read\n")
        results[package] = {"read": read, "total": len(files), "files": files}
    write(results_of(__file__), results)


if __name__ == "__main__":
    main()
