"""What was trained, how good it is and what to be careful about, in plain words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.metrics import adjacent_error_rates
from ordinate.report.page.contents import Contents, kind_of_samples
from ordinate.report.page.measures import FEW, Calibration, Duplicates, Predictor, gain

FEW_MEASURED = 10  # samples of a rank, below which little is known of it
OFTEN_CROSSED, CROSSINGS = 0.1, 3  # share beside a boundary and number of samples, from which a crossing is named
POORLY_CALIBRATED = 0.1
NAMED = 4  # ranks or boundaries that a caution names
LABELS_IN_A_SENTENCE = 8


@dataclass(frozen=True)
class Caution:
    """Something to be careful about: in a few words, and why."""

    title: str
    reason: str


def introduce(contents: Contents, target: str, given: int) -> str:
    """Say what was trained on what, to predict what, and what part of the ``given`` samples the page is about."""
    trained_on = "" if contents.training_labels is None else f" on {_count(len(contents.training_labels), 'sample')}"
    of = kind_of_samples(contents)
    part = f" This page is on {len(contents):,} of {given:,} samples, at random." if len(contents) < given else ""
    return f"{contents.method} was trained{trained_on}, {of}, to predict {_label(contents, target)}.{part}"


def describe_quality(contents: Contents, predictors: Sequence[Predictor]) -> str:
    """Say how good the predictions are, and beside what."""
    model, simple = predictors[0], predictors[1:]
    held_out = "samples it has not seen" if contents.training_labels is not None else "the samples of this report"
    if contents.names:
        score = model.scores["accuracy"]
        sentence = (
            f"Of {len(contents):,} {held_out}, it gives {percent(score.value)} their true rank "
            f"(95% interval {percent(score.low)} to {percent(score.high)}), and is off by "
            f"{model.scores['mean error, in ranks'].value:.2f} ranks on average."
        )
        reached = {other.name: other.scores["accuracy"].value for other in simple}
        best = max(list(reached)[1:], key=lambda name: reached[name], default=None)
        would = {name: f"would reach {percent(value)}" for name, value in reached.items()}
    else:
        score = model.scores["mean error"]
        sentence = (
            f"On {len(contents):,} {held_out}, its predictions are off by {score.value:.3g} on average "
            f"(95% interval {score.low:.3g} to {score.high:.3g})."
        )
        reached = {other.name: other.scores["mean error"].value for other in simple}
        best = min(list(reached)[1:], key=lambda name: reached[name], default=None)
        would = {name: f"would be off by {value:.3g}" for name, value in reached.items()}
    constant = next(iter(reached))
    said = f"{sentence} {constant[0].upper()}{constant[1:]}, {would[constant]}"
    if best is None:
        return f"{said}."
    other = f"{best}," if len(simple) == 2 else f"the best of the other simple predictors ({best})"
    return f"{said}; {other} {would[best]}."


def find_cautions(
    contents: Contents,
    predictors: Sequence[Predictor],
    calibration: Calibration | None,
    duplicates: Duplicates,
    suspects: pd.DataFrame,
) -> list[Caution]:
    """Return what to be careful about, what weighs most first."""
    return [
        *_about_the_samples(contents, duplicates),
        *_about_simple_predictors(contents, predictors),
        *_about_margins(contents),
        *_about_ranks(contents),
        *_about_boundaries(contents),
        *_about_probabilities(contents, calibration),
        *_about_labels(duplicates, suspects),
    ]


def _about_the_samples(contents: Contents, duplicates: Duplicates) -> Iterator[Caution]:
    if contents.training_labels is None:
        yield Caution(
            "It may have seen these samples",
            "It is not known which samples the model was trained on. If these are among them, everything here looks "
            "better than it is.",
        )
    elif duplicates.seen:
        yield Caution(
            "Samples from training",
            f"{duplicates.seen:,} of {len(contents):,} samples equal one that the model was trained on, in all that it "
            "sees. On them it is easily right.",
        )


def _about_simple_predictors(contents: Contents, predictors: Sequence[Predictor]) -> Iterator[Caution]:
    error = next(name for name in predictors[0].scores if name.startswith("mean error"))
    best = min(predictors[1:], key=lambda other: other.scores[error].value)
    lead = gain(contents, best)
    if lead.low <= 0:
        yield Caution(
            "Worse than something simple" if lead.high < 0 else "Not clearly better than something simple",
            f"The mean error of “{best.name}” is {best.scores[error].value:.3g}, the model's "
            f"{predictors[0].scores[error].value:.3g}" + (", within chance." if lead.high >= 0 else "."),
        )


def _about_margins(contents: Contents) -> Iterator[Caution]:
    if contents.collapsed and contents.names is not None:
        names = [f"{contents.names[low]} | {contents.names[high]}" for low, high in contents.collapsed]
        yield Caution(
            "Collapsed margins",
            f"Between {_listed(names)} the learned margin is almost 0: training did not keep these ranks apart. Fix "
            "the margin, set a floor, or end phase one earlier.",
        )


def _about_ranks(contents: Contents) -> Iterator[Caution]:
    """Warn of ranks that are never found, and of those with few samples."""
    if contents.names is None:
        if len(contents) < 5 * FEW_MEASURED:
            yield Caution("Few samples", f"All is measured on {len(contents)} samples; look at the intervals.")
        return
    count = len(contents.names)
    measured = np.bincount(contents.true, minlength=count)
    hits = np.bincount(contents.true[contents.errors == 0], minlength=count)
    missed = _named(contents.names, measured, (hits == 0) & (measured >= CROSSINGS))
    if missed:
        yield Caution("Ranks it never finds", f"No sample of {missed} is predicted as what it is.")
    if contents.training_labels is not None:
        counts = np.bincount(contents.training_labels, minlength=count)
        small = _named(contents.names, counts, counts < FEW)
        if small:
            yield Caution("Ranks with few training samples", f"{small}: fewer than {FEW} to learn from.")
    absent = [name for name, count in zip(contents.names, measured, strict=True) if count == 0]
    if absent:
        yield Caution("Ranks without a sample here", f"{_listed(absent)}: nothing is known of them.")
    small = _named(contents.names, measured, (measured > 0) & (measured < FEW_MEASURED))
    if small:
        yield Caution("Ranks with few samples here", f"{small}: what is measured on them is mostly chance.")


def _about_boundaries(contents: Contents) -> Iterator[Caution]:
    if contents.names is None:
        return
    rates = adjacent_error_rates(contents.true, contents.predicted, len(contents.names))
    worst = int(np.nanargmax(rates))
    pair = {worst, worst + 1}
    crossed = sum(t != p and {t, p} == pair for t, p in zip(contents.true, contents.predicted, strict=True))
    if rates[worst] >= OFTEN_CROSSED and crossed >= CROSSINGS:
        yield Caution(
            f"The boundary {contents.names[worst]} | {contents.names[worst + 1]} is often crossed",
            f"{rates[worst]:.0%} of the samples of these two ranks are taken for the other one.",
        )


def _about_probabilities(contents: Contents, calibration: Calibration | None) -> Iterator[Caution]:
    if calibration is not None and calibration.error > max(POORLY_CALIBRATED, calibration.by_chance):
        promised, right = np.nansum(calibration.promised * calibration.counts) / len(contents), contents.errors == 0
        yield Caution(
            f"Its probabilities are {'too sure' if promised > np.mean(right) else 'not sure enough'}",
            f"They promise {promised:.0%} right on average; {np.mean(right):.0%} are. Do not read them as chances. "
            "Validation samples (a --split column, or fit's validation) calibrate a model's probabilities; without "
            "them, a second training with training.calibration=true does, which is the default for tables.",
        )


def _about_labels(duplicates: Duplicates, suspects: pd.DataFrame) -> Iterator[Caution]:
    if duplicates.contradicting:
        yield Caution(
            "The same sample, other labels",
            f"{_count(duplicates.contradicting, 'sample')} equal another in all that the model sees and have another "
            "label. No model can be right on all of them.",
        )
    if len(suspects):
        yield Caution(
            f"{_count(len(suspects), 'label')} to check",
            "What is nearest to them has another label, or models trained without them say so; see “Labels to check”.",
        )


def _label(contents: Contents, target: str) -> str:
    if contents.names is None:
        low, high = contents.true.min(), contents.true.max()
        return f"{target}, a number ({low:.4g} to {high:.4g} here)"
    names = contents.names
    if len(names) > LABELS_IN_A_SENTENCE:
        return f"{target}, one of {len(names)} ranks from {names[0]} to {names[-1]}"
    return f"{target}, one of {len(names)} ranks: {' < '.join(names)}"


def percent(share: float) -> str:
    """Return a share in whole percent, or in tenths where it is nearly all or nearly nothing.

    Example:
        >>> percent(0.91), percent(0.997), percent(1.0)
        ('91%', '99.7%', '100%')
    """
    return f"{share:.1%}" if 0 < share < 0.01 or 0.99 < share < 1 else f"{share:.0%}"


def _named(names: Sequence[str], counts: NDArray[np.int64], kept: NDArray[np.bool_]) -> str:
    """Return some of the ranks with their counts."""
    return _listed([f"{names[rank]} ({counts[rank]})" for rank in np.flatnonzero(kept).tolist()])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
