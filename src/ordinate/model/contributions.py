"""What each column of a table contributes to one prediction: Shapley values by sampled orders of the columns."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from ordinate.checks import check_whole
from ordinate.counts import counted
from ordinate.data.findings import collected
from ordinate.data.numbers import plain_text
from ordinate.data.registry import modality_of
from ordinate.data.rows import Samples, random_part, take
from ordinate.data.tables.features import as_frame
from ordinate.data.tables.parquet_table import in_memory
from ordinate.errors import OrdinateError
from ordinate.model.labels import first_label
from ordinate.model.model import Model
from ordinate.model.occlusion import expected_label

MOST_BACKGROUND = 100  # Predictions are compared with at most this many rows.
ROWS_AT_ONCE = 20_000  # So many rows are predicted at a time.


def column_contributions(
    model: Model, X: pd.DataFrame, background: pd.DataFrame, *, orders: int = 2 * MOST_BACKGROUND, seed: int = 0
) -> pd.DataFrame:
    """Contributions of the columns to predictions (Strumbelj and Kononenko, 2014), which add up to the prediction.

    Starting from a row of the background, the columns take the values of the sample one after the other, in a random
    order; a column contributes the mean change of the prediction when it is its turn. Orders come in pairs, the second
    one in reverse. The prediction is the target, or the expected rank: in units of the label if ranks are consecutive
    numbers, and from 0 otherwise. The same rows of the background and the same orders explain every sample, which has
    the same contributions alone as among others.

    Args:
        model: Fitted model of a table.
        X: Samples (n) to explain.
        background: Samples (m) that the prediction is compared with, such as those of training.
        orders: Least number of orders of the columns, even, >= 2. Every row of the background has as many pairs of
            them as every other; of more rows than pairs, as many are drawn.
        seed: Seed of the orders and the rows.

    Returns:
        A row for each sample, with its index: ``baseline``, the mean prediction of the rows of the background, and
        the contribution of each column, in ranks or in units of the target. Their sum is the prediction of
        the sample.

    Raises:
        OrdinateError: X or background is no table with named columns, or the model predicts several targets.

    Example:
        >>> from ordinate import CLOCClassifier
        >>> random = np.random.default_rng(0)
        >>> X = pd.DataFrame(random.normal(size=(80, 2)), columns=["signal", "noise"])
        >>> model = CLOCClassifier(epochs=(20, 20), random_state=0).fit(X, np.digitize(X["signal"], [-0.5, 0.5])).fitted
        >>> parts = column_contributions(model, X[:1], X)
        >>> bool(abs(parts["signal"][0]) > abs(parts["noise"][0]))
        True
    """
    check_whole(orders, "orders", least=2)
    if orders % 2:
        raise OrdinateError("orders", orders, "an even number")
    X, background = _as_table(X), _as_table(background)
    for name, table in (("X", X), ("background", background)):
        if not isinstance(table, pd.DataFrame) or modality_of(table).name != "tables":
            raise OrdinateError(name, type(table).__name__, "a table with named columns, a pandas DataFrame")
        if len(table) == 0:
            raise OrdinateError(name, counted(0, "sample"), "at least 1")
    if list(X.columns) != list(background.columns):
        raise OrdinateError("background", list(background.columns), f"the columns of X, {list(X.columns)}")
    drawn = random_part(len(background), orders // 2, seed)
    pairs = -(-orders // 2 // len(drawn)) * len(drawn)
    known = background.iloc[np.resize(drawn, 2 * pairs)]
    random = np.random.default_rng(seed)
    half = np.array([random.permutation(X.shape[1]) for _ in range(pairs)])
    order = np.concatenate([half, half[:, ::-1]])
    bar = tqdm(range(len(X)), desc="explaining", unit="row", delay=2.0, disable=None, leave=False)
    rows = np.array([_of_sample(model, X.iloc[[place]], known, order) for place in bar])
    if model.is_of_ranks:
        rows[:, 0] += first_label([plain_text(label) for label in model.ranks])
    return pd.DataFrame(rows, columns=["baseline", *X.columns], index=X.index)


def background_of(samples: Samples) -> Any:
    """Return the samples of training that predictions are compared with: all, or the same random part of many."""
    return in_memory(take(samples, random_part(len(samples), MOST_BACKGROUND)))


def _of_sample(
    model: Model, x: pd.DataFrame, background: pd.DataFrame, order: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the baseline and the contributions (1 + f,) of the columns to the prediction of one sample.

    Every order (orders, f) starts from its row of the background.
    """
    orders, columns = order.shape
    # Which columns have the value of the sample, along the way of each order: (orders, f + 1, f).
    turn = np.argsort(order, axis=1)
    is_own = turn[:, None, :] < np.arange(columns + 1)[None, :, None]
    both = pd.concat([background, x], ignore_index=True)  # The sample is the last row.
    places = np.where(is_own, orders, np.arange(orders)[:, None, None]).reshape(-1, columns)
    predicted = np.concatenate(
        [_predict(model, both, places[start : start + ROWS_AT_ONCE]) for start in range(0, len(places), ROWS_AT_ONCE)]
    ).reshape(orders, columns + 1)
    steps = np.diff(predicted, axis=1)  # Of each order, those of its columns one after the other.
    contributions = np.take_along_axis(steps, turn, axis=1).mean(0)
    return np.append(predicted[:, 0].mean(), contributions)


def _predict(model: Model, table: pd.DataFrame, places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return predictions (n,) of rows whose columns lie at places (n, f) of a table."""
    mixed = pd.DataFrame({name: table[name].array.take(of) for name, of in zip(table, places.T, strict=True)})
    with collected():  # Mixed rows need not look like those of training.
        return expected_label(model, model.read(mixed))


def _as_table(samples: Any) -> Any:
    """Return an array (n, features) as a table; anything else as it is."""
    return as_frame(samples) if isinstance(samples, np.ndarray) and samples.ndim == 2 else samples
