"""From a table's columns to the batch of an encoder."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.counts import counted
from ordinate.data.csv_format import MISSING
from ordinate.data.findings import Finding, report_findings
from ordinate.data.mapped_matrix import mapped_matrix
from ordinate.data.modality import Reader
from ordinate.data.numbers import is_missing_word, limits_of, misspelt_numbers, other_words_of, read_numbers
from ordinate.data.saved_fields import JsonObject, checked_fields
from ordinate.data.tables.columns import (
    ROWS_AT_ONCE,
    CategoricalColumn,
    NumericColumn,
    almost_numbers,
    different_texts,
    fit_numeric,
    is_number,
)
from ordinate.data.tables.date_forms import NOT_TOLD, date_form
from ordinate.data.tables.dates import DateColumn, DatesOfColumn, fit_date
from ordinate.data.tables.free_text import HASHES, TextColumn, fit_text, is_free_text
from ordinate.data.tables.parquet_table import ParquetTable, in_memory
from ordinate.data.tables.row_columns import find_row_columns
from ordinate.data.times import are_times
from ordinate.data.typed import LEFT_OUT, note_on_unmatched, require_columns_of, without_missing
from ordinate.encoders.build import build_encoder
from ordinate.encoders.given import Encoder, build_given_encoder, is_named
from ordinate.errors import OrdinateError, argument

Column = NumericColumn | CategoricalColumn | DateColumn | TextColumn
MISSPELT = 0.01  # And text with a digit in this share.
STRAY_WORDS = 0.05  # A column of numbers may hold other text in this share of its values, which is missing then.
MOST_CATEGORIES = 1000  # Each category of a column becomes a column.
MOST_PERIODIC = 1000  # The weights of the periodic embedding, and of the first layer, grow with such columns.
IN_MEMORY = 2**27  # More bytes of a parquet table's numbers lie in a file.


class TableFeatures(Reader):
    """Turns tables into float32 matrices, fitted once on the training rows.

    Numbers are standardised and scored; booleans, text and pandas categories become one column per value. Missing
    values are kept apart, not guessed: see :attr:`notes` for what was done.

    Example:
        >>> frame = pd.DataFrame({"size": [1.0, 2.0, None], "colour": ["red", "blue", "red"]})
        >>> features = TableFeatures.fit(frame)
        >>> features.transform(frame).shape
        (3, 4)
        >>> features.notes
        ['missing values of size (1 of 3): numbers become the median, marked in a column; text gets no category']
    """

    kind = "table"
    graph_dtype = torch.float64
    export_note: ClassVar[str] = (
        "samples has a column for each of features: those of reader.columns in their order. A column with a mean is a "
        "number x, its median where missing or one of its words: first (x - mean) / scale, 0 with a scale of 0; with "
        "quantiles, then its normal score, the standard normal quantile, within -3 and 3, of its place among them: the "
        "mean of the place interpolated from the left and from the right, 0 at the first quantile and 1 at the last; "
        "with indicator, then 1 where it was missing and 0 elsewhere. A column with parts is a date, and its parts are "
        "such numbers of it: days since origin, year, month, day, weekday from Monday, 0, and hour with its minutes "
        "and seconds as a fraction; of a time of day hour alone, and of a duration seconds. A column with means is "
        "text: components of its words, whose weights are in the saved model. A column with categories is text (whole "
        "numbers without .0): 1 at its category and 0 at the others, all 0 where missing or none of them."
    )

    def __init__(
        self,
        columns: Sequence[Column],
        notes: Sequence[str] = (),
        most_periodic: int | None = None,
        missing: Sequence[str] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.notes = list(notes)
        self.most_periodic = most_periodic  # Built-in encoders have no periodic embedding of more numbers.
        self.missing = tuple(missing)
        self.keep_missing = False  # Whether files to predict are read so, see TableOptions.

    @classmethod
    def fit(cls, frame: pd.DataFrame | ParquetTable, missing: Sequence[str] = ()) -> "TableFeatures":
        """Learn the columns of a table (n, columns), one after the other; those of a single value become zeros.

        Args:
            frame: Table.
            missing: Texts of values that mean missing, in every column and in tables to predict.

        Raises:
            OrdinateError: Columns that cannot be used, all at once; a column named in ``missing`` that is not there.
        """
        columns: list[Column] = []
        notes: list[str] = []
        incomplete: dict[str, int] = {}
        problems: dict[str, OrdinateError] = {}
        unmatched: list[str] = []
        if isinstance(frame, pd.DataFrame):  # Columns of files are read once.
            unmatched = [text for text in missing if text not in (*MISSING, *frame.attrs.get(LEFT_OUT, ()))]
        for each in frame.columns:
            name = str(each)
            values = frame[each]
            given = without_missing(values, tuple(missing))
            unmatched = [text for text in unmatched if without_missing(values, (text,)) is values]
            try:
                column, said = _fit_column(name, given)
            except OrdinateError as error:
                problems[name] = error
                continue
            columns.append(column)
            notes += said
            if isinstance(column, NumericColumn | CategoricalColumn) and (absent := int(given.isna().sum())):
                incomplete[name] = absent
        require_columns_of(unmatched, frame.columns)
        if problems:
            raise _all_of(problems)
        notes += [
            f"{name}: {reason}, which tells nothing of new ones" for name, reason in find_row_columns(frame).items()
        ]
        if unmatched:
            notes.append(note_on_unmatched(unmatched))
        if incomplete:
            notes.append(_note_on_missing(incomplete, len(frame)))
        return cls(columns, notes, MOST_PERIODIC, missing)

    def transform(
        self, frame: pd.DataFrame | ParquetTable | np.ndarray, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return (n, width) float32, or ``out``, for a table with the same columns in any order, or an array in theirs.

        Files are read once, some rows of all columns at a time. A warning names the columns that differ from those of
        training.
        """
        if isinstance(frame, np.ndarray):
            frame = as_frame(frame, self.names if frame.shape[1] == len(self.names) else None)
        absent = [column.name for column in self.columns if column.name not in frame.columns]
        if absent:
            hint = None
            if are_numbered(self.names) and not are_numbered(frame.columns):
                hint = "the model was trained on an array and got a table"
            elif are_numbered(frame.columns) and not are_numbered(self.names):
                hint = "the model was trained on a table and got an array"
            expected = f"those of the training data: {self.names}"
            raise OrdinateError("columns", problem=f"missing {absent}", expected=expected, hint=hint)
        if out is None:
            out = np.empty((len(frame), self.width), dtype=np.float32)
        findings: list[Finding] = []
        parts = frame[self.names].in_order(ROWS_AT_ONCE) if isinstance(frame, ParquetTable) else [(slice(None), frame)]
        for places, given in parts:
            rows = out[places]  # They are a part of the matrix itself if the places are a slice.
            part = self._known(given)
            unseen = self._fill(part, rows)
            start = 0
            if isinstance(places, slice):
                start = places.start or 0
            for column, place in self._places():
                found = column.findings(part[column.name], rows[:, place], unseen[column.name])
                findings += [finding.after(start) for finding in found]
            if not isinstance(places, slice):
                out[places] = rows
        report_findings(findings)
        return out

    def fill(self, frame: pd.DataFrame, out: NDArray[np.float32]) -> dict[str, set[str]]:
        """Write the rows (n, width) of a table, and return the categories of each column never seen in training."""
        return self._fill(self._known(frame), out)

    def _fill(self, frame: pd.DataFrame, out: NDArray[np.float32]) -> dict[str, set[str]]:
        return {column.name: column.fill(frame[column.name], out[:, place]) for column, place in self._places()}

    def _known(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of a table with NaN where a value means missing."""
        if not self.missing:
            return frame
        return pd.DataFrame({name: without_missing(frame[name], self.missing) for name in self.names})

    def _places(self) -> Iterator[tuple[Column, slice]]:
        """Yield the columns, each with its place in the matrix."""
        start = 0
        for column in self.columns:
            yield column, slice(start, start + column.width)
            start += column.width

    def read(self, X: pd.DataFrame | ParquetTable, folder: Path | None = None) -> Any:
        """Return the matrix; that of a large parquet table lies in a file in ``folder``, or among temporary files."""
        shape = (len(X), self.width)
        out = None
        if isinstance(X, ParquetTable) and 4 * shape[0] * shape[1] > IN_MEMORY:
            out = mapped_matrix(shape, folder)
        return torch.from_numpy(self.transform(X, out))

    def new_encoder(
        self, name: Encoder, embedding_dim: int | None, options: None, *, for_saved_weights: bool, **task: Any
    ) -> nn.Module:
        if not is_named(name):
            return build_given_encoder(name, self.sample_shape, embedding_dim, columns=self.plain_positions)
        numeric = self.numeric_positions
        if self.most_periodic is not None and len(numeric) > self.most_periodic:
            numeric = []
        return build_encoder(name, self.sample_shape, embedding_dim, numeric=numeric, **task)

    def describe(self, x: Tensor) -> str:
        return f"rows of {counted(len(self.columns), 'column')}"

    def shown(self, X: object, x: Tensor) -> pd.DataFrame:
        X = in_memory(X)
        return X if isinstance(X, pd.DataFrame) else as_frame(np.asarray(X))

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def categorical(self) -> list[str]:
        """Names of the columns that are categories."""
        return [column.name for column in self.columns if isinstance(column, CategoricalColumn)]

    @property
    def numbers(self) -> list[str]:
        """Names of the columns that are numbers."""
        return [column.name for column in self.columns if isinstance(column, NumericColumn)]

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return sum(column.width for column in self.columns)

    @property
    def sample_shape(self) -> tuple[int]:
        return (self.width,)

    @property
    def n_features_in(self) -> int:
        return len(self.columns)

    @property
    def numbers_only(self) -> bool:
        return all(isinstance(column, NumericColumn) for column in self.columns)

    @property
    def features(self) -> list[str]:
        return [name for column in self.columns for name in column.features]

    @property
    def numeric_positions(self) -> list[int]:
        """Where in the matrix the numbers stand, standardised or scored."""
        return [place for start, column in self._numeric() for place in range(start, start + column.numbers)]

    @property
    def plain_positions(self) -> list[int]:
        """Where in the matrix all but the normal scores stand."""
        scores = {start + 1 for start, column in self._numeric() if column.quantiles}
        return [place for place in range(self.width) if place not in scores]

    def _numeric(self) -> Iterator[tuple[int, NumericColumn]]:
        """Yield the columns that are numbers, and where they start in the matrix."""
        for column, place in self._places():
            start = place.start
            parts = column.parts if isinstance(column, DateColumn) else [column]
            for part in parts:
                if isinstance(part, NumericColumn):
                    yield start, part
                start += part.width

    def to_dict(self) -> JsonObject:
        columns = [asdict(column) for column in self.columns]
        for column in columns:
            column.pop("weights", None)
        return {
            "columns": columns, "notes": self.notes, "most_periodic": self.most_periodic,
            "missing": list(self.missing), "keep_missing": self.keep_missing,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, state: JsonObject) -> "TableFeatures":
        columns = [_restored(column) for column in state["columns"]]
        features = cls(columns, state["notes"], state["most_periodic"], list(map(str, state["missing"])))
        features.keep_missing = state["keep_missing"] is True
        return features

    def tensors(self) -> dict[str, Tensor]:
        return {place: torch.from_numpy(column.weights) for place, column in self._texts.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        shapes = {place: tuple(tensor.shape) for place, tensor in tensors.items()}
        if shapes != {place: (1 + column.width, HASHES) for place, column in self._texts.items()}:
            got = f"weights of text of the shapes {shapes}"
            raise OrdinateError("model", got, f"those of {counted(len(self._texts), 'column')}")
        columns = list(self.columns)
        for place, column in self._texts.items():
            columns[int(place)] = replace(column, weights=tensors[place].numpy())
        self.columns = tuple(columns)

    @property
    def _texts(self) -> dict[str, TextColumn]:
        """The columns of free text by their places among all columns."""
        return {str(place): column for place, column in enumerate(self.columns) if isinstance(column, TextColumn)}


def _restored(state: JsonObject) -> Column:
    """Return a column of a saved model; the weights of text come later."""
    if "categories" in state:
        return checked_fields(CategoricalColumn(state["name"], tuple(state["categories"])))
    if "parts" in state:
        parts = tuple(_number(part) for part in state["parts"])
        return checked_fields(DateColumn(state["name"], state["form"], state["origin"], parts))
    if "means" in state:
        empty = np.empty((0, 0), dtype=np.float32)
        return TextColumn(str(state["name"]), tuple(map(float, state["means"])), empty)
    return _number(state)


def _number(state: JsonObject) -> NumericColumn:
    tuples = {name: tuple(state[name]) for name in ("quantiles", "words")}
    return checked_fields(NumericColumn(**{**state, **tuples}))


def _note_on_text(name: str, given: pd.Series, numbers: pd.Series, unit: str) -> str:
    """Return a note on the numbers of a column of text; of a column of numbers none."""
    words = given[numbers.isna() & given.notna()]
    limits = limits_of(given)
    if len(words) or limits:
        kinds = []
        if len(words):
            named = ", ".join(map(repr, sorted(set(words))[:5]))
            kinds.append(f"{named} in {len(words):,} of {counted(len(given), 'row')}, treated as missing")
        if limits:
            kinds.append(f"limits such as {min(limits)!r}, treated as the number itself")
        hint = ""
        if other_words_of(given):
            hint = f"; {argument('categorical')} (a dtype in pandas) makes categories of all values"
        return f"{name}: contains numbers and {'; and '.join(kinds)}{hint}"
    if unit:
        return f"{name}: contains numbers with the unit {unit}, and is treated as numbers"
    is_text = not pd.api.types.is_numeric_dtype(given.dtype)
    if is_text and given.map(lambda value: isinstance(value, str) and "," in value).any():
        return f"{name}: contains numbers with a decimal comma, and is treated as numbers"
    if pd.api.types.infer_dtype(given, skipna=True) == "string":
        return f"{name}: is text that contains only numbers, and is treated as numbers"
    return ""


@dataclass(frozen=True)
class _Kind:
    """What a column is: a number, dates of a form, text, or categories, whose values may be almost all numbers."""

    values: pd.Series
    unit: str
    form: str | None
    categories: tuple[str, ...] | None = None
    is_text: bool = False
    almost: str | None = None


def _kind_of(name: str, given: pd.Series) -> _Kind:
    """Return what a column (n,) is; one that cannot be used is an error."""
    values, unit = read_numbers(given, STRAY_WORDS, MISSPELT)
    form = date_form(values)
    if form is not None and form not in NOT_TOLD:
        return _Kind(values, unit, form)
    if is_number(values):
        if pd.api.types.is_float_dtype(values.dtype) and np.isinf(values.to_numpy(np.float64, na_value=np.nan)).any():
            raise OrdinateError(f"column {name!r}", "infinity", "finite numbers or missing values")
        return _Kind(values, unit, None)
    categories = different_texts(values)
    is_declared = isinstance(values.dtype, pd.CategoricalDtype)
    almost = None if is_declared else almost_numbers([text for text in categories if not is_missing_word(text)])
    too_many = len(categories) > min(max(50, len(values) // 10), MOST_CATEGORIES)
    may_be_text = not is_declared and (too_many or 2 * len(categories) > len(values))
    if may_be_text and is_free_text(categories):
        return _Kind(values, unit, form, categories, is_text=True, almost=almost)
    if too_many:
        raise _too_many(name, values, categories, form, almost)
    return _Kind(values, unit, form, categories, almost=almost)


def _too_many(
    name: str, values: pd.Series, categories: tuple[str, ...], form: str | None, almost: str | None
) -> OrdinateError:
    hint = "drop identifiers; data=TextOptions() reads free text"
    if len(categories) < values.notna().sum():
        group = f"{argument('group')} (groups of an estimator)"
        hint = f"drop it; where rows of one value belong together, {group} names it"
    if form is not None:
        hint = NOT_TOLD[form]
    elif almost:
        hint = f"it has {almost}; leave cells without a number empty"
    got = f"text with {counted(len(categories), 'different value')} in {counted(len(values), 'row')}"
    return OrdinateError(f"column {name!r}", got, "numbers, dates, categories or sentences", hint)


def _fit_column(name: str, given: pd.Series) -> tuple[Column, list[str]]:
    """Learn a column (n,), and return it with notes on what it became."""
    kind = _kind_of(name, given)
    values = kind.values
    if kind.form is not None and kind.categories is None:
        date, note = fit_date(name, values, kind.form)
        return date, [note]
    if kind.categories is None:
        number = fit_numeric(name, values)
        said = _note_on_text(name, given, values, kind.unit)
        words = tuple(sorted({*other_words_of(given), *misspelt_numbers(given)}))
        return replace(number, unit=kind.unit, words=words), list(filter(None, [said]))
    notes = []
    if kind.form is not None:
        notes.append(f"{name}: {NOT_TOLD[kind.form]}")
    if kind.is_text:
        text = fit_text(name, values)
        if text.width > 0:
            components = counted(text.width, "component")
            return text, [*notes, f"{name}: is free text, and is treated as {components} of its words"]
        if len(kind.categories) > MOST_CATEGORIES:
            raise _too_many(name, values, kind.categories, kind.form, kind.almost)
    if kind.almost:
        categories = counted(len(kind.categories), "category", "categories")
        notes.append(f"{name}: has {kind.almost}, and is treated as {categories}")
    return CategoricalColumn(name, kind.categories), notes


def unusable_columns(frame: pd.DataFrame | ParquetTable) -> dict[str, OrdinateError]:
    """Return the columns of a table that features cannot be learned from, each with the error that says why."""
    problems = {}
    for name in frame.columns:
        try:
            kind = _kind_of(name, frame[name])
            if are_times(kind.values):  # They may be in several zones; text of a form has been read as dates.
                DatesOfColumn(name, kind.values, str(kind.form))
        except OrdinateError as error:
            problems[name] = error
    return problems


def check_unseen(
    table: pd.DataFrame | ParquetTable, seen: NDArray[np.int64], unseen: NDArray[np.int64], few: int = 50
) -> None:
    """Raise an error if the rows ``unseen`` of a table could not be read as learned from the rows ``seen``."""
    if isinstance(table, ParquetTable):
        known, new = table[seen], table[unseen]
        for name in table.columns:
            _check_column(name, known[name], new[name])
    else:
        for name in table.columns:
            values = table[name]
            if _is_plain_number(values) and date_form(values.iloc[seen]) is None:
                continue
            sides = seen, unseen
            if isinstance(values.dtype, pd.StringDtype):
                places, texts = pd.factorize(values)
                if len(texts) <= few and not any(map(str.isdigit, "".join(texts))):
                    continue  # These are categories in any rows.
                if date_form(pd.Series(texts)) is not None:  # How often each date occurs makes no difference.
                    values = pd.Series(texts, name=name)
                    sides = _occurring(places[seen]), _occurring(places[unseen])
            _check_column(name, *(values.iloc[rows] for rows in sides))


def _occurring(places: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the different places, without those of missing values, which are -1."""
    return np.flatnonzero(np.bincount(places + 1)[1:]).astype(np.int64)


def _check_column(name: str, seen: pd.Series, unseen: pd.Series) -> None:
    kind = _kind_of(name, seen)
    if kind.categories is not None:
        return
    if kind.form is not None:
        DatesOfColumn(name, unseen, kind.form)
        return
    column, _ = _fit_column(name, seen)
    column.fill(unseen, np.empty((len(unseen), column.width), dtype=np.float32))


def _is_plain_number(values: pd.Series, most: float = 1e15) -> bool:
    """Return whether a column holds numbers of up to ``most`` in size, which can be standardised in any rows."""
    if not isinstance(values.dtype, np.dtype) or values.dtype.kind not in "iuf":
        return False
    numbers = values.to_numpy()
    return bool(np.fmin.reduce(numbers) >= -most and np.fmax.reduce(numbers) <= most)


def _all_of(problems: dict[str, OrdinateError], most: int = 20) -> OrdinateError:
    """Return one error for all columns that cannot be used."""
    first, *others = problems
    if not others:
        return problems[first]
    named = "; ".join(str(error) for error in list(problems.values())[:3])
    listed = ", ".join(map(repr, [first, *others][:most]))
    return OrdinateError(
        "X", problem=f"{counted(len(problems), 'column')} cannot be used, {listed}: {named}", hint="drop them"
    )


def _note_on_missing(incomplete: dict[str, int], rows: int, most: int = 5) -> str:
    """Return the note on the missing values of all columns."""
    listed = [f"{name} ({count} of {rows})" for name, count in list(incomplete.items())[:most]]
    if len(incomplete) > most:
        listed.append(f"{len(incomplete) - most} more")
    columns = ", ".join(listed)
    return f"missing values of {columns}: numbers become the median, marked in a column; text gets no category"


def are_numbered(names: Sequence[str] | pd.Index) -> bool:
    """Whether columns have the names of those of an array, see :func:`as_frame`."""
    return list(names) == [f"x{i}" for i in range(len(names))]


def as_frame(values: np.ndarray, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return an array (n, features) as a table with columns of these names; None for x0, x1, and so on."""
    numbered = [f"x{i}" for i in range(values.shape[1])]
    return pd.DataFrame(values, columns=pd.Index(numbered if names is None else names))
