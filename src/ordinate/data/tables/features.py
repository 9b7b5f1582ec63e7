"""From a table's columns to the batch of an encoder."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor, nn

from ordinate.data.mapped_matrix import mapped_matrix
from ordinate.data.modality import CONSTANT, Reader
from ordinate.data.numbers import as_numbers
from ordinate.data.saved_fields import checked_fields
from ordinate.data.tables.parquet_table import ParquetTable, in_memory
from ordinate.data.tables.streamed_rows import StreamedRows, unseen_warning
from ordinate.data.tables.views import TableViews
from ordinate.data.times import are_times
from ordinate.encoders.build import build_encoder
from ordinate.encoders.given import Encoder, build_given_encoder, is_named
from ordinate.errors import OrdinateError

MIN_VALUES_TO_SCORE = 10  # A normal score adds nothing to a column of so few different values.
MAX_QUANTILES = 200  # So many quantiles of a column are kept.
MOST_CATEGORIES = 1000  # Each category of a column becomes a column.
ROWS_AT_ONCE = 1 << 16  # So many rows are in float64 at a time.
TRUTHS = {"0": "false", "1": "true"}
MOST_PERIODIC = 1000  # The weights of the periodic embedding, and of the first layer, grow with such columns.
LEAST_TO_COMPARE = 10  # Fewer rows are not compared with the range of the training values.
MAX_NAMED = 5  # Warnings and errors name so many values.
LEARNED_FROM = 2**20  # So many rows of a parquet table that streams are learned from.
IN_MEMORY = 2**27  # More bytes of a parquet table's numbers lie in a file.


@dataclass(frozen=True)
class NumericColumn:
    """A number: standardised, and as a normal score; a missing one becomes the median and is marked in a column.

    The training values lie from ``low`` to ``high``. One that had a single value in training has ``scale`` 0 and is
    always 0: no weight has learned from it. The normal score is the standard normal quantile of the value's place
    among the training values. It spreads what a skewed column crowds together; columns of few values have none.
    """

    name: str
    median: float
    mean: float
    scale: float
    indicator: bool
    quantiles: tuple[float, ...]
    low: float
    high: float

    @property
    def numbers(self) -> int:
        """Columns that are numbers: they come first."""
        return 1 + bool(self.quantiles)

    @property
    def width(self) -> int:
        return self.numbers + self.indicator

    @property
    def features(self) -> list[str]:
        """Names of the columns that it becomes."""
        names = [self.name]
        if self.quantiles:
            names.append(f"{self.name}, normal score")
        if self.indicator:
            names.append(f"{self.name}, missing")
        return names

    def fill(self, values: pd.Series, out: NDArray[np.float32]) -> set[str]:
        """Write the columns (n, width) of values; return those that a column of a single value had not in training."""
        if are_times(values) or pd.api.types.is_complex_dtype(values):
            raise OrdinateError(f"column {self.name!r}", values.dtype, "numbers, as in training")
        try:
            numbers = pd.to_numeric(as_numbers(values)).to_numpy(dtype=np.float64, na_value=np.nan)
        except (ValueError, TypeError) as error:
            raise OrdinateError(f"column {self.name!r}", expected=f"numbers, as in training: {error}") from error
        if np.isinf(numbers).any():
            raise OrdinateError(f"column {self.name!r}", "infinity", "finite numbers or missing values")
        quantiles = np.array(self.quantiles)
        unseen: set[str] = set()
        for start in range(0, len(numbers), ROWS_AT_ONCE):
            part = numbers[start : start + ROWS_AT_ONCE]
            rows = out[start : start + ROWS_AT_ONCE]
            missing = np.isnan(part)
            filled = np.where(missing, self.median, part)
            if self.scale == 0:
                unseen |= set(map(plain_text, np.unique(filled[filled != self.median])[:MAX_NAMED]))
            standardised = np.zeros_like(filled)
            if self.scale:
                standardised = (filled - self.mean) / self.scale
            if np.abs(standardised).max() > np.finfo(np.float32).max:
                raise OrdinateError(
                    f"column {self.name!r}", problem="its numbers pass the range of float32 once standardised"
                )
            rows[:, 0] = standardised
            if self.quantiles:
                rows[:, 1] = _normal_score(filled, quantiles, rows[:, 0])
            if self.indicator:
                rows[:, -1] = missing
        return unseen


@dataclass(frozen=True)
class CategoricalColumn:
    """One of a few values: a column each, all zero where it is missing or was never seen in training."""

    name: str
    categories: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.categories)

    @property
    def features(self) -> list[str]:
        """Names of the columns that it becomes."""
        return [f"{self.name} is {category}" for category in self.categories]

    def fill(self, values: pd.Series, out: NDArray[np.float32]) -> set[str]:
        """Write the columns (n, width) of a column's values, and return the values never seen in training."""
        places, texts = _texts(values)
        known = {category: place for place, category in enumerate(self.categories)}
        if not known.keys() >= set(texts):
            texts = self._as_written(texts)
        columns = [known.get(text, -1) for text in texts]
        column = np.array([*columns, -1])[places]  # A missing value has the place -1, which is the last one.
        rows = np.flatnonzero(column >= 0)
        out[:] = 0
        out[rows, column[rows]] = 1
        return set(texts).difference(known)

    def _as_written(self, texts: Sequence[str]) -> list[str]:
        """Return values as training had them, 1.5 as ``1.50``, True as ``true``, where one category alone means it."""
        truths = {_meaning(category) for category in self.categories} <= {"true", "false"}
        by_meaning: dict[str, list[str]] = {}
        for category in self.categories:
            by_meaning.setdefault(_meaning(category), []).append(category)
        written = []
        for text in texts:
            meaning = _meaning(text)
            if truths:
                meaning = TRUTHS.get(meaning, meaning)
            same = by_meaning.get(meaning, [])
            is_other_form = len(same) == 1 and text not in self.categories
            written.append(same[0] if is_other_form else text)
        return written


