"""``ordinate fit``: from data with a graded label to a trained, measured, saved model."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.commands.choose import Chosen, choose, epochs_of_cut, errors_of
from ordinate.commands.config_file import write_config
from ordinate.commands.costs import costs_of_rules
from ordinate.commands.decision_note import note_on_decision
from ordinate.commands.division import Rows, divide_rows
from ordinate.commands.fit_options import NOT_REPEATED, FitOptions, image_options, volume_options
from ordinate.commands.labels import Label
from ordinate.commands.plan import Plan, make_plan
from ordinate.commands.read_data import read
from ordinate.commands.samples import Samples
from ordinate.commands.time_plan import PICTURES, TimePlan
from ordinate.commands.time_plan import REPORT as REPORT_TIME
from ordinate.commands.training import Training
from ordinate.commands.workspace import Workspace
from ordinate.data.images.options import ImageOptions
from ordinate.data.registry import modality_of
from ordinate.data.rows import column_of, take
from ordinate.data.streamed import Streamed
from ordinate.data.volumes.options import VolumeOptions
from ordinate.decisions import compare_decisions
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.held_out import HeldOut
from ordinate.estimators.persistence import write_estimator
from ordinate.estimators.predictions import Predictions
from ordinate.estimators.recipes import Recipe, read_recipe
from ordinate.optional import optional
from ordinate.report.evaluation import Metrics, measure
from ordinate.report.page import write_report
from ordinate.report.page.contents import MOST_SAMPLES
from ordinate.report.text import metric_lines
from ordinate.torchrun import is_first_process
from ordinate.training.time_budget import training_until

ATTEMPTS = 2  # at the report and pictures, before the model is kept without them
UNWEIGHTED = "not: K-NN accuracy, costs of decisions, prediction sets, the report"
LEAST_REPORTED = 3  # held-out samples
REPORT = "report.html"
RUN = "run.toml"  # likewise: the options that train the same model again, for --config
SPLIT = "split.json"  # in a model's folder: the rows of the data that it was trained and measured on


def fit(options: FitOptions, started: float | None = None) -> None:
    """Train, measure and save; a time limit counts from ``started``, as ``time.monotonic`` has it, or from now."""
    started = time.monotonic() if started is None else started
    options.check()
    recipe = None if options.recipe is None else read_recipe(options.recipe, quick=options.quick)
    workspace = Workspace(options.path, {})
    plan_of_time = TimePlan.of(options, workspace.partial, started)
    settings = {} if recipe is None else recipe.settings
    images = image_options(settings.get("images", {}), options)
    volumes = volume_options(settings.get("volumes", {}), options)
    samples = read(options, images, volumes, None if recipe is not None else plan_of_time.plan_for)
    filled, plan = _plan(options, recipe, images, samples, volumes, plan_of_time)
    costs = None if plan.costs is None else plan.costs.tolist()
    workspace.settings = {"data": samples.digest, "options": options.determining, "costs": costs}
    with workspace:
        if workspace.resumes:
            print("continuing the run that was stopped")
        plan_of_time.keep()
        rows, validation_rows, test_rows = divide_rows(plan.label, samples, options)
        unseen = take(samples.X, np.concatenate([validation_rows, test_rows]))
        samples.modality.check_unseen(take(samples.X, rows), unseen)
        _describe(samples, plan.label, rows, validation_rows, test_rows)
        plan_of_time.announce(plan.candidates)
        plan_of_time.begin_training()
        training = Training(plan, filled, samples, rows, validation_rows, workspace.checkpoints)
        chosen = choose(training, plan_of_time)
        model, rows = _train(chosen, training, plan_of_time)
        if not is_first_process():
            return
        again = _again(options, chosen, model)

        result = _new_folder(workspace.partial / "model")
        predictions = Predictions.of(model, take(samples.X, test_rows), plan.label.values[test_rows])
        facts = {
            "method": chosen.name, "test_samples": len(test_rows), "training_samples": len(rows),
            **({} if options.weight is None else {"weight": options.weight}),
            **({"candidates": chosen.tried} if chosen.tried else {}),
        }  # fmt: skip
        split = {
            "data": samples.digest, "target": options.target, "stream": options.stream,
            "train": rows.tolist(), "test": test_rows.tolist(),
        }  # fmt: skip
        metrics = _write_model(predictions, column_of(samples.weights, test_rows), plan, facts, again, split, result)
        pictures = 0
        if workspace.begin("pictures") < ATTEMPTS:
            pictures = _show(predictions, samples, plan, (rows, test_rows), metrics, options, plan_of_time, result)
        else:
            print("note: no report and no pictures: this command ended in the middle of them before")
        workspace.publish(result)
    names = [str(name) for name in plan.label.classes or []]
    weighted = "" if options.weight is None else f", weighted by {options.weight!r} ({UNWEIGHTED})"
    print(f"\n{chosen.name} on {len(test_rows)} held-out samples{weighted}", *metric_lines(metrics, names), sep="\n")
    report = "report and " if (options.path / REPORT).exists() else ""
    print(f"\nmodel, metrics, {report}{pictures} pictures: {options.path}")
    if options.logger is not None:
        print(f"logs: {options.logs}")
    if again != options:
        exact = not chosen.of_part and not model.method_.hurried
        print(f"{'' if exact else 'nearly '}the same model again: {again.command}")


def _new_folder(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)  # of a run that was stopped, which may have had another model
    path.mkdir()
    return path


def _plan(
    options: FitOptions,
    recipe: Recipe | None,
    images: ImageOptions,
    samples: Samples,
    volumes: VolumeOptions,
    time: TimePlan,
) -> tuple[FitOptions, Plan]:
    """Return the options with what was planned in the place of what was left open, and what is trained by them."""
    if recipe is not None or samples.modality.name != "images":
        return options, make_plan(options, recipe, images, samples, volumes)
    time.plan_for(samples.X.preprocessing, samples.y, fixed_size=True)  # of an array, whose size is what it is
    filled = time.filled
    plan = make_plan(filled, recipe, image_options({}, filled), samples, volumes)
    candidates = plan.candidates if time.images is None else plan.candidates[: time.images.candidates]
    return filled, replace(plan, candidates=candidates)


def _train(chosen: Chosen, training: Training, time: TimePlan) -> tuple[EmbeddingEstimator, Rows]:
    """Return the model of the chosen method, and the rows it was trained on."""
    if chosen.model is None:
        print(f"training {chosen.name}")
        with training_until(time.end):
            model, rows = training.train_on_all(chosen.name, chosen.options), training.rows
    else:
        model, rows = chosen.model
    model.checkpoint_dir = None
    model.verbose = 0
    on_decision = note_on_decision(model, getattr(model, "decision_scores_", None)) or chosen.note
    for note in [*model.reader_.notes, *([] if on_decision is None else [on_decision])]:
        print(f"note: {note}")
    return model, rows


def _write_model(
    predictions: Predictions,
    weights: Any,
    plan: Plan,
    facts: dict[str, Any],
    again: FitOptions,
    split: dict[str, Any],
    folder: Path,
) -> Metrics:
    """Write the model, what it predicted of held-out samples, metrics and facts, options, split; return the metrics."""
    write_estimator(predictions.model, folder)
    held_out = HeldOut.of(predictions)
    held_out.write(folder)
    metrics = facts | measure(predictions, weights)
    if plan.costs is not None and plan.label.classes is not None:
        metrics["decisions"] = compare_decisions(held_out.labels, held_out.predicted, plan.costs)
    write_config(folder / RUN, again, NOT_REPEATED)
    (folder / "metrics.json").write_text(json.dumps({**metrics, "command": again.command}, indent=2) + "\n")
    (folder / SPLIT).write_text(json.dumps(split) + "\n")
    return metrics


def _show(
    predictions: Predictions,
    samples: Samples,
    plan: Plan,
    division: tuple[Rows, Rows],
    metrics: Metrics,
    options: FitOptions,
    time: TimePlan,
    folder: Path,
) -> int:
    """Write the report and pictures that there is time for; return the number of pictures.

    A failure to draw one of them is printed and never loses the model.
    """
    (rows, test_rows), y = division, plan.label.values
    if isinstance(predictions.inputs, Streamed) and predictions.inputs.note is not None:
        print(f"note: held out: {predictions.inputs.note}")
    facts = {"Data": options.data, "Data, sha256": samples.digest}
    if "candidates" in metrics:
        weighted = "" if options.weight is None else "weighted "
        facts["Candidates"] = f"{weighted}mean error on training samples not seen: {errors_of(metrics['candidates'])}"
    if options.weight is not None:
        facts["Weights"] = f"the model was trained with those of {options.weight!r}; here all samples count the same"
    seen = (take(samples.X, rows), y[rows])
    if len(test_rows) >= LEAST_REPORTED and time.has_time_for(REPORT_TIME):
        paths = None if samples.paths is None else samples.paths[test_rows]
        if paths is None and len(test_rows) <= MOST_SAMPLES:
            paths = modality_of(predictions.X).paths(predictions.X)
        names = [f"row {row}" for row in test_rows] if paths is None else paths.tolist()
        with named_failure("report"):
            write_report(
                predictions.model, predictions.X, y[test_rows], folder / REPORT, predictions=predictions, training=seen,
                target=options.target or "the label", names=names, projections=time.projections(len(test_rows)),
                costs=costs_of_rules(metrics.get("decisions")), command=options.command, facts=facts,
                simple_models=time.budget is None,
            )  # fmt: skip
    if not time.has_time_for(PICTURES):
        print("note: the time limit left no time for pictures; ordinate report draws more of a model")
        return 0
    with named_failure("pictures"):
        optional("ordinate.report.pictures", "pictures", "pictures").draw(predictions, folder, seen)
    return len(list(folder.glob("*.png")))


@contextmanager
def named_failure(what: str) -> Iterator[None]:
    """Print what could not be drawn, and go on: whatever it is, the model is there."""
    try:
        yield
    except Exception as error:
        said = error if isinstance(error, OrdinateError) else f"{type(error).__name__}: {error}"
        print(f"note: the {what} could not be drawn: {said}")


def _again(options: FitOptions, chosen: Chosen, model: EmbeddingEstimator) -> FitOptions:
    """Return the options that train the same model again, without a plan or a limit."""
    trained = chosen.options
    cut = epochs_of_cut(model)
    if cut is not None:
        print(f"note: the time limit ended the training after {cut} epochs")
        trained = replace(trained, epochs=cut)
    if trained == options and options.time_limit is None:
        return options
    return replace(trained, method=chosen.name, time_limit=None, folds=None)


def _describe(samples: Samples, label: Label, rows: Rows, validation_rows: Rows, test_rows: Rows) -> None:
    modality = samples.modality
    if label.classes is None:
        kind = f"a continuous target from {np.min(label.values):g} to {np.max(label.values):g}"
    else:
        kind = f"{len(label.classes)} ranks, {' < '.join(map(str, label.classes))}"
    training = len(rows) + len(validation_rows)
    print(
        f"{len(label.values)} samples of {modality.describe(samples.X)}, {kind}; {training} to train, "
        f"{len(test_rows)} held out"
    )
    sides = np.full(len(label.values), "training", dtype=object)
    sides[test_rows] = "test"
    for note in modality.notes(samples.X, sides, samples.paths):
        print(f"note: {note}")
