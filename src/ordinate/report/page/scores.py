"""How good the predictions are, how sure that is, and what simple predictors reach on the same samples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from ordinate.metrics import accuracy, mae, quadratic_weighted_kappa, r2, spearman
from ordinate.report.page.contents import Contents, plain_features

RESAMPLES = 300
NEIGHBOURS = 5
MOST_REFERENCES = 5000  # training samples that the nearest neighbours are looked for among

Metric = Callable[[Any, Any], float]
OF_RANKS: dict[str, Metric] = {
    "accuracy": accuracy,
    "mean error, in ranks": mae,
    "weighted kappa": quadratic_weighted_kappa,
}
OF_TARGETS: dict[str, Metric] = {"mean error": mae, "R²": r2, "rank correlation": spearman}
LOWER_IS_BETTER = ("mean error", "mean error, in ranks")


@dataclass(frozen=True)
class Score:
    """A metric and the interval that holds it in 95 of 100 drawings of as many samples."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Predictor:
    """What predicts, the model first, and its scores by metric."""

    name: str
    predicted: NDArray[Any]
    scores: dict[str, Score]


def score_all(contents: Contents) -> list[Predictor]:
    """Score the model and simple predictors: a constant, and neighbours by plain features."""
    predictions = {contents.method: contents.predicted, **_simple(contents)}
    metrics = OF_RANKS if contents.names else OF_TARGETS
    return [
        Predictor(name, predicted, {metric: _score(f, contents.true, predicted) for metric, f in metrics.items()})
        for name, predicted in predictions.items()
    ]


def gain(contents: Contents, other: Predictor) -> Score:
    """By how much the model's mean error is below another's, with its interval over the same drawings."""
    difference = np.abs(other.predicted - contents.true) - np.abs(contents.errors)
    drawn = np.mean(difference[_drawings(len(difference))], axis=1)
    return Score(float(difference.mean()), *_interval(drawn))


def _simple(contents: Contents) -> dict[str, NDArray[Any]]:
    labels = contents.true if contents.training_labels is None else contents.training_labels
    if contents.names:
        commonest = int(np.bincount(labels).argmax())
        found = {f"the commonest rank, {contents.names[commonest]}": np.full(len(contents), commonest)}
    else:
        found = {f"the mean, {labels.mean():.4g}": np.full(len(contents), labels.mean())}
    neighbours = _by_neighbours(contents)
    return found if neighbours is None else {**found, f"the {NEIGHBOURS} nearest neighbours, untrained": neighbours}


def _by_neighbours(contents: Contents) -> NDArray[Any] | None:
    """Predict from the samples nearest by plain features: of the training set, or of the other four fifths."""
    machine = (KNeighborsClassifier if contents.names else KNeighborsRegressor)(NEIGHBOURS)
    features = plain_features(contents.inputs)
    if contents.training_inputs is None or contents.training_labels is None:
        if len(contents) < 2 * NEIGHBOURS:
            return None
        folds = KFold(5, shuffle=True, random_state=0)
        return np.asarray(cross_val_predict(machine, features, contents.true, cv=folds))
    count = len(contents.training_labels)
    if count < NEIGHBOURS:
        return None
    rows = np.random.default_rng(0).permutation(count)[:MOST_REFERENCES]
    machine.fit(plain_features(contents.training_inputs[rows]), contents.training_labels[rows])
    return np.asarray(machine.predict(features))


def _score(metric: Metric, true: NDArray[Any], predicted: NDArray[Any]) -> Score:
    drawn = np.array([metric(true[rows], predicted[rows]) for rows in _drawings(len(true))])
    return Score(metric(true, predicted), *_interval(drawn))


def _drawings(n: int) -> NDArray[np.int64]:
    """(RESAMPLES, n), rows drawn with replacement; the same for every predictor."""
    return np.random.default_rng(0).integers(0, n, (RESAMPLES, n))


def _interval(drawn: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)
