"""Five folds, of which one is held out."""

from dataclasses import replace

import numpy as np
import pandas as pd

from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError

FOLDS = tuple("01234")


def hold_out(images: Labelled, fold: int) -> Labelled:
    """Return the images with one fold as ``"test"`` and all others as ``"train"``.

    Example:
        >>> images = Labelled(["a.png", "b.png", "c.png"], pd.Series([0, 1, 1]), pd.Series(["0", "1", "train"]))
        >>> hold_out(images, fold=1).splits.tolist()
        ['train', 'test', 'train']
    """
    if images.splits is None:
        raise OrdinateError("fold", f"{fold}, and this set has no splits, no folds")
    names = set(images.splits)
    if not names.intersection(FOLDS):
        raise OrdinateError("fold", f"{fold}, and this set has the splits {', '.join(sorted(names))}, no folds")
    if str(fold) not in FOLDS:
        raise OrdinateError("fold", fold, f"0 to {len(FOLDS) - 1}")
    splits = np.where(images.splits == str(fold), "test", "train")
    return replace(images, splits=pd.Series(splits, name="split"))
