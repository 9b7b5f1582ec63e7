"""``ordinate explain``: the columns of a table, or the parts of images, that a saved model predicts from."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ordinate.commands.batches import names_of_samples
from ordinate.commands.load import FilesOfFit
from ordinate.commands.report import read_report_samples
from ordinate.commands.samples import row_names
from ordinate.commands.split_file import read_split, trained_on
from ordinate.commands.table_file import TABLE, check_new, write_table
from ordinate.counts import counted
from ordinate.data.numbers import plain_text, quoted_text
from ordinate.data.registry import modality_of, modality_of_reader
from ordinate.data.rows import Samples, take
from ordinate.data.streamed import loaded
from ordinate.data.tables.parquet_table import in_memory
from ordinate.errors import OrdinateError, did_you_mean
from ordinate.estimators.loading import load
from ordinate.model.batches import all_in_memory, read_unlabelled, trained_columns
from ordinate.model.contributions import background_of, column_contributions
from ordinate.model.importance import column_importance
from ordinate.model.labels import first_label
from ordinate.model.model import Model
from ordinate.model.occlusion import expected_label, occlusion_maps
from ordinate.report.heat_map import explained
from ordinate.report.output import check_free
from ordinate.report.text import table


def explain(
    model: str,
    data: str,
    target: str | None,
    *,
    repeats: int = 10,
    images: int = 8,
    rows: Sequence[str] = (),
    out: str | None = None,
    overwrite: bool = False,
) -> None:
    """Measure what a saved model predicts from; the arguments are the options of the command line."""
    fitted = load(model).fitted
    kind = modality_of_reader(fitted.reader).name
    if kind == "tables":
        check_new(out, [model, data], TABLE, overwrite=overwrite)
        if rows:
            _explain_rows(fitted, model, data, rows, out)
            return
        _explain_columns(fitted, model, data, target, repeats, out)
    elif kind == "images":
        if rows:
            raise OrdinateError("--row", problem="is for tables, and this is a model of images")
        if out is None:
            raise OrdinateError("out", problem="is missing", expected="a new folder for the pictures")
        check_free(Path(out))
        _explain_images(fitted, model, data, images, Path(out))
    else:
        raise OrdinateError("model", f"a model of {kind}", "a model of a table (columns) or of images (their parts)")


def _explain_columns(fitted: Model, model: str, data: str, target: str | None, repeats: int, out: str | None) -> None:
    """Print the permutation importance of every column, or write it to ``out``; the rows are those of the report."""
    split = read_split(model)
    wanted = target or split["target"] or fitted.target
    try:
        samples = read_report_samples(fitted, split, data, wanted)
    except OrdinateError as error:
        if error.problem != f"no column {wanted!r}":
            raise
        hint = f"{error.hint}; --row explains predictions of rows without a label"
        raise OrdinateError(data, problem=error.problem, hint=hint) from None
    X, y = samples.take(samples.measured)
    X = in_memory(X)
    if not isinstance(X, pd.DataFrame):
        raise OrdinateError(data, problem="holds no table with columns", expected="a csv or parquet file")
    found = column_importance(fitted, X, y, repeats=repeats)
    if out is not None:
        write_table([found], out)
    is_of_fit = samples.trained is None and data == trained_on(model)
    seen = ", some of which the model may have been trained on" if is_of_fit else ""
    measured = f"{counted(len(y), 'sample')}{seen}"
    print(f"rise of the MAE when a column is shuffled, on {measured}, with 95% intervals\n")
    rows = [[str(name), f"{mean:z.4f}", f"{low:z.4f} to {high:z.4f}"] for name, mean, low, high in found.to_numpy()]
    print(table(["column", "importance", "interval"], rows))


def _explain_rows(fitted: Model, model: str, data: str, asked_for: Sequence[str], out: str | None) -> None:
    """Print what each column contributes to the predictions of some rows, or write it to ``out``, too."""
    samples = read_unlabelled(data, fitted)
    X = all_in_memory(fitted, samples, data)
    identity = [name for name in read_split(model)["identity"] if name in getattr(samples, "columns", ())][:1]
    of_samples = names_of_samples(samples, identity).tolist()
    names = ["" if pd.isna(name) else plain_text(name) for name in of_samples]
    rows = [_row_of(text, names, data, identity) for text in asked_for]
    background, of = _background(fitted, model, data, X)
    asked = take(X, np.array(rows))
    found = column_contributions(fitted, asked, background)
    for name in identity:
        found.insert(0, name, [names[row] for row in rows])
    found.insert(0, "row", rows, allow_duplicates=True)  # A column may have this name.
    if out is not None:
        own = [_free_name(str(name), asked.columns) for name in found.columns[: -asked.shape[1]]]
        write_table([found.set_axis([*own, *asked.columns], axis=1)], out)
    mean = "mean prediction"
    if fitted.is_of_ranks and first_label([plain_text(label) for label in fitted.ranks]) == 0:
        lowest = plain_text(fitted.ranks[0])
        mean = "mean predicted rank, from 0," if lowest == "0" else f"mean predicted rank, from 0 ({lowest}),"
    predicted = fitted.predict(asked)
    labels = map(quoted_text, predicted) if fitted.is_of_ranks else (f"{target:z.6g}" for target in predicted)
    for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
        baseline, *added = found.iloc[place, -asked.shape[1] - 1 :].astype(float)
        parts = pd.Series(added, index=asked.columns)
        parts = parts[parts.abs().sort_values(ascending=False, kind="stable").index]
        named = f"row {row}"
        if names[row] not in ("", str(row)):
            named += f", {names[row]}"
        print(
            f"{named}: predicts {label}. The {mean} for {of} is {baseline:.3f}; the columns of this "
            f"row change it to {baseline + parts.sum():.3f}:\n"
        )
        values = {name: asked[name].iloc[place] for name in parts.index}
        shown = [
            [str(name), "missing" if pd.isna(values[name]) else plain_text(values[name]), f"{part:+.3f}"]
            for name, part in parts.items()
        ]
        print(table(["column", "value", "adds"], shown) + "\n" * (place < len(rows) - 1))


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return a name, with underscores where a column of the table has it."""
    while name in taken:
        name += "_"
    return name


