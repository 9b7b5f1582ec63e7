"""How predictions depend on the columns of a table: on average, and of a few samples one by one."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ordinate.data.findings import collected
from ordinate.data.numbers import plain_text
from ordinate.model.contributions import column_contributions
from ordinate.model.model import Model
from ordinate.model.occlusion import expected_label


@dataclass(frozen=True)
class Effect:
    """Mean predictions of samples that all have the same value in a column (partial dependence, Friedman, 2001).

    Args:
        values: Values, as text: of numbers a low one, the middle and a high one.
        predictions: Mean prediction with each, in ranks from 0 or in units of the target.
        is_number: Whether the values have an order.
    """

    values: list[str]
    predictions: list[float]
    is_number: bool


def measure_effect(model: Model, X: pd.DataFrame, column: str, *, most_values: int = 4) -> Effect | None:
    """Measure how predictions depend on a column; None for one without values."""
    known = X[column].dropna()
    if len(known) == 0:
        return None
    is_number = pd.api.types.is_numeric_dtype(known) and not pd.api.types.is_bool_dtype(known)
    if is_number and known.nunique() > most_values:
        values = known.quantile([0.1, 0.5, 0.9], interpolation="nearest").drop_duplicates().tolist()
    else:
        values = known.value_counts().index[:most_values].tolist()
    if is_number:
        values = sorted(values)
    predictions = []
    for value in values:
        changed = X.copy()
        changed[column] = pd.Series([value] * len(X), index=X.index).astype(X[column].dtype)
        with collected():  # Such samples need not look like those of training.
            predictions.append(float(expected_label(model, model.read(changed)).mean()))
    return Effect([plain_text(value) for value in values], predictions, is_number)


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
