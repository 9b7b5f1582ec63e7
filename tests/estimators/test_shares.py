"""Folds hold about the same samples of any label; shares go by gains that are no chance."""

import numpy as np
import pytest

from ordinate.blend.shares import assign_folds, choose_shares

RANDOM = np.random.default_rng(0)
Y = RANDOM.normal(size=(300, 1))


def squared(predictions):
    return (predictions - Y)[:, 0] ** 2


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


def test_errors_that_cancel_are_averaged():
    noise = RANDOM.normal(size=(300, 1))
    shares = choose_shares({"a": Y + noise, "b": Y - noise}, squared, {"a": 1.0})
    assert shares == pytest.approx({"a": 0.5, "b": 0.5})


def test_what_gains_by_chance_changes_nothing():
    start = {"a": 0.5, "b": 0.5}
    kept = 0
    for _ in range(20):
        a, b, c = (Y + RANDOM.normal(size=(300, 1)) for _ in range(3))
        predictions = {"a": a, "b": b, "c": (a + b) / 2 + 0.05 * (c - Y)}  # no better than the start
        kept += choose_shares(predictions, squared, start) == pytest.approx(start)
    assert kept >= 15


def test_a_model_that_must_gain_by_more_errors_gets_less():
    predictions = {"a": Y + RANDOM.normal(size=(300, 1)), "b": Y + RANDOM.normal(size=(300, 1))}
    assert set(choose_shares(predictions, squared, {"a": 1.0})) == {"a", "b"}
    assert choose_shares(predictions, squared, {"a": 1.0}, errors_to_gain={"b": 50.0}) == {"a": 1.0}


def test_samples_count_by_their_weight():
    half = np.arange(300)[:, None] % 2
    predictions = {"even": Y + 3 * half, "odd": Y + 3 * (1 - half)}
    weights = np.where(half[:, 0] == 1, 1.0, 1e-6)
    assert choose_shares(predictions, squared, {"even": 1.0}, weights) == {"odd": 1.0}
