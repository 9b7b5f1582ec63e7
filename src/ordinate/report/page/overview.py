"""What was in the data: the columns of a table, with their kind, what is missing, and their values."""

from collections.abc import Iterable, Iterator

import pandas as pd

from ordinate.data.numbers import read_numbers
from ordinate.data.tables.columns import CategoricalColumn
from ordinate.data.tables.date_forms import DURATION, TIME_OF_DAY, read_dates
from ordinate.data.tables.dates import DateColumn
from ordinate.data.tables.features import Column
from ordinate.data.tables.free_text import TextColumn
from ordinate.report.page.words import percent


def describe_columns(table: pd.DataFrame, columns: Iterable[Column] = (), most: int = 40) -> Iterator[list[str]]:
    """Yield name, kind, share of missing values, and values of each column, of at most so many.

    Args:
        table: Table.
        columns: What a model has learned of columns; others are described by their type.
        most: Number of columns.

    Example:
        >>> list(describe_columns(pd.DataFrame({"age": [18, 40, None, 62]})))
        [['age', 'number', '25%', '18 to 62, median 40']]
    """
    learned = {column.name: column for column in columns}
    for place, name in enumerate(table.columns[:most]):
        column = table.iloc[:, place]
        known = column.dropna()
        kind, values = "text", "none"
        if len(known):
            kind, values = _kind_and_values(known, learned.get(str(name)))
        yield [str(name), kind, percent(1 - len(known) / len(column)), values]


def _kind_and_values(known: pd.Series, column: Column | None) -> tuple[str, str]:
    """Return the kind of a column without missing values, and its values as text."""
    if isinstance(column, DateColumn) and column.form not in (TIME_OF_DAY, DURATION):
        known = read_dates(column.name, known.reset_index(drop=True), column.form)
    if not isinstance(column, CategoricalColumn | TextColumn | DateColumn):
        known = read_numbers(known, other_words=0.5, misspelt=0.5)[0].dropna()
    if pd.api.types.is_numeric_dtype(known) and not pd.api.types.is_bool_dtype(known):
        low, middle, high = (f"{value:.4g}" for value in (known.min(), known.median(), known.max()))
        return "number", f"{low} to {high}, median {middle}"
    if pd.api.types.is_datetime64_any_dtype(known):
        return "date", f"{known.min():%Y-%m-%d} to {known.max():%Y-%m-%d}"
    counts = known.astype(str).value_counts()
    shown = ", ".join(f"{_short(value)} ({percent(count / len(known))})" for value, count in counts[:3].items())
    if len(counts) > 3:
        shown += f" and {len(counts) - 3:,} more"
    if isinstance(column, DateColumn):
        return column.form, shown
    return "categories" if isinstance(column, CategoricalColumn) else "text", shown


def _short(value: object, most: int = 40) -> str:
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"
