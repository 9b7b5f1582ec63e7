"""A loader that continues in the middle of an epoch."""

import pytest
from joblib import Parallel, delayed
from torch.utils.data import Dataset

from ordinate.data.loader import Loader, RestOfEpoch
from ordinate.data.samplers import ShuffledBatches


class Rows(Dataset):
    """Gives the rows that it is asked for, and keeps them."""

    def __init__(self):
        self.asked = []

    def __getitem__(self, rows):
        self.asked.append(rows)
        return rows


@pytest.mark.parametrize("workers", [0, 2])
def test_the_rest_of_an_epoch_is_read_and_nothing_before(workers):
    whole = ShuffledBatches(20, 4)
    rest = RestOfEpoch(ShuffledBatches(20, 4))
    loader = Loader(Rows(), sampler=rest, batch_size=None, num_workers=workers, persistent_workers=workers > 0)
    for epoch, start in ((1, 2), (2, 0), (3, 4)):
        whole.set_epoch(epoch)
        rest.set_epoch(epoch)
        rest.start = start
        expected = list(whole)[start:]
        assert list(loader) == expected
        if workers == 0:
            assert loader.dataset.asked[start - 5 :] == expected
    assert len(rest) == 5


def read_with_a_worker():
    return list(Loader(Rows(), sampler=[1, 2, 3], batch_size=None, num_workers=1))


def test_a_worker_of_joblib_starts_workers_of_its_own():
    """Such as those of scikit-learn's ``n_jobs`` and of ``ordinate table --jobs``."""
    assert Parallel(2)(delayed(read_with_a_worker)() for _ in range(2)) == [[1, 2, 3], [1, 2, 3]]
