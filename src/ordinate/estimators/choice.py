"""Choosing one of several models by its error on validation samples, within a time limit."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ordinate.errors import OrdinateError
from ordinate.option_group import Settings
from ordinate.torchrun import broadcast_from_rank_zero, is_first_process
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until

LEAST_TRAINING = 0.04  # A training that starts too late still gets this share of the limit.


class Trial(NamedTuple):
    """The error of a trial on validation samples, and its epochs where its training was cut by its time."""

    error: float
    epochs: int | None = None


@dataclass
class Choice:
    """What was chosen, and what is known of the others.

    Args:
        errors: Validation error of the candidates that were tried.
        epochs: Epochs of the trials whose training was cut by its time.
        seconds: Seconds that their trials took.
        shares: Start of each trial and the end set for its training, in seconds spent.
        untried: Candidates that were not tried for lack of time.
        failed: Reasons why other candidates could not be trained.
        chosen: Candidate with the lowest error.
    """

    errors: dict[str, float] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    shares: dict[str, tuple[float, float]] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    chosen: str | None = None


def choose_within(
    candidates: Sequence[str],
    trial: Callable[[str], Trial],
    budget: TimeBudget,
    until: float,
    *,
    growth: float = 1.0,
    record: Path | None = None,
) -> Choice:
    """Try candidates in their order and choose the one with the lowest error, so that its training still fits.

    The first two share the time evenly with the training of the chosen model on all samples, which is expected to last
    as long as its trial times ``growth``. The training of a trial ends when its share is over, so that there always is
    a model. Further candidates are tried while more time is left than the training of the best so far needs. A
    candidate that cannot be trained is left out; it is an error if none can be.

    Args:
        candidates: Distinct names of candidates.
        trial: Function that trains a candidate on a part of the training samples and returns its error on others.
        budget: Budget of time.
        until: Seconds of the budget spent when the training of the chosen model has to end.
        growth: Ratio of all training samples to those of a trial.
        record: File that keeps what is known; a choice that was stopped continues from it.

    Under torchrun all processes choose together, by the clock of the first.

    Example:
        >>> trials = {"cloc": Trial(0.4), "otd": Trial(0.3)}
        >>> choose_within(["cloc", "otd"], trials.__getitem__, TimeBudget(60), until=50).chosen
        'otd'
    """
    if not candidates:
        raise OrdinateError("candidates", "none", "at least one name")
    choice = Choice(**broadcast_from_rank_zero(lambda: _kept(record)))
    if choice.chosen:
        return choice
    for place, name in enumerate(candidates):
        if name in choice.errors or name in choice.untried or name in choice.failed:
            continue
        if name not in choice.shares:
            to_come = min(2, len(candidates)) - place
            share = broadcast_from_rank_zero(partial(_share, choice, to_come, until - budget.spent, growth))
            if share <= 0 and choice.errors:
                choice.untried.append(name)
                continue
            choice.shares[name] = (budget.spent, budget.spent + share)
            _keep(choice, record)
        began, end = choice.shares[name]
        try:
            with training_until(TrainingEnd(budget, end, LEAST_TRAINING * budget.seconds)):
                own = trial(name)
        except OrdinateError as error:
            if name == candidates[-1] and not choice.errors:
                raise
            choice.failed[name] = str(error)
            continue
        tried = Trial(*broadcast_from_rank_zero(partial(tuple, own)))
        choice.errors[name], choice.seconds[name] = tried.error, budget.spent - began
        if tried.epochs is not None:
            choice.epochs[name] = tried.epochs
        _keep(choice, record)
    choice.chosen = min(choice.errors, key=choice.errors.__getitem__)
    _keep(choice, record)
    return choice


def _share(choice: Choice, to_come: int, left: float, growth: float) -> float:
    """Return the seconds for the next trial, 0 where there is no time for one.

    ``to_come`` counts it and those after it that a share is kept for; below 1 it is one of the further candidates.
    """
    share = max(0.0, left) / (max(1, to_come) + growth)
    if not choice.errors:
        return share
    best = min(choice.errors, key=choice.errors.__getitem__)
    share = min(share, left - growth * choice.seconds[best])
    if to_come <= 0 and share <= max(choice.seconds.values()) / 2:  # A part of a trial is not worth its time.
        return 0.0
    return max(0.0, share)


def _kept(record: Path | None) -> Settings:
    if record is None or not record.exists():
        return {}
    return json.loads(record.read_text())


def _keep(choice: Choice, record: Path | None) -> None:
    if record is None or not is_first_process():
        return
    record.parent.mkdir(parents=True, exist_ok=True)
    pending = record.with_suffix(".tmp")
    pending.write_text(json.dumps(asdict(choice)))
    pending.replace(record)
