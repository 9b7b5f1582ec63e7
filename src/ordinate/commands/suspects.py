"""``ordinate suspects``: the samples of a file whose labels look wrong, worst first."""

import sys
from functools import partial

from ordinate.commands.csv_file import check_new, write_csv
from ordinate.commands.fit_options import names_in
from ordinate.commands.labels import Label, understand_label
from ordinate.commands.row_columns import leave_out_row_columns
from ordinate.commands.samples import (
    Samples,
    decode_array,
    modality_of_data,
    read_samples,
)
from ordinate.data.modality import Request
from ordinate.errors import OrdinateError
from ordinate.estimators import CLOCClassifier, SupCRRegressor
from ordinate.estimators.label_errors import find_label_errors
from ordinate.methods.training import check_accelerator
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
    modality = modality_of_data(data)
    if given is not None and modality.name != "tables":
        raise OrdinateError(f"{given}: is for a table, and {data} holds {modality.noun}")
    request = Request(
        target, group=group, drop=tuple(drop), categorical=tuple(categorical), progress=progress,
        say=lambda _: None,  # all folds of a data set are treated alike
    )  # fmt: skip
    samples = read_samples(data, request, {})
    if modality.name != "tables":
        return samples
    say = partial(print, file=sys.stderr)  # the samples themselves go to the standard output
    return decode_array(leave_out_row_columns(samples, keep, data, say), request, {})


def _estimator(label: Label, epochs: int | None) -> CLOCClassifier | SupCRRegressor:
    if label.is_ranks:
        phases = None if epochs is None else (max(1, epochs // 3), max(1, epochs - epochs // 3))
        return CLOCClassifier(class_order=label.classes, phase_epochs=phases)
    return SupCRRegressor() if epochs is None else SupCRRegressor(epochs=(epochs, max(1, epochs // 4)))


def _cells(row: tuple[object, ...]) -> list[str]:
    return [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row]
