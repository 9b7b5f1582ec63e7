import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from ordinate.data.images.augmentation import Augmentation
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.training_batches import ViewBatches
from tests.data import pictures

RANKS = torch.arange(20) % 3
DRAWN = torch.from_numpy(pictures.draw(RANKS))


def read(epoch, workers=0, views=2, name="auto", seed=0):
    data = ViewBatches(DRAWN, RANKS, Augmentation(name, (16, 16)), views, workers)
    requests = data.requests(ShuffledBatches(20, batch_size=6, seed=1), seed)
    requests.set_epoch(epoch)
    return list(DataLoader(data, sampler=requests, batch_size=None, num_workers=data.workers))


def same(some, others):
    return all(torch.equal(x, other) for (x, _), (other, _) in zip(some, others, strict=True))


def test_workers_draw_what_this_process_draws():
    assert same(read(epoch=3, name="supcr"), read(epoch=3, name="supcr", workers=2))


def test_the_random_state_of_the_process_is_left_as_it_was():
    data = ViewBatches(DRAWN, RANKS, Augmentation("auto", (16, 16)), 1, 0)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    _ = data[7, [0, 1]]
    assert torch.equal(torch.rand(3), expected)


def test_epochs_seeds_and_places_draw_other_views():
    assert same(read(0), read(0))
    assert not same(read(0), read(0, seed=1))
    data = ViewBatches(DRAWN, RANKS, Augmentation("auto", (16, 16)), 1, 0)
    seeds = [seed for epoch in range(3) for seed, _ in _requests(data, epoch)]
    assert len(set(seeds)) == len(seeds)


def _requests(data, epoch):
    requests = data.requests(ShuffledBatches(20, batch_size=6, seed=1), 0)
    requests.set_epoch(epoch)
    return list(requests)


@pytest.mark.parametrize("views", [1, 2, 3])
def test_the_views_of_a_sample_stand_together_under_its_label(views):
    seen = []
    for x, y in read(0, views=views, name="none"):
        assert len(x) == len(y)
        for start in range(0, len(x), views):
            assert (x[start : start + views] == x[start]).all()
            assert (y[start : start + views] == y[start]).all()
            index = np.flatnonzero((x[start] == DRAWN).all(dim=(1, 2, 3)).numpy())
            assert RANKS[index[0]] == y[start]
            seen.extend(index)
    assert sorted(seen) == list(range(20))


@pytest.mark.parametrize(
    ("name", "side", "workers"), [("none", 64, 0), ("auto", 32, 0), ("auto", 64, 2), ("supcr", 32, 2)]
)
def test_only_views_that_take_long_are_drawn_by_workers(name, side, workers):
    images = torch.zeros(2, 3, side, side, dtype=torch.uint8)
    assert ViewBatches(images, RANKS[:2], Augmentation(name, (side, side)), 1, 2).workers == workers
