"""A loader of training batches that continues in the middle of an epoch."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from torch.utils.data import Dataset

from ordinate.data.samplers import SharedBatches
from ordinate.data.streamed import Loader


class EpochBatches(Protocol):
    """A sampler of batches whose order follows from its epoch."""

    def set_epoch(self, epoch: int) -> None: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...


class RestOfEpoch(SharedBatches):
    """The batches of another sampler from number ``start`` on; those before are left out by their indices alone."""

    def __init__(self, batches: EpochBatches) -> None:
        self.batches = batches
        self.epoch = self.start = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose batches come next."""
        self.epoch = epoch
        self.batches.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[Any]:
        return islice(self.batches, self.start, None)


class ResumableLoader(Loader):
    """A loader whose state, which Lightning keeps in checkpoints, is how many batches of which epoch it has read.

    With that state it leaves them out, without reading their samples, when this epoch comes.

    Args:
        data: gives a batch for what the sampler has in its place.
        batches: a sampler of whole batches.
        options: of ``DataLoader``.
    """

    def __init__(self, data: Dataset[Any], batches: EpochBatches, **options: Any) -> None:
        self.rest = RestOfEpoch(batches)
        super().__init__(data, sampler=self.rest, batch_size=None, **options)
        self.read = 0
        self.resumed: dict[str, int] = {}

    def __iter__(self) -> Any:
        """Yield batches: a generator, so that no worker reads ahead before Lightning has set the epoch."""
        resumed, self.resumed = self.resumed, {}
        self.read = self.rest.start = resumed.get("batches", 0) if resumed.get("epoch") == self.rest.epoch else 0
        for batch in super().__iter__():
            self.read += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.rest.epoch, "batches": self.read}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue the epoch of such a state when it comes next."""
        self.resumed = state
