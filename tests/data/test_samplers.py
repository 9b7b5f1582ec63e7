from contextlib import contextmanager
from itertools import chain
from unittest import mock

import lightning.pytorch as lightning
import numpy as np
import pytest
import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st
from lightning.pytorch.demos.boring_classes import BoringModel
from torch.utils.data import DataLoader, TensorDataset

from ordinate.data import samplers
from ordinate.data.samplers import RankBatches, ShuffledBatches
from ordinate.errors import OrdinateError

IMBALANCED = {
    "one_to_thousand": np.repeat([0, 1], [1000, 2]),
    "single_samples": np.repeat([0, 1, 2, 3], [60, 1, 2, 1]),
    "sorted": np.repeat([0, 1, 2], 40),
    "one_batch": np.array([0, 1, 1, 0]),
}
sizes, batch_sizes, seeds = st.integers(1, 60), st.integers(2, 20), st.integers(0, 99)
rank_lists = st.lists(st.integers(0, 5), min_size=2, max_size=60).map(np.array)
label_lists = st.lists(st.integers(-9, 9) | st.floats(-1e9, 1e9), min_size=1, max_size=60).map(np.array)


def epoch(sampler, number=0):
    sampler.set_epoch(number)
    return list(sampler)


def counts(ranks, batch):
    """Samples of each rank in a batch."""
    return np.bincount(ranks[batch], minlength=6)


def ranks_with_two_samples(ranks, batch):
    return int((counts(ranks, batch) >= 2).sum())


# shuffled batches


@given(size=sizes, batch_size=batch_sizes, seed=seeds)
def test_every_sample_comes_once_an_epoch(size, batch_size, seed):
    batches = epoch(ShuffledBatches(size, batch_size, seed))
    assert sorted(np.concatenate(batches)) == list(range(size))


@given(size=sizes, batch_size=batch_sizes)
def test_batches_are_nearly_equal_and_no_larger_than_asked_for(size, batch_size):
    sampler = ShuffledBatches(size, batch_size)
    lengths = [len(batch) for batch in sampler]
    assert max(lengths) <= batch_size
    assert max(lengths) - min(lengths) <= 1
    assert len(lengths) == len(sampler) == -(-size // batch_size)


SAMPLERS = {
    "shuffled": lambda seed=0: ShuffledBatches(1002, 64, seed),
    "ranks": lambda seed=0: RankBatches(IMBALANCED["one_to_thousand"], 64, {1: 1}, 2, seed),
}
for_every_sampler = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)


class Shuffled(ShuffledBatches):
    """Given labels as the others are."""

    def __init__(self, labels, *arguments, **options):
        super().__init__(len(labels), *arguments, **options)


for_every_kind = pytest.mark.parametrize("kind", [Shuffled, RankBatches])


@for_every_sampler
def test_seed_and_epoch_alone_decide_the_order(sampler):
    resumed, run = sampler(7), sampler(7)
    orders = [epoch(run, number) for number in range(3)]
    assert epoch(resumed, 2) == orders[2]
    assert epoch(run, 0) == orders[0]
    assert list(run) == orders[1]  # The next pass is the next epoch.


@for_every_sampler
def test_another_seed_or_epoch_is_another_order(sampler):
    orders = {tuple(np.concatenate(epoch(sampler(seed), number))) for seed in range(3) for number in range(3)}
    assert len(orders) == 9


@for_every_sampler
def test_batches_are_lists_of_integers(sampler):
    assert all(type(index) is int for batch in sampler(0) for index in batch)


@pytest.mark.parametrize(
    ("sampler", "workers"), [*((sampler, 0) for sampler in SAMPLERS.values()), (SAMPLERS["ranks"], 2)]
)
def test_a_loader_takes_it_as_either_kind_of_sampler(sampler, workers):
    data, batches = TensorDataset(torch.arange(1002)), sampler()
    loaders = [
        DataLoader(data, batch_sampler=batches, num_workers=workers),
        DataLoader(data, sampler=batches, batch_size=None, num_workers=workers),
    ]
    for number in range(2):
        expected = epoch(sampler(), number)
        for loader in loaders:
            batches.set_epoch(number)
            assert len(loader) == len(expected)
            assert [batch.tolist() for (batch,) in loader] == expected


