"""Folds that are drawn at random, and held out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.data.images.files import ImageFiles
from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.folds import FOLDS, hold_out, random_blocks, rank_folds


@given(n=st.integers(5, 200), seed=st.integers(0, 9))
def test_blocks_are_of_equal_size_or_one_apart(n, seed):
    blocks = random_blocks(n, seed)
    counts = blocks.value_counts()
    assert set(counts.index) == set(FOLDS)
    assert counts.sum() == n
    assert counts.max() - counts.min() <= 1
    assert blocks.equals(random_blocks(n, seed))


def test_every_fold_holds_50_of_the_265_images_of_a_decade_and_none_twice():
    decades = np.repeat(np.arange(5), 265)
    folds = rank_folds(decades, 50 / 265, seed=3)
    counts = pd.crosstab(decades, folds)
    assert (counts[list(FOLDS)] == 50).all(axis=None)
    assert (counts["train"] == 15).all()
    assert not folds.equals(rank_folds(decades, 50 / 265, seed=4))


def images(splits):
    n = 0 if splits is None else len(splits)
    return Labelled(
        ImageFiles([f"{i}.png" for i in range(n)]),
        pd.Series(range(n)),
        None if splits is None else pd.Series(splits),
        pd.Series(range(n)),
    )


def test_holding_a_fold_out_leaves_the_rest_to_train_on():
    held = hold_out(images(["0", "1", "train", "1", "4"]), 1)
    assert held.splits.tolist() == ["train", "test", "train", "test", "train"]
    assert held.groups.tolist() == held.labels.tolist() == [0, 1, 2, 3, 4]
    assert held.samples.paths.tolist()[3] == "3.png"


@pytest.mark.parametrize(
    ("splits", "fold", "message"),
    [
        (["0", "1"], 5, "fold: got 5, expected 0 to 4"),
        (["test", "train"], 0, "fold: got 0, and this set has the splits test, train, no folds"),
        (None, 0, "fold: got 0, and this set has no splits, no folds"),
    ],
)
def test_a_fold_that_is_not_there_is_refused(splits, fold, message):
    with pytest.raises(OrdinateError, match=message):
        hold_out(images(splits), fold)