Column = NumericColumn | CategoricalColumn


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
        ['size: 1 of 3 values missing, set to the median 1.5 and marked in a column of their own']
    """

    kind = "table"
    graph_dtype = torch.float64
    export_note: ClassVar[str] = (
        "samples has a column for each of features: those of reader.columns in their order. A column with a mean is "
        "a number x, its median where missing: first (x - mean) / scale, 0 with a scale of 0; with quantiles, then "
        "its normal score, the standard normal quantile, within -3 and 3, of its place among them: the mean of the "
        "place interpolated from the left and from the right, 0 at the first quantile and 1 at the last; with "
        "indicator, then 1 where it was missing and 0 elsewhere. A column with categories is text (whole numbers "
        "without .0): 1 at its category and 0 at the others, all 0 where missing or none of them."
    )

    def __init__(self, columns: Sequence[Column], notes: Sequence[str] = (), most_periodic: int | None = None) -> None:
        self.columns = tuple(columns)
        self.notes = list(notes)
        self.most_periodic = most_periodic  # With more numbers, built-in encoders have no periodic embedding.

    @classmethod
    def fit(cls, frame: pd.DataFrame | ParquetTable) -> "TableFeatures":
        """Learn the columns of a table (n, columns), one after the other; those of a single value become zeros.

        The columns of a parquet table that streams are learned from about a million rows from all over it.
        """
        columns: list[Column] = []
        notes: list[str] = []
        if isinstance(frame, ParquetTable) and frame.streams:
            all_rows = len(frame)
            frame = frame.spread(LEARNED_FROM)
            notes.append(
                f"{all_rows:,} rows are decoded as they are needed; medians, scales, quantiles and categories are "
                f"those of {len(frame):,} of them"
            )
        for name in frame.columns:
            given = frame[name]
            values = as_numbers(given)
            missing = int(values.isna().sum())
            if _is_number(values):
                if pd.api.types.infer_dtype(given, skipna=True) == "string":
                    notes.append(f"{name}: is text of numbers alone, and is taken as numbers")
                column, note = _fit_numeric(str(name), values)
                columns.append(column)
                if note:
                    notes.append(note)
            else:
                categories = tuple(sorted(set(_texts(values)[1])))
                almost = None if isinstance(values.dtype, pd.CategoricalDtype) else _almost_numbers(categories)
                if len(categories) > min(max(50, len(frame) // 10), MOST_CATEGORIES):
                    raise OrdinateError(
                        f"column {name!r}",
                        f"text with {len(categories)} different values in {len(frame)} rows",
                        "numbers or categories",
                        f"it has {almost}" if almost else "drop identifiers; text=TextOptions() reads free text",
                    )
                if almost:
                    notes.append(f"{name}: has {almost}, and is taken as {len(categories)} categories")
                columns.append(CategoricalColumn(str(name), categories))
                if missing:
                    notes.append(f"{name}: {missing} of {len(frame)} values missing, no category set")
        return cls(columns, notes, MOST_PERIODIC)

    def transform(
        self, frame: pd.DataFrame | ParquetTable, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return (n, width) float32, or ``out``, for a table with the same columns in any order.

        Files are read once, some rows of all columns at a time. Categories never seen in training are named in a
        warning.
        """
        absent = [column.name for column in self.columns if column.name not in frame.columns]
        if absent:
            hint = None
            if _are_numbered(self.names) != _are_numbered(frame.columns):
                on_array = "the model was trained on an array and got a table"
                hint = on_array if _are_numbered(self.names) else "the model was trained on a table and got an array"
            raise OrdinateError(
                "columns", expected=f"those of the training data: {self.names}", hint=hint, problem=f"missing {absent}"
            )
        if out is None:
            out = np.empty((len(frame), self.width), dtype=np.float32)
        unseen: dict[str, set[str]] = {name: set() for name in self.names}
        parts = frame[self.names].in_order(ROWS_AT_ONCE) if isinstance(frame, ParquetTable) else [(slice(None), frame)]
        for places, part in parts:
            rows = out[places]  # They are a part of the matrix itself if the places are a slice.
            for name, values in self.fill(part, rows).items():
                unseen[name] |= values
            if not isinstance(places, slice):
                out[places] = rows
        for name in filter(unseen.__getitem__, unseen):
            warnings.warn(unseen_warning(name, unseen[name]), UserWarning, 2)
        if isinstance(frame, pd.DataFrame) and len(frame) >= LEAST_TO_COMPARE:
            for note in filter(None, (_difference(column, frame[column.name]) for column in self.columns)):
                warnings.warn(note, UserWarning, 2)
        return out

    def fill(self, frame: pd.DataFrame, out: NDArray[np.float32]) -> dict[str, set[str]]:
        """Write the rows (n, width) of a table, and return the categories of each column never seen in training."""
        unseen, start = {}, 0
        for column in self.columns:
            unseen[column.name] = column.fill(frame[column.name], out[:, start : start + column.width])
            start += column.width
        return unseen

    def check(self, frame: pd.DataFrame | ParquetTable) -> None:
        """Raise an error if the numbers of a table, or of a part of one that streams, cannot be read."""
        if isinstance(frame, ParquetTable) and frame.streams:
            frame = frame.spread(LEARNED_FROM)
        for column in self.columns:
            if isinstance(column, NumericColumn):
                column.fill(frame[column.name], np.empty((len(frame), column.width), dtype=np.float32))

    def read(self, X: pd.DataFrame | ParquetTable, folder: Path | None = None) -> Any:
        """Return the matrix; that of a large parquet table lies in a file in ``folder``, or among temporary files.

        Of a table that streams return :class:`~ordinate.data.tables.streamed_rows.StreamedRows`.
        """
        if isinstance(X, ParquetTable) and X.streams:
            return StreamedRows(X[self.names], self)
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

    def pair_of_views(self) -> TableViews:
        return TableViews([column.width for column in self.columns])

    def summary(self) -> str:
        return f"a table of {len(self.columns)} columns"

    def describe(self, x: Tensor) -> str:
        return "rows of one column" if len(self.columns) == 1 else f"rows of {len(self.columns)} columns"

    def shown(self, X: Any, x: Tensor) -> pd.DataFrame:
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
        start = 0
        for column in self.columns:
            if isinstance(column, NumericColumn):
                yield start, column
            start += column.width

    def to_dict(self) -> dict[str, Any]:
        columns = [asdict(column) for column in self.columns]
        return {"columns": columns, "notes": self.notes, "most_periodic": self.most_periodic}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "TableFeatures":
        columns: list[Column] = []
        for column in state["columns"]:
            if "categories" in column:
                columns.append(checked_fields(CategoricalColumn(column["name"], tuple(column["categories"]))))
            else:
                columns.append(checked_fields(NumericColumn(**{**column, "quantiles": tuple(column["quantiles"])})))
        return cls(columns, state["notes"], state["most_periodic"])


