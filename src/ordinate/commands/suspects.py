"""``ordinate suspects``: the samples of a file whose labels look wrong, worst first."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ordinate.commands.division import units_of
from ordinate.commands.fit.image_plan import BLEND
from ordinate.commands.fit.plan import FitPlan, filled_in, planned_images
from ordinate.commands.fit.read import data_options, decode_files, open_labelled, request_of
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.labels import Label, understand_label
from ordinate.commands.samples import LabelledData
from ordinate.commands.table_file import write_table
from ordinate.counts import counted
from ordinate.data.numbers import plain_text
from ordinate.data.tables.parquet_table import in_memory
from ordinate.errors import OrdinateError
from ordinate.estimators.label_errors import find_label_errors
from ordinate.report.text import table
from ordinate.training.machine import keep_freed_memory


def suspects(
    data: str, target: str | None, *, folds: int = 5, out: str | None = None, shown: int = 10, **shared: Any
) -> None:
    """Write all samples as a table, the most suspicious label first.

    Ranks are checked by CLOC and continuous targets by SupCR; images by a blend that reads the features of a pretrained
    network, if there is one and the epochs are left open. No model was trained on the samples that it checks.

    Args:
        data: Path or name of the data.
        target: Column of the label; None if the data have one of their own.
        folds: Number of models.
        out: File to write; None prints the table, on a terminal the worst samples.
        shown: Number of the worst samples that are printed if all go to a file.
        shared: Other fields of :class:`~ordinate.commands.fit_options.FitOptions`.
    """
    options = FitOptions(data, target, **shared)
    if folds < 2:
        raise OrdinateError("--folds", folds, "at least 2")
    # A table of samples may go to the standard output, and notes do not belong there.
    request = request_of(options, partial(print, file=sys.stderr))
    opened = open_labelled(options, request)
    images = planned_images(replace(options, set=[*options.set, "fine_tuned=0"]), opened)
    if images is not None and images.blend:
        options, opened = filled_in(options, images), opened.resized(images.size)
        keep_freed_memory()
    samples = decode_files(options, request, opened)
    label = understand_label(samples.y, options.task, options.order, samples.name)
    if label.is_ranks:
        samples, label = _with_others_of_its_rank(samples, label, request.say)
    _, note = units_of(label, samples)
    if note is not None:
        request.say(f"note: {note}")
    method = options.method
    if method != BLEND:
        method = "cloc" if label.is_ranks else "supcr"
    estimator = FitPlan(options, label, (method,), data_options(options, samples.modality)).estimator(method)
    if not options.quiet:
        request.say(f"training {folds} models, each without the samples that it checks")
    found = find_label_errors(estimator, samples.X, label.values, folds=folds, groups=samples.groups)
    if samples.known_paths is not None:
        found.insert(1, "path", samples.known_paths[found["row"]])
    if samples.identity is not None:
        identity = in_memory(samples.identity).iloc[found["row"]].reset_index(drop=True)
        for name in identity.columns.difference(found.columns):
            found.insert(1, name, identity[name])
    found["row"] = samples.in_data(found["row"].to_numpy())
    if out is not None or not sys.stdout.isatty():
        write_table([found], out)
    if out is None and not sys.stdout.isatty():
        return
    print(table(list(found.columns), [_cells(row) for row in found.head(shown).itertuples(index=False)]))
    where = "--out FILE writes all of them" if out is None else out
    print(f"\n{counted(len(found), 'sample')}, worst first: {where}; {found['doubted'].sum():,} to look at")


def _with_others_of_its_rank(
    samples: LabelledData, label: Label, say: Callable[[str], None]
) -> tuple[LabelledData, Label]:
    """Return the samples without those from whose rank nothing is left to learn once they are left out."""
    apart = np.arange(len(label.values)) if samples.groups is None else samples.groups.to_numpy()
    several = pd.Series(apart).groupby(label.values).transform("nunique").to_numpy() > 1
    if several.all():
        return samples, label
    alone = sorted({plain_text(value) for value in label.values[~several]})
    count = int((~several).sum())
    where = "samples" if samples.groups is None else "groups"
    rows = counted(count, "row")
    say(f"left out: {rows} of {', '.join(map(repr, alone))}: checking a label takes two {where} of its rank")
    rows_kept = np.flatnonzero(several)
    classes = [rank for rank in label.classes or [] if plain_text(rank) not in alone]
    kept = Label(label.values[rows_kept], classes)
    return samples.take(rows_kept), kept


def _cells(row: tuple[object, ...]) -> list[str]:
    return [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row]
