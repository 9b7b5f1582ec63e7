"""Reading a data set from a file, whatever its format."""

import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ordinate.data.csv_files import read_csv, warn
from ordinate.data.csv_format import CSV, MISSING
from ordinate.data.labelled import require_labels
from ordinate.data.memory import check_npz, check_zip, require_memory
from ordinate.data.paths import reading, require_names, require_path, require_unique
from ordinate.data.table_formats import ARROW, EXCEL, JSON, SPSS, STATA, TABLES, require_packages
from ordinate.data.ts_files import read_ts
from ordinate.errors import OrdinateError

NPZ, TS = (".npz",), (".ts",)
TS_TARGET = "target"  # The only label of a .ts file gets this name.


def read_samples(path: str | Path, say: Callable[[str], None] = warn) -> pd.DataFrame | np.ndarray:
    """Read samples without labels, for prediction: a DataFrame, the array ``X`` of an npz, or series."""
    content = _read(Path(path), say)
    return _samples(content, Path(path)) if isinstance(content, dict) else content


def read_labelled(
    path: str | Path,
    target: str,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    say: Callable[[str], None] = warn,
    *,
    drop_unlabelled: bool | None = None,
) -> tuple[pd.DataFrame | np.ndarray, pd.Series]:
    """Read samples and their labels; what is wrong with the file is an `OrdinateError` with the way out.

    Args:
        path: Path of a table in any format, an npz that holds ``X`` and the target, or a .ts file of series.
        target: Column of the label, or its array in the npz; ``"target"`` for a .ts file, which has one.
        drop: Columns to leave out, such as identifiers.
        categorical: Columns whose numbers are codes, not amounts.
        say: Function that gets a note on how a csv is written.
        drop_unlabelled: Whether the caller leaves out rows without a label, see
            :func:`~ordinate.data.labelled.require_labels`.

    Returns:
        X, a DataFrame or an array (n, features), (n, channels, length), (n, channels, height, width) or
        (n, channels, depth, height, width); and y, one label per sample, none missing.
    """
    path = Path(path)
    content = _read(path, say)
    X: pd.DataFrame | np.ndarray
    if isinstance(content, dict):
        X = _samples(content, path)
        labels = _array(content, target, path)
        if labels.ndim != 1:
            raise OrdinateError(path, problem=f"{target!r} has shape {labels.shape}", expected="one label per sample")
        if len(X) != len(labels):
            problem = f"X holds {len(X)} samples and {target!r} {len(labels)}"
            raise OrdinateError(path, problem=problem, expected="one label per sample")
        y = pd.Series(labels, name=target)
    else:
        require_names(content.columns, [target, *drop, *categorical], path)
        require_codes(categorical, [target, *drop])
        y = content[target]
        X = content.drop(columns=[target, *drop])
        require_left(X.columns, path)
        X = X.astype(dict.fromkeys(categorical, "category"))
    require_labels(y, path, drop_unlabelled=drop_unlabelled)
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


def _read(path: Path, say: Callable[[str], None] = warn) -> pd.DataFrame | dict[str, np.ndarray]:
    name = path.name.lower()
    if path.is_dir():
        raise OrdinateError(path, problem="is a folder", expected="a file")
    require_path(path)
    if not name.endswith((*TABLES, *NPZ, *TS)):
        raise OrdinateError(path, expected=f"a file that ends in {', '.join((*TABLES, *NPZ, *TS))}")
    if name.endswith(TS):
        return dict(zip(("X", TS_TARGET), read_ts(path), strict=True))
    if name.endswith(NPZ):
        with reading(path):
            check_npz(path)
            with np.load(path, allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays.files}
    frame = read_csv(path, path, say) if name.endswith(CSV) else _read_table(path, say)
    return checked_frame(frame, path)


def _read_table(path: Path, say: Callable[[str], None]) -> pd.DataFrame:
    """Return the table of a file that is no csv: cells have types of their own."""
    require_packages(str(path))
    require_memory(path.stat().st_size, path)
    name = path.name.lower()
    with reading(path):
        if name.endswith(EXCEL):
            return _read_excel(path, say)
        if name.endswith(JSON):
            return _read_json(path)
        if name.endswith(ARROW):
            return _read_arrow(path)
        if name.endswith((*STATA, *SPSS)):
            return _read_statistics(path)
        return pd.read_parquet(path)


def _read_excel(path: Path, say: Callable[[str], None]) -> pd.DataFrame:
    """Return the table on the first sheet of a workbook: the first row that is not blank has the names."""
    check_zip(path)
    with pd.ExcelFile(path, engine="calamine") as book:
        if len(book.sheet_names) > 1:
            say(f"{path}: reads the first of {len(book.sheet_names)} sheets, {book.sheet_names[0]!r}")
        rows = pd.read_excel(book, header=None, dtype=object, keep_default_na=False, na_values=[""])
    rows = rows.dropna(how="all").dropna(axis="columns", how="all")
    if rows.empty:
        return rows
    names = rows.iloc[0].fillna(pd.Series([f"Unnamed: {place}" for place in range(rows.shape[1])], rows.columns))
    cells = rows.iloc[1:].set_axis(names, axis=1).reset_index(drop=True)
    return cells.mask(cells.isin(MISSING)).infer_objects()


def _read_json(path: Path) -> pd.DataFrame:
    """Return the table of a file with one JSON object per line, or with a list of them."""
    text = path.read_text(encoding="utf-8-sig")
    if text.lstrip().startswith("["):
        rows = json.loads(text)
    else:
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise OrdinateError(path, problem=f"row {number} is {json.dumps(row)[:40]}", expected="a JSON object")
    return pd.DataFrame(rows)


def _read_statistics(path: Path) -> pd.DataFrame:
    """Return the table of a Stata or SPSS file: values with labels are ordered categories, empty text is missing."""
    if path.name.lower().endswith(STATA):
        frame = pd.read_stata(path)
    else:
        import pyreadstat

        frame = pyreadstat.read_sav(path, apply_value_formats=True, formats_as_ordered_category=True)[0]
    texts = frame.select_dtypes(["object", "string"])
    return frame.assign(**{str(name): column.replace("", None) for name, column in texts.items()})


def _read_arrow(path: Path) -> pd.DataFrame:
    """Return the table of a Feather file, or of Arrow's formats of files and streams."""
    import pyarrow as pa
    from pyarrow import feather, ipc

    try:
        return feather.read_table(path, memory_map=False).to_pandas()
    except pa.ArrowInvalid:
        with path.open("rb") as file:
            return ipc.open_stream(file).read_pandas()


def checked_frame(frame: pd.DataFrame, path: Path | str) -> pd.DataFrame:
    """Return a table with its columns named by text; one without rows, or of a single column of all, is an error."""
    if frame.empty:
        raise OrdinateError(path, problem="holds no rows", expected="a table with a header and samples")
    if frame.shape[1] == 1 and any(mark in str(frame.columns[0]) for mark in ";\t|"):
        problem = f"has the one column {frame.columns[0]!r}"
        raise OrdinateError(path, problem=problem, expected="separators", hint="--sep names them")
    require_unique(frame.columns, path)
    return frame.set_axis([str(column) for column in frame.columns], axis=1)


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