def _difference(column: Column, values: pd.Series) -> str | None:
    """Return how a column as a whole differs from that of training; None if it does not, or had a single value."""
    missing = f"column {column.name!r}: all values are missing, though training had values"
    if isinstance(column, CategoricalColumn):
        return missing if values.isna().all() else None
    if column.scale == 0:
        return None
    if values.isna().all():
        return f"{missing}; taken as the median {column.median:g}"
    numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    outside = np.mean((numbers < column.low) | (numbers > column.high))
    if outside <= 0.5:
        return None
    return (
        f"column {column.name!r}: {outside:.0%} of the values lie outside the range of training, "
        f"{column.low:g} to {column.high:g}; check the unit"
    )


def _are_numbered(names: Sequence[str] | pd.Index) -> bool:
    """Whether columns have the names of those of an array, see :func:`as_frame`."""
    return list(names) == [f"x{i}" for i in range(len(names))]


def as_frame(values: NDArray[Any], names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return an array (n, features) as a table with columns of these names; None for x0, x1, and so on."""
    numbered = [f"x{i}" for i in range(values.shape[1])]
    return pd.DataFrame(values, columns=pd.Index(numbered if names is None else names))


def _normal_score(
    values: NDArray[np.float64], quantiles: NDArray[np.float64], standardised: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the standard normal quantile of each value's place among the training quantiles, within 3 of 0."""
    # Values are about in their order, by their first 16 bits: interpolation searches from where the last value stood.
    first_bits = (np.ascontiguousarray(standardised).view(np.uint32) >> 16).astype(np.uint16)
    order = np.argsort(first_bits, kind="stable")
    values = values[order]
    share = np.linspace(0, 1, len(quantiles))
    from_left = np.interp(values, quantiles, share)
    from_right = 1 - np.interp(-values, -quantiles[::-1], share)  # Repeated values get the middle of their places.
    scores = np.empty_like(values)
    scores[order] = ndtri((from_left + from_right) / 2).clip(-3, 3)
    return scores


def _is_number(values: pd.Series) -> bool:
    if pd.api.types.is_complex_dtype(values):
        raise OrdinateError(f"column {values.name!r}", "complex numbers", "real ones")
    return bool(pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values))


