"""How predictions depend on the columns of a table: on average, and of a few samples one by one."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ordinate.data.findings import collected
from ordinate.data.known_scales import known_order
from ordinate.data.numbers import bare_numbers, plain_text
from ordinate.data.tables.columns import NumericColumn
from ordinate.data.tables.dates import DateColumn, DatesOfColumn
from ordinate.model.contributions import column_contributions
from ordinate.model.model import Model
from ordinate.model.occlusion import expected_label


@dataclass(frozen=True)
class Effect:
    """Mean predictions of samples that all have the same value in a column (partial dependence, Friedman, 2001).

    Args:
        values: Values, as text: of numbers a low one, the middle and a high one.
        predictions: Mean prediction with each, in ranks from 0 or in units of the target.
        are_ordered: Whether the values have an order.
    """

    values: list[str]
    predictions: list[float]
    are_ordered: bool


def measure_effect(model: Model, X: pd.DataFrame, column: str, *, most_values: int = 4) -> Effect | None:
    """Measure how predictions depend on a column; None for one without values."""
    known = X[column].dropna()
    if len(known) == 0:
        return None
    places = _places(model, known)
    if places is not None:  # Words among numbers have no place.
        there = places.notna().to_numpy()
        places, known = places[there], known[there]
    if len(known) == 0:
        return None
    if places is not None and known.nunique() > most_values:
        middle = places.quantile([0.1, 0.5, 0.9], interpolation="nearest").drop_duplicates()
        values = [known.loc[(places == place).to_numpy()].iloc[0] for place in middle]
    else:
        values = known.value_counts().index[:most_values].tolist()
    order = None
    if places is not None:
        order = sorted(values, key=lambda value: places.loc[(known == value).to_numpy()].iloc[0])
    elif all(isinstance(value, str) for value in values):
        order = known_order(values)
    values = order or sorted(values, key=plain_text)
    predictions = []
    for value in values:
        changed = X.copy()
        changed[column] = pd.Series([value] * len(X), index=X.index).astype(X[column].dtype)
        with collected():  # Such samples need not look like those of training.
            predictions.append(float(expected_label(model, model.read(changed)).mean()))
    return Effect([plain_text(value) for value in values], predictions, order is not None)


def _places(model: Model, known: pd.Series) -> pd.Series | None:
    """Return the place of each value of a column in an order, of dates as numbers; None without one."""
    learned = {column.name: column for column in getattr(model.reader, "columns", ())}.get(str(known.name))
    if isinstance(learned, DateColumn):
        _, numbers = next(DatesOfColumn(learned.name, known, learned.form).numbers(pd.Timestamp(learned.origin)))
        return numbers.set_axis(known.index)
    if isinstance(learned, NumericColumn):
        return pd.to_numeric(bare_numbers(known, other_words=1.0, misspelt=1.0, many=1)[0], errors="coerce")
    is_number = pd.api.types.is_numeric_dtype(known) and not pd.api.types.is_bool_dtype(known)
    return known if is_number else None


@dataclass(frozen=True)
class Reason:
    """What each column adds to the prediction of a sample, see :func:`column_contributions`, the largest part first."""

    baseline: float
    parts: list[tuple[str, float]]


def explain_cases(
    model: Model,
    X: pd.DataFrame,
    background: pd.DataFrame,
    rows: Sequence[int],
    seconds: float,
    *,
    most_parts: int = 8,
) -> dict[int, Reason]:
    """Explain the predictions of as many rows of a table as there is time for, one after the other."""
    end, found = time.perf_counter() + seconds, dict[int, Reason]()
    longest = 0.0
    for row in rows:
        start = time.perf_counter()
        if start + longest > end:
            break
        parts = column_contributions(model, X.iloc[[row]], background).iloc[0]
        baseline, added = float(parts.iloc[0]), parts.iloc[1:].astype(float)
        largest = np.argsort(-added.abs().to_numpy(), kind="stable")[:most_parts]
        found[row] = Reason(baseline, [(str(added.index[place]), float(added.iloc[place])) for place in largest])
        longest = max(longest, time.perf_counter() - start)
    return found
