"""Columns that tell rows apart instead of describing them, and columns that are the label in other words."""

import re

import numpy as np
import pandas as pd

from ordinate.data.file_formats import IMAGE_SUFFIXES
from ordinate.data.numbers import as_numbers, read_numbers
from ordinate.data.outliers import Outliers, find_outliers
from ordinate.data.sentinels import sentinel_problem
from ordinate.data.tables.date_forms import AMBIGUOUS, NOT_TOLD, date_form
from ordinate.data.tables.free_text import is_free_text
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.data.typed import DESCRIPTIONS

# One word for the number of a case, as statistics programs allow few letters.
DETERMINES = "determines the label exactly"  # What notes say of a column that may be a copy of the label.
NUMBERED = (
    r"(clust|cluster|case|resp|hh|household|serial|rec|record|obs|subj|subject|pat|patient|pers|person)"
    r"(id|no|nr|num)"
)
LOOKED_AT = 1000  # This many rows may show that a column need not be read to its end.
# Pandas and pyarrow give these names to columns without one.
UNNAMED = re.compile(r"|Unnamed: \d+(_level_\d+)?(\.\d+)*|__index_level_\d+__")


def find_row_columns(X: pd.DataFrame | ParquetTable) -> dict[str, str]:
    """Return the columns that identify the rows, each with the reason, as in "numbers the rows".

    Floats describe, however different; so do whole numbers that are all different, unless their name or the way they
    run through a range says otherwise.

    Example:
        >>> X = pd.DataFrame({"Unnamed: 0": [0, 1, 2], "code": ["a7", "c1", "b3"], "age": [41, 9, 67]})
        >>> find_row_columns(X)
        {'Unnamed: 0': 'is an index that was saved without a name', 'code': 'has a text of its own in every row'}
    """
    head = _head(X)
    descriptions = getattr(X, "attrs", {}).get(DESCRIPTIONS, {})
    reasons = {}
    for name in X.columns:
        is_identifier = is_identifier_name(name) or is_identifier_name(descriptions.get(name, ""))
        if _reason(name, head[name], is_identifier=is_identifier, is_head=True):
            reasons[name] = _reason(name, read_numbers(X[name])[0], is_identifier=is_identifier)
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _head(X: pd.DataFrame | ParquetTable) -> pd.DataFrame:
    """Return the first rows of a table, with the columns as numbers that seem to hold nothing else."""
    head = X.head(LOOKED_AT)
    return pd.DataFrame({name: read_numbers(head[name])[0] for name in head.columns})


def _reason(name: str, values: pd.Series, *, is_identifier: bool, is_head: bool = False) -> str | None:
    """Return why a column of a table identifies rows; of its first rows alone, why it may."""
    if is_identifier and _are_whole(values):
        values = values.astype(np.int64)
    if not _are_codes(values) or values.isna().any():
        return None
    counts = pd.api.types.is_integer_dtype(values.dtype)
    # Such an index, for example the row number in each of several files, is not a measured feature.
    if counts and UNNAMED.fullmatch(str(name)):
        return "is an index that was saved without a name"
    if not values.is_unique:
        return None
    # A value that differs in every row may be measured, unless its name is that of an identifier.
    if is_identifier:
        return "is named as an identifier, and no two rows share a value"
    if not counts:
        return _reason_of_text(values)
    # Measured whole numbers have gaps or repetitions.
    return "numbers the rows" if is_head or _is_count(values) else None


def _reason_of_text(values: pd.Series) -> str | None:
    """Return why text that is another one in every row identifies rows; dates and sentences do not."""
    form = date_form(values)
    if form == AMBIGUOUS:
        return "has dates whose day and month are ambiguous (2020-01-31 is clear)"
    if form in NOT_TOLD:
        return "seems to hold dates or times of no one known form (2020-01-31 is clear)"
    is_declared = isinstance(values.dtype, pd.CategoricalDtype)
    if form is not None or (not is_declared and is_free_text([str(value) for value in values])):
        return None
    if all(str(value).lower().endswith(IMAGE_SUFFIXES) for value in values):
        return (
            "names image files; to train on images, these must lie where it says, as seen from the folder of the table"
        )
    # No two rows share a text, so nothing that is learned of one says anything of another.
    return "has a text of its own in every row"


