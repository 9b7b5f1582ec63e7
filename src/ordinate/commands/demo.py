"""``ordinate demo``: the main job on real data that dependencies carry, compared with simple baselines."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ordinate.commands.fit.write import REPORT, named_failure
from ordinate.commands.workspace import Workspace
from ordinate.data.splits import split_rows
from ordinate.estimators import (
    BlendClassifier,
    BlendRegressor,
    CLOCClassifier,
    OTDClassifier,
    SupCRRegressor,
    SupReMixRegressor,
)
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.held_out import HeldOut
from ordinate.estimators.persistence import write_estimator
from ordinate.estimators.predictions import Predictions
from ordinate.metrics import continuous_report, rank_report
from ordinate.optional import optional
from ordinate.report.page import write_report
from ordinate.report.text import table
from ordinate.training.options import Training

TEST_FRACTION = 0.25

Labelled = tuple[pd.DataFrame, Any]


def demo(out: str, seed: int) -> None:
    """Train on ranks and on targets, print what was measured, and save models and pictures to ``out``."""
    start = time.monotonic()
    with Workspace(Path(out), {"demo": 1, "seed": seed}) as workspace:
        result = workspace.partial / "result"
        result.mkdir(exist_ok=True)
        measured = _ranks(result, workspace.checkpoints, seed)
        measured["diabetes"] = _continuous(result, workspace.checkpoints, seed)
        (result / "measured.json").write_text(json.dumps(measured, indent=2) + "\n")
        workspace.publish(result)
    print(f"\nmodels, pictures and a report.html each: {out}, in {time.monotonic() - start:.0f} s")
    print("next: ordinate fit YOUR.csv --target COLUMN")


def _ranks(result: Path, checkpoints: Path, seed: int) -> dict[str, Any]:
    name, description, (X, y), ordinal = _graded()
    classes = len(np.unique(y))
    rows, test = split_rows(y, TEST_FRACTION, seed, stratify=True)
    print(f"{description}, {classes} ranks; {len(rows)} samples to train, {len(test)} held out")
    baselines: dict[str, BaseEstimator] = {
        "most frequent rank": DummyClassifier(),
        "k nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
        **ordinal,
        "gradient boosting": HistGradientBoostingClassifier(random_state=seed),
    }
    ours: dict[str, EmbeddingEstimator] = {
        "Blend": BlendClassifier(training=_kept_in(checkpoints / "blend"), verbose=1, random_state=seed),
        "CLOC": CLOCClassifier(training=_kept_in(checkpoints / "cloc"), verbose=1, random_state=seed),
        "OTD": OTDClassifier(training=_kept_in(checkpoints / "otd"), verbose=1, random_state=seed),
    }
    measured = {}
    for called, model in (baselines | ours).items():
        predicted = _fit(model, called, X.iloc[rows], y[rows]).predict(X.iloc[test])
        measured[called] = dict(rank_report(y[test], predicted, classes))
    _keep(ours, (X.iloc[test], y[test]), (X.iloc[rows], y[rows]), result, name, "the rank")
    columns = ("accuracy", "mae", "quadratic_weighted_kappa")
    _show(measured, columns, ("model", "accuracy", "MAE", "weighted kappa"), ours)
    margins = ", ".join(f"{h}|{h + 1} {margin:.2f}" for h, margin in enumerate(ours["CLOC"].margins_))
    print(f"CLOC's learned margins: {margins}")
    return {name: measured}


def _graded() -> tuple[str, str, Labelled, dict[str, BaseEstimator]]:
    """Return the name, description and samples of SWD and an ordinal baseline; without skordinal, graded diabetes."""
    try:
        from skordinal.classifiers import LogisticAT
        from skordinal.datasets import load_swd
    except ImportError:
        print('note: SWD, the table of ranks that the documentation shows: pip install "ordinate[demo]"')
        X, target = load_diabetes(return_X_y=True, as_frame=True)
        samples = X, pd.qcut(target, 4, labels=False).to_numpy()
        return "grades", "grades: the progression of diabetes in quarters", samples, {}
    data = load_swd()
    samples = pd.DataFrame(data.data, columns=data.feature_names), np.asarray(data.target)
    ordinal = make_pipeline(StandardScaler(), LogisticAT())
    return "swd", "SWD: social workers' decisions", samples, {"ordinal logistic": ordinal}


def _continuous(result: Path, checkpoints: Path, seed: int) -> dict[str, Any]:
    data = load_diabetes(as_frame=True)
    X, y = data.data, data.target.to_numpy()
    rows, test = split_rows(y, TEST_FRACTION, seed, stratify=False)
    print(f"\ndiabetes: progression after a year; {len(rows)} samples to train, {len(test)} held out")
    baselines: dict[str, BaseEstimator] = {
        "mean": DummyRegressor(),
        "k nearest neighbours": make_pipeline(StandardScaler(), KNeighborsRegressor(5)),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        "gradient boosting": HistGradientBoostingRegressor(random_state=seed),
    }
    ours: dict[str, EmbeddingEstimator] = {
        "Blend": BlendRegressor(training=_kept_in(checkpoints / "blend-target"), verbose=1, random_state=seed),
        "SupCR": SupCRRegressor(training=_kept_in(checkpoints / "supcr"), verbose=1, random_state=seed),
        "SupReMix": SupReMixRegressor(training=_kept_in(checkpoints / "supremix"), verbose=1, random_state=seed),
    }
    measured = {}
    for name, model in (baselines | ours).items():
        predicted = _fit(model, name, X.iloc[rows], y[rows]).predict(X.iloc[test])
        measured[name] = dict(continuous_report(y[test], predicted))
    _keep(ours, (X.iloc[test], y[test]), (X.iloc[rows], y[rows]), result, "diabetes", "progression")
    _show(measured, ("mae", "rmse", "r2", "spearman"), ("model", "MAE", "RMSE", "R2", "Spearman"), ours)
    return measured


def _kept_in(folder: Path) -> Training:
    """Return the options of training that keep its state in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return Training(checkpoint_dir=folder)


def _fit(model: BaseEstimator, name: str, X: pd.DataFrame, y: Any) -> Any:
    if isinstance(model, EmbeddingEstimator):
        print(f"training {name}", flush=True)
        return model.fit(X, y)
    with threadpool_limits(1):  # on so few samples threads wait for each other longer than they work
        return model.fit(X, y)


def _keep(
    models: dict[str, EmbeddingEstimator], unseen: Labelled, seen: Labelled, result: Path, data: str, target: str
) -> None:
    drawn = {}
    for name, model in models.items():
        model.set_params(training__checkpoint_dir=None, verbose=0)
        folder = result / f"{data}-{name.lower()}"
        folder.mkdir(exist_ok=True)
        write_estimator(model, folder)
        predictions = Predictions.of(model, *unseen)
        HeldOut.of(predictions).write(folder)
        write_report(
            model, *unseen, folder / REPORT, predictions=predictions, training=seen, target=target,
            projections=("pca", "tsne"), command="ordinate demo",
        )  # fmt: skip
        drawn[folder] = predictions
    with named_failure("pictures"):
        draw = optional("ordinate.report.pictures", "pictures", "pictures").draw
        for folder, predictions in drawn.items():
            draw(predictions, folder)


def _show(measured: dict[str, Any], columns: tuple[str, ...], header: tuple[str, ...], ours: dict[str, Any]) -> None:
    rows = [
        [("* " if name in ours else "  ") + name, *(f"{metrics[column]:.3f}" for column in columns)]
        for name, metrics in measured.items()
    ]
    print("\n" + table([f"  {header[0]}", *header[1:]], rows))
