"""What a model of ``ordinate fit`` knows of the data that it was fitted to, for questions that need more samples."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ordinate.data.rows import Labels, Samples, take
from ordinate.data.splits import note_on_groups
from ordinate.model.model import Model


@dataclass(eq=False)
class KnownSamples:
    """Labelled samples that a model was fitted to.

    Args:
        X: Samples (n).
        y: Their labels (n,) or targets (n, p).
        rows: Rows (n,) of the data that they are.
        trained: Places of those that the model was trained on.
        held_out: Places of those that were held out.
        names: Names (n,) of the samples: the files they lie in, or their rows.
        groups: Groups (n,) that were kept on one side; None without any.
        embedded: Embeddings (n, d) of the model, once they were asked for.

    Example:
        >>> rows = np.arange(3)
        >>> known = KnownSamples(list("abc"), rows, rows, rows[:2], rows[2:], ["row 0", "row 1", "row 2"])
        >>> known.take(known.held_out)
        (['c'], array([2]))
    """

    X: Samples
    y: Labels
    rows: NDArray[np.int64]
    trained: NDArray[np.int64]
    held_out: NDArray[np.int64]
    names: list[str]
    groups: NDArray[np.str_] | None = None
    embedded: NDArray[np.float64] | None = None

    def note_on(self, column: str | None, groups: NDArray[np.str_] | None) -> str | None:
        """Return a note on other samples whose groups (m,) are among those of training; None without any."""
        return note_on_groups(column, groups, None if self.groups is None else self.groups[self.trained])

    def take(self, places: NDArray[np.int64]) -> tuple[Any, Labels]:
        """Return some of the samples, and their labels."""
        return take(self.X, places), self.y[places]


class DataOfFit(Protocol):
    """The data of a model of ``ordinate fit``, which reads files as ``fit`` has read that data."""

    @property
    def name(self) -> str:
        """What the data are: the path of a file, or a DataFrame."""

    @property
    def is_file(self) -> bool:
        """Whether the data lie in a file, and not in a DataFrame."""

    @property
    def group(self) -> str | None:
        """The column of the groups that were kept on one side; None without any."""

    @property
    def records(self) -> Mapping[str, str]:
        """What the folder of the model holds in addition to the model, by the names of the files."""

    def samples(self, model: Model) -> KnownSamples | None:
        """Return the samples that the model was fitted to; None if their file is gone or has changed."""

    def labelled(self, model: Model, path: str) -> tuple[Samples, Labels, NDArray[np.str_] | None]:
        """Return samples, labels and groups of a file, folder or zip: of the data of the fit those held out."""
