"""Reading, passing through a saved model, and writing the samples of a file in batches, for several commands."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tqdm import tqdm

from ordinate.data.decoded import PixelReader
from ordinate.data.rows import Batches
from ordinate.errors import OrdinateError
from ordinate.estimators.batches import map_batches, read_batches
from ordinate.estimators.embedding_estimator import EmbeddingEstimator


@dataclass(frozen=True)
class Workers:
    """Processes that share the work: their number, and the address of a Ray cluster that runs them."""

    jobs: int = 1
    ray: str | None = None

    def map(
        self, estimator: EmbeddingEstimator, method: str, batches: Iterable[Any], left_out: list[str] | None = None
    ) -> Iterator[tuple[Any, Any]]:
        """Yield every batch and the result of the model's method for it; files left out are added to a list."""
        say = None if left_out is None else left_out.append
        return map_batches(estimator, method, batches, self.jobs, self.ray, say)


@dataclass(frozen=True)
class FileOfSamples:
    """The samples of a file, for a saved model.

    Args:
        estimator: The model.
        data: Path of the file, or of a folder or zip.
        skip_unreadable: Whether images and volumes that cannot be read are left out.
        workers: Processes that share the work.
    """

    estimator: EmbeddingEstimator
    data: str
    skip_unreadable: bool = False
    workers: Workers = Workers()
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.skip_unreadable and not isinstance(self.estimator.reader_, PixelReader):
            raise OrdinateError("--skip-unreadable", problem="the model reads neither images nor volumes")

    def read(self) -> Batches:
        """Return the samples in batches."""
        return read_batches(self.estimator, self.data, self.left_out.append if self.skip_unreadable else None)

    def results(self, method: str, batches: Batches) -> Iterator[tuple[Any, Any]]:
        """Yield every batch and the result of the model's method for it, with a progress bar on a terminal."""
        left_out = self.left_out if self.skip_unreadable else None
        return with_progress(self.workers.map(self.estimator, method, batches, left_out), len(batches))

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Print at the end, however it comes, which files could not be read."""
        try:
            yield
        finally:
            for reason in self.left_out:
                print(f"ordinate: left out: {reason}", file=sys.stderr)


def with_progress(
    batches: Iterable[tuple[Any, Any]], total: int, seconds_to_wait: float = 2.0
) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of a batch and its result, and show on a terminal how many samples are done."""
    with tqdm(total=total, unit="sample", unit_scale=True, delay=seconds_to_wait, disable=None, leave=False) as bar:
        for X, result in batches:
            yield X, result
            bar.update(len(X))
