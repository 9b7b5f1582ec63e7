"""``ordinate demo``: the main job on two small real tables, compared with simple baselines."""

import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes

from ordinate.commands.example import wines
from ordinate.commands.fit.write import REPORT
from ordinate.commands.workspace import Workspace
from ordinate.counts import counted
from ordinate.data.splits import split_rows
from ordinate.estimators import (
    BlendClassifier,
    BlendRegressor,
    CLOCClassifier,
    SupReMixRegressor,
)
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.metrics import continuous_report, rank_report
from ordinate.model.evaluation import Metrics
from ordinate.model.held_out import HeldOut
from ordinate.model.predictions import Predictions
from ordinate.model.saving import write_model
from ordinate.report.page import write_report
from ordinate.report.page.measures import Predictor
from ordinate.report.page.verdict import Compared
from ordinate.report.text import score_lines
from ordinate.training.options import Training

Labelled = tuple[pd.DataFrame, NDArray[np.generic]]


@dataclass(frozen=True)
class Job:
    """A data set, and the models that are compared on it.

    Args:
        name: Name of the data set in results.
        description: Sentence on the data set.
        target: Name of the label.
        X: (n, features), samples.
        y: (n,), labels.
        is_ranks: Whether the labels are ranks.
        ours: Classes of Ordinate's estimators by name.
        shown: Names of the metrics in the printed table.
    """

    name: str
    description: str
    target: str
    X: pd.DataFrame
    y: NDArray[np.generic]
    is_ranks: bool
    ours: Mapping[str, Callable[..., EmbeddingEstimator]]
    shown: Sequence[str]


def demo(out: str, seed: int) -> None:
    """Train on ranks and on targets, print metrics, and save models with reports to ``out``."""
    start = time.monotonic()
    with Workspace(Path(out), {"demo": 1, "seed": seed}) as workspace:
        result = workspace.partial / "result"
        result.mkdir(exist_ok=True)
        jobs = (_wines(), _diabetes())
        measured = {job.name: _run(job, result, workspace.checkpoints, seed) for job in jobs}
        (result / "measured.json").write_text(json.dumps(measured, indent=2) + "\n")
        workspace.publish(result)
    print(f"\nmodels with a report.html each: {out}, in {time.monotonic() - start:.0f} s")
    print("next: ordinate example, then ordinate fit wine.csv --target quality")


def _wines() -> Job:
    data = pd.read_csv(io.StringIO(wines()))
    ours: dict[str, type[EmbeddingEstimator]] = {"Blend": BlendClassifier, "CLOC": CLOCClassifier}
    shown = ("accuracy", "mae", "quadratic_weighted_kappa")
    description = "wine: quality by laboratory measurements"
    return Job(
        "wine", description, "quality", data.drop(columns="quality"), data["quality"].to_numpy(), True, ours, shown
    )


def _diabetes() -> Job:
    data = load_diabetes(as_frame=True)
    ours: dict[str, type[EmbeddingEstimator]] = {"Blend": BlendRegressor, "SupReMix": SupReMixRegressor}
    shown = ("mae", "rmse", "r2", "spearman")
    description = "diabetes: progression after a year"
    return Job("diabetes", description, "progression", data.data, data.target.to_numpy(), False, ours, shown)


def _run(job: Job, result: Path, checkpoints: Path, seed: int, test_fraction: float = 0.25) -> dict[str, Metrics]:
    """Train and measure all models of a job; return their metrics, and those of the report's baselines, by name."""
    classes = len(np.unique(job.y))
    rows, test = split_rows(job.y, test_fraction, seed, stratify=job.is_ranks)
    ranks = f", {counted(classes, 'rank')}" if job.is_ranks else ""
    print(f"\n{job.description}{ranks}; {counted(len(rows), 'sample')} to train, {len(test)} held out")
    seen, unseen = (job.X.iloc[rows], job.y[rows]), (job.X.iloc[test], job.y[test])
    ours = {}
    for name, kind in job.ours.items():
        folder = checkpoints / f"{job.name}-{name.lower()}"
        folder.mkdir(parents=True, exist_ok=True)
        print(f"training {name}", flush=True)
        model = kind(training=Training(checkpoint_dir=folder, calibration=False), verbose=1, random_state=seed)
        ours[name] = model.fit(*seen)
    measured: dict[str, Metrics] = {}
    true = np.searchsorted(np.unique(job.y), unseen[1])
    for predictor in _keep(job, ours, unseen, seen, result):
        if job.is_ranks:
            measured[predictor.name] = dict(rank_report(true, predictor.predicted, classes))
        else:
            measured[predictor.name] = dict(continuous_report(unseen[1], predictor.predicted))
    scores = {}
    for name, metrics in measured.items():
        mark = "*" if name in ours else " "
        scores[f"{mark} {name}"] = {metric: metrics[metric] for metric in job.shown}
    print("\n" + score_lines(scores, "  model"))
    for model in ours.values():
        if hasattr(model, "margins_"):
            margins = ", ".join(f"{h}|{h + 1} {margin:z.2f}" for h, margin in enumerate(model.margins_))
            print(f"CLOC's learned margins: {margins}")
    return measured


def _keep(
    job: Job, models: Mapping[str, EmbeddingEstimator], unseen: Labelled, seen: Labelled, result: Path
) -> list[Predictor]:
    """Save the models with their reports; return the baselines of the reports, then the models."""
    reported: list[Compared] = []
    for name, model in models.items():
        model.set_params(training__checkpoint_dir=None, verbose=0)
        folder = result / f"{job.name}-{name.lower()}"
        folder.mkdir(exist_ok=True)
        write_model(model.fitted, folder)
        predictions = Predictions.of(model.fitted, *unseen)
        HeldOut.of(predictions).write(folder)
        write_report(
            predictions.model, *unseen, folder / REPORT, predictions=predictions, training=seen, target=job.target,
            projections=("pca",), importance_seconds=1.0, command="ordinate demo", on_scores=reported.append,
        )  # fmt: skip
    ours = [replace(each.predictors[0], name=name) for name, each in zip(models, reported, strict=True)]
    return [*reported[-1].predictors[1:], *ours]  # A blend, the first model, is compared with its parts instead.
