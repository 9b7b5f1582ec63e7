"""Which rows of a data set are trained on, validated on and measured on."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ordinate.commands.labels import Label
from ordinate.commands.samples import LabelledData
from ordinate.counts import counted
from ordinate.data.rows import Rows
from ordinate.data.splits import Units, keep_together, split_units
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class Division:
    """The rows of a data set by their use.

    Args:
        rows: Rows to train on.
        validation: Rows to validate on; none unless the data set says which.
        test: Rows to measure on.
        units: What of all samples stays on one side of a split; None where every sample stands for itself.
        note: Note on copies, which stay together or are too many for that; None without any, or with a given split.
    """

    rows: Rows
    validation: Rows
    test: Rows
    units: Units | None = None
    note: str | None = None

    @property
    def is_validated(self) -> bool:
        """Whether there are rows to validate on."""
        return len(self.validation) > 0


def divide_rows(label: Label, samples: LabelledData, test_fraction: float, seed: int) -> Division:
    """Return the rows to train, to validate and to measure on, those of weight 0 left out.

    Args:
        label: Labels of all samples.
        samples: The samples, of which the splits, groups and weights count.
        test_fraction: Share of the rows to measure on, unless the data set says which.
        seed: Seed of the division.
    """
    units, note = units_of(label, samples)
    weighted = np.arange(len(label.values))
    if samples.weights is not None:
        weighted = np.flatnonzero(samples.weights)
    if samples.splits is not None:
        splits = samples.splits.to_numpy()
        if not {"train", "test"} <= set(splits) <= {"train", "validation", "test"}:
            shown = ", ".join(map(repr, sorted(set(splits))[:6]))
            raise OrdinateError("split", shown, "train and test, with or without validation")
        sides = splits[weighted]
        rows, validation_rows, test_rows = (weighted[sides == side] for side in ("train", "validation", "test"))
        note = None
    else:
        rows, test_rows = split_label_rows(label, units, weighted, test_fraction, seed)
        validation_rows = test_rows[:0]
    if len(test_rows) < 2 or len(rows) < 4:
        raise OrdinateError(
            "--test-fraction", problem=f"leaves {counted(len(rows), 'row')} to train and {len(test_rows)} to measure on"
        )
    if label.classes is not None:
        sizes = pd.Series(label.values[rows]).value_counts()
        if (sizes >= 2).sum() < 2:
            raise OrdinateError("label", expected="at least two ranks with two samples or more")
    return Division(rows, validation_rows, test_rows, units, note)


def units_of(label: Label, samples: LabelledData) -> tuple[Units | None, str | None]:
    """Return what of the samples stays on one side of a split, groups and exact copies, and a note on copies."""
    groups = None
    if samples.groups is not None:
        groups = Units(np.unique(samples.groups.to_numpy(), return_inverse=True)[1], are_groups=True)
    # Training, validation and test take a sample of each rank.
    return keep_together(samples.exact_copies, groups, least=10 if label.classes is None else 3 * len(label.classes))


def split_label_rows(label: Label, units: Units | None, rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
    """Divide rows in two, the second with a share of them; no unit in both."""
    of_rows = None if units is None else units.take(rows)
    rest, held_out = split_units(label.values[rows], of_rows, share, seed, stratify=label.is_ranks)
    return rows[rest], rows[held_out]
