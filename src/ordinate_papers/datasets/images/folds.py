"""Five folds, drawn at random, of which one is held out."""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

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


def random_blocks(n: int, seed: int) -> pd.Series:
    """Return a fold for each of n images: five blocks of equal size, or one more, drawn at random (OTD's Section 4.1).

    Example:
        >>> random_blocks(11, seed=0).value_counts().sort_index().to_dict()
        {'0': 3, '1': 2, '2': 2, '3': 2, '4': 2}
    """
    fold = np.empty(n, dtype=object)
    fold[np.random.default_rng(seed).permutation(n)] = np.resize(FOLDS, n)
    return pd.Series(fold, name="split")


def rank_folds(ranks: ArrayLike, share: float, seed: int) -> pd.Series:
    """Return a fold for each image, with a share (at most 0.2) of every rank in each; the rest is ``"train"`` in all.

    Example:
        >>> rank_folds([0] * 6 + [1] * 11, share=0.19, seed=0).value_counts().sort_index().to_dict()
        {'0': 3, '1': 3, '2': 3, '3': 3, '4': 3, 'train': 2}
    """
    ranks = np.asarray(ranks)
    random = np.random.default_rng(seed)
    fold = np.full(len(ranks), "train", dtype=object)
    for rank in np.unique(ranks):
        rows = random.permutation(np.flatnonzero(ranks == rank))
        each = round(share * len(rows))
        for number, name in enumerate(FOLDS):
            fold[rows[number * each : (number + 1) * each]] = name
    return pd.Series(fold, name="split")
