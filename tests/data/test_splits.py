import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from ordinate.data.splits import Units, keep_together, split_folds, split_groups, split_rows, split_units
from ordinate.errors import OrdinateError

shares = st.floats(0.01, 0.99)
rank_lists = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(np.array)
for_both_kinds = pytest.mark.parametrize("stratify", [True, False], ids=["stratified", "plain"])


@for_both_kinds
@given(ranks=rank_lists, share=shares, seed=st.integers(0, 99))
def test_every_row_is_in_one_set_and_both_ascend(stratify, ranks, share, seed):
    rest, held_out = split_rows(ranks, share, seed, stratify=stratify)
    assert sorted([*rest, *held_out]) == list(range(len(ranks)))
    assert (np.diff(rest) > 0).all()
    assert (np.diff(held_out) > 0).all()


@given(size=st.integers(2, 60), share=shares)
def test_the_second_set_holds_its_share_and_at_least_one_row(size, share):
    _, held_out = split_rows(np.zeros((size, 2)), share, 0, stratify=False)
    assert len(held_out) == min(size - 1, max(1, round(share * size)))


@given(ranks=rank_lists, share=shares)
def test_a_stratified_split_takes_the_share_of_every_rank_and_leaves_one_sample(ranks, share):
    rest, held_out = split_rows(ranks, share, 0, stratify=True)
    classes, sizes = np.unique(ranks, return_counts=True)
    shares = [min(size - 1, round(share * size)) for size in sizes]
    for rank, expected in zip(classes, shares, strict=True):
        assert sum(shares) == 0 or (ranks[held_out] == rank).sum() == expected
        assert (ranks[rest] == rank).any()
    assert sum(shares) > 0 or len(held_out) == (sizes.max() > 1)  # too small to share: one sample of the largest


@pytest.mark.parametrize("labels", [["low", "high"] * 8, [0.5, 1.5] * 8], ids=["text", "floats"])
def test_ranks_may_be_of_any_type(labels):
    for dtype in (None, object):
        _, held_out = split_rows(np.array(labels, dtype=dtype), 0.25, 0, stratify=True)
        assert sorted(held_out % 2) == [0, 0, 1, 1]


@for_both_kinds
def test_the_seed_decides_the_rows(stratify):
    ranks = np.arange(60) % 3
    splits = [split_rows(ranks, 0.3, seed, stratify=stratify)[1].tolist() for seed in (0, 0, 1)]
    assert splits[0] == splits[1]
    assert splits[0] != splits[2]


@for_both_kinds
def test_every_row_is_held_out_as_often_as_any_other(stratify):
    drawn = [split_rows(np.arange(30) % 3, 0.3, seed, stratify=stratify)[1] for seed in range(400)]
    counts = np.bincount(np.concatenate(drawn), minlength=30)
    deviation = np.sqrt(400 * 0.3 * 0.7)
    assert (abs(counts - 400 * 0.3) < 4 * deviation).all()


@pytest.mark.parametrize("share", [0.0, 1.0, -0.2, 20, float("nan")])
def test_a_share_that_leaves_a_set_empty_is_an_error(share):
    with pytest.raises(OrdinateError, match=f"share: got {share}, expected a share of the rows above 0 and below 1"):
        split_rows(np.arange(10), share, 0, stratify=False)


def test_a_large_share_leaves_a_row_in_the_first_set():
    rest, held_out = split_rows(np.arange(2), 0.9, 0, stratify=False)
    assert len(rest) == len(held_out) == 1


# no group on both sides


@for_both_kinds
@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.8])
def test_a_group_stays_together_and_the_share_is_about_met(stratify, share):
    random = np.random.default_rng(0)
    groups = random.integers(0, 120, 600)
    ranks = random.integers(0, 4, 600)
    rest, held_out = split_groups(ranks, groups, share, 0, stratify=stratify)
    assert sorted([*rest, *held_out]) == list(range(600))
    assert (np.diff(rest) > 0).all()
    assert set(groups[rest]).isdisjoint(groups[held_out])
    assert abs(len(held_out) / 600 - share) < 0.06


def test_stratified_groups_keep_the_ranks_shares():
    random = np.random.default_rng(1)
    groups = np.repeat(np.arange(200), 3)
    ranks = random.choice(3, 600, p=[0.7, 0.25, 0.05])
    _, held_out = split_groups(ranks, groups, 0.2, 0, stratify=True)
    shares = np.bincount(ranks[held_out], minlength=3) / len(held_out)
    assert np.abs(shares - np.bincount(ranks) / 600).max() < 0.02


def test_groups_follow_from_the_seed():
    groups = np.arange(60) // 2
    drawn = [split_groups(np.arange(60) % 3, groups, 0.2, seed, stratify=True)[1].tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("groups", "share", "message"),
    [
        (["ann"] * 4, 0.5, "groups: got 1 of 4 rows, expected two or more, one per row"),
        (["ann", "bob"], 0.5, "groups: got 2 of 2 rows"),
        (["ann", "bob"] * 2, 1.5, "share: got 1.5"),
    ],
)
def test_groups_that_cannot_be_split_are_refused(groups, share, message):
    with pytest.raises(OrdinateError, match=message):
        split_groups(np.array([0, 0, 1, 1]), groups, share, 0, stratify=True)


