"""``ordinate predict``: predictions of a saved model for every row of a file."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.batches import FileOfSamples, Workers
from ordinate.commands.labels import parse_costs, parse_decision
from ordinate.commands.table_file import write_table
from ordinate.data.registry import modality_of
from ordinate.estimators import load
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.held_out import HeldOut
from ordinate.estimators.rank_classifier import RankClassifier


def predict(
    model: str,
    data: str,
    *,
    coverage: float | None,
    decision: str | None = None,
    costs: str | None,
    skip_unreadable: bool = False,
    jobs: int = 1,
    ray: str | None = None,
    out: str | None,
) -> None:
    """Write the predictions to ``out``, or print them; the arguments are the options of the command line."""
    estimator = load(model)
    samples = FileOfSamples(estimator, data, skip_unreadable, Workers(jobs, ray))
    estimator.reader_.way_out = "; --skip-unreadable leaves them out"
    is_of_ranks = isinstance(estimator, RankClassifier)
    classes = estimator.ordered_classes_.tolist() if is_of_ranks else None
    chosen = parse_decision(decision, parse_costs(costs, classes), classes)
    if chosen is not None:
        estimator.set_params(decision=chosen)
    held_out = None if coverage is None else HeldOut.read(model)
    calibration = None if held_out is None or coverage is None else held_out.calibrate(coverage)
    method = "rank_probabilities" if is_of_ranks else "predict"

    def parts() -> Iterator[pd.DataFrame]:
        for X, predicted in samples.results(method, samples.read()):
            frame = _table(estimator, X, predicted)
            if held_out is not None and calibration is not None:
                lower, upper = held_out.sets(estimator, predicted, calibration)
                frame = frame.assign(**_columns("lower", lower), **_columns("upper", upper))
            yield frame

    with samples.telling():
        rows = write_table(parts(), out)
    if out is not None:
        print(f"{rows} predictions: {out}")


def _columns(name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return values (n,) as a column of this name, (n, p) as p that are numbered from 0."""
    return {name: values} if values.ndim == 1 else {f"{name}_{k}": column for k, column in enumerate(values.T)}


def _table(estimator: EmbeddingEstimator, X: Any, predicted: NDArray[np.float64]) -> pd.DataFrame:
    """Return the predictions of a batch, with the paths of its files if it has some."""
    paths = modality_of(X).paths(X)
    table = pd.DataFrame({} if paths is None else {"path": paths})
    if not isinstance(estimator, RankClassifier):
        return table.assign(**_columns("prediction", predicted))
    table["prediction"] = estimator.ordered_classes_[estimator.decide(predicted)]
    for label, column in zip(estimator.ordered_classes_, predicted.T, strict=True):
        table[f"probability_{label}"] = column
    return table
