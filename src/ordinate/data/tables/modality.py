"""Tables (n, features): DataFrames, arrays, parquet tables, and files of any format."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ordinate.counts import counted
from ordinate.data.csv_files import first_line_is_data
from ordinate.data.csv_format import CSV
from ordinate.data.file_formats import IMAGE_SUFFIXES, NPZ, TABLES, TS, ends_in
from ordinate.data.labelled import Labelled, require_labels
from ordinate.data.labels_file import lists_images, with_parts
from ordinate.data.modality import Modality, Request
from ordinate.data.options import DataOptions
from ordinate.data.paths import lacks_columns, require_names, require_unique
from ordinate.data.tables.csv_table import CsvTable
from ordinate.data.tables.features import TableFeatures, are_numbered, as_frame, check_unseen
from ordinate.data.tables.files import TS_TARGET, read_labelled, read_table_samples, require_codes, require_left
from ordinate.data.tables.options import TableOptions
from ordinate.data.tables.parquet_table import ParquetTable, holds_parquet, in_memory
from ordinate.data.times import are_times
from ordinate.data.typed import Reading, typed
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError, warn

Table = pd.DataFrame | ParquetTable


class Tables(Modality):
    """DataFrames, parquet tables and arrays (n, features); whatever no other kind of data recognises is read as one."""

    name = "tables"
    noun: str = "a table"
    expected = "tables (n, features)"
    readers = (TableFeatures,)
    parameter = "tables"
    options_class = TableOptions
    command_options = ("drop", "keep", "categorical", "text")
    holds_arrays = True

    def recognises(self, X: object, options: DataOptions | None = None) -> bool:
        if isinstance(X, np.ndarray):
            return X.ndim == 2
        return isinstance(X, Table)

    def check(self, estimator: object, X: object, *, reset: bool) -> Table:
        """Return a table with the columns of the training data, its rows numbered from 0.

        The columns of an array have the names of the training data, if these had names.
        """
        if not isinstance(X, Table):
            return _checked_array(estimator, X, reset=reset)
        trained = getattr(getattr(estimator, "reader", None), "names", ())
        has_names = hasattr(estimator, "feature_names_in_")
        if isinstance(X, pd.DataFrame) and trained and are_numbered(trained) and not has_names:
            if not are_numbered(X.columns):
                name = getattr(estimator, "name", type(estimator).__name__)
                warn(f"X has feature names, but {name} was fitted without feature names")
            return _checked_array(estimator, X.to_numpy(), reset=False)
        columns = pd.DataFrame(columns=X.columns)
        require_unique(X.columns, "X")
        try:
            validate_data(estimator, columns, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise _other_columns(estimator, X, error) from error
        except TypeError as error:
            raise OrdinateError("X", problem=f"its columns have names of several kinds: {error}") from error
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise OrdinateError("X", f"a {type(X).__name__} of shape {X.shape}", "at least one row and one column")
        if isinstance(X, ParquetTable):
            return X
        return X.reset_index(drop=True).set_axis([str(name) for name in X.columns], axis=1)

    def fit(self, X: Table, options: TableOptions, *, encoder: Encoder, progress: bool) -> tuple[TableFeatures, Table]:
        features = TableFeatures.fit(X, options.texts)
        features.keep_missing = options.keep_missing
        return features, X

    def check_unseen(self, X: object, seen: NDArray[np.int64], unseen: NDArray[np.int64]) -> None:
        table = X if isinstance(X, Table) else as_frame(np.asarray(X))
        check_unseen(table, seen, unseen)

    def describe(self, X: Any) -> str:
        if isinstance(X, Table):
            return counted(X.shape[1], "column")
        return super().describe(X)

    def opens(self, path: str | Path) -> bool:
        if ends_in(path, (*TABLES, *NPZ, *TS)) or holds_parquet(path):
            return not lists_images(path)
        return not (Path(path).is_dir() or Path(path).suffix.lower() in (".zip", *IMAGE_SUFFIXES))

    def read_labelled(self, path: str | Path, request: Request) -> Labelled:
        """Return the samples of a file: a table, or the array of an npz, of whichever kind."""
        path, target = Path(path), request.target
        if target is None and ends_in(path, TS):
            target = TS_TARGET
        if target is None:
            raise OrdinateError("target", "none", "the column of the label (only folders do not require it)")
        read = _open_parquet if holds_parquet(path) else _read_file
        X, y = read(path, target, request)
        if isinstance(X, pd.DataFrame) and first_line_is_data(pd.Index([*X.columns, *request.drop, target])):
            note = f"all column names of {path} are numbers; if the file has no header, its first row is lost"
            request.say(f"note: {note}")
        given = {"split": request.split, "group": request.group, "weight": request.weight}
        for option, name in given.items():
            if name is not None and name not in X.columns:
                raise OrdinateError(option, problem=f"no column {name!r} in {path}")
        labelled = Labelled(X, y)
        if any(given.values()):
            labelled = with_parts(labelled, X, path, **given)
        more: list[str] = []
        if isinstance(X, Table):
            more = list(request.more_targets)
        if more:
            require_names(X.columns, more, path)
            others = in_memory(X[more]).reset_index(drop=True)
            for name in more:
                require_labels(others[name], path)
            labelled = replace(labelled, labels=pd.concat([y, others], axis=1))
        if any(given.values()) or more:
            left = [name for name in X.columns if name not in (*given.values(), *more)]
            require_left(left, path)
            labelled = replace(labelled, samples=X[left])
        return labelled

    def read_unlabelled(
        self, path: str | Path, left_out: Callable[[str], None] | None = None, how: Reading = Reading()
    ) -> ParquetTable | CsvTable | pd.DataFrame | np.ndarray:
        """Return an array, or a table whose rows are read in batches."""
        if holds_parquet(path):
            return ParquetTable(path)
        if ends_in(path, CSV):
            return CsvTable(path)
        return read_table_samples(Path(path), warn, how)


def _other_columns(estimator: Any, X: Table, error: ValueError) -> OrdinateError:
    """Return the error of a table with other columns than in training, which has the words of scikit-learn too."""
    trained, given = list(estimator.feature_names_in_), list(map(str, X.columns))
    absent = [name for name in trained if name not in given]
    if not absent:
        return OrdinateError("X", problem=error)
    clear = lacks_columns("X", absent, [name for name in given if name not in trained])
    hint = " ".join(filter(None, [clear.hint, f"in the words of scikit-learn: {error}"]))
    return OrdinateError("X", problem=clear.problem, expected=clear.expected, hint=hint)


def _checked_array(estimator: object, X: object, *, reset: bool) -> pd.DataFrame:
    if are_times(X):  # Their numbers depend on their unit.
        raise OrdinateError("X", "an array of dates or durations", "a DataFrame with these, or numbers")
    names = None
    dtype: type | None = np.float64
    if not reset and hasattr(estimator, "feature_names_in_"):
        names = estimator.feature_names_in_
        dtype = None  # Columns of a table may hold text.
    try:
        values = validate_data(estimator, X, reset=reset, dtype=dtype, ensure_all_finite="allow-nan")
    except ValueError as error:
        said = str(error).replace("but Model is", f"but {getattr(estimator, 'name', 'Model')} is")
        raise OrdinateError("X", problem=said) from error
    return as_frame(values, names)


def _open_parquet(path: Path, target: str, request: Request) -> tuple[ParquetTable, pd.Series]:
    """Open parquet files: the label is read, the other columns when they are asked for."""
    require_codes(request.categorical, [target, *request.drop])
    table = ParquetTable(path, categorical=request.categorical)
    require_names(table.columns, [target, *request.drop], path)
    numbers = request.how.numbers.difference(table.classes)
    as_labels = request.how.labels.union(table.classes)
    how = replace(request.how, targets=(target,), numbers=numbers, labels=as_labels)
    column, found = typed(table[[target]].to_pandas(), table.classes, how, table.columns)
    found.unmatched = []  # The other columns are not read yet.
    for note in found.notes(how):
        request.say(f"note: {path}: {note}")
    y = column[target]
    require_labels(y, path)
    left = [name for name in table.columns if name not in (target, *request.drop)]
    require_left(left, path)
    return table[left], y


def _read_file(path: Path, target: str, request: Request) -> tuple[Any, pd.Series]:
    X, y = read_labelled(
        path, target, request.drop, request.categorical, lambda note: request.say(f"note: {note}"),
        replace(request.how, targets=tuple(request.more_targets)),
    )  # fmt: skip
    if not isinstance(X, pd.DataFrame):
        for option in ("drop", "categorical", "split", "group", "weight"):
            if getattr(request, option):
                raise OrdinateError(option, problem=f"{path} holds arrays", expected="a table")
    return X, y


MODALITY = Tables()
