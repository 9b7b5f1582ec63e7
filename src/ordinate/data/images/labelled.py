"""Read labelled images: a folder or zip with a labels.csv, or with a folder per rank."""

import io
from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from ordinate.data.file_tree import SHARD, FileTree
from ordinate.data.images.files import SUFFIXES, ImageFiles
from ordinate.data.images.shards import index_shards
from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import LABELS, PATH_COLUMNS, SPLITS, label_columns, path_column, read_labels_file
from ordinate.data.paths import is_url
from ordinate.data.tables.files import require_columns
from ordinate.errors import OrdinateError

NAMED = 5  # images that an error names


def holds_images(path: str | Path) -> bool:
    """Return whether a path is to be read as images: a folder, a zip, a tar shard, or a URL."""
    return is_url(path) or Path(path).is_dir() or Path(path).suffix.lower() in (".zip", SHARD)


def read_images(path: str | Path, left_out: Callable[[str], None] | None = None) -> ImageFiles:
    """Return images without labels of a folder, zip, shards or URL: those that a labels.csv names, or all there are.

    ``left_out`` is told of every image that it names and that is not there, which is an error without it.
    """
    tree = FileTree.of(path)
    if _holds_shards(tree):
        return index_shards([tree.where(name) for name in tree.shards], ())[0]
    root = _root(tree)
    names = tree.images
    if root + LABELS in tree.names:
        names, _, absent = _table(tree, root, None if left_out is None else True)
        if left_out is not None:
            for reason in absent:
                left_out(reason)
    if not names:
        raise OrdinateError(path, problem=f"holds no image ({', '.join(SUFFIXES)})")
    return tree.files(names)


def read_labelled_images(
    path: str | Path,
    target: str | None = None,
    split: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    *,
    skip_unreadable: bool | None = None,
) -> Labelled:
    """Read labelled images of a folder, zip, tar shards or a URL; what is wrong is an `OrdinateError` with the way out.

    With a ``labels.csv`` at its top, that names the images (column ``path``, ``file``, ``filename`` or ``image``,
    relative to the folder) and their labels; :func:`~ordinate.data.labels_file.label_columns` says which columns
    are used. Without one, every folder is a rank and the label is its name; folders ``train``, ``validation`` and
    ``test`` above them are splits. With ``skip_unreadable`` images that a ``labels.csv`` names and that are not
    there are left out; None is for callers without that way out. Of tar shards,
    :func:`~ordinate.data.images.shards.index_shards` says what the columns are, and ``train``, ``validation`` and
    ``test`` may be folders of shards.
    """
    tree = FileTree.of(path)
    if _holds_shards(tree):
        return _sharded(tree, target, split, group, weight)
    root = _root(tree)
    if root + LABELS not in tree.names:
        for name, value in (
            ("split", split),
            ("group", group),
            ("weight", weight),
            ("target", None if target == "label" else target),
        ):
            if value is not None:
                raise OrdinateError(name, f"{value!r}, a column of {LABELS}, which {path} does not hold")
        return _folder_per_rank(tree, root)
    names, frame, absent = _table(tree, root, skip_unreadable)
    labelled = Labelled(
        tree.files(names), *label_columns(frame, tree.where(root + LABELS), target, split, group, weight)
    )
    return replace(labelled, left_out=absent)


def _root(tree: FileTree) -> str:
    """Return the folder that holds everything in a zip, as archivers like to make one; nothing for a folder."""
    if not tree.is_zip:
        return ""
    levels = zip(*(name.split("/")[:-1] for name in tree.names), strict=False)
    return "".join(f"{level[0]}/" for level in takewhile(lambda level: len(set(level)) == 1, levels))


def _table(tree: FileTree, root: str, skip_unreadable: bool | None) -> tuple[list[str], pd.DataFrame, tuple[str, ...]]:
    """Return the names of the images in labels.csv that are there, their rows, and what is wrong with the others.

    Others are an error unless they may be skipped.
    """
    where = tree.where(root + LABELS)
    frame = read_labels_file(io.BytesIO(tree.content(root + LABELS)), where, "image")
    column = path_column(frame)
    if column is None:
        raise OrdinateError(where, expected=f"a column of paths named {', '.join(map(repr, PATH_COLUMNS))}")
    names = root + frame[column].astype(str).str.replace("\\", "/", regex=False).str.removeprefix("./")
    present = names.isin(tree.names)
    absent = sorted(name.removeprefix(root) for name in set(names[~present]))
    if absent and not (skip_unreadable and present.any()):
        some = f"{', '.join(absent[:NAMED])}{', and others' if len(absent) > NAMED else ''}"
        hint = "--skip-unreadable leaves them out" if skip_unreadable is False and present.any() else None
        raise OrdinateError(where, problem=f"{len(absent)} of its images are not there: {some}", hint=hint)
    reasons = tuple(f"{name}: no such file" for name in absent)
    return names[present].tolist(), frame[present].reset_index(drop=True), reasons


def _holds_shards(tree: FileTree) -> bool:
    return bool(tree.shards) and not tree.is_zip and LABELS not in tree.names and not tree.images


def _sharded(tree: FileTree, target: str | None, split: str | None, group: str | None, weight: str | None) -> Labelled:
    shards = [tree.where(name) for name in tree.shards]
    given = [name for name in (target, split, group, weight) if name is not None]
    require_columns(index_shards(shards[:1])[1], given, tree.path)  # before all are looked through
    images, frame = index_shards(shards, None if target is None else [*given, "split", "group"])
    if not len(images):
        raise OrdinateError(tree.path, problem=f"its {len(shards)} shards hold no image ({', '.join(SUFFIXES)})")
    folders = [SPLITS.get(PurePosixPath(name).parts[0].lower()) for name in tree.shards]
    if split is None and "split" not in frame and None not in folders:
        frame["split"] = np.asarray(folders)[images.shard_numbers]
    return Labelled(images, *label_columns(frame, tree.path, target, split, group, weight))


def _folder_per_rank(tree: FileTree, root: str) -> Labelled:
    parts = [PurePosixPath(name.removeprefix(root)).parts for name in tree.images]
    if not parts:
        raise OrdinateError(tree.path, problem=f"holds neither {LABELS} nor images ({', '.join(SUFFIXES)}) in folders")
    split = all(len(part) > 2 and part[0].lower() in SPLITS for part in parts)
    ranks = [part[1] if split else part[0] for part in parts]
    if any(len(part) < (3 if split else 2) for part in parts) or len(set(ranks)) < 2:
        raise OrdinateError(tree.path, expected=f"a {LABELS}, or a folder of images per rank")
    numbers = pd.to_numeric(pd.Series(ranks), errors="coerce")
    labels = pd.Series(ranks, name="label") if numbers.isna().any() else numbers.rename("label")
    splits = pd.Series([SPLITS[part[0].lower()] for part in parts], name="split") if split else None
    return Labelled(tree.files(tree.images), labels, splits)
