"""The data sets of the papers as commands read them: by their names."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ordinate.data.labelled import Labelled
from ordinate.data.rows import Samples
from ordinate.errors import OrdinateError
from ordinate_papers.datasets import images, reading
from ordinate_papers.datasets.catalogue import DATA, DATA_SETS, OTHER_SETS


def holds_images(name: str) -> bool:
    """Return whether a name is that of a set of images."""
    return name in images.IMAGE_SETS


def holds_others(name: str) -> bool:
    """Return whether a name is that of a set without images."""
    return name in OTHER_SETS


def read_images(name: str) -> Labelled:
    """Return a set of images; of one in folds, the first is held out."""
    if images.IMAGE_SETS[name].reading.get("folds"):
        return replace(images.load(name, fold=0), notes=("the first of five folds is held out",))
    return images.load(name)


def read(name: str) -> tuple[Samples, NDArray[np.number], NDArray[np.str_], str]:
    """Return X, the labels (ranks as numbers from 0), the part of the split of each sample, and a digest of it all."""
    X, y, split = reading.load(name)
    splits = np.full(len(y), "test", dtype="<U10")
    splits[split.train], splits[split.validation] = "train", "validation"
    return X, y, splits, reading.digest(name)


def folder(name: str) -> str | None:
    """Return the folder of a set that is read as any folder of its kind; None for another.

    Raises:
        OrdinateError: the set cannot be used here, with the reason.
    """
    if DATA_SETS[name].kind not in ("regions", "volumes"):
        return None
    reason = reading.unavailable(name)
    if reason is not None:
        raise OrdinateError(reason)
    return str(Path(os.environ[DATA]) / name)
