"""``ordinate suspects``: the samples of a file whose labels look wrong, worst first."""

import sys
from functools import partial

import numpy as np

from ordinate.commands.csv_file import check_new, write_csv
from ordinate.commands.fit_options import names_in
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
from ordinate.methods.devices import check_accelerator
from ordinate.report.text import table

SHOWN = 10  # of the worst, when all go to a file


def suspects(
    data: str,
    target: str | None,
    *,
    task: str = "auto",
    order: str | None = None,
    drop: str = "",
    keep: str = "",
    categorical: str = "",
    group: str | None = None,
    folds: int = 5,
    epochs: int | None = None,
    out: str | None = None,
    accelerator: str = "auto",
    seed: int = 0,
    quiet: bool = False,
) -> None:
    """Write all samples as csv to ``out``, the most suspicious label first, or print them.

    Ranks are judged by CLOC, continuous targets by SupCR, each sample by a model that was trained without it.

    Args:
        data: a table, an npz, a folder or zip of images, or the name of an image set, as ``ordinate fit`` takes them.
        target: column (or npz array) of the label.
        task: ``"auto"``, ``"ranks"`` or ``"continuous"``.
        order: the ranks from lowest to highest, separated by commas.
        drop: columns to leave out, separated by commas.
        keep: columns to train on although they identify the rows, separated by commas.
        categorical: columns whose numbers are codes, separated by commas.
        group: column of what stays on one side of a fold, such as a subject.
        folds: as many models are trained.
        epochs: of each, instead of the method's own.
        out: csv file to write.
        accelerator: ``"auto"``, ``"cpu"`` or ``"gpu"``.
        seed: of folds and training.
        quiet: no progress bars.
    """
    check_new(out)
    check_accelerator(accelerator)
    if epochs is not None and epochs < 1:
        raise OrdinateError(f"--epochs: got {epochs}, takes at least 1")
    if folds < 2:
        raise OrdinateError(f"--folds: got {folds}, takes at least 2")
    samples = _read(data, target, names_in(drop), names_in(keep), names_in(categorical), group, progress=not quiet)
    label = understand_label(samples.y, task, order, samples.name)
    estimator = _estimator(label, epochs).set_params(
        images=ImageOptions() if isinstance(samples.X, Decoded) else None,
        accelerator=accelerator, verbose=0 if quiet else 1, random_state=seed,
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


def _read(
    data: str,
    target: str | None,
    drop: list[str],
    keep: list[str],
    categorical: list[str],
    group: str | None,
    *,
    progress: bool,
) -> Samples:
    of_tables = {"--drop": drop, "--keep": keep, "--categorical": categorical}
    given = next((option for option, columns in of_tables.items() if columns), None)
    kind = "series" if is_series(data) else "images" if is_images(data) else "a table"
    if given is not None and kind != "a table":
        raise OrdinateError(f"{given}: is for a table, and {data} holds {kind}")
    if kind == "series":
        return read_signals(data, target, None, group, skip_unreadable=False, progress=progress, say=lambda _: None)
    if kind == "images":
        return read_pictures(
            data, target, None, group, ImageOptions(), fold=0, skip_unreadable=False, progress=progress,
            say=lambda _: None,  # all folds of a data set are judged alike
        )  # fmt: skip
    samples = read_table(data, target, drop, categorical, None, group)
    say = partial(print, file=sys.stderr)  # the samples themselves go to the standard output
    samples = leave_out_row_columns(samples, keep, data, say)
    return array_as_pictures(samples, ImageOptions()) if np.ndim(samples.X) == 4 else samples


def _estimator(label: Label, epochs: int | None) -> CLOCClassifier | SupCRRegressor:
    if label.is_ranks:
        phases = None if epochs is None else (max(1, epochs // 3), max(1, epochs - epochs // 3))
        return CLOCClassifier(class_order=label.classes, phase_epochs=phases)
    return SupCRRegressor() if epochs is None else SupCRRegressor(epochs=(epochs, max(1, epochs // 4)))


def _cells(row: tuple[object, ...]) -> list[str]:
    return [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row]
