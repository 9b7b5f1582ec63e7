"""The metrics of models and of what they are compared with, as one table."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from ordinate.model.predictions import Predictions
from ordinate.report.page.contents import LabelledSamples, gather
from ordinate.report.page.measures import PARTS, SAME, Predictor, score_all
from ordinate.report.page.verdict import Compared


def compare(
    predictions: Predictions, *, training: LabelledSamples | None = None, target: str | list[str] = "label"
) -> pd.DataFrame:
    """Return the metrics of a model and of simple models on labelled samples, with 95% intervals.

    Args:
        predictions: Predictions of samples that the model was not trained on.
        training: ``(X, y)`` that it was trained on, on which a linear model, a random forest and gradient boosting are
            trained, too; None compares with a constant and with neighbours.
        target: Name of the label, or of each target.

    Returns:
        A row per model, the given one first, with the metrics and then the ends of their intervals, such as ``mae``,
        ``mae_low`` and ``mae_high``. ``attrs["verdict"]`` says in a sentence how good the model is.

    Example:
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 90)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = CLOCClassifier(epochs=(5, 5), random_state=0).fit(X[::2], y[::2])
        >>> found = compare(Predictions.of(model.fitted, X[1::2], y[1::2]), training=(X[::2], y[::2]))
        >>> found.columns[:3].tolist(), found.index[0]
        (['accuracy', 'mae', 'quadratic_weighted_kappa'], 'CLOC')
    """
    targets = [target] if isinstance(target, str) else target
    contents = gather(predictions, training).by_target()
    compared = Compared.of(contents, [score_all(each) for each in contents], targets)
    scores = scores_of({predictions.model.name: compared})
    found = pd.DataFrame(index=pd.Index(scores["model"].unique(), name="model"))
    for column, ending in (("value", ""), ("low", "_low"), ("high", "_high")):
        for metric, rows in scores.groupby("metric", sort=False):
            found[f"{metric}{ending}"] = rows.set_index("model")[column]
    found.attrs["verdict"] = "; ".join(map(str, compared.verdicts.values()))
    return found


def _kind(predictor: Predictor) -> str:
    """Return the name of a simple model, also for the part of a blend that is one."""
    return {PARTS[part]: name for part, name in SAME.items()}.get(predictor.name, predictor.name)


def scores_of(compared: Mapping[str, Compared]) -> pd.DataFrame:
    """Return a row of each metric of all models, then of what they are compared with, unless it predicts the same."""
    own = []
    for name, each in compared.items():
        names = {name, *(f"{target}, {name}" for target in each.verdicts)}
        own += [predictor for predictor in each.predictors if predictor.name in names]
    simple: list[Predictor] = []
    for name, each in compared.items():
        for predictor in each.predictors:
            of_kind = [other.predicted for other in simple if _kind(other) == _kind(predictor)]
            if predictor in own or any(np.array_equal(predictor.predicted, other) for other in of_kind):
                continue
            is_taken = any(other.name == predictor.name for other in simple)
            simple.append(replace(predictor, name=f"{name}: {predictor.name}") if is_taken else predictor)
    return pd.DataFrame(
        [
            {"model": each.name, "metric": metric, "value": score.value, "low": score.low, "high": score.high}
            for each in [*own, *simple]
            for metric, score in each.scores.items()
        ]
    )
