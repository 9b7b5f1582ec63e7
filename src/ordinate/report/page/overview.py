"""What was in the data: the columns of a table, with their kind, what is missing, and their values."""

from collections.abc import Iterator

import pandas as pd

from ordinate.report.page.words import percent


def describe_columns(table: pd.DataFrame, most: int = 40) -> Iterator[list[str]]:
    """Yield name, kind, share of missing values, and values of each column, of at most so many.

    Example:
        >>> list(describe_columns(pd.DataFrame({"age": [18, 40, None, 62]})))
        [['age', 'number', '25%', '18 to 62, median 40']]
    """
    for place, name in enumerate(table.columns[:most]):
        column = table.iloc[:, place]
        known = column.dropna()
        kind, values = "text", "none"
        if len(known):
            kind, values = _kind_and_values(known)
        yield [str(name), kind, percent(1 - len(known) / len(column)), values]


def _kind_and_values(known: pd.Series) -> tuple[str, str]:
    """Return the kind of a column without missing values, and its values as text."""
    if pd.api.types.is_numeric_dtype(known) and not pd.api.types.is_bool_dtype(known):
        low, middle, high = (f"{value:.4g}" for value in (known.min(), known.median(), known.max()))
        return "number", f"{low} to {high}, median {middle}"
    if pd.api.types.is_datetime64_any_dtype(known):
        return "date", f"{known.min():%Y-%m-%d} to {known.max():%Y-%m-%d}"
    counts = known.astype(str).value_counts()
    shown = ", ".join(f"{_short(value)} ({percent(count / len(known))})" for value, count in counts[:3].items())
    if len(counts) > 3:
        shown += f" and {len(counts) - 3:,} more"
    return "text", shown


def _short(value: object, most: int = 40) -> str:
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"
