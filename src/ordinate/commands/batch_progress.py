"""The progress bar of a command that goes through samples in batches."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from ordinate.data.decoded import PixelReader
from ordinate.data.modality import Reader
from ordinate.errors import OrdinateError

WAY_OUT = "; --skip-unreadable leaves them out"  # of an error about files that cannot be read
DELAY = 2.0  # seconds until it is shown


def with_progress(batches: Iterable[tuple[Any, Any]], total: int) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of a batch and what is said of it, and show on a terminal how far it is and when it ends."""
    with tqdm(total=total, unit="sample", unit_scale=True, delay=DELAY, disable=None, leave=False) as bar:
        for X, result in batches:
            yield X, result
            bar.update(len(X))


def check_skipping(reader: Reader, *, skip_unreadable: bool) -> None:
    """Raise where a model reads no files that could be left out."""
    if skip_unreadable and not isinstance(reader, PixelReader):
        raise OrdinateError("--skip-unreadable", problem="the model reads neither images nor volumes")


@contextmanager
def telling(left_out: Iterable[str]) -> Iterator[None]:
    """Say at the end, however it comes, which files could not be read."""
    try:
        yield
    finally:
        for reason in left_out:
            print(f"ordinate: left out: {reason}", file=sys.stderr)
