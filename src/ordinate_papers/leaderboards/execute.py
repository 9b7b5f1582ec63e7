"""One run of a leaderboard: a model trained on a split and measured on its test part."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.data.tables.features import TableFeatures
from ordinate.metrics import accuracy, mae, quadratic_weighted_kappa, ranked_probability_score, rmse
from ordinate_papers.leaderboards.boards import Board, board
from ordinate_papers.leaderboards.contenders import contender, quiet
from ordinate_papers.leaderboards.sets import load
from ordinate_papers.tables.run import Run


def execute(run: Run, _: Path) -> dict[str, float]:
    """Train the run's model on the split that its seed numbers, and return what it makes of the test part.

    Args:
        run: its protocol is the name of a leaderboard.
    """
    of = board(run.protocol)
    X, y, train, test = load(run.dataset, run.seed)
    model = contender(of.name, run.model)
    seen, unseen = (X.iloc[rows] if hasattr(X, "iloc") else X[rows] for rows in (train, test))
    if model.needs_numbers:
        seen, unseen = _prepared(seen, unseen)
    estimator = model.build[of.task](run.dataset, run.seed)
    start = time.perf_counter()
    with quiet():
        estimator.fit(seen, y[train])
        seconds = time.perf_counter() - start
        figures = _figures(of, estimator, unseen, y[test], int(y.max()) + 1 if of.task == "ranks" else 0)
    return {**figures, "seconds": getattr(estimator, "seconds", seconds)}


def _prepared(seen: Any, unseen: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a table with standardised numbers and one-hot categories, without the normal scores that ours see too."""
    features = TableFeatures.fit(seen)
    scores = [place for place in features.numeric_positions if place not in features.plain_positions]
    first, second = (np.delete(features.transform(part), scores, axis=1) for part in (seen, unseen))
    return first, second


def _figures(of: Board, model: Any, X: Any, y: NDArray[Any], ranks: int) -> dict[str, float]:
    predicted = np.asarray(model.predict(X)).reshape(len(y))  # CatBoost has a column
    if of.task == "continuous":
        return {"rmse": rmse(y, predicted), "mae": mae(y, predicted)}
    probabilities = np.zeros((len(y), ranks))
    probabilities[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(X)
    return {
        "mae": mae(y, predicted),
        "qwk": quadratic_weighted_kappa(y, predicted, ranks),
        "accuracy": accuracy(y, predicted),
        "rps": ranked_probability_score(y, probabilities),
    }
