"""Folds hold about the same samples of any label."""

import numpy as np
import pytest

from ordinate.data.splits import assign_folds

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("labels", [np.arange(203) % 5, np.random.default_rng(1).normal(size=203)])
def test_folds_are_of_one_size_and_of_like_labels(labels):
    fold = assign_folds(labels, 8, seed=3)
    assert set(np.bincount(fold)) <= {25, 26}
    means = [labels[fold == number].mean() for number in range(8)]
    assert np.std(means) < 0.3 * np.std(labels) / np.sqrt(25)
    assert (assign_folds(labels, 8, seed=3) == fold).all()
    assert (assign_folds(labels, 8, seed=4) != fold).any()


def test_a_group_lies_in_one_fold():
    groups = RANDOM.integers(20, size=200)
    fold = assign_folds(np.arange(200) % 3, 4, seed=0, groups=groups)
    assert all(len(np.unique(fold[groups == group])) == 1 for group in np.unique(groups))
    assert np.bincount(np.unique(np.stack([groups, fold]), axis=1)[1]).tolist() == [5, 5, 5, 5]
