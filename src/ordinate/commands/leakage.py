"""What makes held-out samples less new than they seem: copies and groups on both sides of a split."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from ordinate.commands.division import Division
from ordinate.commands.samples import LabelledData
from ordinate.counts import counted
from ordinate.data.tables.row_columns import find_group_columns
from ordinate.errors import argument

AMONG_TRAINING = "among the training samples"  # What notes say of held-out samples that are less new than they seem.


def leakage_notes(samples: LabelledData, division: Division) -> Iterator[str]:
    """Yield notes on held-out samples that have copies, or share an identifier, among those to train on."""
    if division.note is None:
        yield from _copies(samples, division)
    else:
        yield division.note
    is_table = hasattr(samples.X, "columns")
    if samples.groups is None and not samples.is_text and is_table:
        yield from _repeated_identifiers(samples, division)


def note_on_groups(samples: LabelledData, division: Division) -> str | None:
    """Return how many groups there are, and how many are held out; None without any, or where a split was given."""
    if samples.groups is None or samples.splits is not None:
        return None
    held_out, count = samples.groups.iloc[division.test].nunique(), samples.groups.nunique()
    side = (
        "each of one sample, so that they keep nothing together" if count == len(samples.groups) else "each on one side"
    )
    return f"{counted(count, 'group')}, {side}; {held_out:,} held out"


def _copies(samples: LabelledData, division: Division, max_shown: int = 3) -> Iterator[str]:
    codes, copy = samples.exact_copies, "an exact copy"
    if codes is None:
        codes, copy = samples.modality.copies(samples.X)
    training = np.concatenate([division.rows, division.validation])
    copied = division.test[np.isin(codes[division.test], codes[training])]
    if len(copied) == 0:
        return
    first = pd.Series(training, index=codes[training]).groupby(level=0).first()
    shown = copied[:max_shown]
    copies = samples.names(shown, samples.known_paths)
    originals = samples.names(first[codes[shown]].to_numpy(), samples.known_paths)
    pairs = [f"{of_copy} = {original}" for of_copy, original in zip(copies, originals, strict=True)]
    have = "has" if len(copied) == 1 else "have"
    yield (
        f"{len(copied):,} of the {counted(len(division.test), 'held-out sample')} {have} {copy} {AMONG_TRAINING}, "
        f"such as {', '.join(pairs)}; scores on new samples may be worse"
    )


def _repeated_identifiers(samples: LabelledData, division: Division) -> Iterator[str]:
    training = np.concatenate([division.rows, division.validation])
    for name in find_group_columns(samples.X):
        values = samples.X[name]
        held_out = values.iloc[division.test].dropna().drop_duplicates()
        shared = int(held_out.isin(values.iloc[training]).sum())
        if shared == 0:
            continue
        hint = f"{argument('group', name)} keeps the rows of each on one side"
        if samples.splits is not None:
            hint = "a split should keep the rows of each on one side"
        yield (
            f"column {name!r} looks like an identifier, and {shared:,} of its {counted(len(held_out), 'value')} among "
            f"the held-out samples are {AMONG_TRAINING} too; if so, {hint}"
        )
