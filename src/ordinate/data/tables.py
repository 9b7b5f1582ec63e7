"""Reading a data set from a csv, parquet or npz file."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.errors import OrdinateError

CSV, PARQUET, NPZ = (".csv", ".csv.gz", ".tsv", ".tsv.gz"), (".parquet",), (".npz",)


def read_samples(path: str | Path, drop: Sequence[str] = (), categorical: Sequence[str] = ()) -> Any:
    """Read samples without labels, for prediction: a DataFrame, or the array ``X`` of an npz."""
    content = _read(Path(path))
    if isinstance(content, dict):
        return _array(content, "X", Path(path))
    return _shape_frame(content, drop, categorical, Path(path))


def read_labelled(
    path: str | Path, target: str, drop: Sequence[str] = (), categorical: Sequence[str] = ()
) -> tuple[Any, pd.Series]:
    """Read samples and their labels.

    Args:
        path: a csv, tsv (plain or gz) or parquet file, or an npz that holds ``X`` and the target.
        target: the label's column, or its array in the npz.
        drop: columns to leave out, such as identifiers.
        categorical: columns whose numbers are codes, not amounts.

    Returns:
        X, a DataFrame or an array (n, features) or (n, channels, length); and y, one label a sample, none missing.

    Raises:
        OrdinateError: whatever is wrong with the file, and the way out.
    """
    path = Path(path)
    content = _read(path)
    X: pd.DataFrame | NDArray[Any]
    if isinstance(content, dict):
        X, y = _array(content, "X", path), pd.Series(_array(content, target, path))
        if len(X) != len(y):
            raise OrdinateError(f"{path}: X holds {len(X)} samples and {target!r} {len(y)}, takes one label a sample")
    else:
        _require_columns(content, [target], path)
        y = content[target]
        X = _shape_frame(content, [target, *drop], categorical, path)
    missing = int(y.isna().sum())
    if missing:
        raise OrdinateError(
            f"{path}: {missing} of {len(y)} labels in {target!r} are missing, takes a label a row; remove those rows"
        )
    return X, y.reset_index(drop=True)


def _read(path: Path) -> pd.DataFrame | dict[str, NDArray[Any]]:
    name = path.name.lower()
    if not path.is_file():
        near = difflib.get_close_matches(
            path.name, [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        )
        hint = f"; did you mean {near[0]}?" if near else ""
        raise OrdinateError(f"{path}: no such file{hint}")
    if not name.endswith((*CSV, *PARQUET, *NPZ)):
        raise OrdinateError(f"{path}: takes a file that ends in {', '.join((*CSV, *PARQUET, *NPZ))}")
    try:
        if name.endswith(CSV):
            frame = pd.read_csv(path, sep="\t" if ".tsv" in name else ",")
        elif name.endswith(PARQUET):
            frame = pd.read_parquet(path)
        else:
            with np.load(path, allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays.files}
    except (ValueError, OSError, BadZipFile) as error:
        raise OrdinateError(f"{path}: could not be read: {str(error).splitlines()[0]}") from error
    if frame.empty:
        raise OrdinateError(f"{path}: holds no rows, takes a table with a header and samples")
    return frame.set_axis([str(column) for column in frame.columns], axis=1)


def _array(arrays: dict[str, NDArray[Any]], name: str, path: Path) -> NDArray[Any]:
    if name not in arrays:
        raise OrdinateError(f"{path}: holds no array {name!r}, takes 'X' and the target; it holds {sorted(arrays)}")
    return arrays[name]


def _require_columns(frame: pd.DataFrame, names: Sequence[str], path: Path) -> None:
    for name in names:
        if name not in frame.columns:
            near = difflib.get_close_matches(name, list(frame.columns))
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, frame.columns[:20]))}"
            raise OrdinateError(f"{path}: no column {name!r}; {hint}")


def _shape_frame(frame: pd.DataFrame, drop: Sequence[str], categorical: Sequence[str], path: Path) -> pd.DataFrame:
    _require_columns(frame, [*drop, *categorical], path)
    frame = frame.drop(columns=list(drop))
    if frame.shape[1] == 0:
        raise OrdinateError(f"{path}: no column is left beside the target, takes at least one")
    return frame.astype(dict.fromkeys(categorical, "category"))