def _row_of(text: str, names: Sequence[str], data: str, identity: Sequence[str]) -> int:
    """Return the number of a row, given as the name that it has in its table or, if none has it, as that number."""
    found = [row for row, name in enumerate(names) if name == text]
    if len(found) == 1:
        return found[0]
    if not found and text.isdecimal() and str(int(text)) == text and int(text) < len(names):
        return int(text)
    expected = f"a row of {data}, from 0 to {len(names) - 1}"
    if identity:
        expected += f", or what the column {identity[0]!r} has for it"
    if found:
        expected = f"its number, as {counted(len(found), 'row')} of {data} have this name"
    has_digits = any(character.isdecimal() for character in text)  # Another number would be another sample.
    hint = None if has_digits else did_you_mean(text, names)
    raise OrdinateError("--row", repr(text), expected, hint)


def _background(fitted: Model, model: str, data: str, X: Samples) -> tuple[Any, str]:
    """Return the rows that predictions are compared with, and what they are.

    Those of training if ``data`` or the path in the model's folder still is the file of the fit, and otherwise ``X``.
    """
    files = FilesOfFit.of(Path(model))
    for path in filter(None, (data, files.data)):
        known = files.read_samples(fitted, path) if files.holds_data(path) else None
        if known is not None:
            background = background_of(known.take(known.trained)[0])
            return background, f"{counted(len(background), 'training row')} of {path}"
    background = background_of(X)
    return background, f"{counted(len(background), 'row')} of {data}"


def _explain_images(fitted: Model, model: str, data: str, images: int, out: Path) -> None:
    """Write the occlusion maps of the first images to a folder, in the same colours, and print their extremes.

    Of the data of the fit they are the first that were held out.
    """
    files = FilesOfFit.of(Path(model))
    known = files.read_samples(fitted, data) if data == files.data else None
    if known is not None:
        shown = known.held_out[:images]
        X, names = take(known.X, shown), [known.names[place] for place in shown]
    else:
        X = trained_columns(fitted, read_unlabelled(data, fitted), data)
        X = take(X, np.arange(min(images, len(X))))
        paths = modality_of(X).paths(X)
        names = row_names(np.arange(len(X))) if paths is None else paths.tolist()
    pixels = loaded(fitted.read(X))
    predicted = expected_label(fitted, pixels)
    labels = [plain_text(label) for label in fitted.predict(X)]
    maps = occlusion_maps(fitted, pixels)
    largest = float(np.abs(maps).max()) or 1.0
    out.mkdir(parents=True, exist_ok=True)
    scale = f"expected rank, 0 to {len(fitted.classes) - 1}" if fitted.classes is not None else ""
    rows = []
    for place, (name, label, expected, values) in enumerate(zip(names, labels, predicted, maps, strict=True)):
        file = f"{place}_{Path(name).stem.replace(' ', '_')}.png"
        caption, said = f"predicted {expected:z.3g}", [f"{expected:z.4g}"]
        if scale:
            caption, said = f"predicted {label} ({scale}: {expected:z.2f})", [label, f"{expected:z.3f}"]
        explained(pixels[place].numpy(), values, largest, caption).save(out / file)
        rows.append([file, *said, f"{values.max():+z.3f}", f"{values.min():+z.3f}"])
    header = ["predicted", scale] if scale else ["predicted"]
    print(
        "red parts raise the prediction and blue parts lower it, compared with the same parts in their mean colour; "
        f"the full colour stands for {largest:.3g}\n"
    )
    print(table(["picture", *header, "most raised", "most lowered"], rows))
    print(f"\n{counted(len(rows), 'picture')}: {out}")
