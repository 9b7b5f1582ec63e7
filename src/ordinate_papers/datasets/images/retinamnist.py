"""RetinaMNIST: five grades of diabetic retinopathy, in arrays."""

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import SPLITS
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import Layout


def read_retinamnist(root: str | Path) -> Labelled:
    """Read RetinaMNIST (MedMNIST v2), an npz: the label is the grade of retinopathy, 0 to 4; the splits the owner's."""
    path = Path(root)
    if path.is_dir():
        layout = Layout.of(path)
        path /= layout.match(r"retinamnist\.npz", "retinamnist.npz")[0][0]
    parts = ("train", "val", "test")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            images = np.concatenate([arrays[f"{part}_images"] for part in parts])
            grades = [arrays[f"{part}_labels"].reshape(-1).astype(np.int64) for part in parts]
    except FileNotFoundError as error:
        raise OrdinateError(path, problem="no such file or folder") from error
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise OrdinateError(path, problem=error, expected="train_images, train_labels, val_..., test_...") from error
    splits = np.repeat([SPLITS[part] for part in parts], [len(grade) for grade in grades])
    return Labelled(
        np.moveaxis(images, -1, 1), pd.Series(np.concatenate(grades), name="grade"), pd.Series(splits, name="split")
    )
