"""Folds that are drawn at random."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from ordinate.data.images.folds import FOLDS
from ordinate_papers.datasets.images.folds import random_blocks, rank_folds


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
