"""``ordinate suspects``: the samples of a file whose labels look wrong, worst first."""

import sys
from functools import partial
from typing import Any

import numpy as np

from ordinate.commands.csv_file import check_new, write_csv
from ordinate.commands.fit_options import FitOptions, names_in
from ordinate.commands.labels import Label, understand_label
from ordinate.commands.row_columns import leave_out_row_columns
from ordinate.commands.samples import (
    Samples,
    array_as_pictures,
    is_images,
    is_series,
    read_pictures,
    read_signals,
    read_table,
)
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import Decoded
from ordinate.errors import OrdinateError
from ordinate.estimators import CLOCClassifier, SupCRRegressor
from ordinate.estimators.label_errors import find_label_errors
from ordinate.report.text import table

SHOWN = 10  # of the worst, when all go to a file


def suspects(data: str, target: str | None, *, folds: int = 5, out: str | None = None, **shared: Any) -> None:
    """Write all samples as csv to ``out``, the most suspicious label first, or print them.

    Ranks are checked by CLOC, continuous targets by SupCR, each sample by a model that was trained without it.

    Args:
        data: a table, an npz, a folder or zip of images, or the name of an image set, as for ``ordinate fit``.
        target: column (or npz array) of the label.
        folds: as many models are trained.
        out: csv file to write.
        shared: other fields of :class:`~ordinate.commands.fit_options.FitOptions`: ``task``, ``order``, ``drop``,
            ``keep``, ``categorical``, ``group``, ``epochs`` of each model, ``accelerator``, ``seed`` and ``quiet``.
    """
    check_new(out)
    options = FitOptions(data, target, **shared)
    options.check()
    if folds < 2:
        raise OrdinateError(f"--folds: got {folds}, expected at least 2")
    samples = _read(options)
    label = understand_label(samples.y, options.task, options.order, samples.name)
    estimator = _estimator(label, options.epochs).set_params(
        images=ImageOptions() if isinstance(samples.X, Decoded) else None,
        accelerator=options.accelerator, verbose=0 if options.quiet else 1, random_state=options.seed,
    )  # fmt: skip
    found = find_label_errors(estimator, samples.X, label.values, folds=folds, groups=samples.groups)
    if samples.paths is not None:
        found.insert(1, "path", samples.paths[found["row"]])
    if out is None:
        found.to_csv(sys.stdout, index=False, float_format="%.6g")
        return
    write_csv(found, out)
    print(table(list(found.columns), [_cells(row) for row in found.head(SHOWN).itertuples(index=False)]))
    print(f"\n{len(found)} samples, worst first: {out}")


def _read(options: FitOptions) -> Samples:
    data, target, group, progress = options.data, options.target, options.group, not options.quiet
    kind = "series" if is_series(data) else "images" if is_images(data) else "a table"
    given = next((name for name in ("drop", "keep", "categorical") if getattr(options, name)), None)
    if given is not None and kind != "a table":
        raise OrdinateError(f"--{given}: is for a table, and {data} holds {kind}")
    if kind == "series":
        return read_signals(data, target, None, group, skip_unreadable=False, progress=progress, say=lambda _: None)
    if kind == "images":
        return read_pictures(
            data, target, None, group, ImageOptions(), fold=0, skip_unreadable=False, progress=progress,
            say=lambda _: None,  # all folds of a data set are checked alike
        )  # fmt: skip
    samples = read_table(data, target, names_in(options.drop), names_in(options.categorical), None, group)
    say = partial(print, file=sys.stderr)  # the samples themselves go to the standard output
    samples = leave_out_row_columns(samples, names_in(options.keep), data, say)
    return array_as_pictures(samples, ImageOptions()) if np.ndim(samples.X) == 4 else samples


def _estimator(label: Label, epochs: int | None) -> CLOCClassifier | SupCRRegressor:
    if label.is_ranks:
        phases = None if epochs is None else (max(1, epochs // 3), max(1, epochs - epochs // 3))
        return CLOCClassifier(class_order=label.classes, phase_epochs=phases)
    return SupCRRegressor() if epochs is None else SupCRRegressor(epochs=(epochs, max(1, epochs // 4)))


def _cells(row: tuple[object, ...]) -> list[str]:
    return [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row]