@for_every_sampler
def test_a_loop_that_sets_no_epoch_gets_the_next_one_with_each_pass(sampler):
    loader = DataLoader(torch.arange(1002), batch_sampler=sampler())
    passes = [[batch.tolist() for batch in loader] for _ in range(3)]
    assert passes == [epoch(sampler(), number) for number in range(3)]


@pytest.mark.parametrize("options", [{"batch_sampler": ...}, {"sampler": ..., "batch_size": None}], ids=str)
@pytest.mark.filterwarnings("ignore:::lightning")
def test_a_trainer_sets_the_epoch(options):
    """A plain Trainer of Lightning, in whose hands the loader is."""
    seen, batches = [], ShuffledBatches(10, 5)

    class Recorder(BoringModel):
        def training_step(self, batch, batch_idx):
            seen.append(batch[0].tolist())
            return super().training_step(torch.zeros(1, 32), batch_idx)

    loader = DataLoader(
        TensorDataset(torch.arange(10)), **{name: batches if value is ... else value for name, value in options.items()}
    )
    trainer = lightning.Trainer(
        max_epochs=3, limit_val_batches=0, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Recorder(), loader)
    assert seen == [batch for number in range(3) for batch in epoch(ShuffledBatches(10, 5), number)]


@pytest.mark.parametrize("batch_size", [1, 0, -4])
@for_every_kind
def test_a_batch_of_less_than_two_samples_is_an_error(kind, batch_size):
    with pytest.raises(OrdinateError, match=f"batch_size: got {batch_size}, expected at least 2 samples"):
        kind(np.zeros(10, dtype=int), batch_size)


# batches that processes share


@contextmanager
def as_process(place, count):
    """This process as one of several."""
    of_group = {"processes": mock.Mock(return_value=count), "place_among": mock.Mock(return_value=place)}
    with mock.patch.multiple(samplers, **of_group):
        yield


def shares_of(make, count, number=0):
    """The batches of an epoch in each of several processes."""
    shares = []
    for place in range(count):
        with as_process(place, count):
            shares.append(epoch(make(), number))
    return shares


@given(labels=label_lists, count=st.integers(1, 5), more=st.integers(0, 20), seed=seeds, number=st.integers(0, 3))
@example(labels=np.zeros(9), count=4, more=0, seed=0, number=0)  # a batch of four, and one sample each
@for_every_kind
def test_processes_together_see_the_batches_of_one(kind, labels, count, more, seed, number):
    assume(len(labels) >= count)
    labels = np.sign(labels).astype(int) + 1
    options = {"batch_size": 2 * count + more, "seed": seed}
    whole = epoch(kind(labels, **options), number)
    for batch, *parts in zip(whole, *shares_of(lambda: kind(labels, **options), count, number), strict=True):
        sizes = [len(part) for part in parts]
        assert sorted(chain(*parts)) == sorted(batch)
        assert min(sizes) >= 1
        assert max(sizes) - min(sizes) <= 1


def test_what_a_batch_must_hold_it_holds_over_all_processes():
    whole = epoch(SAMPLERS["ranks"]())
    for batch, *parts in zip(whole, *shares_of(SAMPLERS["ranks"], 4), strict=True):
        assert sorted(chain(*parts)) == sorted(batch)
        assert ranks_with_two_samples(IMBALANCED["one_to_thousand"], batch) == 2


@pytest.mark.parametrize(
    ("count", "batch_size", "message"),
    [
        (4, 7, "batch_size: got 7, expected at least 8 samples to contrast, two per process"),
        (11, 22, "processes: got 11, expected at most 10, one per sample"),
    ],
)
@for_every_kind
def test_too_many_processes_are_an_error(kind, count, batch_size, message):
    with as_process(0, count), pytest.raises(OrdinateError, match=message):
        kind(np.zeros(10, dtype=int), batch_size)


# batches that hold enough of the ranks


