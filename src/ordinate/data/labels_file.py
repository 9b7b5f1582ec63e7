"""A ``labels.csv``: files with their labels, splits and groups."""

from pathlib import Path
from typing import IO

import pandas as pd

from ordinate.data.csv_files import read_csv
from ordinate.data.tables.files import require_columns, require_labels
from ordinate.errors import OrdinateError

LABELS = "labels.csv"
PATH_COLUMNS = ("path", "file", "filename", "image")
SPLITS = {
    "train": "train", "training": "train", "val": "validation", "valid": "validation", "validation": "validation",
    "test": "test", "testing": "test",
}  # fmt: skip


def read_labels_file(content: Path | IO[bytes], where: Path | str, noun: str) -> pd.DataFrame:
    """Return the table of a labels.csv; ``where`` and ``noun``, what it names, are for messages."""
    frame = read_csv(content, where)
    if frame.empty:
        raise OrdinateError(where, problem=f"names no {noun}")
    return frame


def path_column(frame: pd.DataFrame) -> str | None:
    """Return the column that names the files, None where there is none."""
    return next((name for name in PATH_COLUMNS if name in frame), None)


def label_columns(
    frame: pd.DataFrame, where: Path | str, target: str | None, split: str | None, group: str | None, weight: str | None
) -> tuple[pd.Series, pd.Series | None, pd.Series | None, pd.Series | None]:
    """Return labels, splits, groups and weights, all but the first where there are some.

    Args:
        frame: of a labels.csv.
        where: it lies, for messages.
        target: column of the label; None uses ``label``, or the only column that is left.
        split: column of the split; None uses ``split`` if it is there.
        group: column of the group, such as a subject; None uses ``group`` if it is there.
        weight: column of the weight.

    Raises:
        OrdinateError: a column that is not there, or values that are missing.
    """
    require_columns(frame, [name for name in (target, split, group, weight) if name is not None], where)
    split = split or ("split" if "split" in frame and target != "split" else None)
    group = group or ("group" if "group" in frame and target != "group" else None)
    if target is None:
        left = [str(name) for name in frame.columns if name not in (path_column(frame), split, group, weight)]
        if "label" not in left and len(left) != 1:
            raise OrdinateError("target", "none", f"the column of the label, one of {', '.join(map(repr, left))}")
        target = "label" if "label" in left else left[0]
    for column in (target, split, group, weight):
        if column is not None:
            require_labels(frame[column], column, where)
    return (
        frame[target],
        None if split is None else frame[split].astype(str).map(lambda name: SPLITS.get(name.lower(), name)),
        None if group is None else frame[group].astype(str),
        None if weight is None else frame[weight],
    )
