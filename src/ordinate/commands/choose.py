"""Which of the methods that fit a label is trained: the one that validates best."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ordinate.commands.decision_note import measured_note
from ordinate.commands.division import Rows, divide
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.plan import Plan
from ordinate.commands.samples import Samples
from ordinate.commands.time_plan import TimePlan
from ordinate.commands.workspace import read_record, write_record
from ordinate.data.rows import column_of, take
from ordinate.estimators.choice import Choice, Trial, choose_within
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.predictions import Predictions
from ordinate.methods.time_budget import training_until
from ordinate.report.evaluation import measure
from ordinate.torchrun import by_the_first

VALIDATION_FRACTION = 0.2
LAST = "last_training.json"  # likewise: what follows once they have been tried
CHOICE = "choice.json"  # among the checkpoints: what is known of the candidates of a time limit
KEPT = 0.9  # of the time left, for as many epochs as there were in a trial that was cut
LEAST_TO_TRY = 10.0  # seconds: with less, all go into one training
LEAST_SHARE = 0.5  # of the time of a trial: with less left to train on all samples, the model is that of the trial


@dataclass(frozen=True)
class Chosen:
    """A method that was chosen, with the options to train it on all samples, and a note on the decision.

    ``model`` is that of the trial, with its rows, where no time is left to train on all samples.
    """

    name: str
    options: FitOptions
    model: tuple[EmbeddingEstimator, Rows] | None = None
    note: str | None = None


def choose(
    plan: Plan,
    options: FitOptions,
    samples: Samples,
    rows: Rows,
    validation_rows: Rows,
    checkpoints: Path,
    time: TimePlan,
) -> Chosen:
    """Train each candidate on a part of the training rows and choose the one with the lowest MAE on the rest.

    With a time limit, the methods come first and the plain heads after them, as far as the time reaches.
    """
    if len(plan.candidates) == 1:
        return Chosen(plan.candidates[0], options)
    if time.budget is not None and by_the_first(
        lambda: time.left_to_train < LEAST_TO_TRY and not (checkpoints / CHOICE).exists()
    ):
        print(f"no time within {options.time_limit:g} minutes to try several: trains {plan.candidates[0]}, the first")
        return Chosen(plan.candidates[0], options)
    part, validation = rows, validation_rows
    if len(validation_rows) == 0:
        part, validation = divide(plan.label, samples.groups, rows, VALIDATION_FRACTION, options.seed)
    X, y = samples.X, plan.label.values
    unseen = take(X, validation)
    notes: dict[str, str | None] = {}

    def train(name: str) -> EmbeddingEstimator:
        model = plan.build(name, options, checkpoints / f"{name}-trial")
        weights = column_of(samples.weights, part)
        return model.fit(take(X, part), y[part], weights, groups=column_of(samples.groups, part))

    def trial(name: str) -> Trial:
        print(f"trying {name}")
        model = train(name)
        predictions = Predictions.of(model, unseen, y[validation])
        notes[name] = measured_note(predictions)
        return Trial(float(measure(predictions, column_of(samples.weights, validation))["mae"]), epochs_of_cut(model))

    if time.budget is None:
        errors = {name: trial(name).error for name in plan.candidates}
        _say_errors(errors)
        best = min(errors, key=errors.__getitem__)
        return Chosen(best, options, note=notes[best])
    growth = len(rows) / len(part)
    choice = choose_within(plan.candidates, trial, time.budget, time.until, growth=growth, record=checkpoints / CHOICE)
    _say_errors(choice.errors)
    if choice.untried:
        print(f"no time within {options.time_limit:g} minutes for {', '.join(choice.untried)}")
    name = str(choice.chosen)
    last = by_the_first(lambda: _last_training(checkpoints / LAST, choice, name, time.left_to_train, growth, options))
    if last["trial"]:
        with training_until(time.end):
            return Chosen(name, options, (train(name), part), notes.get(name))  # read from its checkpoint
    return Chosen(name, replace(options, epochs=last["epochs"]), note=notes.get(name))


def _last_training(
    record: Path, choice: Choice, name: str, left: float, growth: float, options: FitOptions
) -> dict[str, Any]:
    """Return, and keep, the epochs of the training on all samples, and whether the trial's model replaces it."""
    kept: dict[str, Any] | None = read_record(record)
    if kept is not None:
        return kept
    epochs = options.epochs
    if name in choice.epochs:
        most = math.inf if epochs is None else epochs
        epochs = int(min(most, choice.epochs[name] * max(1.0, KEPT * left / (growth * choice.seconds[name]))))
    last = {"trial": left < LEAST_SHARE * choice.seconds[name], "epochs": epochs}
    write_record(record, last)
    return last


def epochs_of_cut(model: EmbeddingEstimator) -> int | None:
    """Return --epochs that are as many as a training had before its time was over; None for one that was not cut."""
    if not any("passed" in epoch for epoch in model.history_):
        return None
    epochs = sum(epoch.get("passed", 1.0) for epoch in model.history_)
    two_stages = isinstance(model.get_params().get("epochs"), tuple)
    return max(1, int(epochs / 1.25 if two_stages else epochs))  # plan.py adds a quarter for the head


def _say_errors(errors: dict[str, float]) -> None:
    if errors:
        print("validation MAE: " + ", ".join(f"{name} {error:.4f}" for name, error in errors.items()))
        print('what speaks for which: "Which method and when" in the documentation')
