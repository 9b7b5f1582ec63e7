"""The third stage of ``ordinate fit``: the choice of the method that validates best."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.commands.division import Rows
from ordinate.commands.fit.image_plan import BLEND
from ordinate.commands.fit.plan import epochs_of_cut
from ordinate.commands.fit.time_limit import TimeLimit
from ordinate.commands.fit.train import Chosen, Training, measured_note
from ordinate.commands.workspace import read_record, write_record
from ordinate.data.rows import column_of
from ordinate.errors import OrdinateError
from ordinate.estimators.blend import BlendParameters
from ordinate.estimators.choice import Choice, Trial, choose_within
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.predictions import Predictions
from ordinate.estimators.unseen_errors import UnseenErrors
from ordinate.report.evaluation import measure
from ordinate.torchrun import broadcast_from_rank_zero
from ordinate.training.time_budget import TimeBudget, training_until

PARTS = {"linear": "linear model", "trees": "random trees", "boosting": "boosted trees", "blend": BLEND}


def choose(training: Training, time: TimeLimit, *, least_seconds: float = 10.0) -> Chosen:
    """Train each candidate on parts of the training rows and choose by its errors on the others.

    On a table, a blend that could be trained is the only one, unless a time limit or ``--folds`` asks for more. Of
    candidates within a standard error of the lowest MAE the first is chosen. With a time limit, the methods come
    first and the plain networks after them, as far as the time reaches, and the lowest MAE on one part is chosen; the
    first method is trained alone if fewer than ``least_seconds`` are left.
    """
    candidates = training.plan.candidates
    if len(candidates) > 1 and training.groups is not training.samples.groups:
        print("note: a single group is left to train on, so that candidates are measured on some of its samples")
    is_divided = len(training.division.validation) > 0
    if training.folds is not None and (len(candidates) == 1 or is_divided):
        reason = f"{candidates[0]} is the only candidate"
        if len(candidates) > 1:
            reason = "--split says what to measure on"
        problem = f"apply only to the choice of a method, and {reason}"
        raise OrdinateError("--folds", problem=problem, hint="leave it out")
    if len(candidates) == 1:
        return Chosen(candidates[0])
    if time.budget is None:
        return _choose_by_errors(training)
    record = training.checkpoints / "choice.json"
    if broadcast_from_rank_zero(lambda: time.left_to_train < least_seconds and not record.exists()):
        limit = time.budget.seconds / 60
        print(f"{limit:g} minutes are too short to compare methods: trains {candidates[0]}, the first")
        return Chosen(candidates[0])
    return _choose_in_time(training, time.budget, time, record)


def _choose_by_errors(training: Training, *, most_behind: float = 2.0, least_measured: int = 20) -> Chosen:
    """Choose by the errors on each part of the samples; the blend knows its own after one training on all.

    Args:
        training: What the candidates are trained on.
        most_behind: Standard errors that a candidate may be behind the best to be tried on further parts.
        least_measured: Number of samples on which a candidate is measured before it is given up.
    """
    samples, parts = training.samples, training.parts()
    measured = np.concatenate([unseen for _, unseen in parts])
    found = UnseenErrors(column_of(samples.weights, measured), column_of(training.groups, measured))
    blend = None
    first: list[str] = []
    failures: dict[str, OrdinateError] = {}
    if BLEND in training.plan.candidates:
        print(f"trying {BLEND}")
        with _kept_failure(BLEND, failures):
            blend = training.train_on_all(BLEND)
            found.of |= _errors_of_blend(training, blend, measured)
            first = [BLEND]
    images = training.plan.images
    tried = [name for name in training.plan.candidates if name != BLEND]
    if first and images is None and training.folds is None:
        tried = []  # They would take most of the time, and a lead of more than a standard error is rare.
    trials: dict[str, EmbeddingEstimator] = {}
    predicted: dict[str, list[Predictions]] = {name: [] for name in tried}
    place = 0
    for number, (part, unseen) in enumerate(parts, 1):
        of_folds, folder = "", ""
        if len(parts) > 1:
            of_folds, folder = f", {number} of {len(parts)}", f"-{number}"
        for name in tried:
            print(f"trying {name}{of_folds}")
            with _kept_failure(name, failures):
                trials[name] = model = training.train(name, part, f"{name}-trial{folder}")
                predicted[name].append(training.predictions(name, model, unseen))
                errors = found.of.setdefault(name, np.full(len(measured), np.nan))
                errors[place : place + len(unseen)] = predicted[name][-1].absolute_errors
        tried = [name for name in tried if name not in failures]
        if not first and not tried:
            raise next(iter(failures.values()))
        place += len(unseen)
        if number < len(parts) and place >= least_measured:
            best = found.lowest([*first, *tried])
            behind = [name for name in tried if found.behind(name, best, most_behind)]
            tried = [name for name in tried if name not in behind]
            if behind:
                print(f"{' and '.join(behind)} given up after {number} of {len(parts)}: clearly behind {best}")
            if len([*first, *tried]) < 2:
                break
    chosen = found.choose([*first, *tried])
    intervals = found.intervals()
    _print_errors(intervals)
    _print_reason(found, chosen, [*first, *tried])
    if blend is not None and chosen == BLEND:
        return Chosen(BLEND, model=blend, rows=training.division.rows, tried=intervals)
    note = measured_note(predicted[chosen])
    if images is not None and not images.on_all:
        return Chosen(chosen, model=trials[chosen], rows=parts[0][0], of_part=True, note=note, tried=intervals)
    return Chosen(chosen, note=note, tried=intervals)


@contextmanager
def _kept_failure(name: str, failures: dict[str, OrdinateError]) -> Iterator[None]:
    """Keep, and print, why a candidate cannot be trained."""
    try:
        yield
    except OrdinateError as error:
        failures[name] = error
        _print_left_out(name, error)


def _print_left_out(name: str, reason: object) -> None:
    print(f"note: {name} is left out, as it cannot be trained here: {reason}")


def _errors_of_blend(training: Training, model: EmbeddingEstimator, measured: Rows) -> dict[str, NDArray[np.float64]]:
    """Return the errors of the blend, and of the simple models in it, on samples that they have not seen."""
    if len(training.division.validation) or not isinstance(model, BlendParameters):
        return {BLEND: training.predictions(BLEND, model, measured).absolute_errors}
    errors: Mapping[str, NDArray[np.float64]] = model.unseen_errors_
    places = np.searchsorted(training.division.rows, measured)
    return {PARTS[name]: errors[name][places] for name in PARTS if name in errors}


def _print_reason(found: UnseenErrors, chosen: str, tried: Sequence[str]) -> None:
    """Print what was chosen, by how much and why, and which simple models had lower errors."""
    others = [name for name in tried if name != chosen]
    if others:
        best = other = found.lowest(tried)
        if best == chosen:
            other = found.lowest(others)
        difference, error = found.mean(chosen, other)
        if difference == 0:
            print(f"chosen: {chosen}, as its validation MAE is that of {other}, and it was tried first")
        elif best == chosen:
            print(f"chosen: {chosen}, as its validation MAE is the lowest, {-difference:.4f} below that of {other}")
        else:
            within = "on too few to tell"
            if math.isfinite(error):
                within = f"less than a standard error ({error:.4f})"
            print(
                f"chosen: {chosen}, as its validation MAE is {difference:.4f} above that of {other}, {within}, and the "
                "first of candidates that are so close is taken"
            )
    parts = {*PARTS.values()} - {BLEND}
    simple = [name for name in found.of if name in parts and found.behind(chosen, name, 1.0)]
    if simple:
        print(f"note: {' and '.join(simple)} alone had lower errors than {chosen}, by more than a standard error")


def _choose_in_time(training: Training, budget: TimeBudget, time: TimeLimit, record: Path) -> Chosen:
    """Choose by the errors on one part of the samples, as far as the time reaches; ``record`` keeps the trials."""
    part, validation = training.parts(folds=1)[0]
    weights = column_of(training.samples.weights, validation)
    notes: dict[str, str | None] = {}

    def trial(name: str) -> Trial:
        print(f"trying {name}")
        model = training.train(name, part, f"{name}-trial")
        predictions = training.predictions(name, model, validation)
        notes[name] = measured_note([predictions])
        return Trial(float(measure(predictions, weights)["mae"]), epochs_of_cut(model))

    growth = len(training.division.rows) / len(part)
    made = choose_within(training.plan.candidates, trial, budget, time.until, growth=growth, record=record)
    tried = {str(name): {"mae": error, "samples": len(validation)} for name, error in made.errors.items()}
    for failed, reason in made.failed.items():
        _print_left_out(failed, reason)
    _print_errors(tried)
    if made.untried:
        print(f"no time within {budget.seconds / 60:g} minutes for {', '.join(made.untried)}")
    name = str(made.chosen)
    print(f"chosen: {name}, as its validation MAE is the lowest")
    last_record, usual = training.checkpoints / "last_training.json", training.plan.epochs
    last = broadcast_from_rank_zero(lambda: last_training(last_record, made, name, time.left_to_train, growth, usual))
    if not last["trial"]:
        return Chosen(name, last["epochs"], note=notes.get(name), tried=tried)
    print(f"no time to train {name} on all samples: the model of its trial is kept")
    with training_until(time.end):  # The model is read from its checkpoint.
        model = training.train(name, part, f"{name}-trial")
    return Chosen(name, model=model, rows=part, of_part=True, note=notes.get(name), tried=tried)


def last_training(
    record: Path,
    choice: Choice,
    name: str,
    left: float,
    growth: float,
    epochs: int | None,
    *,
    least_share: float = 0.5,
    most_share: float = 0.9,
) -> dict[str, Any]:
    """Return, and keep, the epochs of the training on all samples, and whether the trial's model replaces it.

    Args:
        record: File that keeps the decision, so that a run that was stopped continues with it.
        choice: Trials of the candidates.
        name: Name of the chosen candidate.
        left: Seconds that are left to train.
        growth: Number of all samples over that of a trial.
        epochs: Epochs of the plan; None for those of the method.
        least_share: Share of a trial's time below which the trial's model is kept.
        most_share: Share of the time left that the epochs may take.
    """
    kept: dict[str, Any] | None = read_record(record)
    if kept is not None:
        return kept
    seconds = choice.seconds[name]
    if name in choice.epochs:
        fitting = choice.epochs[name] * max(1.0, most_share * left / (growth * seconds))
        epochs = int(min(epochs or math.inf, fitting))
    last = {"trial": left < least_share * seconds, "epochs": epochs}
    write_record(record, last)
    return last


def _print_errors(errors: Mapping[str, Mapping[str, float]]) -> None:
    if errors:
        print(f"validation MAE: {errors_as_text(errors)}")


def errors_as_text(candidates: Mapping[str, Mapping[str, float]]) -> str:
    """Return mean errors as text, with their intervals, and with the number of samples if others have more."""
    most = max((each["samples"] for each in candidates.values()), default=0)
    shown = []
    for name, each in candidates.items():
        facts = []
        if "low" in each:
            facts.append(f"{each['low']:.4f} to {each['high']:.4f}")
        if each["samples"] < most:
            facts.append(f"on {each['samples']} of {most} samples")
        text = f"{name} {each['mae']:.4f}"
        if facts:
            text += f" ({'; '.join(facts)})"
        shown.append(text)
    return ", ".join(shown)
