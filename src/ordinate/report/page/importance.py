"""Which columns of a table a model predicts from, and how, as far as it can be measured in a given time."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ordinate.data.findings import collected
from ordinate.data.registry import modality_of
from ordinate.data.rows import Samples, random_part, take
from ordinate.data.tables.parquet_table import in_memory
from ordinate.model.importance import column_importance
from ordinate.model.model import Model
from ordinate.model.predictions import Predictions
from ordinate.report.page.effects import Effect, measure_effect

MOST_COLUMNS = 10  # A page shows at most this many columns.


@dataclass(frozen=True)
class Importance:
    """Permutation importance of the columns of a table.

    Args:
        columns: Columns, the most important first, see :func:`~ordinate.model.importance.column_importance`;
            empty if the time was too short.
        count: Number of columns of the table.
        samples: Number of samples that it was measured on.
        repeats: Number of times that each column was shuffled.
        seconds: Seconds that one repeat takes, as estimated from predictions of the samples.
        effects: How predictions depend on the most important columns, by their names; empty for several targets.
    """

    columns: pd.DataFrame
    count: int
    samples: int
    repeats: int
    seconds: float
    effects: Mapping[str, Effect] = field(default_factory=dict)


@collected()  # The samples were predicted, and warned of, before.
def measure_importance(
    model: Model,
    X: Samples,
    y: ArrayLike,
    seconds: float,
    *,
    most_samples: int = 500,
    most_repeats: int = 10,
    most_for_effects: int = 200,
) -> Importance | None:
    """Measure the importance of columns with as many repeats as fit into the time.

    Args:
        model: Fitted model.
        X: Samples (n) that the model was not trained on.
        y: Labels (n,), or several targets (n, p), whose mean error counts.
        seconds: Time that it may take; 0 for no measurement.
        most_samples: Number of samples, drawn at random, that it is measured on at most.
        most_repeats: Number of repeats at most.
        most_for_effects: Number of samples that effects are measured on at most.

    Returns:
        The importance; None for samples that are no table with named columns, or without any time.
    """
    if seconds <= 0 or modality_of(X).name != "tables":
        return None
    rows = random_part(len(X), most_samples)
    part, labels = in_memory(take(X, rows)), np.asarray(y)[rows]
    if not isinstance(part, pd.DataFrame):
        return None
    start = time.perf_counter()
    # As many rows as a column is measured on: few are predicted in hardly less time.
    Predictions.of(model, pd.concat([part] * most_repeats, ignore_index=True), np.concatenate([labels] * most_repeats))
    of_one = (time.perf_counter() - start) * part.shape[1] / most_repeats
    repeats = min(most_repeats, int(seconds / of_one))
    if repeats == 0:
        return Importance(pd.DataFrame(), part.shape[1], len(part), repeats, of_one)
    columns = column_importance(model, part, labels, repeats=repeats)
    effects = {}
    if labels.ndim == 1:
        some = part.iloc[:most_for_effects]
        effects = {name: measure_effect(model, some, name) for name in columns["column"][:MOST_COLUMNS]}
    known = {name: effect for name, effect in effects.items() if effect is not None}
    return Importance(columns, part.shape[1], len(part), repeats, of_one, known)
