"""Which of the methods that fit a label is trained: the one that validates best."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ordinate.commands.decision_note import measured_note
from ordinate.commands.division import Rows
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.plan import BLEND
from ordinate.commands.time_plan import TimePlan
from ordinate.commands.training import Training
from ordinate.commands.workspace import read_record, write_record
from ordinate.data.rows import column_of
from ordinate.errors import OrdinateError
from ordinate.estimators.choice import Choice, Trial, choose_within
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.predictions import Predictions
from ordinate.estimators.unseen_errors import UnseenErrors
from ordinate.report.evaluation import measure
from ordinate.torchrun import by_the_first
from ordinate.training.time_budget import TimeBudget, training_until

if TYPE_CHECKING:
    from ordinate.estimators.table_blend import Blend

GIVEN_UP, LEAST_MEASURED = 2.0, 20  # standard errors behind the best, on so many samples, that end further trials
NAMES = {"linear": "linear model", "trees": "random trees", "boosting": "boosted trees", "blend": BLEND}
SIMPLE = tuple(name for name in NAMES.values() if name != BLEND)
CHOICE = "choice.json"  # among the checkpoints: what is known of the candidates of a time limit
LAST = "last_training.json"  # likewise: what follows once they have been tried
KEPT = 0.9  # of the time left, for as many epochs as there were in a trial that was cut
LEAST_TO_TRY = 10.0  # seconds: with less, all go into one training
LEAST_SHARE = 0.5  # of the time of a trial: with less left to train on all samples, the model is that of the trial


@dataclass(frozen=True)
class Chosen:
    """A method that was chosen, with the options to train it on all samples, and what there is to say of it.

    Args:
        name: of the method.
        options: to train it with.
        model: the trained one, with its rows, where there is nothing more to train.
        of_part: whether these rows are a part of what there is to train on.
        note: on the decision.
        tried: ``mae`` of every candidate on ``samples`` that it has not seen, and ``low`` and ``high`` end of its 95%
            interval, where they are known.
    """

    name: str
    options: FitOptions
    model: tuple[EmbeddingEstimator, Rows] | None = None
    of_part: bool = False
    note: str | None = None
    tried: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def choose(training: Training, time: TimePlan) -> Chosen:
    """Train each candidate on parts of the training rows and choose by its errors on the others.

    Of candidates within a standard error of the lowest MAE the first is chosen. With a time limit, the methods come
    first and the plain heads after them, as far as the time reaches, and the lowest MAE on one part is chosen.
    """
    candidates, options = training.plan.candidates, training.options
    if options.folds is not None and (len(candidates) == 1 or len(training.validation_rows)):
        alone = f"{candidates[0]} is the only candidate" if len(candidates) == 1 else "--split says what to measure on"
        raise OrdinateError("--folds", problem=f"are for the choice of a method, and {alone}", hint="leave it out")
    if len(candidates) == 1:
        return Chosen(candidates[0], options)
    if time.budget is None:
        return _choose_by_errors(training)
    if by_the_first(lambda: time.left_to_train < LEAST_TO_TRY and not (training.checkpoints / CHOICE).exists()):
        print(f"no time within {options.time_limit:g} minutes to try several: trains {candidates[0]}, the first")
        return Chosen(candidates[0], options)
    return _choose_in_time(training, time.budget, time)


def _choose_by_errors(training: Training) -> Chosen:
    """Choose by the errors on each part of the samples; the blend knows its own after one training on all."""
    options, samples, parts = training.options, training.samples, training.parts()
    measured = np.concatenate([unseen for _, unseen in parts])
    found = UnseenErrors(column_of(samples.weights, measured), column_of(samples.groups, measured))
    blend = None
    first = [name for name in training.plan.candidates if name == BLEND]
    if first:
        print(f"trying {BLEND}")
        blend = training.train_on_all(BLEND, options)
        found.of |= _errors_of_blend(training, blend, measured)
    tried = [name for name in training.plan.candidates if name != BLEND]
    predicted: dict[str, list[Predictions]] = {name: [] for name in tried}
    place = 0
    for number, (part, unseen) in enumerate(parts, 1):
        of_folds = "" if len(parts) == 1 else f", {number} of {len(parts)}"
        for name in tried:
            print(f"trying {name}{of_folds}")
            model = training.train(name, options, part, f"{name}-trial" + (f"-{number}" if len(parts) > 1 else ""))
            predicted[name].append(training.predictions(model, unseen))
            errors = found.of.setdefault(name, np.full(len(measured), np.nan))
            errors[place : place + len(unseen)] = predicted[name][-1].absolute_errors
        place += len(unseen)
        if number < len(parts) and place >= LEAST_MEASURED:
            best = found.lowest([*first, *tried])
            behind = [name for name in tried if found.behind(name, best, GIVEN_UP)]
            tried = [name for name in tried if name not in behind]
            if behind:
                print(f"{' and '.join(behind)} given up after {number} of {len(parts)}: clearly behind {best}")
            if len([*first, *tried]) < 2:
                break
    chosen = found.choose([*first, *tried])
    intervals = found.intervals()
    _say_errors(intervals)
    _say_why(found, chosen, [*first, *tried])
    if blend is not None and chosen == BLEND:
        return Chosen(BLEND, options, (blend, training.rows), tried=intervals)
    return Chosen(chosen, options, note=measured_note(predicted[chosen]), tried=intervals)


def _errors_of_blend(training: Training, model: EmbeddingEstimator, measured: Rows) -> dict[str, NDArray[np.float64]]:
    """Return the errors of the blend, and of the simple models in it, on samples that they have not seen."""
    if len(training.validation_rows):
        return {BLEND: training.predictions(model, measured).absolute_errors}
    errors = cast("Blend", model).unseen_errors_
    places = np.searchsorted(training.rows, measured)
    return {NAMES[name]: errors[name][places] for name in NAMES if name in errors}


def _say_why(found: UnseenErrors, chosen: str, tried: Sequence[str]) -> None:
    """Say where the lowest error was not what decided."""
    best = found.lowest(tried)
    if best != chosen:
        difference, error = found.mean(chosen, best)
        by = f"{difference:.4f} ± {error:.4f} (standard error)" if math.isfinite(error) else f"{difference:.4f}"
        print(f"{chosen}, tried before {best}, is behind it by {by}: a tie")
    simple = [name for name in found.of if name in SIMPLE and found.behind(chosen, name, 1.0)]
    if simple:
        print(f"note: {' and '.join(simple)} alone had lower errors than {chosen}, by more than a standard error")


def _choose_in_time(training: Training, budget: TimeBudget, time: TimePlan) -> Chosen:
    """Choose by the errors on one part of the samples, as far as the time reaches."""
    plan, options, samples, checkpoints = training.plan, training.options, training.samples, training.checkpoints
    part, validation = training.parts(folds=1)[0]
    notes: dict[str, str | None] = {}

    def trial(name: str) -> Trial:
        print(f"trying {name}")
        model = training.train(name, options, part, f"{name}-trial")
        predictions = training.predictions(model, validation)
        notes[name] = measured_note([predictions])
        return Trial(float(measure(predictions, column_of(samples.weights, validation))["mae"]), epochs_of_cut(model))

    growth = len(training.rows) / len(part)
    made = choose_within(plan.candidates, trial, budget, time.until, growth=growth, record=checkpoints / CHOICE)
    tried = {str(name): {"mae": error, "samples": len(validation)} for name, error in made.errors.items()}
    _say_errors(tried)
    if made.untried:
        print(f"no time within {options.time_limit:g} minutes for {', '.join(made.untried)}")
    name = str(made.chosen)
    last = by_the_first(lambda: _last_training(checkpoints / LAST, made, name, time.left_to_train, growth, options))
    if last["trial"]:
        print(f"no time to train {name} on all samples: its trial is the model")
        with training_until(time.end):  # read from its checkpoint
            model = training.train(name, options, part, f"{name}-trial")
        return Chosen(name, options, (model, part), of_part=True, note=notes.get(name), tried=tried)
    return Chosen(name, replace(options, epochs=last["epochs"]), note=notes.get(name), tried=tried)


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


def _say_errors(errors: Mapping[str, Mapping[str, float]]) -> None:
    if errors:
        print(f"validation MAE: {errors_of(errors)}")
        print('what speaks for which: "Which method and when" in the documentation')


def errors_of(candidates: Mapping[str, Mapping[str, float]]) -> str:
    """Return mean errors as text, with their intervals, and of how many samples they are where others are of more."""
    most = max((each["samples"] for each in candidates.values()), default=0)

    def text(name: str, each: Mapping[str, float]) -> str:
        ends = f"{each['low']:.4f} to {each['high']:.4f}" if "low" in each else ""
        part = f"on {each['samples']} of {most} samples" if each["samples"] < most else ""
        facts = "; ".join(filter(None, (ends, part)))
        return f"{name} {each['mae']:.4f}" + (f" ({facts})" if facts else "")

    return ", ".join(text(name, each) for name, each in candidates.items())
