"""Read labelled images: a folder or zip with a labels.csv or a folder per rank, or a table of their paths."""

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath

import pandas as pd

from ordinate.data.file_formats import DICOM, IMAGE_SUFFIXES, LABELS
from ordinate.data.file_tree import FileTree, is_hidden
from ordinate.data.images.files import ImageFiles
from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import SPLITS, Columns, listed_names, lists_images, open_tree, read_listed, split_name
from ordinate.errors import OrdinateError
from ordinate.optional import optional


class ImageTree(FileTree):
    """The files under a folder, or in a zip, some of which are images."""

    @cached_property
    def images(self) -> list[str]:
        """The names of the images."""
        return self.ending_in(IMAGE_SUFFIXES)

    def files(self, names: Iterable[str]) -> ImageFiles:
        """Return the named files as images."""
        names = list(names)
        if any(name.lower().endswith(DICOM) for name in names):
            optional("pydicom", "dicom", "dicom")
        if self.is_zip:
            return ImageFiles(names, self.path)
        return ImageFiles(self.where(name) for name in names)


def holds_images(path: str | Path) -> bool:
    """Return whether a path is to be read as images: a folder, a zip, an image, or a table of their paths."""
    return Path(path).is_dir() or Path(path).suffix.lower() in (".zip", *IMAGE_SUFFIXES) or lists_images(path)


def read_images(path: str | Path, left_out: Callable[[str], None] | None = None) -> ImageFiles:
    """Return images without labels of a folder or zip: those that a labels.csv names, or all there are; or one.

    ``left_out`` gets the reason for every image that it names and that is not there, which is an error without it.
    """
    tree = open_tree(ImageTree, path)
    names = tree.images
    if tree.labels is not None:
        names = listed_names(tree, "images", left_out)
    if not names:
        raise OrdinateError(path, problem=f"holds no image ({', '.join(IMAGE_SUFFIXES)})")
    return tree.files(names)


def read_labelled_images(
    path: str | Path, columns: Columns = Columns(), *, skip_unreadable: bool | None = None
) -> Labelled:
    """Read labelled images of a folder or zip, or of a table; errors name the way out.

    A ``labels.csv`` at the top, or the table, names the images (column ``path``, ``file``, ``filename`` or ``image``,
    or whichever holds names of images alone, relative to the folder that it lies in) and their labels;
    :func:`~ordinate.data.labels_file.labelled_by` says which columns are used. Without one,
    every folder is a rank and the label is its name, which is called ``target`` in outputs; folders ``train``,
    ``validation`` and ``test`` above them are splits.

    Args:
        path: Folder, zip, or csv, parquet or Excel file.
        columns: Columns of the label and of more.
        skip_unreadable: Whether images that a ``labels.csv`` names and that are not there are left out; None raises an
            error that names no way out.
    """
    tree = open_tree(ImageTree, path)
    if tree.labels is not None:
        listed = read_listed(tree, "images", skip_unreadable)
        return listed.labelled(tree.files(listed.names), columns)
    for option, name in columns.given.items():
        if option != "target":
            raise OrdinateError(option, f"{name!r}, a column of {LABELS}, which {path} does not hold")
    return _folder_per_rank(tree, columns.target or "label")


def _folder_per_rank(tree: ImageTree, target: str) -> Labelled:
    parts = [PurePosixPath(name.removeprefix(tree.root)).parts for name in tree.images]
    if not parts:
        endings = ", ".join(IMAGE_SUFFIXES)
        raise OrdinateError(tree.path, problem=f"holds neither {LABELS} nor images ({endings}) in folders")
    are_split = all(len(part) > 2 and split_name(part[0]) in SPLITS.values() for part in parts)
    level = int(are_split)  # The folders of ranks are below those of splits.
    ranks = [part[level] for part in parts]
    if any(len(part) < level + 2 for part in parts) or len(set(ranks)) < 2:
        raise OrdinateError(tree.path, expected=f"a {LABELS}, or a folder of images per rank")
    labels = pd.Series(ranks, name=target)
    numbers = pd.to_numeric(labels, errors="coerce")
    if numbers.notna().all():
        labels = numbers
    splits = None
    if are_split:
        splits = pd.Series([split_name(part[0]) for part in parts], name="split")
    empty = sorted(_folders(tree, level) - set(ranks))
    return Labelled(
        tree.files(tree.images),
        labels,
        splits,
        left_out=tuple(f"the rank {rank!r}, as its folder holds no image" for rank in empty),
    )


def _folders(tree: ImageTree, level: int) -> set[str]:
    """Return the names of the folders of ranks, with or without images; none of a zip, which lists files."""
    found = tree.path.glob("/".join("*" * (level + 1)))
    return {folder.name for folder in found if folder.is_dir() and not is_hidden(folder.name)}