# copies on one side


def copies(n=300, distinct=60, seed=0):
    """Codes of samples that are copies of others, and ranks that copies mostly share."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, distinct, n)
    ranks = np.where(random.random(n) < 0.9, codes % 3, random.integers(0, 3, n))
    return codes, ranks


@for_both_kinds
@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.8])
def test_copies_stay_together_and_the_share_is_about_met(stratify, share):
    codes, ranks = copies()
    for seed in range(10):
        rest, held_out = split_units(ranks, Units(codes, are_groups=False), share, seed, stratify=stratify)
        assert sorted([*rest, *held_out]) == list(range(300))
        assert (np.diff(rest) > 0).all()
        assert set(codes[rest]).isdisjoint(codes[held_out])
        assert abs(len(held_out) / 300 - share) < 0.04


@given(codes=st.lists(st.integers(0, 12), min_size=4, max_size=60).map(np.array), share=shares, seed=st.integers(0, 99))
def test_every_rank_keeps_a_sample_whatever_the_ranks_of_copies(codes, share, seed):
    ranks = np.random.default_rng(seed).integers(0, 4, len(codes))
    rest, held_out = split_units(ranks, Units(codes, are_groups=False), share, seed, stratify=True)
    assert set(ranks[rest]) == set(ranks)
    assert set(codes[rest]).isdisjoint(codes[held_out])


@for_both_kinds
@given(ranks=rank_lists, share=shares, seed=st.integers(0, 99))
def test_samples_without_copies_are_split_as_rows_are(stratify, ranks, share, seed):
    units, note = keep_together(np.random.default_rng(seed).permutation(len(ranks)), None, least=2)
    assert (units, note) == (None, None)
    expected = split_rows(ranks, share, seed, stratify=stratify)
    for drawn, rows in zip(split_units(ranks, units, share, seed, stratify=stratify), expected, strict=True):
        np.testing.assert_array_equal(drawn, rows)


@for_both_kinds
def test_groups_without_copies_are_split_as_they_were(stratify):
    random = np.random.default_rng(0)
    codes, ranks = random.integers(0, 120, 600), random.integers(0, 4, 600)
    units, note = keep_together(np.arange(600), Units(codes, are_groups=True), least=2)
    assert note is None
    expected = split_groups(ranks, codes, 0.2, 0, stratify=stratify)
    for drawn, rows in zip(split_units(ranks, units, 0.2, 0, stratify=stratify), expected, strict=True):
        np.testing.assert_array_equal(drawn, rows)


def test_groups_and_copies_that_a_chain_connects_stay_together():
    groups = np.array(["ann", "ann", "bob", "cid", "cid", "dot"])
    samples = np.array([10, 11, 11, 12, 13, 12])
    edges = [(f"group {group}", f"sample {sample}") for group, sample in zip(groups, samples, strict=True)]
    expected = {frozenset(chain) for chain in networkx.connected_components(networkx.Graph(edges))}
    codes = np.unique(groups, return_inverse=True)[1]
    units, _ = keep_together(samples, Units(codes, are_groups=True), least=2)
    of_units = [np.flatnonzero(units.codes == unit) for unit in units.codes]
    assert {frozenset(name for row in rows for name in edges[row]) for rows in of_units} == expected
    assert units.are_groups


def test_too_few_different_samples_are_no_units():
    groups = Units(np.array([0, 0, 1, 1]), are_groups=True)
    for of_user in (None, groups):
        units, note = keep_together(np.array([5, 6, 5, 6]), of_user, least=3)
        assert units is of_user
        few = "the 2 different ones are" if of_user is None else "1 group without copies in another are"
        assert note.startswith(f"exact copies of other samples: 2 of 4; {few} too few to keep")


@pytest.mark.parametrize("stratified", [False, True])
def test_copies_are_in_one_fold_and_every_row_is_in_one(stratified):
    codes, ranks = copies()
    drawn = split_folds(ranks if stratified else None, 300, Units(codes, are_groups=False), 5, seed=0)
    assert sorted(np.concatenate([own for _, own in drawn])) == list(range(300))
    for rest, own in drawn:
        assert sorted([*rest, *own]) == list(range(300))
        assert set(codes[rest]).isdisjoint(codes[own])


def test_folds_without_copies_are_those_of_scikit_learn():
    ranks = np.arange(40) % 3
    plain = list(KFold(5, shuffle=True, random_state=3).split(ranks))
    stratified = list(StratifiedKFold(5, shuffle=True, random_state=3).split(ranks, ranks))
    for expected, strata in ((plain, None), (stratified, ranks)):
        for drawn, fold in zip(split_folds(strata, 40, None, 5, seed=3), expected, strict=True):
            np.testing.assert_array_equal(drawn[1], fold[1])
