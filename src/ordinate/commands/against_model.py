"""What rows of a csv show that a saved model cannot be measured on or predict; imports nothing heavy."""

import json
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ordinate.commands.options import flag
from ordinate.commands.split_file import read_split
from ordinate.data.csv_format import CSV, MISSING, CsvFormat, column_cells, recognise, rows_of_cells
from ordinate.data.file_formats import IMAGE_SUFFIXES, PATH_COLUMNS
from ordinate.data.known_scales import other_ranks
from ordinate.data.no_answer import no_answers_among
from ordinate.data.paths import absent_files, is_file
from ordinate.errors import OrdinateError, did_you_mean
from ordinate.model.folder import CONFIG


def check_against_model(model: str, data: str, target: str | None, *, labelled: bool, skip: bool | None) -> None:
    """Raise where a csv of some MB holds labels of other ranks, or names images that are not there.

    Args:
        model: Folder of the model.
        data: Path of the csv; other data are left to those who read them.
        target: Column of the label; None for the one that the model was fitted to.
        labelled: Whether labels are read.
        skip: Whether images that are not there are left out; None where there is no option for it.
    """
    path, known = Path(data), _config(model)
    if not known or not path.name.lower().endswith(CSV) or not path.is_file():
        return
    found, kept = recognise(path, path), read_split(model)
    name = target or kept["target"]
    if labelled and isinstance(name, str) and len(found.names) > 1 and all(found.names) and name not in found.names:
        hint = did_you_mean(name, found.names, lambda near: f"{flag('target')} {shlex.quote(near)}")
        usual = f"give that of the label with {flag('target')}"
        raise OrdinateError(data, problem=f"no column {name!r}", hint=hint or usual)
    if labelled and not kept["missing"] and isinstance(name, str) and name in found.names:
        _check_ranks(path, found, name, known.get("labels", {}).get("classes") or [], is_image=not _columns(known))
    if not skip and not _columns(known):
        _check_images(path, found, has_option=skip is not None)


def _config(model: str) -> dict[str, Any]:
    """Return what a model says of itself; nothing where whoever loads it has to say what is wrong."""
    try:
        known = json.loads((Path(model) / CONFIG).read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _columns(known: dict[str, Any]) -> Sequence[str]:
    columns: Sequence[str] = known.get("feature_names_in", ())
    return columns


def _check_ranks(path: Path, found: CsvFormat, name: str, ranks: Collection[object], *, is_image: bool) -> None:
    """Raise where a label is none of the ranks, which are words; numbers are written in many ways."""
    if not ranks or not all(isinstance(rank, str) and rank.strip() == rank for rank in ranks):
        return
    labels = {cell.strip() for cell in column_cells(path, found, name) or ()} - set(MISSING)
    unknown = labels.difference(map(str, ranks)) - no_answers_among(labels)
    if unknown:
        raise other_ranks(f"label {name!r}" if is_image else f"column {name!r}", sorted(unknown), map(str, ranks))


def listed_images(path: Path, found: CsvFormat) -> tuple[str, dict[int, str]]:
    """Return the column of a csv of some MB that names images alone, and these by their rows; none without any."""
    first = rows_of_cells(path, found, count=1) or [[]]
    seem = [name for name, cell in zip(found.names, first[0], strict=False) if cell.lower().endswith(IMAGE_SUFFIXES)]
    named = [name for name in PATH_COLUMNS if name in found.names] or seem  # As the reader chooses the column.
    if not seem or named[0] not in seem:
        return "", {}
    cells = column_cells(path, found, named[0]) or ()
    images = {row: cell for row, cell in enumerate(cells) if cell not in MISSING}
    if not all(image.lower().endswith(IMAGE_SUFFIXES) for image in images.values()):
        return "", {}
    return named[0], images


def _check_images(path: Path, found: CsvFormat, *, has_option: bool) -> None:
    """Raise where the column of images names some that are not there, with the row of the first."""
    _, images = listed_images(path, found)
    absent: dict[str, int] = {}  # The first row of each.
    for row, image in images.items():
        if not is_file(path.parent / image.replace("\\", "/")):
            absent.setdefault(image, row)
    if absent and len(absent) < len(set(images.values())):
        names = sorted(absent)
        names[0] += f" in row {absent[names[0]]} (rows count from 0)"
        raise absent_files(path, names, "images", may_skip=has_option, below=False)


def reads_images(model: str) -> bool:
    """Return whether a saved model is one of images."""
    reader = _config(model).get("reader", {})
    return isinstance(reader, dict) and reader.get("kind") == "images"
