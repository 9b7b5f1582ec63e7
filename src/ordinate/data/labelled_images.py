"""Reading labelled images: a folder or zip with a labels.csv, or with a folder a rank."""

import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.images import SUFFIXES, ImageFiles
from ordinate.data.tables import MISSING, require_columns, require_labels
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
        files: n images.
        labels: (n,) ranks, numbers or text; a DataFrame (n, p) for targets of p dimensions.
        splits: (n,) such as ``"train"``, ``"validation"``, ``"test"``, or the name of a fold.
        groups: (n,), such as the subject; no group is to stand on both sides of a split.
    """

    files: ImageFiles
    labels: pd.Series | pd.DataFrame
    splits: pd.Series | None = None
    groups: pd.Series | None = None

    def __len__(self) -> int:
        return len(self.files)

    def take(self, rows: NDArray[np.int64]) -> "LabelledImages":
        """Return some of them, by index."""
        return LabelledImages(
            self.files[rows],
            self.labels.iloc[rows].reset_index(drop=True),
            None if self.splits is None else self.splits.iloc[rows].reset_index(drop=True),
            None if self.groups is None else self.groups.iloc[rows].reset_index(drop=True),
        )


@dataclass(frozen=True)
class _Store:
    """The files under a folder, or in a zip under the folder that holds everything in it."""

    path: Path
    root: str
    names: list[str]

    @classmethod
    def of(cls, path: Path) -> "_Store":
        if path.is_dir():
            found = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
            return cls(path, "", found)
        if not path.is_file():
            raise OrdinateError(f"{path}: no such folder or zip")
        try:
            with zipfile.ZipFile(path) as archive:
                found = sorted(name for name in archive.namelist() if not name.endswith("/"))
        except (zipfile.BadZipFile, OSError) as error:
            raise OrdinateError(f"{path}: could not be read: {error}") from error
        found = [name for name in found if not name.startswith("__MACOSX/")]
        root = ""
        while found and all("/" in name for name in found) and len({name.split("/")[0] for name in found}) == 1:
            first = found[0].split("/")[0] + "/"
            root, found = root + first, [name.removeprefix(first) for name in found]
        return cls(path, root, found)

    @property
    def images(self) -> list[str]:
        return [name for name in self.names if name.lower().endswith(SUFFIXES)]

    def files(self, names: Iterable[str]) -> ImageFiles:
        if self.path.is_dir():
            return ImageFiles([self.path / name for name in names])
        return ImageFiles([self.root + name for name in names], self.path)

    def table(self) -> pd.DataFrame:
        """Return labels.csv, its images' paths in the column PATH."""
        where = self.path / self.root / LABELS
        if self.path.is_dir():
            content = where.read_bytes()
        else:
            with zipfile.ZipFile(self.path) as archive:
                content = archive.read(self.root + LABELS)
        try:
            frame = pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=MISSING, skipinitialspace=True)
        except ValueError as error:
            raise OrdinateError(f"{where}: could not be read: {str(error).splitlines()[0]}") from error
        column = next((name for name in PATH_COLUMNS if name in frame), None)
        if column is None:
            raise OrdinateError(f"{where}: takes a column of paths named {', '.join(map(repr, PATH_COLUMNS))}")
        frame[column] = frame[column].astype(str).str.replace("\\", "/", regex=False).str.removeprefix("./")
        absent = sorted(set(frame[column]) - set(self.names))
        if absent:
            raise OrdinateError(f"{where}: {len(absent)} of its images are not there, such as {absent[0]}")
        if frame.empty:
            raise OrdinateError(f"{where}: names no image")
        return frame.rename(columns={column: PATH})


def holds_images(path: str | Path) -> bool:
    """Return whether a path is to be read as images: a folder or a zip."""
    return Path(path).is_dir() or Path(path).suffix.lower() == ".zip"


def read_images(path: str | Path) -> ImageFiles:
    """Return the images of a folder or zip without labels: those that its labels.csv names, or all there are.

    Raises:
        OrdinateError: no such folder or zip, or no image in it.
    """
    store = _Store.of(Path(path))
    names = store.table()[PATH].tolist() if LABELS in store.names else store.images
    if not names:
        raise OrdinateError(f"{path}: holds no image ({', '.join(SUFFIXES)})")
    return store.files(names)


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
    store = _Store.of(Path(path))
    if LABELS not in store.names:
        for name, value in (
            ("--split", split),
            ("--group", group),
            ("--target", None if target == "label" else target),
        ):
            if value is not None:
                raise OrdinateError(f"{name}: got {value!r}, a column of {LABELS}, which {path} does not hold")
        return _folder_per_rank(store)
    frame, where = store.table(), Path(path) / store.root / LABELS
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
        store.files(frame[PATH]),
        frame[target],
        None if split is None else frame[split].astype(str).map(lambda name: SPLITS.get(name.lower(), name)),
        None if group is None else frame[group].astype(str),
    )


def _folder_per_rank(store: _Store) -> LabelledImages:
    parts = [PurePosixPath(name).parts for name in store.images]
    if not parts:
        raise OrdinateError(f"{store.path}: holds neither {LABELS} nor images ({', '.join(SUFFIXES)}) in folders")
    split = all(len(part) > 2 and part[0].lower() in SPLITS for part in parts)
    ranks = [part[1] if split else part[0] for part in parts]
    if any(len(part) < (3 if split else 2) for part in parts) or len(set(ranks)) < 2:
        raise OrdinateError(f"{store.path}: takes a {LABELS}, or a folder of images for every rank")
    numbers = pd.to_numeric(pd.Series(ranks), errors="coerce")
    labels = pd.Series(ranks, name="label") if numbers.isna().any() else numbers.rename("label")
    splits = pd.Series([SPLITS[part[0].lower()] for part in parts], name="split") if split else None
    return LabelledImages(store.files(store.images), labels, splits)


@dataclass(frozen=True)
class LabelledArrays:
    """Images in an array with a label each, and where the data set has them, a split and a group each.

    Args:
        images: (n, channels, height, width) of uint8.
        labels: as in `LabelledImages`, and so the rest.
    """

    images: NDArray[np.uint8]
    labels: pd.Series | pd.DataFrame
    splits: pd.Series | None = None
    groups: pd.Series | None = None

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: NDArray[np.int64]) -> "LabelledArrays":
        """Return some of them, by index."""
        return LabelledArrays(
            self.images[rows],
            self.labels.iloc[rows].reset_index(drop=True),
            None if self.splits is None else self.splits.iloc[rows].reset_index(drop=True),
            None if self.groups is None else self.groups.iloc[rows].reset_index(drop=True),
        )
