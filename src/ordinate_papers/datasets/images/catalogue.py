"""The image sets of the papers by name: where they lie, and how they are read and fetched."""

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.catalogue import DATA, IMAGE_SETS, DataSet, look_up
from ordinate_papers.datasets.download import fetch
from ordinate_papers.datasets.images.folds import hold_out


def image_set(name: str) -> DataSet:
    """Return a set by its name; an unknown one is an `OrdinateError` that names the nearest."""
    return look_up("image set", name, IMAGE_SETS)


def reader(chosen: DataSet) -> Callable[..., Labelled]:
    """Return the function that reads a set from its folder or zip."""
    module, _, function = chosen.reading["reader"].partition(":")
    found: Callable[..., Labelled] = getattr(import_module(f"ordinate_papers.datasets.images.{module}"), function)
    return found


def find(name: str) -> Path | None:
    """Return where a set lies below ``ORDINATE_DATA``: its folder, or the zip that is all the folder holds of it.

    Raises:
        OrdinateError: there is no set of this name.

    Example:
        >>> path = find("koa")  # None where it is not there
        >>> path is None or path.name == "koa" or path.suffix == ".zip"
        True
    """
    name = image_set(name).name
    if not os.environ.get(DATA):
        return None
    folder = Path(os.environ[DATA]) / name
    if not folder.is_dir():
        return None
    held = list(folder.iterdir())
    zips = [path for path in held if path.suffix.lower() == ".zip"]
    if len(zips) == 1 and not any(path.is_dir() for path in held):
        return zips[0]
    return folder if held else None


def load(name: str, root: str | Path | None = None, *, fold: int | None = None, **options: Any) -> Labelled:
    """Read a set.

    Args:
        name: Name of the set.
        root: Folder or zip of the set; None for where `find` finds it.
        fold: 0 to 4, to be held out as ``"test"``, all others ``"train"``, for sets with five folds.
        options: Options of its reader, such as ``seed`` or ``bin_size``.

    Raises:
        OrdinateError: there is no such set, it is not there, or it does not lie as its owner ships it.

    Example:
        >>> load("koa", "nowhere")
        Traceback (most recent call last):
        ...
        ordinate.errors.OrdinateError: nowhere: no such folder or zip
    """
    chosen = image_set(name)
    if root is None:
        root = find(name)
    if root is None:
        where = f"{DATA} is not set and no root is given"
        if folder := os.environ.get(DATA):
            where = f"{DATA}={folder} holds no folder {name}"
        way = f"ordinate datasets {name}"
        if chosen.download is not None:
            way += " --download FOLDER"
        raise OrdinateError(
            name, problem=where, hint=f"get it from {chosen.source}, and see `{way}` for what to put where"
        )
    images = reader(chosen)(root, **options)
    if fold is not None:
        images = hold_out(images, fold)
    return images


def download(name: str, folder: str | Path) -> Path:
    """Fetch a set that may be fetched into a folder of its name, and return where it lies.

    Raises:
        OrdinateError: there is no such set, it may not be fetched, or fetching failed.

    Example:
        >>> download("koa", "data")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        ordinate.errors.OrdinateError: koa: cannot be downloaded by a program; get it from ...
    """
    chosen = image_set(name)
    if chosen.download is None:
        raise OrdinateError(name, problem="cannot be downloaded by a program", hint=f"get it from {chosen.source}")
    return fetch(chosen.download, Path(folder) / name)
