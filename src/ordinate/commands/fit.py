"""``ordinate fit``: from a file with a graded label to a trained, measured, saved model."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ordinate.commands.labels import Label, parse_margins, understand_label
from ordinate.commands.workspace import Workspace
from ordinate.data.splits import split_rows
from ordinate.data.tables import read_labelled
from ordinate.errors import OrdinateError
from ordinate.estimators import CLOCClassifier, OTDClassifier, SupCRRegressor, SupReMixRegressor
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.persistence import write_estimator
from ordinate.methods.training import check_accelerator
from ordinate.report.evaluation import draw, evaluate
from ordinate.report.text import metric_lines

RANK_METHODS, CONTINUOUS_METHODS = ("cloc", "otd"), ("supcr", "supremix")
VALIDATION_FRACTION = 0.2
LEAST_ROWS = 10


def fit(
    data: str,
    target: str,
    method: str,
    task: str,
    order: str | None,
    margin: list[str],
    drop: str,
    categorical: str,
    out: str | None,
    test_fraction: float,
    epochs: int | None,
    accelerator: str,
    seed: int,
    quiet: bool,
) -> None:
    """Train, measure and save; the options are those of the command line."""
    check_accelerator(accelerator)
    if not 0 < test_fraction < 1:
        raise OrdinateError(f"--test-fraction: got {test_fraction}, takes a share above 0 and below 1")
    if epochs is not None and epochs < 1:
        raise OrdinateError(f"--epochs: got {epochs}, takes at least 1")
    X, y = read_labelled(data, target, _names(drop), _names(categorical))
    if len(y) < LEAST_ROWS:
        raise OrdinateError(f"{data}: holds {len(y)} rows, takes at least {LEAST_ROWS} to train and to measure on")
    label = understand_label(y, task, order, f"column {target!r}")
    candidates = _candidates(method, label)
    margins = parse_margins(margin, label.classes)
    if margins and "cloc" not in candidates:
        raise OrdinateError("--margin: is for CLOC, takes --method cloc")
    if margins:
        candidates = ("cloc",)  # only CLOC has margins to keep to
    path = Path(out) if out is not None else Path(f"{Path(data).name.split('.')[0]}-model")
    settings = {
        "data": hashlib.sha256(Path(data).read_bytes()).hexdigest(),
        "options": [target, method, task, order, margin, drop, categorical, test_fraction, epochs, seed],
    }

    with Workspace(path, settings) as workspace:
        if workspace.resumes:
            print("continuing the run that was stopped")
        rows, test_rows = _split(label, test_fraction, seed)
        _describe(X, label, len(rows), len(test_rows))

        def build(name: str, stage: str) -> EmbeddingEstimator:
            folder = workspace.checkpoints / f"{name}-{stage}"
            folder.mkdir(parents=True, exist_ok=True)
            return _estimator(name, label, margins, epochs, accelerator, seed, folder, verbose=0 if quiet else 1)

        chosen = candidates[0]
        if len(candidates) > 1:
            chosen = _choose(candidates, build, X, label, rows, seed)
        print(f"training {chosen}")
        model = build(chosen, "final").fit(_take(X, rows), label.values[rows])
        model.checkpoint_dir = None
        model.verbose = 0
        for note in model.reader_.notes:
            print(f"note: {note}")

        test_X, test_y = _take(X, test_rows), label.values[test_rows]
        metrics = evaluate(model, test_X, test_y)
        result = workspace.partial / "model"
        result.mkdir(exist_ok=True)
        write_estimator(model, result)
        record = {"method": chosen, "test_samples": len(test_rows), "training_samples": len(rows), **metrics}
        (result / "metrics.json").write_text(json.dumps(record, indent=2) + "\n")
        pictures = draw(model, test_X, test_y, result)
        workspace.publish(result)
    names = [str(name) for name in label.classes or []]
    print(f"\n{chosen} on {len(test_rows)} held-out samples")
    print("\n".join(metric_lines(metrics, names)))
    print(f"\nmodel, metrics and {len(pictures)} pictures: {path}")


def _candidates(method: str, label: Label) -> tuple[str, ...]:
    fitting = RANK_METHODS if label.is_ranks else CONTINUOUS_METHODS
    if method == "auto":
        return fitting
    if method not in fitting:
        kind, other = ("ranks", "continuous") if label.is_ranks else ("a continuous target", "ranks")
        raise OrdinateError(f"--method: {method} does not take {kind}; takes {' or '.join(fitting)}, or --task {other}")
    return (method,)


def _split(label: Label, test_fraction: float, seed: int) -> tuple[Any, Any]:
    rows, test_rows = split_rows(label.values, test_fraction, seed, stratify=label.is_ranks)
    if len(test_rows) < 2 or len(rows) < 4:
        raise OrdinateError(f"--test-fraction: leaves {len(rows)} rows to train and {len(test_rows)} to measure on")
    if label.classes is not None:
        sizes = pd.Series(label.values[rows]).value_counts()
        if (sizes >= 2).sum() < 2:
            raise OrdinateError("label: takes at least two ranks with two samples or more")
    return rows, test_rows


def _choose(candidates: tuple[str, ...], build: Any, X: Any, label: Label, rows: Any, seed: int) -> str:
    """Train each candidate on a part of the training rows and return the one with the lowest MAE on the rest."""
    part, validation = split_rows(label.values[rows], VALIDATION_FRACTION, seed, stratify=label.is_ranks)
    errors = {}
    for name in candidates:
        print(f"trying {name}")
        model = build(name, "trial").fit(_take(X, rows[part]), label.values[rows[part]])
        errors[name] = evaluate(model, _take(X, rows[validation]), label.values[rows[validation]])["mae"]
    print("validation MAE: " + ", ".join(f"{name} {error:.4f}" for name, error in errors.items()))
    return min(errors, key=errors.__getitem__)


def _estimator(
    name: str,
    label: Label,
    margins: dict[tuple[int, int], float],
    epochs: int | None,
    accelerator: str,
    seed: int,
    folder: Path,
    verbose: int,
) -> EmbeddingEstimator:
    shared: dict[str, Any] = {
        "accelerator": accelerator, "checkpoint_dir": str(folder), "verbose": verbose, "random_state": seed
    }  # fmt: skip
    if name == "cloc":
        phases = None if epochs is None else (max(1, epochs // 3), max(1, epochs - epochs // 3))
        return CLOCClassifier(
            critical_margins=margins or None, class_order=label.classes, phase_epochs=phases, **shared
        )
    if name == "otd":
        return OTDClassifier(class_order=label.classes, epochs=epochs, **shared)
    two_stages: dict[str, Any] = {} if epochs is None else {"epochs": (epochs, max(1, epochs // 4))}
    return {"supcr": SupCRRegressor, "supremix": SupReMixRegressor}[name](**two_stages, **shared)


def _describe(X: Any, label: Label, training: int, test: int) -> None:
    shape = f"{X.shape[1]} columns" if isinstance(X, pd.DataFrame) else f"shape {X.shape[1:]}"
    if label.classes is None:
        kind = f"a continuous target from {np.min(label.values):g} to {np.max(label.values):g}"
    else:
        kind = f"{len(label.classes)} ranks, {' < '.join(map(str, label.classes))}"
    print(f"{len(label.values)} samples of {shape}, {kind}; {training} to train, {test} held out")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
