"""``ordinate predict``: predictions of a saved model for every row of a file."""

import sys

import pandas as pd

from ordinate.commands.costs import parse_costs, parse_decision
from ordinate.commands.csv_file import write_csv
from ordinate.commands.model_samples import fit_to, paths_of, read_unlabelled
from ordinate.estimators import load
from ordinate.estimators.held_out import HeldOut
from ordinate.estimators.rank_classifier import RankClassifier


def predict(
    model: str,
    data: str,
    *,
    coverage: float | None,
    decision: str | None = None,
    costs: str | None,
    critical: list[str],
    out: str | None,
) -> None:
    """Write the predictions as csv to ``out``, or print them; the arguments are the options of the command line."""
    estimator = load(model)
    classes = estimator.ordered_classes_.tolist() if isinstance(estimator, RankClassifier) else None
    chosen = parse_decision(decision, parse_costs(costs, critical, classes), classes)
    if chosen is not None:
        estimator.decision = chosen
    held_out = None if coverage is None else HeldOut.read(model)
    calibration = None if held_out is None or coverage is None else held_out.calibrate(coverage)
    given = read_unlabelled(data)
    X = fit_to(estimator, given, data)
    paths = paths_of(given)
    predictions = pd.DataFrame({} if paths is None else {"path": paths})
    if isinstance(estimator, RankClassifier):
        predicted = estimator.rank_probabilities(X)
        predictions["prediction"] = estimator.ordered_classes_[estimator.decide(predicted)]
        for label, column in zip(estimator.ordered_classes_, predicted.T, strict=True):
            predictions[f"probability_{label}"] = column
    else:
        predicted = estimator.predict(X)
        predictions["prediction"] = predicted
    if held_out is not None and calibration is not None:
        predictions["lower"], predictions["upper"] = held_out.sets(predicted, calibration)
    if out is None:
        predictions.to_csv(sys.stdout, index=False, float_format="%.6g")
        return
    write_csv(predictions, out)
    print(f"{len(predictions)} predictions: {out}")
