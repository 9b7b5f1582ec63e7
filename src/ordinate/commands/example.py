"""``ordinate example``: a small real table, or small images, from which the commands of README start."""

import io
import zipfile
from importlib.resources import files
from pathlib import Path

from ordinate.commands.table_file import check_new

TABLE, NEW_TABLE = "wine.csv", "new-wines.csv"
IMAGES, NEW_IMAGES = "eyes.zip", "new-eyes.zip"
LABELS = "labels.csv"


def example(out: str, *, images: bool = False, overwrite: bool = False) -> None:
    """Write samples with their grades, and other ones to predict, to the folder ``out``.

    Args:
        out: Folder, which is created.
        images: Whether to write images instead of tables.
        overwrite: Whether to replace files that exist.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    names = (IMAGES, NEW_IMAGES) if images else (TABLE, NEW_TABLE)
    for name in names:
        check_new(str(folder / name), overwrite=overwrite)
    if images:
        _write_eyes(folder)
    else:
        _write_wines(folder)


def wines() -> str:
    """Return all wines as csv."""
    return _file(TABLE).decode()


def _write_wines(folder: Path, new: int = 200) -> None:
    header, *rows = wines().splitlines(keepends=True)
    for name, part in ((TABLE, rows[:-new]), (NEW_TABLE, rows[-new:])):
        (folder / name).write_text("".join([header, *part]), encoding="utf-8", newline="")
        print(f"{folder / name}: {len(part):,} wines, 11 measurements and their quality, a grade by experts")
    print("data: Cortez et al., 2009, UCI Machine Learning Repository, CC BY 4.0")


def _write_eyes(folder: Path, new: int = 40) -> None:
    with zipfile.ZipFile(io.BytesIO(_file(IMAGES))) as every:
        header, *rows = every.read(LABELS).decode().splitlines(keepends=True)
        for name, part in ((IMAGES, rows[:-new]), (NEW_IMAGES, rows[-new:])):
            with zipfile.ZipFile(folder / name, "w") as written:
                written.writestr(LABELS, "".join([header, *part]))
                for row in part:
                    image = row.partition(",")[0]
                    written.writestr(image, every.read(image))
            print(f"{folder / name}: {len(part)} photographs of retinas, and the grade of the disease, 0 to 4")
    print("data: RetinaMNIST, Yang et al., 2023, CC BY 4.0")


def _file(name: str) -> bytes:
    return files("ordinate.commands").joinpath("examples", name).read_bytes()