def _is_count(values: pd.Series, least: int = 30, most_per_row: float = 1.05) -> bool:
    """Whether different whole numbers count the rows, in any order of these.

    They are all of 0 to n-1 or 1 to n; or run on from another number, such as 10000, with hardly a gap, which rows
    without a label leave. Those may be measured if they are few or can be years, one per row.
    """
    low, high = int(values.min()), int(values.max())
    numbers = high - low + 1
    if low in (0, 1) and numbers == len(values):
        return True
    are_years = low >= 1500 and high <= 2200
    return len(values) >= least and numbers <= most_per_row * len(values) and not are_years


def _are_whole(values: pd.Series) -> bool:
    """Whether values are floats without a fraction, none missing."""
    if not pd.api.types.is_float_dtype(values.dtype) or values.isna().any():
        return False
    return bool((values % 1 == 0).all()) and bool(values.abs().max() < 2**53)


def _are_codes(values: pd.Series) -> bool:
    """Whether values are whole numbers, or text or other categories."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return not pd.api.types.is_float_dtype(values.dtype.categories.dtype)
    if pd.api.types.is_integer_dtype(values.dtype):
        return True
    return bool(len(values)) and pd.api.types.infer_dtype(values, skipna=True) == "string"


def is_identifier_name(name: str) -> bool:
    """Whether a name, or a description, says identifier or row number: patient_id, SampleID, uuid, case number."""
    words = _words(name)
    named = {
        "id", "ids", "uid", "uuid", "guid", "identifier", "idx", "rowid", "caseid", "respid", "seqn", "idno", "respno",
    }  # fmt: skip
    if not named.isdisjoint(words):
        return True
    if any(re.fullmatch(NUMBERED, word) for word in words):
        return True
    if words[-1:] == ["number"] and not {"case", "sequence", "serial", "record", "respondent"}.isdisjoint(words):
        return True
    return " ".join(words) in {"index", "row", "row number", "row names", "rownames", "level 0", "#", "nr"}


def _is_person(name: str) -> bool:
    """Whether a name says who a row is of: patient, Subject No, but not patient_age."""
    words = _words(name)
    if len(words) > 1 and words[-1] in {"no", "nr", "number", "code", "key"}:
        words.pop()
    persons = {"patient", "subject", "participant", "person", "user", "customer", "donor", "animal"}
    return bool(words) and words[-1] in persons


def _words(name: str) -> list[str]:
    words = re.findall(r"#|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", str(name))
    return [word.lower() for word in words]


def find_group_columns(X: pd.DataFrame | ParquetTable, least: int = 20) -> list[str]:
    """Return the columns that seem to say which rows belong together, such as the visits of a patient.

    They have at least ``least`` different values. Either the name says identifier or person, and a value repeats, or
    there are at most ten rows per value, and nearly all values have the same number of rows: measured whole numbers,
    such as an age, do not.

    Example:
        >>> X = pd.DataFrame({"who": np.repeat(np.arange(300, 330), 2), "age": np.arange(60) % 37})
        >>> find_group_columns(X)
        ['who']
    """
    head = _head(X)
    return [name for name in X.columns if _may_repeat(head[name]) and _are_groups(name, as_numbers(X[name]), least)]


def _may_repeat(values: pd.Series) -> bool:
    """Return whether values are codes; missing ones make whole numbers floats."""
    values = values.dropna()
    if pd.api.types.is_float_dtype(values.dtype):
        return bool(len(values)) and bool((values % 1 == 0).all())
    return _are_codes(values)


def _are_groups(name: str, values: pd.Series, least: int, most_rows: int = 10, share: float = 0.8) -> bool:
    sizes = values.value_counts().to_numpy()
    sizes = sizes[sizes > 0]  # A category may have no row.
    if len(sizes) < least or sizes.max() == 1:
        return False
    if is_identifier_name(name) or _is_person(name):
        return True
    usual = int(np.bincount(sizes).argmax())
    return usual > 1 and sizes.sum() <= most_rows * len(sizes) and bool((sizes == usual).mean() >= share)


def find_row_order(X: pd.DataFrame | ParquetTable, y: pd.Series) -> list[str]:
    """Return the columns of different whole numbers that rise or fall from row to row, as the label does.

    They may number the rows, with gaps, of a file that is sorted by its label; or the file is sorted by a feature.
    """
    if not _is_sorted(y):
        return []
    head = _head(X)
    return [name for name in X.columns if _goes_one_way(head[name]) and _goes_one_way(as_numbers(X[name]))]


def _is_sorted(y: pd.Series) -> bool:
    blocks, values = int((y != y.shift()).sum()), y.nunique()
    one_way = pd.api.types.is_numeric_dtype(y) and (y.is_monotonic_increasing or y.is_monotonic_decreasing)
    return bool(one_way) or (blocks == values and 2 * values <= len(y))


def _goes_one_way(values: pd.Series) -> bool:
    if not pd.api.types.is_integer_dtype(values.dtype) or values.isna().any() or not values.is_unique:
        return False
    return bool(values.is_monotonic_increasing or values.is_monotonic_decreasing)


def find_sentinels(X: pd.DataFrame | ParquetTable) -> dict[str, str]:
    """Return columns with numbers that may stand for missing values, each with what it holds.

    The first rows of a parquet table tell.

    Example:
        >>> find_sentinels(pd.DataFrame({"age": [41, 9, 67, -999], "size": [3.0, 9.0, 4.0, 1.0]}))
        {'age': 'holds -999 in 1 row, far from its other values, 9 to 67'}
    """
    rows = X if isinstance(X, pd.DataFrame) else X.head(LOOKED_AT)
    head = rows.head(LOOKED_AT)
    problems: dict[str, str] = {}
    for name in rows.columns:
        if head[name].notna().any() and not pd.api.types.is_numeric_dtype(as_numbers(head[name]).dtype):
            continue  # Other text in the first rows is among all rows.
        problem = sentinel_problem(as_numbers(rows[name]))
        if problem is not None:
            problems[str(name)] = problem
    return problems


def find_far_values(X: pd.DataFrame | ParquetTable) -> dict[str, Outliers]:
    """Return columns with a few values far from all others, which may be errors; codes of missing values are none.

    The first rows of a parquet table tell.

    Example:
        >>> X = pd.DataFrame({"bmi": [*np.linspace(15, 60, 200), 4000]})
        >>> str(find_far_values(X)["bmi"])
        'holds 4000 in row 200, far from its other values, 15 to 60'
    """
    rows = X if isinstance(X, pd.DataFrame) else X.head(LOOKED_AT)
    found = {}
    for name in rows.columns:
        values = rows[name]
        if not pd.api.types.is_numeric_dtype(values.dtype):
            values = read_numbers(values)[0]
        outliers = find_outliers(values)
        if outliers is not None and sentinel_problem(values) is None:
            found[str(name)] = outliers
    return found


def find_label_columns(X: pd.DataFrame | ParquetTable, y: pd.Series) -> list[str]:
    """Return the columns that are the label in other words: every value of one goes with one value of the other.

    Where most labels are different, as of any measurement, a column must rise or fall with the label too.

    Example:
        >>> X = pd.DataFrame({"word": ["low", "high", "low", "high"], "area": [3.5, 9.0, 4.5, 7.0]})
        >>> find_label_columns(X, pd.Series([0, 1, 0, 1]))
        ['word']
    """
    head = _head(X)
    names = [name for name in X.columns if _says(head[name], y.iloc[:LOOKED_AT])]
    return [name for name in names if len(y) <= LOOKED_AT or _says(as_numbers(X[name]), y)]


def _says(values: pd.Series, y: pd.Series) -> bool:
    if values.isna().any() or not pd.api.types.is_hashable(values.iloc[0]):
        return False
    codes, labels = pd.factorize(values)[0], pd.factorize(y)[0]
    pairs = len(pd.unique(pd.Series(codes.astype(np.int64) * (labels.max() + 1) + labels)))
    if not pairs == codes.max() + 1 == labels.max() + 1:
        return False
    if 2 * pairs <= len(y):
        return True
    if not (pd.api.types.is_numeric_dtype(values.dtype) and pd.api.types.is_numeric_dtype(y.dtype)):
        return False
    in_order = values.reset_index(drop=True).iloc[np.argsort(y.to_numpy(dtype=np.float64), kind="stable")]
    return bool(in_order.is_monotonic_increasing or in_order.is_monotonic_decreasing)
