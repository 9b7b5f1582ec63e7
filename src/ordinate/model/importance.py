"""Which columns a model predicts from: the rise of its error when the values of a column are shuffled."""

import numpy as np
import pandas as pd
from scipy.stats import t as student

from ordinate.checks import check_whole
from ordinate.counts import counted
from ordinate.data.findings import collected
from ordinate.data.registry import modality_of, modality_of_reader
from ordinate.errors import OrdinateError
from ordinate.model.model import Model
from ordinate.model.predictions import Predictions


def column_importance(model: Model, X: pd.DataFrame, y: object, *, repeats: int = 10, seed: int = 0) -> pd.DataFrame:
    """Permutation importance of the columns of a table (Breiman, 2001), by the mean absolute error.

    A column is as important as the error rises when its values are exchanged among the samples. Of columns that say the
    same, none may seem important, as the others still say it.

    Args:
        model: Fitted model.
        X: Table of n samples that the model was not trained on.
        y: Labels (n,), or several targets (n, p), whose mean error counts.
        repeats: Number of times that each column is shuffled, >= 1.
        seed: Seed of the shuffling.

    Returns:
        A row per column, the most important first: ``column``, ``importance`` (rise of the mean absolute error, in
        ranks or in units of the target), and ``low`` and ``high``, its 95% interval over the samples.

    Raises:
        OrdinateError: X is no table with named columns, or holds fewer than two samples.

    Example:
        >>> from ordinate import CLOCClassifier
        >>> random = np.random.default_rng(0)
        >>> X = pd.DataFrame(random.normal(size=(80, 2)), columns=["signal", "noise"])
        >>> y = np.digitize(X["signal"], [-0.5, 0.5])
        >>> model = CLOCClassifier(epochs=(20, 20), random_state=0).fit(X[:60], y[:60]).fitted
        >>> column_importance(model, X[60:], y[60:])["column"].tolist()
        ['signal', 'noise']
    """
    check_whole(repeats, "repeats")
    if not isinstance(X, pd.DataFrame) or modality_of(X).name != "tables":
        got = (
            type(X).__name__ if model.reader.kind == "table" else f"a model of {modality_of_reader(model.reader).name}"
        )
        raise OrdinateError("X", got, "a table with named columns, a pandas DataFrame", "explain shows parts of images")
    if len(X) < 2:
        raise OrdinateError("X", counted(len(X), "sample"), "at least 2")
    random = np.random.default_rng(seed)
    errors = Predictions.of(model, X, y).absolute_errors
    labels = np.concatenate([np.asarray(y)] * repeats)
    rows = []
    for column in X.columns:
        shuffled = pd.concat([X] * repeats, ignore_index=True)
        places = np.concatenate([random.permutation(len(X)) for _ in range(repeats)])
        shuffled[column] = X[column].iloc[places].to_numpy()
        with collected():  # Shuffled rows need not look like those of training.
            changed = Predictions.of(model, shuffled, labels).absolute_errors
        rises = changed.reshape(repeats, -1).mean(0) - errors
        half = student.ppf(0.975, len(X) - 1) * rises.std(ddof=1) / np.sqrt(len(X))
        rows.append((column, rises.mean(), rises.mean() - half, rises.mean() + half))
    found = pd.DataFrame(rows, columns=["column", "importance", "low", "high"])
    return found.sort_values("importance", ascending=False, ignore_index=True, kind="stable")
