"""Which rows of a data set are trained on, validated on and measured on."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.fit_options import FitOptions
from ordinate.commands.labels import Label
from ordinate.commands.samples import Samples
from ordinate.data.splits import split_groups, split_rows
from ordinate.errors import OrdinateError

SIDES = ("train", "validation", "test")
TEST_FRACTION = 0.2

Rows = NDArray[np.int64]


def divide_rows(label: Label, samples: Samples, options: FitOptions) -> tuple[Rows, Rows, Rows]:
    """Rows to train, to validate (none unless the data set says which) and to measure on."""
    counted = np.arange(len(label.values)) if samples.weights is None else np.flatnonzero(samples.weights)
    if samples.splits is not None:
        splits = samples.splits.to_numpy()
        unknown = sorted(set(splits) - set(SIDES))
        if unknown or "test" not in splits or "train" not in splits:
            shown = ", ".join(map(repr, sorted(set(splits))[:6]))
            raise OrdinateError("split", shown, "train and test, with or without validation")
        rows, validation_rows, test_rows = (counted[splits[counted] == side] for side in SIDES)
    else:
        share = options.test_fraction or TEST_FRACTION
        rows, test_rows = divide(label, samples.groups, counted, share, options.seed)
        validation_rows = test_rows[:0]
    if len(test_rows) < 2 or len(rows) < 4:
        raise OrdinateError(
            "--test-fraction", problem=f"leaves {len(rows)} rows to train and {len(test_rows)} to measure on"
        )
    if label.classes is not None:
        sizes = pd.Series(label.values[rows]).value_counts()
        if (sizes >= 2).sum() < 2:
            raise OrdinateError("label", expected="at least two ranks with two samples or more")
    return rows, validation_rows, test_rows


def divide(label: Label, groups: pd.Series | None, rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
    """Divide rows in two, the second with a share of them; no group in both."""
    labels = label.values[rows]
    if groups is None:
        rest, held_out = split_rows(labels, share, seed, stratify=label.is_ranks)
    else:
        rest, held_out = split_groups(labels, groups.iloc[rows], share, seed, stratify=label.is_ranks)
    return rows[rest], rows[held_out]
