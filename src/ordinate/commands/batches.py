"""Reading, passing through a saved model, and writing the samples of a file in batches, for several commands."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from ordinate.data.decoded import PixelReader
from ordinate.data.file_tree import FileTree
from ordinate.data.labels_file import open_tree, read_listed
from ordinate.data.named_files import NamedFiles
from ordinate.data.paths import require_names
from ordinate.data.registry import modality_of
from ordinate.data.rows import BatchedSamples, Samples
from ordinate.data.tables.csv_table import CsvTable
from ordinate.errors import OrdinateError
from ordinate.model.batches import map_batches, read_unlabelled, trained_columns
from ordinate.model.model import Model

Pair = TypeVar("Pair", bound=tuple[Sized, object])
Results = Iterator[tuple[Samples, NDArray[np.float64]]]  # Each batch comes with what a model returns for it.


@dataclass(frozen=True)
class FileOfSamples:
    """The samples of a file, for a saved model.

    Args:
        model: The model.
        data: Path of the file, or of a folder or zip.
        skip_unreadable: Whether images and volumes that cannot be read are left out.
    """

    model: Model
    data: str
    skip_unreadable: bool = False
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.skip_unreadable and not isinstance(self.model.reader, PixelReader):
            raise OrdinateError("--skip-unreadable", problem="the model reads neither images nor volumes")

    @cached_property
    def samples(self) -> Samples:
        """The samples as they lie in the file, of a table with all columns."""
        return read_unlabelled(self.data, self.model, self._note_unreadable)

    @property
    def _note_unreadable(self) -> Callable[[str], None] | None:
        """The function that notes which files are left out; None if one that cannot be read is an error."""
        return self.left_out.append if self.skip_unreadable else None

    def read(self) -> BatchedSamples:
        """Return the samples in batches."""
        return BatchedSamples(trained_columns(self.model, self.samples, self.data), self.model.reader.read_at_once)

    def named(
        self, results: Results, identity: Sequence[str], keep: Sequence[str] = ()
    ) -> Iterator[tuple[pd.DataFrame, NDArray[np.float64]]]:
        """Yield the names of the rows of each batch with its result.

        Files are named by their paths, other rows by those columns of ``identity`` that the table has, or by their
        numbers. The columns to keep follow.
        """
        if isinstance(self.samples, NamedFiles):
            columns_of_files = self._columns_of_files(self.samples, keep)
            for X, result in results:
                paths = np.asarray(modality_of(X).paths(X))
                yield pd.DataFrame({"path": paths}).assign(**columns_of_files(paths)), result
            return
        known = getattr(self.samples, "columns", ())
        if keep and len(known) == 0:
            raise _holds_no_table(self.data)
        require_names(known, keep, self.data)
        identity = [name for name in identity if name in known]
        if "row" in keep and not identity:
            raise OrdinateError("--keep-columns", "'row', a column of the predictions", "other columns")
        names = list(dict.fromkeys([*identity, *keep]))
        columns: Iterable[pd.DataFrame] = repeat(pd.DataFrame())
        if names:
            trained = set(self.model.feature_names_in)
            columns = columns_of(self.samples, names, trained, self.model.reader.read_at_once)
        start = 0
        for (X, result), kept in zip(results, columns, strict=False):
            if identity:
                yield kept, result
            else:
                yield pd.DataFrame({"row": np.arange(start, start + len(X))}).join(kept), result
            start += len(X)

    def _columns_of_files(self, files: NamedFiles, keep: Sequence[str]) -> Callable[[Iterable[str]], pd.DataFrame]:
        """Return a function of the paths of files, batch by batch in their order, to columns of the table in DATA."""
        if not keep:
            return lambda _: pd.DataFrame()
        tree = open_tree(FileTree, self.data)
        if tree.labels is None:
            raise _holds_no_table(self.data)
        frame = read_listed(tree, "files", skip_absent=True, text=tuple(keep)).frame
        require_names(frame.columns, keep, self.data)
        listed = enumerate(files.paths)

        def columns(paths: Iterable[str]) -> pd.DataFrame:
            rows = [next(row for row, path in listed if path == wanted) for wanted in paths]
            return frame[list(keep)].iloc[rows].reset_index(drop=True)

        return columns

    def results(self, method: Callable[[Model, Samples], NDArray[np.float64]], batches: BatchedSamples) -> Results:
        """Yield every batch and the result of the model's method for it, with a progress bar on a terminal."""
        results = map_batches(self.model, method, batches, self._note_unreadable)
        return with_progress(results, len(batches))

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Print at the end, however it comes, which files could not be read."""
        try:
            yield
        finally:
            for reason in self.left_out:
                print(f"ordinate: left out: {reason}", file=sys.stderr)


def _holds_no_table(data: str) -> OrdinateError:
    return OrdinateError("--keep-columns", problem=f"{data} holds no table", expected="a table")


def names_of_samples(samples: Samples, identity: Sequence[str]) -> NDArray[np.generic]:
    """Return the names of samples: the paths of files, the first column that identifies rows, or their numbers."""
    name = next((each for each in identity if each in getattr(samples, "columns", ())), None)
    if name is not None:
        return pd.concat(columns_of(samples, [name], ()))[name].to_numpy()
    paths = modality_of(samples).paths(samples)
    return np.arange(len(samples)) if paths is None else paths


def columns_of(
    table: Samples, names: Sequence[str], trained: Iterable[str], rows: int = 1 << 16
) -> Iterator[pd.DataFrame]:
    """Yield columns of a table in batches; those of a csv that no model was trained on as text, such as 007."""
    table = table[list(names)]
    if isinstance(table, CsvTable):
        table = table.with_text(set(names).difference(trained))
    return (part.reset_index(drop=True) for part in BatchedSamples(table, rows))


def with_progress(batches: Iterable[Pair], total: int) -> Iterator[Pair]:
    """Yield pairs of a batch and its result, and show on a terminal, after two seconds, how many samples are done."""
    with tqdm(total=total, unit="sample", unit_scale=True, delay=2.0, disable=None, leave=False) as bar:
        for batch in batches:
            yield batch
            bar.update(len(batch[0]))
