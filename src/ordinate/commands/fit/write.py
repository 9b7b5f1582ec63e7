"""The last stage of ``ordinate fit``: the folder of the model, its metrics, report and pictures."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from ordinate.commands.fit.choose import errors_as_text
from ordinate.commands.fit.time_limit import PICTURES_TIME, REPORT_TIME, TimeLimit
from ordinate.commands.fit.train import Trained, Training
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.labels import costs_of_rules
from ordinate.commands.split_file import SPLIT
from ordinate.commands.workspace import Workspace
from ordinate.data.csv_format import CSV, marks_of
from ordinate.data.object_store import local_path
from ordinate.data.registry import modality_of
from ordinate.data.rows import column_of, take
from ordinate.data.streamed import Streamed
from ordinate.data.table_formats import ends_in
from ordinate.decisions import compare_decisions
from ordinate.errors import OrdinateError
from ordinate.estimators.held_out import HeldOut
from ordinate.estimators.persistence import write_estimator
from ordinate.estimators.predictions import Predictions
from ordinate.optional import optional
from ordinate.report.evaluation import Metrics, measure, measure_targets
from ordinate.report.page import write_report
from ordinate.report.page.contents import MOST_SAMPLES
from ordinate.report.page.measures import Predictor

REPORT = "report.html"


@dataclass(frozen=True)
class Origin:
    """Where a model comes from.

    Args:
        data: Path or name of the data.
        target: Column of the label, or several; None if the data have one of their own.
        weight: Column of the sample weights; None without any.
        stream: Whether rows stream from their files.
        drop_unlabelled: Whether rows without a label were left out.
        command: Command that trains the model again.
    """

    data: str
    target: str | list[str] | None
    weight: str | None
    stream: bool
    drop_unlabelled: bool
    command: str

    @classmethod
    def of(cls, options: FitOptions, command: str) -> Self:
        """Return the origin that the options of a command name."""
        drop = options.unlabelled == "drop"
        return cls(options.data, options.target, options.weight, options.stream, drop, command)


@dataclass(frozen=True)
class Written:
    """A model that was written.

    Args:
        metrics: Its metrics.
        pictures: Number of pictures.
        scores: Scores of the report by predictor and metric, the model first; empty without a report.
    """

    metrics: Metrics
    pictures: int
    scores: dict[str, dict[str, float]]


def write(
    trained: Trained, training: Training, origin: Origin, time: TimeLimit, workspace: Workspace
) -> tuple[Path, Written]:
    """Write the model, its metrics, report and pictures to a folder of the workspace; return the folder with them."""
    folder = workspace.partial / "model"
    shutil.rmtree(folder, ignore_errors=True)  # A run that was stopped may have left another model.
    folder.mkdir()
    test = training.division.test
    predictions = training.predictions(trained.name, trained.model, test)
    metrics = _write_model(trained, predictions, training, origin, folder)
    if workspace.begin("pictures") > 1:
        print("note: no report and no pictures, as an earlier run was killed while drawing them")
        return folder, Written(metrics, 0, {})
    if isinstance(origin.target, list):
        print("note: no report and no pictures, which are of one target")
        return folder, Written(metrics, 0, {})
    if isinstance(predictions.inputs, Streamed) and predictions.inputs.note is not None:
        print(f"note: held out: {predictions.inputs.note}")
    seen = take(training.samples_of(trained.name), trained.rows), training.plan.label.values[trained.rows]
    scores: dict[str, dict[str, float]] = {}
    if len(test) >= 3 and time.has_time_for(REPORT_TIME):
        with named_failure("report"):
            scores |= _write_report(predictions, seen, training, origin, metrics, time, folder / REPORT)
    if not time.has_time_for(PICTURES_TIME):
        print("note: the time limit left no time for pictures; ordinate report draws more of a model")
        return folder, Written(metrics, 0, scores)
    with named_failure("pictures"):
        optional("ordinate.report.pictures", "pictures", "pictures").draw(predictions, folder)
    return folder, Written(metrics, len(list(folder.glob("*.png"))), scores)


def _write_model(
    trained: Trained, predictions: Predictions, training: Training, origin: Origin, folder: Path
) -> Metrics:
    """Write the model, its predictions of held-out samples, metrics and split; return the metrics."""
    plan, samples, test = training.plan, training.samples, training.division.test
    trained.model.learn_novelty(torch.from_numpy(predictions.embeddings))
    write_estimator(trained.model, folder)
    held_out = HeldOut.of(predictions)
    held_out.write(folder)
    metrics: Metrics = {"method": trained.name, "test_samples": len(test), "training_samples": len(trained.rows)}
    if origin.weight is not None:
        metrics["weight"] = origin.weight
    if trained.tried:
        metrics["candidates"] = trained.tried
    weights = column_of(samples.weights, test)
    metrics |= measure(predictions, weights)
    if isinstance(origin.target, list):
        metrics["targets"] = measure_targets(predictions, origin.target, weights)
    if plan.costs is not None and plan.label.classes is not None:
        metrics["decisions"] = compare_decisions(held_out.labels, held_out.predicted, plan.costs)
    identity = [] if samples.identity is None else list(samples.identity.columns)
    csv_format = marks_of(local_path(origin.data)) if ends_in(origin.data, CSV) else None
    split = {
        "identity": identity, "data": samples.digest, "target": origin.target, "stream": origin.stream,
        "drop_unlabelled": origin.drop_unlabelled, "csv": csv_format,
        "train": trained.rows.tolist(), "test": test.tolist(),
    }  # fmt: skip
    (folder / "metrics.json").write_text(json.dumps({**metrics, "command": origin.command}, indent=2) + "\n")
    (folder / SPLIT).write_text(json.dumps(split) + "\n")
    return metrics


def _write_report(
    predictions: Predictions,
    seen: tuple[Any, NDArray[Any]],
    training: Training,
    origin: Origin,
    metrics: Metrics,
    time: TimeLimit,
    path: Path,
) -> dict[str, dict[str, float]]:
    """Write the report, and return the scores of its predictors."""
    samples, test = training.samples, training.division.test
    facts = {"Data": origin.data, "Data, sha256": samples.digest}
    if "candidates" in metrics:
        weighted = "" if origin.weight is None else "weighted "
        errors = errors_as_text(metrics["candidates"])
        facts["Candidates"] = f"{weighted}mean error on training samples not seen: {errors}"
    if origin.weight is not None:
        facts["Weights"] = f"the model was trained with those of {origin.weight!r}; here all samples count the same"
    predictors: list[Predictor] = []
    write_report(
        predictions.model, predictions.X, training.plan.label.values[test], path, predictions=predictions,
        training=seen, target=str(origin.target or "the label"), names=_names(predictions, training),
        projections=time.projections(len(test)), costs=costs_of_rules(metrics.get("decisions")),
        command=origin.command, facts=facts, simple_models=time.budget is None,
        importance_seconds=time.for_importance, on_scores=predictors.extend,
    )  # fmt: skip
    return {each.name: {metric: score.value for metric, score in each.scores.items()} for each in predictors}


def _names(predictions: Predictions, training: Training) -> list[str]:
    """Return the names of the held-out samples: paths of their files, or numbers of their rows."""
    test, paths = training.division.test, training.samples.paths
    if paths is not None:
        return [str(path) for path in paths[test]]
    if len(test) <= MOST_SAMPLES:
        paths = modality_of(predictions.X).paths(predictions.X)
    return [f"row {row}" for row in test] if paths is None else np.asarray(paths).tolist()


@contextmanager
def named_failure(part: str) -> Iterator[None]:
    """Print why a part could not be drawn, and go on: whatever the reason, the model is there."""
    try:
        yield
    except Exception as error:
        reason = error if isinstance(error, OrdinateError) else f"{type(error).__name__}: {error}"
        print(f"note: the {part} could not be drawn: {reason}")