@given(
    ranks=rank_lists,
    batch_size=batch_sizes,
    seed=seeds,
    number=st.integers(0, 5),
    required=st.dictionaries(st.integers(0, 5), st.integers(1, 4)),
    distinct=st.integers(0, 3),
)
@example(ranks=np.repeat([0, 1], 20), batch_size=4, seed=0, number=0, required={0: 3, 1: 3}, distinct=0)
@example(ranks=np.repeat([0, 1, 2], 9), batch_size=3, seed=0, number=0, required={}, distinct=3)
def test_a_rank_batch_is_a_shuffled_batch_with_no_more_than_it_lacks_added(
    ranks, batch_size, seed, number, required, distinct
):
    distinct = min(distinct, ranks_with_two_samples(ranks, slice(None)))
    batches = epoch(RankBatches(ranks, batch_size, required, distinct, seed), number)
    plain = epoch(ShuffledBatches(len(ranks), batch_size, seed), number)
    least = np.array([required.get(rank, 0) for rank in range(6)])
    there_are = counts(ranks, slice(None))
    for batch, start in zip(batches, plain, strict=True):
        assert batch[: len(start)] == start
        assert len(set(batch)) == len(batch)
        held, with_required = counts(ranks, batch), np.maximum(counts(ranks, start), np.minimum(least, there_are))
        assert (held >= with_required).all()
        assert ranks_with_two_samples(ranks, batch) >= distinct
        completed = held > with_required
        assert (held[completed] == 2).all()
        assert completed.sum() == max(0, distinct - (with_required >= 2).sum())


@pytest.mark.parametrize("batch_size", [2, 5, 64])
@pytest.mark.parametrize("ranks", IMBALANCED.values(), ids=IMBALANCED)
def test_every_batch_of_cloc_holds_two_ranks_with_two_samples(ranks, batch_size):
    for number in range(3):
        for batch in epoch(RankBatches(ranks, batch_size, distinct=2), number):
            assert ranks_with_two_samples(ranks, batch) >= 2
            assert len(set(batch)) == len(batch)


@pytest.mark.parametrize("ranks", IMBALANCED.values(), ids=IMBALANCED)
def test_every_batch_of_otd_holds_the_extreme_ranks(ranks):
    highest = ranks.max()
    for batch in RankBatches(ranks, 8, required={0: 2, highest: 1}):
        assert (ranks[batch] == 0).sum() >= 2
        assert (ranks[batch] == highest).sum() >= 1


def test_a_rank_of_fewer_samples_than_required_gives_all_of_them():
    ranks = np.repeat([0, 1], [20, 2])
    assert all((ranks[batch] == 1).sum() == 2 for batch in RankBatches(ranks, 4, required={1: 3}))


def test_a_required_rank_without_samples_is_left_out():
    ranks = np.zeros(9, dtype=int)
    assert list(RankBatches(ranks, 4, required={1: 2})) == list(ShuffledBatches(9, 4))


def test_what_is_added_is_drawn_anew_for_every_batch_and_every_epoch():
    ranks = np.repeat([0, 1], [2000, 50])
    batches = [batch for number in range(2) for batch in epoch(RankBatches(ranks, 8, required={1: 8}), number)]
    added = [frozenset(i for i in batch if ranks[i] == 1) for batch in batches]
    assert len(set(added)) == len(added)
    assert set().union(*added) == set(range(2000, 2050))


@pytest.mark.parametrize(
    ("ranks", "distinct", "there_are"), [([0, 0, 1], 2, 1), ([0, 1, 2], 2, 0), ([0, 0, 1, 1], 3, 2)]
)
def test_too_few_ranks_with_two_samples_are_an_error(ranks, distinct, there_are):
    message = f"labels: got {there_are} ranks? with two samples or more, expected at least {distinct}"
    with pytest.raises(OrdinateError, match=message):
        RankBatches(np.array(ranks), 4, distinct=distinct)


@pytest.mark.parametrize(
    ("ranks", "got"),
    [([0.0, 1.0], r"float64 of shape \(2,\)"), ([[0, 1], [1, 0]], r"int64 of shape \(2, 2\)"), ([0, -1, 1], "-1")],
)
def test_labels_that_are_no_ranks_are_an_error(ranks, got):
    with pytest.raises(OrdinateError, match=f"ranks: got {got}, expected whole numbers 0..C-1, one per sample"):
        RankBatches(np.array(ranks), 2)
