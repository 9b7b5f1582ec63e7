"""A loader that continues in the middle of an epoch."""

import pytest
from joblib import Parallel, delayed
from torch.utils.data import Dataset

from ordinate.data.loader import Loader, ResumableLoader
from ordinate.data.samplers import ShuffledBatches


class Rows(Dataset):
    """Gives the rows that it is asked for, and keeps them."""

    def __init__(self):
        self.asked = []

    def __getitem__(self, rows):
        self.asked.append(rows)
        return rows


def loader(epoch=1, **options):
    made = ResumableLoader(Rows(), ShuffledBatches(20, 4), **options)
    made.sampler.set_epoch(epoch)
    return made


@pytest.mark.parametrize("workers", [0, 2])
def test_the_rest_of_an_epoch_is_read_and_nothing_before(workers):
    whole = list(loader())
    stopped = loader()
    assert [rows for rows, _ in zip(stopped, range(2), strict=False)] == whole[:2]
    state = {"epoch": 1, "batches": 2}
    resumed = loader(num_workers=workers)
    resumed.load_state_dict(state)
    assert len(resumed) == 5
    assert list(resumed) == whole[2:]
    assert resumed.state_dict() == {"epoch": 1, "batches": 5}
    if workers == 0:
        assert resumed.dataset.asked == whole[2:]
    assert list(resumed) == whole  # the next time, all of it


def test_the_state_counts_the_batches_that_were_read():
    stopped = loader()
    for place, _ in enumerate(stopped):
        assert stopped.state_dict() == {"epoch": 1, "batches": place + 1}


def test_the_next_epoch_is_read_from_its_start():
    """Such as after one that the end of the time has cut."""
    resumed = loader(epoch=2)
    resumed.load_state_dict({"epoch": 1, "batches": 2})
    assert list(resumed) == list(loader(epoch=2))


def read_with_a_worker():
    return list(Loader(Rows(), sampler=[1, 2, 3], batch_size=None, num_workers=1))


def test_a_worker_of_joblib_starts_workers_of_its_own():
    """Such as those of scikit-learn's ``n_jobs`` and of ``ordinate table --jobs``."""
    assert Parallel(2)(delayed(read_with_a_worker)() for _ in range(2)) == [[1, 2, 3], [1, 2, 3]]
