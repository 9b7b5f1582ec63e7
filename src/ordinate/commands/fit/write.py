"""The last stage of ``ordinate fit``: the folder of the model, its metrics and report."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from ordinate.commands.fit.choose import errors_as_text
from ordinate.commands.fit.time_limit import TimeLimit
from ordinate.commands.fit.train import Trained, Training
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.labels import costs_of_rules
from ordinate.commands.split_file import SPLIT
from ordinate.commands.workspace import Workspace
from ordinate.counts import counted
from ordinate.data.csv_format import CSV, marks_of
from ordinate.data.file_formats import ends_in
from ordinate.data.numbers import plain_text
from ordinate.data.object_store import local_path
from ordinate.data.registry import modality_of
from ordinate.data.rows import column_of, random_part, take
from ordinate.decisions import compare_decisions
from ordinate.errors import OrdinateError
from ordinate.model.evaluation import Metrics, measure, measure_targets
from ordinate.model.held_out import HeldOut
from ordinate.model.predictions import Predictions
from ordinate.model.saving import write_model
from ordinate.report.page.contents import MOST_SAMPLES, MOST_TRAINING, LabelledSamples
from ordinate.report.page.measures import Predictor

REPORT = "report.html"


@dataclass(frozen=True)
class Written:
    """A model that was written.

    Args:
        metrics: Its metrics.
        scores: Scores of the report by predictor and metric, the model first; empty without a report.
    """

    metrics: Metrics
    scores: dict[str, dict[str, float]]


def write(
    trained: Trained, training: Training, options: FitOptions, command: str, time: TimeLimit, workspace: Workspace
) -> tuple[Path, Written]:
    """Write the model, its metrics and report to a folder of the workspace; return the folder with them.

    Args:
        trained: The model.
        training: What it was trained on.
        options: Options of the command, which say where the model comes from.
        command: Command that trains the model again.
        time: Time that is left.
        workspace: Workspace of the command.
    """
    folder = workspace.partial / "model"
    shutil.rmtree(folder, ignore_errors=True)  # A run that was stopped may have left another model.
    folder.mkdir()
    test = training.division.test
    predictions = training.predictions(trained.name, trained.model, test)
    metrics = _write_model(trained, predictions, training, options, command, folder)
    scores: dict[str, dict[str, float]] = {}
    if options.no_report:
        return folder, Written(metrics, scores)
    if workspace.begin("report") > 1:
        print("note: no report, as an earlier run was killed while writing it")
    elif not time.has_time_for(time.for_report):
        print("note: the time limit left no time for a report; ordinate report writes one of a model")
    elif len(test) >= 3:
        rows = trained.rows[random_part(len(trained.rows), MOST_TRAINING)]
        seen = take(training.samples_of(trained.name), rows), training.plan.label.values[rows]
        with named_failure():
            scores |= _write_report(predictions, seen, training, options, command, metrics, time, folder / REPORT)
    return folder, Written(metrics, scores)


def _write_model(
    trained: Trained, predictions: Predictions, training: Training, options: FitOptions, command: str, folder: Path
) -> Metrics:
    """Write the model, its predictions of held-out samples, metrics and split; return the metrics."""
    plan, samples, test = training.plan, training.samples, training.division.test
    write_model(trained.model.fitted.with_novelty(torch.from_numpy(predictions.embeddings)), folder)
    held_out = HeldOut.of(predictions)
    held_out.write(folder)
    metrics: Metrics = {"method": trained.name, "test_samples": len(test), "training_samples": len(trained.rows)}
    if options.weight is not None:
        metrics["weight"] = options.weight
    if trained.tried:
        metrics["candidates"] = trained.tried
    weights = column_of(samples.weights, test)
    metrics |= measure(predictions, weights)
    if predictions.only_rank is not None:
        held_out_samples = counted(len(test), "held-out sample")
        print(f"note: the model predicts {plain_text(predictions.only_rank)} for all {held_out_samples}")
    if isinstance(options.target, list):
        metrics["targets"] = measure_targets(predictions, options.target, weights)
    if plan.costs is not None and plan.label.classes is not None:
        metrics["decisions"] = compare_decisions(held_out.labels, held_out.predicted, plan.costs)
    csv_format = marks_of(local_path(options.data)) if ends_in(options.data, CSV) else None
    split = {
        "identity": list(getattr(samples.identity, "columns", ())), "data": samples.digest, "target": options.target,
        "csv": csv_format,
        "missing": list(options.missing_values), "keep_missing": options.keep_missing,
        "train": samples.in_data(trained.rows).tolist(), "test": samples.in_data(test).tolist(),
    }  # fmt: skip
    (folder / "metrics.json").write_text(json.dumps({**metrics, "command": command}, indent=2) + "\n")
    (folder / SPLIT).write_text(json.dumps(split) + "\n")
    return metrics


def _write_report(
    predictions: Predictions,
    seen: LabelledSamples,
    training: Training,
    options: FitOptions,
    command: str,
    metrics: Metrics,
    time: TimeLimit,
    path: Path,
) -> dict[str, dict[str, float]]:
    """Write the report, and return the scores of its predictors."""
    from ordinate.report.page import write_report

    samples, test = training.samples, training.division.test
    facts = {"Data": options.data, "Data, sha256": samples.digest}
    if "candidates" in metrics:
        measure = "mean error" if options.weight is None else "weighted mean error"
        errors = errors_as_text(metrics["candidates"])
        facts["Candidates"] = f"{measure} on training samples not seen: {errors}"
    if options.weight is not None:
        facts["Weights"] = f"the model was trained with those of {options.weight!r}; here all samples count the same"
    predictors: list[Predictor] = []
    write_report(
        predictions.model, predictions.X, training.plan.label.values[test], path, predictions=predictions,
        training=seen, target=options.target or "the label", names=_names(predictions, training),
        projections=time.projections(len(test)), costs=costs_of_rules(metrics.get("decisions")),
        command=command, facts=facts, simple_models=time.has_time_for(time.for_report + 10),
        importance_seconds=time.for_importance, on_scores=predictors.extend,
    )  # fmt: skip
    return {each.name: {metric: score.value for metric, score in each.scores.items()} for each in predictors}


def _names(predictions: Predictions, training: Training) -> list[str]:
    """Return the names of the held-out samples: paths of their files, or numbers of their rows."""
    test, paths = training.division.test, training.samples.paths
    if paths is None and len(test) <= MOST_SAMPLES:
        of_test = modality_of(predictions.X).paths(predictions.X)
        if of_test is not None:
            return of_test.tolist()
    return training.samples.names(test, paths)


@contextmanager
def named_failure() -> Iterator[None]:
    """Print why a report could not be written, and go on: whatever the reason, the model is there."""
    try:
        yield
    except Exception as error:
        reason = error if isinstance(error, OrdinateError) else f"{type(error).__name__}: {error}"
        print(f"note: the report could not be written: {reason}")
