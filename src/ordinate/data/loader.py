"""Loaders of batches: errors of worker processes as they are, and epochs that continue where they were left."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from itertools import islice
from typing import Any

from torch.utils.data import DataLoader, Dataset

from ordinate.data.samplers import WrappedBatches
from ordinate.errors import OrdinateError


def usable_workers(workers: int) -> int:
    """Return the number of worker processes: at most one per core, and 0 if none may be started."""
    if multiprocessing.current_process().daemon:
        return 0
    return min(workers, os.cpu_count() or 1)


def workers_for(parts: int, workers: int, most_here: int = 4) -> int:
    """Return how many worker processes read so many parts of samples; up to ``most_here`` are read in this one."""
    if parts <= most_here:
        return 0
    return usable_workers(workers)


class Loader(DataLoader[Any]):
    """A DataLoader that raises an `OrdinateError` of a worker process as it is, not as the text of a traceback.

    Its worker processes start in the platform's way, also inside a worker of joblib, whose own way is not for others.
    """

    def __init__(self, dataset: Any, **options: Any) -> None:
        if options.get("num_workers"):
            dataset = _ErrorsAsSamples(dataset)
            options["worker_init_fn"] = _leave_interrupts
            if multiprocessing.get_start_method() not in multiprocessing.get_all_start_methods():
                options["multiprocessing_context"] = multiprocessing.get_all_start_methods()[0]
        super().__init__(dataset, **options)

    def __iter__(self) -> Any:
        """Yield batches."""
        for batch in super().__iter__():
            if isinstance(batch, OrdinateError):
                raise batch
            yield batch


def _leave_interrupts(_: int) -> None:
    """Leave Ctrl-C to the main process, which ends its workers, and says so once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _ErrorsAsSamples(Dataset[object]):
    """Samples, or the `OrdinateError` that says why they cannot be read."""

    def __init__(self, samples: Any) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, request: object) -> object:
        try:
            return self.samples[request]
        except OrdinateError as error:
            return error


class RestOfEpoch(WrappedBatches):
    """The batches of another sampler from number ``start`` on; those before are left out by their indices alone."""

    start = 0

    def __iter__(self) -> Iterator[Any]:
        return islice(self.batches, self.start, None)