def _almost_numbers(texts: Sequence[str], max_share: float = 0.1) -> str | None:
    """Return a description of different texts of which at most such a share are no numbers, None for others."""
    values = pd.Series(texts, dtype=object)
    plain = pd.to_numeric(values, errors="coerce").notna()
    if plain.all():
        return None  # They are codes, such as 007.
    points = pd.to_numeric(values.str.replace(",", ".", regex=False), errors="coerce").notna()
    if points.all():
        return "numbers with a decimal comma"
    rest = values[~points].tolist()
    if len(rest) > max_share * len(values):
        return None
    commas = ", some with a decimal comma," if (points & ~plain).any() else ""
    return f"{points.sum()} numbers{commas} and {', '.join(map(repr, rest[:MAX_NAMED]))}"


def _meaning(text: str) -> str:
    """Return what the ways to write a number, or true and false, have in common; other text as it is."""
    if text.lower() in TRUTHS.values():
        return text.lower()
    try:
        return plain_text(float(text))
    except (ValueError, OverflowError):  # Infinity is no whole number.
        return text


def _texts(values: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return the place of each value among the different ones, -1 if it is missing, and these as text."""
    if are_times(values):
        raise OrdinateError(
            f"column {values.name!r}", "dates or times", "numbers or categories", "turn them into numbers"
        )
    if values.dtype == object:  # In such a column, 1 and True would be one value.
        several = next((value for value in values if pd.api.types.is_list_like(value)), None)
        if several is not None:
            raise OrdinateError(f"column {values.name!r}", repr(several), "a number or a category in every row")
        values = pd.Series([None if pd.isna(value) else plain_text(value) for value in values], dtype=object)
    places, different = pd.factorize(values)
    return places, [plain_text(value) for value in different]


def plain_text(value: Any) -> str:
    """Return a value as text, a whole float as the integer that it equals.

    Example:
        >>> plain_text(1000001.0), plain_text(0.5), plain_text("mild")
        ('1000001', '0.5', 'mild')
    """
    if not isinstance(value, float | np.floating):
        return str(value)
    if float(value).is_integer():
        return str(int(value))
    return repr(float(value))


def _fit_numeric(name: str, values: pd.Series) -> tuple[NumericColumn, str]:
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(numbers).any():
        raise OrdinateError(f"column {name!r}", "infinity", "finite numbers or missing values")
    missing = np.isnan(numbers)
    present = np.sort(numbers[~missing])
    median = float(np.median(present)) if len(present) else 0.0
    filled = np.where(missing, median, numbers)
    mean = float(filled.mean())
    scale = float(filled.std())
    if not np.isfinite(scale):
        raise OrdinateError(
            f"column {name!r}", problem="its numbers pass the range of float64 when squared", hint="rescale them"
        )
    if scale <= CONSTANT * np.abs(filled).max(initial=0):
        scale = 0.0
    quantiles: tuple[float, ...] = ()
    if np.count_nonzero(present[1:] != present[:-1]) >= MIN_VALUES_TO_SCORE:
        ends = present
        if len(present) > MAX_QUANTILES:  # They are values that occur, so that equal ones stay equal.
            ends = np.quantile(present, np.linspace(0, 1, MAX_QUANTILES), method="nearest")
        quantiles = tuple(ends.tolist())
    low, high = float(present.min(initial=median)), float(present.max(initial=median))
    column = NumericColumn(name, median, mean, scale, bool(missing.any()), quantiles, low, high)
    if not missing.any():
        return column, ""
    return column, (
        f"{name}: {missing.sum()} of {len(values)} values missing, set to the median {median:g} "
        "and marked in a column of their own"
    )
