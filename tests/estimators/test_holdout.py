"""The samples that an estimator holds out by itself: by the seed, whole groups, and all copies of a sample."""

import numpy as np
import pytest

from ordinate import BlendClassifier
from ordinate.data.splits import Units, assign_folds, split_rows
from ordinate.errors import OrdinateError
from ordinate.estimators import blend_method, rank_classifier
from ordinate.estimators import samples as training_samples
from ordinate.estimators.pipeline import draw_seed
from ordinate.estimators.samples import hold_out
from tests.estimators.examples import CLASSIFIERS, draw_table, for_every_estimator, labels_for, otd, ranks_of, supcr

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
        rows, _ = hold_out(ranks, Units(groups, are_groups=True), 0.3, seed, stratify=True)
        assert set(ranks[rows]) == {0, 1, 2}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(48), "validation_fraction: holds out whole groups, and groups are one"),
        (ranks_of(TARGET), "every division of 3 groups leaves a rank without a sample"),
        (GROUPS[:-1], r"groups: got shape \(47,\), expected \(48,\), one per sample"),
        (np.where(np.arange(48) == 5, np.nan, 1.0), "groups: got 1 missing value,"),
    ],
)
def test_groups_that_allow_no_division_are_refused(groups, message):
    with pytest.raises(OrdinateError, match=message):
        otd(validation_fraction=0.25).fit(X, ranks_of(TARGET), groups=groups)


def test_groups_are_not_needed_where_the_validation_samples_are_given():
    otd(validation_fraction=0.25, epochs=1).fit(
        X, ranks_of(TARGET), validation=(X, ranks_of(TARGET)), groups=np.zeros(48)
    )


# exact copies

COPIES = np.random.default_rng(0).permutation(np.arange(96) % 32)
COPIED, OF_COPIES = draw_table(32)[0][COPIES], draw_table(32)[1][COPIES]


@pytest.mark.filterwarnings("ignore:rows outside what training had seen")
@for_every_estimator
def test_copies_are_never_on_both_sides_and_a_note_counts_them(make, divisions):
    for seed in range(3):
        model = make(validation_fraction=0.25, random_state=seed).fit(COPIED, labels_for(make, OF_COPIES))
        assert "exact copies of other samples: 64 of 96; copies stay on one side of every split" in model.notes_
    for rows, held_out in divisions:
        assert not set(COPIES[rows]) & set(COPIES[held_out])
        assert sorted([*rows, *held_out]) == list(range(96))
    assert len({tuple(held_out) for _, held_out in divisions}) > 1


@for_every_estimator
def test_samples_without_copies_are_held_out_as_rows_are(make, divisions):
    model = make(validation_fraction=0.25, random_state=3).fit(X, labels_for(make, TARGET))
    assert not any("copies" in note for note in model.notes_)
    stratify = make in CLASSIFIERS
    expected = split_rows(labels_for(make, TARGET), 0.25, draw_seed(3, None), stratify=stratify)
    for drawn, rows in zip(divisions[0], expected, strict=True):
        np.testing.assert_array_equal(drawn, rows)


def test_copies_in_two_groups_join_them(divisions):
    groups = np.arange(96) // 2  # Two rows each, most of them with copies in other groups.
    groups[COPIES < 16] = 100 + COPIES[COPIES < 16]
    otd(validation_fraction=0.25).fit(COPIED, ranks_of(OF_COPIES), groups=groups)
    ((rows, held_out),) = divisions
    assert not set(COPIES[rows]) & set(COPIES[held_out])
    assert not set(groups[rows]) & set(groups[held_out])


def test_of_too_few_different_samples_rows_are_held_out_and_a_note_says_so(divisions):
    few = np.arange(60) % 5
    model = otd(validation_fraction=0.25, random_state=0).fit(X[few], few % 3)
    (note,) = (note for note in model.notes_ if "copies" in note)
    assert "55 of 60; the 5 different ones are too few to keep copies on one side" in note
    ((rows, held_out),) = divisions
    assert set(few[rows]) & set(few[held_out])


def test_the_samples_that_calibrate_and_the_folds_of_a_blend_keep_copies_together(monkeypatch):
    found = []

    def record(*arguments):
        found.append(assign_folds(*arguments))
        return found[-1]

    for module in (rank_classifier, blend_method):
        monkeypatch.setattr(module, "assign_folds", record)
    ranks = ranks_of(OF_COPIES)
    otd(calibration=True, epochs=1).fit(COPIED, ranks)
    BlendClassifier(epochs=1, trees=False, random_state=0).fit(COPIED, ranks)
    assert len(found) == 2
    for folds in found:
        assert len(set(folds)) > 2
        assert all(len(set(folds[copied == COPIES])) == 1 for copied in range(32))
