"""The third stage of ``ordinate fit``: the choice of the method that validates best."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ordinate.commands.fit.image_plan import BLEND
from ordinate.commands.fit.time_limit import RunLimit
from ordinate.commands.fit.train import Chosen, Trainer, measured_note
from ordinate.counts import counted
from ordinate.data.rows import Rows, column_of
from ordinate.errors import OrdinateError, argument
from ordinate.estimators.blend import BlendParameters
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.unseen_errors import UnseenErrors
from ordinate.model.predictions import Predictions
from ordinate.torchrun import broadcast_from_rank_zero
from ordinate.training.time_budget import training_until

PARTS = {"linear": "linear model", "trees": "random trees", "boosting": "boosted trees", "blend": BLEND}


def choose(trainer: Trainer, time: RunLimit, *, least_seconds: float = 10.0) -> Chosen:
    """Train each candidate on parts of the training rows and choose by its errors on the others.

    On a table, a blend that could be trained is the only one, unless ``--folds`` asks for more. The candidate with the
    lowest MAE is chosen. Training runs share the time; the first candidate is trained alone if fewer than
    ``least_seconds`` are left.
    """
    candidates = trainer.plan.candidates
    if len(candidates) > 1 and trainer.units is not trainer.division.units:
        print("note: a single group is left to train on, so that candidates are measured on some of its samples")
    if trainer.folds is not None and (len(candidates) == 1 or trainer.division.is_validated):
        reason = f"{candidates[0]} is the only candidate"
        if len(candidates) > 1:
            reason = f"{argument('split')} says what to measure on"
        problem = f"apply only to the choice of a method, and {reason}"
        raise OrdinateError("--folds", problem=problem, hint="leave it out")
    if len(candidates) == 1:
        return Chosen(candidates[0])
    if broadcast_from_rank_zero(lambda: time.left_to_train < least_seconds):
        print(f"no time to compare methods: trains {candidates[0]}, the first")
        return Chosen(candidates[0])
    return _choose_by_errors(trainer, time)


def _choose_by_errors(
    trainer: Trainer, time: RunLimit, *, most_behind: float = 2.0, least_measured: int = 20
) -> Chosen:
    """Choose by the errors on each part of the samples; the blend knows its own after one training on all.

    Args:
        trainer: What trains the candidates.
        time: Time that training runs share.
        most_behind: Standard errors that a candidate may be behind the best to be tried on further parts.
        least_measured: Number of samples on which a candidate is measured before it is given up.
    """
    parts = trainer.parts()
    tried = [name for name in trainer.plan.candidates if name != BLEND]
    blend = None
    failures: dict[str, OrdinateError] = {}
    if BLEND in trainer.plan.candidates:
        print(f"trying {BLEND}")
        to_come = 1 if trainer.folds is None else 2 + len(parts) * len(tried)
        with _kept_failure(BLEND, failures), training_until(time.share(to_come)):
            blend = trainer.train_on_all(BLEND)
    if blend is not None and trainer.folds is None:
        tried, parts = [], []  # They would take most of the time, and are seldom better by more than a standard error.
    measured = _measured_rows(trainer, parts)
    found = _errors_so_far(trainer, blend, measured)
    first = [] if blend is None else [BLEND]
    trials: dict[str, EmbeddingEstimator] = {}
    predicted: dict[str, list[Predictions]] = {name: [] for name in tried}
    place = 0
    for number, (part, others) in enumerate(parts, 1):
        of_folds, folder = "", ""
        if len(parts) > 1:
            of_folds, folder = f", {number} of {len(parts)}", f"-{number}"
        for position, name in enumerate(tried):
            print(f"trying {name}{of_folds}")
            to_come = (len(parts) - number + 1) * len(tried) - position
            to_come += not trainer.division.is_validated  # The last is on all samples.
            with _kept_failure(name, failures), training_until(time.share(to_come)):
                trials[name] = model = trainer.trial(name, part, f"{name}-trial{folder}")
                predicted[name].append(trainer.predictions(name, model, others))
                errors = found.of.setdefault(name, np.full(len(measured), np.nan))
                errors[place : place + len(others)] = predicted[name][-1].absolute_errors
        tried = [name for name in tried if name not in failures]
        if not first and not tried:
            raise next(iter(failures.values()))
        place += len(others)
        if number < len(parts) and place >= least_measured:
            best = found.lowest([*first, *tried])
            behind = [name for name in tried if found.behind(name, best, most_behind)]
            tried = [name for name in tried if name not in behind]
            if behind:
                print(f"{' and '.join(behind)} given up after {number} of {len(parts)}: clearly behind {best}")
            if len([*first, *tried]) < 2:
                break
    chosen = found.lowest([*first, *tried])
    intervals = found.intervals()
    _print_errors(intervals)
    _print_reason(found, chosen, [*first, *tried])
    if blend is not None and chosen == BLEND:
        return Chosen(BLEND, model=blend, rows=trainer.division.rows, tried=intervals)
    unseen = predicted[chosen]
    weights = None if found.weights is None else found.weights[: sum(map(len, unseen))]
    method = Chosen(chosen, note=measured_note(unseen), tried=intervals, unseen=unseen, unseen_weights=weights)
    if trainer.division.is_validated:
        return replace(method, model=trials[chosen], rows=parts[0][0])
    return method


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


def _measured_rows(trainer: Trainer, parts: Sequence[tuple[Rows, Rows]]) -> Rows:
    """Return the rows that candidates are measured on; of a blend alone all, unless validation rows are given."""
    if parts:
        return np.concatenate([unseen for _, unseen in parts])
    if trainer.division.is_validated:
        return trainer.division.validation
    return trainer.division.rows


def _errors_so_far(trainer: Trainer, blend: EmbeddingEstimator | None, measured: Rows) -> UnseenErrors:
    """Return the errors of the candidates on these rows, so far those of the blend if there is one."""
    found = UnseenErrors(column_of(trainer.samples.weights, measured), trainer.units_of(measured))
    if blend is not None:
        found.of |= _errors_of_blend(trainer, blend, measured)
    return found


def _errors_of_blend(trainer: Trainer, model: EmbeddingEstimator, measured: Rows) -> dict[str, NDArray[np.float64]]:
    """Return the errors of the blend, and of the simple models in it, on samples that they have not seen."""
    if trainer.division.is_validated or not isinstance(model, BlendParameters):
        return {BLEND: trainer.predictions(BLEND, model, measured).absolute_errors}
    errors: Mapping[str, NDArray[np.float64]] = model.unseen_errors_
    places = np.searchsorted(trainer.division.rows, measured)
    return {PARTS[name]: errors[name][places] for name in PARTS if name in errors}


def _print_reason(found: UnseenErrors, chosen: str, tried: Sequence[str]) -> None:
    """Print what was chosen, by how much, and which simple models had lower errors."""
    others = [name for name in tried if name != chosen]
    if others:
        other = found.lowest(others)
        difference, error = found.mean(chosen, other)
        lead = f"the lowest, {-difference:z.4f} below that of {other}"
        if found.lowest([other, chosen]) == other:  # Of equal ones the first is.
            lead = f"that of {other}, and it was tried first"
        elif not found.behind(other, chosen, 1.0):
            lead += ", which may be chance" + (f" (standard error {error:.4f})" if math.isfinite(error) else "")
        print(f"chosen: {chosen}, as its validation MAE is {lead}")
    parts = {*PARTS.values()} - {BLEND}
    simple = [name for name in found.of if name in parts and found.behind(chosen, name, 1.0)]
    if simple:
        print(f"note: {' and '.join(simple)} alone had lower errors than {chosen}, by more than a standard error")


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
            facts.append(f"{each['low']:z.4f} to {each['high']:z.4f}")
        if each["samples"] < most:
            facts.append(f"on {each['samples']:,} of {counted(int(most), 'sample')}")
        text = f"{name} {each['mae']:z.4f}"
        if facts:
            text += f" ({'; '.join(facts)})"
        shown.append(text)
    return ", ".join(shown)
