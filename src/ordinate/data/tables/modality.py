"""Tables (n, features): DataFrames, arrays, parquet tables, and files of any format."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ordinate.data.csv_files import first_line_is_data, warn
from ordinate.data.csv_format import CSV
from ordinate.data.labelled import Labelled, require_filled, require_labels
from ordinate.data.labels_file import split_name
from ordinate.data.modality import Modality, Request
from ordinate.data.object_store import named_as
from ordinate.data.paths import is_url, require_names, require_unique
from ordinate.data.table_formats import TABLES, ends_in
from ordinate.data.tables.csv_table import CsvTable
from ordinate.data.tables.features import TableFeatures, as_frame
from ordinate.data.tables.files import (
    NPZ,
    TS,
    TS_TARGET,
    read_labelled,
    read_samples,
    require_codes,
    require_left,
)
from ordinate.data.tables.parquet_table import ParquetTable, holds_parquet, in_memory
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError

Table = pd.DataFrame | ParquetTable


class Tables(Modality):
    """DataFrames, parquet tables and arrays (n, features); whatever no other kind of data recognises is read as one."""

    name = "tables"
    noun: str = "a table"
    expected = "tables (n, features)"
    readers = (TableFeatures,)
    command_options = ("drop", "keep", "categorical", "text", "stream")
    holds_arrays = True

    def recognises(self, X: Any, options: None = None) -> bool:
        if isinstance(X, np.ndarray):
            return X.ndim == 2
        return isinstance(X, pd.DataFrame | ParquetTable)

    def check(self, estimator: Any, X: Any, *, reset: bool) -> Table:
        """Return a table with the columns of the training data, its rows numbered from 0.

        The columns of an array have the names of the training data, if these had names.
        """
        columns = pd.DataFrame(columns=X.columns) if isinstance(X, ParquetTable) else X
        if isinstance(X, pd.DataFrame):
            require_unique(X.columns, "X")
        try:
            if not isinstance(X, pd.DataFrame | ParquetTable):
                names = None if reset else getattr(estimator, "feature_names_in_", None)
                dtype = np.float64 if names is None else None  # Columns of a table may hold text.
                values = validate_data(estimator, X, reset=reset, dtype=dtype, ensure_all_finite="allow-nan")
                return as_frame(values, names)
            validate_data(estimator, columns, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise OrdinateError("X", problem=error) from error
        except TypeError as error:
            if isinstance(columns, pd.DataFrame):
                raise OrdinateError("X", problem=f"its columns have names of several kinds: {error}") from error
            raise
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise OrdinateError("X", f"a {type(X).__name__} of shape {X.shape}", "at least one row and one column")
        if isinstance(X, ParquetTable):
            return X.decided()
        return X.reset_index(drop=True).set_axis([str(name) for name in X.columns], axis=1)

    def fit(self, X: Table, options: None, *, encoder: Encoder, progress: bool) -> tuple[TableFeatures, Table]:
        return TableFeatures.fit(X), X

    def check_unseen(self, seen: Any, unseen: Any) -> None:
        frames = (X if isinstance(X, pd.DataFrame | ParquetTable) else as_frame(X) for X in (seen, unseen))
        TableFeatures.fit(next(frames)).check(next(frames))

    def describe(self, X: Any) -> str:
        return f"{X.shape[1]} columns" if isinstance(X, pd.DataFrame | ParquetTable) else f"shape {X.shape[1:]}"

    def opens(self, path: str | Path) -> bool:
        if ends_in(path, (*TABLES, *NPZ, *TS)) or holds_parquet(path):
            return True
        return not (is_url(path) or Path(path).is_dir() or Path(path).suffix.lower() == ".zip")

    def read_labelled(self, path: str | Path, request: Request) -> Labelled:
        """Return the samples of a file: a table, or the array of an npz, of whichever kind."""
        with named_as(path) as local:

            def say(note: str) -> None:
                request.say(note.replace(str(local), str(path)))

            return self._read_labelled(local, replace(request, say=say))

    def _read_labelled(self, path: Path, request: Request) -> Labelled:
        is_parquet = holds_parquet(path)
        target = request.target
        if target is None and ends_in(path, TS):
            target = TS_TARGET
        if target is None:
            raise OrdinateError("target", "none", "the column of the label (only folders do not require it)")
        X, y = _open_parquet(path, target, request) if is_parquet else _read_file(path, target, request)
        if isinstance(X, pd.DataFrame) and first_line_is_data(pd.Index([*X.columns, *request.drop, target])):
            request.say(
                f"note: all column names of {path} are numbers; if the file has no header, its first row is lost"
            )
        given = {"split": request.split, "group": request.group, "weight": request.weight}
        for option, name in given.items():
            if name is not None and name not in X.columns:
                raise OrdinateError(option, problem=f"no column {name!r} in {path}")
        for name in filter(None, given.values()):
            require_filled(X[name], path)
        more = list(request.more_targets) if isinstance(X, pd.DataFrame | ParquetTable) else []
        if more:
            require_names(X.columns, more, path)
            others = in_memory(X[more]).reset_index(drop=True)
            for name in more:
                require_labels(others[name], path, drop_unlabelled=request.drop_unlabelled)
            y = pd.concat([y, others], axis=1)
        splits, groups, weights = (None if name is None else X[name] for name in given.values())
        if any(given.values()) or more:
            left = [name for name in X.columns if name not in (*given.values(), *more)]
            require_left(left, path)
            X = X[left]
        splits = None if splits is None else splits.astype(str).map(split_name)
        groups = None if groups is None else groups.astype(str)
        return Labelled(X, y, splits, groups, weights)

    def read_unlabelled(
        self, path: str | Path, left_out: Callable[[str], None] | None = None
    ) -> ParquetTable | CsvTable | NDArray[Any]:
        """Return an array, or a table whose rows are read in batches."""
        with named_as(path) as local:
            if holds_parquet(local):
                return ParquetTable(local)
            if ends_in(local, CSV):
                return CsvTable(local, where=str(path))
            return read_samples(local, say=lambda note: warn(note.replace(str(local), str(path))))


def _open_parquet(path: Path, target: str, request: Request) -> tuple[ParquetTable, pd.Series]:
    """Open parquet files: the label is read, the other columns when they are asked for."""
    require_codes(request.categorical, [target, *request.drop])
    y = ParquetTable(path)[target]
    require_labels(y, path, drop_unlabelled=request.drop_unlabelled)
    stream = request.stream or None
    X = ParquetTable(path, drop=[target, *request.drop], categorical=request.categorical, stream=stream)
    require_left(X.columns, path)
    return X.decided(), y


def _read_file(path: Path, target: str, request: Request) -> tuple[Any, pd.Series]:
    X, y = read_labelled(
        path, target, request.drop, request.categorical, lambda note: request.say(f"note: {note}"),
        drop_unlabelled=request.drop_unlabelled,
    )  # fmt: skip
    if not isinstance(X, pd.DataFrame):
        for option in ("drop", "categorical", "split", "group", "weight"):
            if getattr(request, option):
                raise OrdinateError(option, problem=f"{path} holds arrays", expected="a table")
    return X, y


MODALITY = Tables()
