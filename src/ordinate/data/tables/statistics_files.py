"""Tables of statistics programs: SPSS, Stata and SAS, as codes with what their files say of them."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ordinate.data.file_formats import PORTABLE, SAS, SPSS, STATA, TRANSPORT
from ordinate.data.memory import require_memory
from ordinate.data.paths import first_named
from ordinate.data.tables.statistics_dates import as_times, counted_by
from ordinate.data.typed import Declared
from ordinate.errors import warn
from ordinate.optional import optional

READERS = {SPSS: "read_sav", PORTABLE: "read_por", STATA: "read_dta", SAS: "read_sas7bdat", TRANSPORT: "read_xport"}
PROGRAMS = {(*SPSS, *PORTABLE): "SPSS", STATA: "Stata", (*SAS, *TRANSPORT): "SAS"}


def read_statistics(path: Path, drop: Collection[str] = ()) -> tuple[pd.DataFrame, dict[str, Declared]]:
    """Return the codes of a file, and what it says of its columns; empty text is missing, as in these programs.

    Missing values of Stata and SAS, ``.`` and ``.a`` to ``.z``, are missing. Values that SPSS declares as missing are
    codes of a .sav, whose ranges are among what is said.

    Args:
        path: Path of the file.
        drop: Columns that are not read, and of which nothing is said.
    """
    pyreadstat = optional("pyreadstat", "surveys", str(path))
    name = path.name.lower()
    read = getattr(pyreadstat, next(method for endings, method in READERS.items() if name.endswith(endings)))
    options: dict[str, Any] = {}
    if name.endswith(SPSS):
        options["user_missing"] = True
    header = read(path, metadataonly=True)[1]
    names = header.column_names
    require_memory(8 * (header.number_rows or 0) * len(names), path)
    dropped = [each for each in names if each in drop]
    if dropped and not name.endswith(PORTABLE):
        options["usecols"] = [each for each in names if each not in drop]
    frame, said = read(path, disable_datetime_conversion=True, **options)
    for each in frame.select_dtypes(["object", "string"]):
        frame[each] = frame[each].replace("", None)
    declared = {str(each): _declared(str(each), said) for each in (*frame.columns, *dropped)}
    return _with_times(frame, said.original_variable_types, declared, path), declared


def _with_times(
    frame: pd.DataFrame, formats: Mapping[str, str | None], declared: Mapping[str, Declared], path: Path
) -> pd.DataFrame:
    """Return a table whose numbers are dates, times of day or durations where their format says so.

    Codes that mean missing, or have a label, are none. Columns with others that are out of range stay numbers.
    """
    program = next(program for endings, program in PROGRAMS.items() if path.name.lower().endswith(endings))
    times: dict[str, pd.Series] = {}
    as_numbers = []
    for each, numbers in frame.items():
        name = str(each)
        unit = counted_by(formats.get(name), program)
        if unit is None or not pd.api.types.is_numeric_dtype(numbers.dtype):
            continue
        gone = numbers.isin(list(declared[name].labels))
        for low, high in declared[name].missing:
            gone |= numbers.between(low, high)
        try:
            times[name] = as_times(numbers.mask(gone), unit, program)
        except OverflowError:
            as_numbers.append(name)
    if as_numbers:
        warn(f"{path}: dates of {first_named(map(repr, as_numbers))} are out of range; their numbers are read")
    for name, values in times.items():
        frame[name] = values
    return frame


def _declared(name: str, said: Any) -> Declared:
    ranges: Mapping[str, Any] = said.missing_ranges
    missing = tuple((each["lo"], each["hi"]) for each in ranges.get(name, ()))
    labels = said.variable_value_labels.get(name, {})
    if (
        said.readstat_variable_types.get(name) != "string"
    ):  # Letters are missing values of Stata and SAS, which may have labels.
        labels = {code: label for code, label in labels.items() if not isinstance(code, str)}
    is_amount = said.variable_measure.get(name) == "scale"
    description = said.column_names_to_labels.get(name) or ""
    return Declared(labels, missing, is_amount, description)
