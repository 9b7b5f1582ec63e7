"""Reading labelled images: a folder or zip with a labels.csv, or with a folder a rank."""

import io
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.file_tree import FileTree
from ordinate.data.images.files import SUFFIXES, ImageFiles
from ordinate.data.images.pixels import Images
from ordinate.data.tables.files import MISSING, require_columns, require_labels
from ordinate.errors import OrdinateError

LABELS = "labels.csv"
PATH, PATH_COLUMNS = "path", ("path", "file", "filename", "image")
SPLITS = {
    "train": "train", "training": "train", "val": "validation", "valid": "validation", "validation": "validation",
    "test": "test", "testing": "test",
}  # fmt: skip


@dataclass(frozen=True)
class LabelledImages:
    """Images with a label each, and where the data set has them, a split and a group each.

    Args:
        images: n of them, files or uint8 (n, channels, height, width).
        labels: (n,) ranks, numbers or text; a DataFrame (n, p) for targets of p dimensions.
        splits: (n,) such as ``"train"``, ``"validation"``, ``"test"``, or the name of a fold.
        groups: (n,), such as the subject; no group is to stand on both sides of a split.
    """

    images: Images
    labels: pd.Series | pd.DataFrame
    splits: pd.Series | None = None
    groups: pd.Series | None = None

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: NDArray[np.int64]) -> "LabelledImages":
        """Return some of them, by index."""
        return LabelledImages(
            self.images[rows],
            self.labels.iloc[rows].reset_index(drop=True),
            None if self.splits is None else self.splits.iloc[rows].reset_index(drop=True),
            None if self.groups is None else self.groups.iloc[rows].reset_index(drop=True),
        )


def holds_images(path: str | Path) -> bool:
    """Return whether a path is to be read as images: a folder or a zip."""
    return Path(path).is_dir() or Path(path).suffix.lower() == ".zip"


def read_images(path: str | Path) -> ImageFiles:
    """Return the images of a folder or zip without labels: those that its labels.csv names, or all there are.

    Raises:
        OrdinateError: no such folder or zip, or no image in it.
    """
    tree = FileTree.of(path)
    root = _root(tree)
    names = _table(tree, root)[PATH].tolist() if root + LABELS in tree.names else tree.images
    if not names:
        raise OrdinateError(f"{path}: holds no image ({', '.join(SUFFIXES)})")
    return tree.files(names)


def read_labelled_images(
    path: str | Path, target: str | None = None, split: str | None = None, group: str | None = None
) -> LabelledImages:
    """Read a folder or a zip of labelled images.

    With a ``labels.csv`` at its top, that names the images (column ``path``, ``file``, ``filename`` or ``image``,
    relative to the folder) and their labels. Without one, every folder is a rank and the label is its name; folders
    ``train``, ``validation`` and ``test`` above them are splits.

    Args:
        path: folder or zip.
        target: column of the label; None takes ``label``, or the only column that is left.
        split: column of the split; None takes ``split`` if it is there.
        group: column of the group, such as a subject; None takes ``group`` if it is there.

    Raises:
        OrdinateError: whatever is wrong with it, and the way out.
    """
    tree = FileTree.of(path)
    root = _root(tree)
    if root + LABELS not in tree.names:
        for name, value in (
            ("--split", split),
            ("--group", group),
            ("--target", None if target == "label" else target),
        ):
            if value is not None:
                raise OrdinateError(f"{name}: got {value!r}, a column of {LABELS}, which {path} does not hold")
        return _folder_per_rank(tree, root)
    frame, where = _table(tree, root), tree.path / root / LABELS
    require_columns(frame, [name for name in (target, split, group) if name is not None], where)
    split = split or ("split" if "split" in frame and target != "split" else None)
    group = group or ("group" if "group" in frame and target != "group" else None)
    if target is None:
        left = [str(name) for name in frame.columns if name not in (PATH, split, group)]
        if "label" not in left and len(left) != 1:
            raise OrdinateError(f"--target: takes the column of the label, one of {', '.join(map(repr, left))}")
        target = "label" if "label" in left else left[0]
    for column in (target, split, group):
        if column is not None:
            require_labels(frame[column], column, where)
    return LabelledImages(
        tree.files(frame[PATH]),
        frame[target],
        None if split is None else frame[split].astype(str).map(lambda name: SPLITS.get(name.lower(), name)),
        None if group is None else frame[group].astype(str),
    )


def _root(tree: FileTree) -> str:
    """The folder that holds everything in a zip, as archivers like to make one; nothing for a folder."""
    if tree.path.is_dir():
        return ""
    levels = zip(*(name.split("/")[:-1] for name in tree.names), strict=False)
    return "".join(f"{level[0]}/" for level in takewhile(lambda level: len(set(level)) == 1, levels))


def _table(tree: FileTree, root: str) -> pd.DataFrame:
    """Return labels.csv, its images' names in the column PATH."""
    where = tree.path / root / LABELS
    content = io.BytesIO(tree.content(root + LABELS))
    try:
        frame = pd.read_csv(content, keep_default_na=False, na_values=MISSING, skipinitialspace=True)
    except ValueError as error:
        raise OrdinateError(f"{where}: could not be read: {str(error).splitlines()[0]}") from error
    column = next((name for name in PATH_COLUMNS if name in frame), None)
    if column is None:
        raise OrdinateError(f"{where}: takes a column of paths named {', '.join(map(repr, PATH_COLUMNS))}")
    names = frame[column].astype(str).str.replace("\\", "/", regex=False).str.removeprefix("./")
    absent = sorted(set(root + names) - set(tree.names))
    if absent:
        raise OrdinateError(
            f"{where}: {len(absent)} of its images are not there, such as {absent[0].removeprefix(root)}"
        )
    if frame.empty:
        raise OrdinateError(f"{where}: names no image")
    return frame.assign(**{column: root + names}).rename(columns={column: PATH})


def _folder_per_rank(tree: FileTree, root: str) -> LabelledImages:
    parts = [PurePosixPath(name.removeprefix(root)).parts for name in tree.images]
    if not parts:
        raise OrdinateError(f"{tree.path}: holds neither {LABELS} nor images ({', '.join(SUFFIXES)}) in folders")
    split = all(len(part) > 2 and part[0].lower() in SPLITS for part in parts)
    ranks = [part[1] if split else part[0] for part in parts]
    if any(len(part) < (3 if split else 2) for part in parts) or len(set(ranks)) < 2:
        raise OrdinateError(f"{tree.path}: takes a {LABELS}, or a folder of images for every rank")
    numbers = pd.to_numeric(pd.Series(ranks), errors="coerce")
    labels = pd.Series(ranks, name="label") if numbers.isna().any() else numbers.rename("label")
    splits = pd.Series([SPLITS[part[0].lower()] for part in parts], name="split") if split else None
    return LabelledImages(tree.files(tree.images), labels, splits)
