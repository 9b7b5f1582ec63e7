"""Reading a data set from a file, whatever its format."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.counts import counted
from ordinate.data.csv_files import note_on_doubled, read_csv, require_once, with_leading_zeros
from ordinate.data.csv_format import CSV
from ordinate.data.excel_files import read_excel
from ordinate.data.file_formats import (
    ARFF,
    ARROW,
    EXCEL,
    JSON,
    NPZ,
    STATISTICS,
    TS,
    R,
    require_ending,
    require_packages,
)
from ordinate.data.file_kinds import LOOKED_AT, require_kind
from ordinate.data.labelled import require_labels
from ordinate.data.memory import check_npz, require_memory
from ordinate.data.paths import reading, require_names, require_path
from ordinate.data.tables.arff_files import read_arff
from ordinate.data.tables.arrow_files import read_arrow
from ordinate.data.tables.json_files import read_json
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.data.tables.r_files import read_r
from ordinate.data.tables.row_columns import is_identifier_name
from ordinate.data.tables.statistics_files import read_statistics
from ordinate.data.ts_files import read_ts
from ordinate.data.typed import Declared, Reading, typed
from ordinate.errors import OrdinateError, argument, warn

TS_TARGET = "target"  # The only label of a .ts file gets this name.


def read_table_samples(
    path: str | Path, say: Callable[[str], None] = warn, how: Reading = Reading()
) -> pd.DataFrame | np.ndarray:
    """Read samples without labels, for prediction: a DataFrame, the array ``X`` of an npz, or series."""
    content = _read(Path(path), say, how)
    return _samples(content, Path(path)) if isinstance(content, dict) else content


def read_labelled(
    path: str | Path,
    target: str,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    say: Callable[[str], None] = warn,
    how: Reading = Reading(),
) -> tuple[pd.DataFrame | np.ndarray, pd.Series]:
    """Read samples and their labels; what is wrong with the file is an `OrdinateError` with the way out.

    Args:
        path: Path of a table in any format, an npz that holds ``X`` and the target, or a .ts file of series.
        target: Column of the label, or its array in the npz; ``"target"`` for a .ts file, which has one.
        drop: Columns to leave out, such as identifiers.
        categorical: Columns whose numbers are codes, not amounts.
        say: Function that gets notes on how the file is written, and on values that were read as missing.
        how: What is known of the columns.

    Returns:
        X, a DataFrame or an array (n, features), (n, channels, length), (n, channels, height, width) or
        (n, channels, depth, height, width); and y, one label per sample, NaN where there is none.
    """
    path = Path(path)
    require_codes(categorical, [target, *drop])
    how = replace(how, targets=tuple(dict.fromkeys((target, *how.targets))), drop=tuple(drop))
    content = _read(path, say, how)
    X: pd.DataFrame | np.ndarray
    if isinstance(content, dict):
        X = _samples(content, path)
        labels = _array(content, target, path)
        if labels.ndim != 1:
            raise OrdinateError(path, problem=f"{target!r} has shape {labels.shape}", expected="one label per sample")
        if len(X) != len(labels):
            problem = f"X holds {counted(len(X), 'sample')} and {target!r} {len(labels)}"
            raise OrdinateError(path, problem=problem, expected="one label per sample")
        y = pd.Series(labels, name=target)
    else:
        require_names(content.columns, [target, *categorical], path)
        y = content[target]
        X = content.drop(columns=target)
        require_left(X.columns, path)
        X = X.astype(dict.fromkeys(categorical, "category"))
    require_labels(y, path)
    return X, y.reset_index(drop=True)


def require_left(columns: Collection[object], path: str | Path) -> None:
    """Raise an error if no column is left to train on."""
    if len(columns) == 0:
        raise OrdinateError(path, problem="no column is left in addition to the target", expected="at least one")


def require_codes(categorical: Sequence[str], left_out: Sequence[str]) -> None:
    """Raise an error if a column whose numbers are codes is the target or dropped."""
    if both := set(categorical).intersection(left_out):
        problem = f"{', '.join(both)} is the target or dropped"
        raise OrdinateError("categorical", problem=problem, expected="columns of X")


def _read(path: Path, say: Callable[[str], None], how: Reading) -> pd.DataFrame | dict[str, np.ndarray]:
    name = path.name.lower()
    if path.is_dir():
        raise OrdinateError(path, problem="is a folder", expected="a file")
    require_path(path)
    require_ending(path)
    if not name.endswith(CSV):  # A csv may be compressed, and is looked at when it is opened.
        with path.open("rb") as file:
            require_kind(file.read(LOOKED_AT), path)
    if name.endswith(TS):
        return dict(zip(("X", TS_TARGET), read_ts(path), strict=True))
    if name.endswith(NPZ):
        with reading(path):
            check_npz(path)
            with np.load(path, allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays.files}
    frame, declared = _read_table(path, say, how)
    frame = checked_frame(frame, path, say, how.targets)
    require_names([*frame.columns, *declared], how.drop, path)
    frame = frame.drop(columns=[name for name in how.drop if name in frame])
    with reading(path):
        frame, found = typed(frame, declared, how)
    if how.targets:  # A model knows what is missing in the rows that it predicts.
        for note in found.notes(how):
            say(f"{path}: {note}")
    return frame


def _read_table(path: Path, say: Callable[[str], None], how: Reading) -> tuple[pd.DataFrame, Mapping[str, Declared]]:
    """Return the table of a file as it is written, and what the file says of its columns."""
    name = path.name.lower()
    if name.endswith(CSV):
        frame = read_csv(path, path, say, ranks=how.ranks, targets=how.targets)
        known = {*how.targets, *how.numbers}
        names = [name for name in frame.columns if is_identifier_name(name) and name not in known]
        return with_leading_zeros(frame, path, names), {}
    require_packages(str(path))
    require_memory(path.stat().st_size, path)
    with reading(path):
        if name.endswith(STATISTICS):
            return read_statistics(path, how.drop)
        if name.endswith(R):
            return read_r(path)
        if name.endswith(EXCEL):
            return read_excel(path, say, how.ranks), {}
        if name.endswith(JSON):
            return read_json(path), {}
        if name.endswith(ARFF):
            return read_arff(path), {}
        if name.endswith(ARROW):
            return read_arrow(path), {}
        return ParquetTable(path).to_pandas(), {}


def checked_frame(
    frame: pd.DataFrame, path: Path | str, say: Callable[[str], None] | None = None, targets: Collection[str] = ()
) -> pd.DataFrame:
    """Return a table with its columns named by text; one without rows, or of a single column of all, is an error.

    Of several columns of a name the first is kept; ``say`` gets a note of the others.
    """
    if frame.empty:
        raise OrdinateError(path, problem="holds no rows", expected="a table with a header and samples")
    if frame.shape[1] == 1 and re.search(r"[;\t|]|\S {2,}\S", str(frame.columns[0])):
        problem = f"has the one column {frame.columns[0]!r}"
        hint = f"{argument('sep')} names them, such as {argument('sep', ' ')}"
        raise OrdinateError(path, problem=problem, expected="separators", hint=hint)
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    twice = [name for name, count in Counter(frame.columns).items() if count > 1]
    if not twice:
        return frame
    require_once(targets, twice, path)
    if say is not None:
        say(f"{path}: {note_on_doubled(twice)}")
    return frame.loc[:, ~frame.columns.duplicated()]


def _array(arrays: dict[str, np.ndarray], name: str, path: Path) -> np.ndarray:
    if name not in arrays:
        problem, hint = f"holds no array {name!r}", f"it holds {sorted(arrays)}"
        raise OrdinateError(path, problem=problem, expected="'X' and the target", hint=hint)
    return arrays[name]


def _samples(arrays: dict[str, np.ndarray], path: Path) -> np.ndarray:
    X = _array(arrays, "X", path)
    if X.ndim not in (2, 3, 4, 5) or X.size == 0:
        expected = "no fewer than one sample, (n, features), (n, c, t), (n, c, h, w) or (n, c, d, h, w)"
        raise OrdinateError(path, problem=f"X has shape {X.shape}", expected=expected)
    if X.dtype.kind not in "biuf":
        raise OrdinateError(path, problem=f"X holds {X.dtype}", expected="numbers")
    if np.isinf(X).any():
        raise OrdinateError(path, problem="X holds infinity", expected="finite numbers or NaN for missing values")
    return X
