"""The samples that an estimator holds out by itself: by the seed, and whole groups."""

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate.estimators import samples as training_samples
from ordinate.estimators.samples import hold_out
from tests.estimators.examples import draw_table, for_every_estimator, labels_for, otd, ranks_of, supcr

X, TARGET = draw_table()
GROUPS = np.repeat([f"subject {i}" for i in range(12)], 4)


@pytest.fixture
def divisions(monkeypatch):
    """The rows that estimators train on and hold out, as they come."""
    found = []

    def record(*arguments, **options):
        found.append(hold_out(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(training_samples, "hold_out", record)
    return found


@for_every_estimator
def test_the_held_out_samples_follow_from_the_seed(make, divisions):
    for seed in (0, 1, 2, 0):
        make(validation_fraction=0.25, random_state=seed).fit(X, labels_for(make, TARGET))
    held_out = [tuple(rows) for _, rows in divisions]
    assert len(set(held_out[:3])) == 3
    assert held_out[3] == held_out[0]


def test_without_a_seed_every_fit_holds_out_other_samples(divisions):
    for _ in range(3):
        supcr(random_state=None, epochs=(1, 1)).fit(X, TARGET)
    assert len({tuple(rows) for _, rows in divisions}) > 1


@for_every_estimator
@pytest.mark.parametrize("groups", [GROUPS, list(GROUPS), np.arange(48) % 7])
def test_a_group_is_never_on_both_sides(make, groups, divisions):
    for seed in range(2):
        make(validation_fraction=0.25, random_state=seed).fit(X, labels_for(make, TARGET), groups=groups)
    for rows, held_out in divisions:
        assert not set(np.asarray(groups)[rows]) & set(np.asarray(groups)[held_out])
        assert sorted([*rows, *held_out]) == list(range(48))
    assert len({tuple(held_out) for _, held_out in divisions}) > 1


def test_every_rank_keeps_samples_to_train_on_where_the_groups_allow_it():
    ranks = np.repeat([0, 1, 2], [4, 40, 4])
    groups = np.concatenate([[0, 0, 1, 1], np.arange(40) % 5 + 2, [7, 7, 8, 8]])  # two groups of each rare rank
    for seed in range(20):
        rows, _ = hold_out(ranks, groups, 0.3, seed, stratify=True)
        assert set(ranks[rows]) == {0, 1, 2}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(48), "validation_fraction: holds out whole groups, and groups are one"),
        (ranks_of(TARGET), "every division of 3 groups leaves a rank without a sample"),
        (GROUPS[:-1], r"groups: got shape \(47,\), expected \(48,\), one per sample"),
        (np.where(np.arange(48) == 5, np.nan, 1.0), "groups: got 1 missing values"),
    ],
)
def test_groups_that_allow_no_division_are_refused(groups, message):
    with pytest.raises(OrdinateError, match=message):
        otd(validation_fraction=0.25).fit(X, ranks_of(TARGET), groups=groups)


def test_groups_are_not_needed_where_the_validation_samples_are_given():
    otd(validation_fraction=0.25, epochs=1).fit(
        X, ranks_of(TARGET), validation=(X, ranks_of(TARGET)), groups=np.zeros(48)
    )
