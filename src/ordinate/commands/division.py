"""Which rows of a data set are trained on, validated on and measured on."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.labels import Label
from ordinate.commands.samples import Samples
from ordinate.data.splits import split_groups, split_rows
from ordinate.errors import OrdinateError

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Division:
    """The rows of a data set by their use.

    Args:
        rows: Rows to train on.
        validation: Rows to validate on; none unless the data set says which.
        test: Rows to measure on.
    """

    rows: Rows
    validation: Rows
    test: Rows

    @property
    def is_validated(self) -> bool:
        """Whether there are rows to validate on."""
        return len(self.validation) > 0


def divide_rows(label: Label, samples: Samples, test_fraction: float, seed: int) -> Division:
    """Return the rows to train, to validate and to measure on, those of weight 0 left out.

    Args:
        label: Labels of all samples.
        samples: The samples, of which the splits, groups and weights count.
        test_fraction: Share of the rows to measure on, unless the data set says which.
        seed: Seed of the division.
    """
    counted = np.arange(len(label.values))
    if samples.weights is not None:
        counted = np.flatnonzero(samples.weights)
    if samples.splits is not None:
        splits = samples.splits.to_numpy()
        if not {"train", "test"} <= set(splits) <= {"train", "validation", "test"}:
            shown = ", ".join(map(repr, sorted(set(splits))[:6]))
            raise OrdinateError("split", shown, "train and test, with or without validation")
        sides = splits[counted]
        rows, validation_rows, test_rows = (counted[sides == side] for side in ("train", "validation", "test"))
    else:
        rows, test_rows = divide(label, samples.groups, counted, test_fraction, seed)
        validation_rows = test_rows[:0]
    if len(test_rows) < 2 or len(rows) < 4:
        raise OrdinateError(
            "--test-fraction", problem=f"leaves {len(rows)} rows to train and {len(test_rows)} to measure on"
        )
    if label.classes is not None:
        sizes = pd.Series(label.values[rows]).value_counts()
        if (sizes >= 2).sum() < 2:
            raise OrdinateError("label", expected="at least two ranks with two samples or more")
    return Division(rows, validation_rows, test_rows)


def divide(label: Label, groups: pd.Series | None, rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
    """Divide rows in two, the second with a share of them; no group in both."""
    labels = label.values[rows]
    if groups is None:
        rest, held_out = split_rows(labels, share, seed, stratify=label.is_ranks)
    else:
        rest, held_out = split_groups(labels, groups.iloc[rows], share, seed, stratify=label.is_ranks)
    return rows[rest], rows[held_out]
