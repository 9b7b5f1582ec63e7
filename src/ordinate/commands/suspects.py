"""``ordinate suspects``: the samples of a file whose labels look wrong, worst first."""

import sys
from functools import partial
from typing import Any

from ordinate.commands.fit_options import FitOptions, names_in
from ordinate.commands.labels import Label, understand_label
from ordinate.commands.row_columns import leave_out_row_columns
from ordinate.commands.samples import (
    Samples,
    decode_array,
    modality_of_data,
    read_samples,
)
from ordinate.commands.table_file import write_table
from ordinate.data.modality import Request
from ordinate.errors import OrdinateError
from ordinate.estimators import CLOCClassifier, SupCRRegressor
from ordinate.estimators.cloc import two_phases
from ordinate.estimators.label_errors import find_label_errors
from ordinate.report.text import table

SHOWN = 10  # of the worst, when all go to a file


def suspects(data: str, target: str | None, *, folds: int = 5, out: str | None = None, **shared: Any) -> None:
    """Write all samples as csv to ``out``, the most suspicious label first, or print them.

    Ranks are checked by CLOC, continuous targets by SupCR, each sample by one of ``folds`` models that was trained
    without it. ``shared`` are other fields of :class:`~ordinate.commands.fit_options.FitOptions`.
    """
    options = FitOptions(data, target, **shared)
    options.check()
    if folds < 2:
        raise OrdinateError("--folds", folds, "at least 2")
    samples = _read(options)
    label = understand_label(samples.y, options.task, options.order, samples.name)
    estimator = _estimator(label, options.epochs).set_params(
        accelerator=options.accelerator, verbose=0 if options.quiet else 1, random_state=options.seed,
    )  # fmt: skip
    found = find_label_errors(estimator, samples.X, label.values, folds=folds, groups=samples.groups)
    paths = samples.modality.paths(samples.X) if samples.paths is None else samples.paths
    if paths is not None:
        found.insert(1, "path", paths[found["row"]])
    write_table([found], out)
    if out is None:
        return
    print(table(list(found.columns), [_cells(row) for row in found.head(SHOWN).itertuples(index=False)]))
    print(f"\n{len(found)} samples, worst first: {out}")


def _read(options: FitOptions) -> Samples:
    data = options.data
    modality = modality_of_data(data)
    given = next((name for name in ("drop", "keep", "categorical") if getattr(options, name)), None)
    if given is not None and modality.name != "tables":
        raise OrdinateError(f"--{given}", problem=f"is for a table, and {data} holds {modality.noun}")
    request = Request(
        options.target, group=options.group, drop=tuple(names_in(options.drop)),
        categorical=tuple(names_in(options.categorical)), progress=not options.quiet,
        say=lambda _: None,  # all folds of a data set are treated alike
    )  # fmt: skip
    samples = read_samples(data, request, {})
    if modality.name != "tables":
        return samples
    say = partial(print, file=sys.stderr)  # the samples themselves go to the standard output
    return decode_array(leave_out_row_columns(samples, names_in(options.keep), data, say), request, {})


def _estimator(label: Label, epochs: int | None) -> CLOCClassifier | SupCRRegressor:
    if label.is_ranks:
        phases = None if epochs is None else two_phases(epochs)
        return CLOCClassifier(class_order=label.classes, phase_epochs=phases)
    return SupCRRegressor() if epochs is None else SupCRRegressor(epochs=(epochs, max(1, epochs // 4)))


def _cells(row: tuple[object, ...]) -> list[str]:
    return [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row]
