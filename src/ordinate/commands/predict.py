"""``ordinate predict``: predictions of a saved model for every row of a file."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from ordinate.data.image_reader import ImageReader
from ordinate.data.images import ImageFiles
from ordinate.data.labelled_images import holds_images, read_images
from ordinate.data.pixels import Decoded
from ordinate.data.tables import read_samples
from ordinate.errors import OrdinateError
from ordinate.estimators import load


def predict(model: str, data: str, out: str | None) -> None:
    """Write the predictions as csv to ``out``, or print them."""
    estimator = load(model)
    X: Any = read_images(data) if holds_images(data) else read_samples(data)
    if hasattr(estimator, "feature_names_in_"):
        if not isinstance(X, pd.DataFrame):
            raise OrdinateError(f"{data}: holds an array, takes a table with the columns of the training data")
        names = [str(name) for name in estimator.feature_names_in_]
        absent = [name for name in names if name not in X.columns]
        if absent:
            raise OrdinateError(
                f"{data}: lacks the columns {', '.join(absent)}, takes those that the model was trained on"
            )
        X = X[names]
    columns = {"path": X.paths} if isinstance(X, ImageFiles) else {}
    if isinstance(X, ImageFiles) and isinstance(estimator.reader_, ImageReader):
        preprocessing = estimator.reader_.preprocessing  # decoded once for both predictions
        X = Decoded(estimator.reader_.transform(X).numpy(), preprocessing)
    predictions = pd.DataFrame({**columns, "prediction": estimator.predict(X)})
    if hasattr(estimator, "predict_proba"):
        for label, column in zip(estimator.classes_, estimator.predict_proba(X).T, strict=True):
            predictions[f"probability_{label}"] = column
    if out is None:
        predictions.to_csv(sys.stdout, index=False, float_format="%.6g")
        return
    path = Path(out)
    if not path.parent.is_dir():
        raise OrdinateError(f"--out: {path} cannot be written: No such folder as {path.parent}")
    if path.exists():
        raise OrdinateError(f"--out: {path} exists, takes a new file")
    pending = path.with_name(f".{path.name}.partial")
    try:
        predictions.to_csv(pending, index=False, float_format="%.6g")
    except OSError as error:
        raise OrdinateError(f"--out: {path} cannot be written: {error.strerror or error}") from error
    pending.replace(path)
    print(f"{len(predictions)} predictions: {path}")
