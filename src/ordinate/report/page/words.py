"""What was trained, how good it is and what to be careful about, in plain words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.counts import counted
from ordinate.data.known_scales import UNUSUAL
from ordinate.data.numbers import quoted_text
from ordinate.data.outliers import FAR_FROM
from ordinate.data.splits import SEEN_GROUP
from ordinate.data.tables.row_columns import DETERMINES
from ordinate.metrics import adjacent_error_rates
from ordinate.model.held_out import LARGER
from ordinate.model.labels import first_label
from ordinate.report.page.contents import Contents, kind_of_samples
from ordinate.report.page.effects import Effect
from ordinate.report.page.importance import Importance
from ordinate.report.page.measures import FEW, NETWORKS, Calibration, Measures, Predictor, gain


@dataclass(frozen=True)
class Caution:
    """Something to be careful about: in a few words, and why."""

    title: str
    reason: str


def introduce(by_target: Sequence[Contents], targets: Sequence[str], given: int) -> str:
    """Say what was trained on what, to predict what, and what part of the ``given`` samples the page is about."""
    contents = by_target[0]
    trained = f"{contents.method} was trained"
    if contents.training_labels is not None:
        trained += f" on {counted(len(contents.training_labels), 'sample')}"
    labels = [_label(each, target) for each, target in zip(by_target, targets, strict=True)]
    on = f", {kind_of_samples(contents)},"
    if contents.training_labels is None:
        on = f" on {kind_of_samples(contents)}"
    said = f"{trained}{on} to predict {', and '.join(labels)}."
    if len(contents) < given:
        said += f" This page is on {len(contents):,} of {counted(given, 'sample')}, at random."
    return said


def describe_quality(contents: Contents, predictors: Sequence[Predictor]) -> str:
    """Say how certain the quality of the predictions is, and what a constant would reach."""
    model, constant, *_ = predictors
    seen = "samples of this report"
    if contents.training_labels is not None:
        seen = f"samples{contents.known_from_training}"
    name = f"{constant.name[0].upper()}{constant.name[1:]}"
    if contents.names:
        score, of_constant = model.scores["accuracy"], constant.scores["accuracy"].value
        return (
            f"Of {len(contents):,} {seen}, {percent(score.value)} are predicted right (95% interval "
            f"{percent(score.low)} to {percent(score.high)}). {name}, would reach {percent(of_constant)}."
            f"{_rule_of(contents)}"
        )
    score, of_constant = model.scores["mae"], constant.scores["mae"].value
    return (
        f"On {len(contents):,} {seen}, its predictions are off by {score.value:.3g} on average (95% interval "
        f"{score.low:.3g} to {score.high:.3g}). {name}, would be off by {of_constant:.3g}."
    )


def _rule_of(contents: Contents) -> str:
    """Say that it predicts the median, where this is not the most probable rank of some samples."""
    rule = contents.model.rule  # Costs are an array.
    if not isinstance(rule, str) or rule != "median" or contents.probabilities is None:
        return ""
    others = int((contents.predicted != contents.probabilities.argmax(1)).sum())
    if others == 0:
        return ""
    return (
        f" It predicts the median of the probabilities, which is off by less on average than the most probable rank; "
        f"for {counted(others, 'sample')} it is another one."
    )


def describe_importance(contents: Contents, importance: Importance, shown: int) -> str:
    """Say how the importance of columns was measured and on what, or why it was not."""
    if not shown:
        columns = counted(importance.count, "column")
        return (
            f"The importance of the columns is left out: shuffling each of the {columns} once takes about "
            f"{importance.seconds:.1f} seconds. “ordinate explain” measures it without a limit of time."
        )
    measured = f"{counted(importance.samples, 'sample')}{contents.known_from_training}"
    said = (
        f"By how much the MAE rises when the values of a column are shuffled: the mean of "
        f"{counted(importance.repeats, 'repeat')} on {measured}. Columns that carry the same information share their "
        "importance, so each of them may seem unimportant."
    )
    if importance.effects:
        scale = "rank from 0" if contents.names and not first_label(contents.names) else "label"
        said += (
            f" How the prediction changes: the mean predicted {scale} if all samples had a low, a middle and a high "
            "value, with their other columns as they are."
        )
    if shown < importance.count:
        said += f" Here are the first {shown:,} of {counted(importance.count, 'column')}."
    return said


def describe_effect(effect: Effect, contents: Contents, *, least_share: float = 0.02) -> str:
    """Say how predictions change with a column: the direction, and mean predictions with some values.

    Predictions that differ by less than a share of the range of labels count as the same.
    """
    shift = first_label(contents.names)
    predictions = np.array(effect.predictions) + shift
    change = float(np.ptp(predictions))
    pairs = [f"{prediction:.3g} at {value}" for value, prediction in zip(effect.values, predictions, strict=True)]
    steps = np.diff(predictions)
    if change < least_share * float(np.ptp(contents.true) or 1):
        direction = "hardly any effect"
    elif not effect.are_ordered:
        direction = "differs"
    elif (steps > -0.1 * change).all():
        direction = "↗ rises"
    elif (steps < 0.1 * change).all():
        direction = "↘ falls"
    else:
        direction = "rises and falls"
    return f"{direction}: {', '.join(pairs)}"


def cautions_of_notes(notes: Sequence[str]) -> list[Caution]:
    """Return what to be careful about by notes on the data: copies of the label, and values far from all others."""
    titles = {
        DETERMINES: "A column may give the label away",
        FAR_FROM: "A value may be an error",
        SEEN_GROUP: "Groups from training",
        LARGER: "Larger errors than at fit",
        UNUSUAL: "The order of the ranks may be wrong",
    }
    cautions = []
    for words, title in titles.items():
        found = [note.removeprefix("note: ") for note in notes if words in note]
        cautions += [Caution(title, f"{note[0].upper()}{note[1:]}.") for note in found]
    return cautions


def cautions_of_targets(
    by_target: Sequence[Contents], measures: Sequence[Measures], targets: Sequence[str]
) -> list[Caution]:
    """Return what to be careful about: first what holds for every target, then the rest, with the target's name."""
    found = [find_cautions(*each) for each in zip(by_target, measures, strict=True)]
    shared = [caution for caution in found[0] if all(caution in cautions for cautions in found)]
    listed = list(shared)
    for target, cautions in zip(targets, found, strict=True):
        own = [caution for caution in cautions if caution not in shared]
        listed += [replace(caution, title=f"{target}: {caution.title}") for caution in own]
    return listed


def find_cautions(contents: Contents, measures: Measures) -> list[Caution]:
    """Return what to be careful about, what weighs most first."""
    cautions = [
        *_about_the_samples(contents),
        *_about_simple_predictors(contents, measures.predictors),
    ]
    if contents.names is not None:
        cautions += _about_ranks(contents, contents.names)
        cautions += _about_boundaries(contents, contents.names)
    elif len(contents) < 50:
        cautions.append(
            Caution("Few samples", f"All is measured on {counted(len(contents), 'sample')}; look at the intervals.")
        )
    if measures.calibration is not None:
        cautions += _about_probabilities(contents, measures.calibration)
    if contents.names is not None and measures.coverage is not None:
        cautions += _about_coverage(contents, contents.names, measures.coverage)
    return [*cautions, *_about_labels(contents, measures.suspects)]


def _about_the_samples(contents: Contents) -> Iterator[Caution]:
    if contents.training_labels is None:
        yield Caution(
            "It may have seen these samples",
            "It is not known which samples the model was trained on. If these are among them, everything here looks "
            "better than it is.",
        )
    elif contents.seen:
        yield Caution(
            "Samples from training",
            f"{contents.seen:,} of {counted(len(contents), 'sample')} equal one that the model was trained on, in "
            "all that it sees. On them it is easily right.",
        )


def _about_simple_predictors(contents: Contents, predictors: Sequence[Predictor]) -> Iterator[Caution]:
    others = [each for each in predictors[1:] if each.name not in NETWORKS]
    best = min(others, key=lambda other: other.scores["mae"].value)
    lead = gain(contents, best.predicted)
    own, other = predictors[0].scores["mae"].value, best.scores["mae"].value
    compared = f"The MAE of “{best.name}” is {other:.3g}, the model's {own:.3g}"
    if lead.high < 0:
        yield Caution(f"Worse than {best.name}", f"{compared}.")
    elif lead.low <= 0:
        words = "Not better than" if lead.value < 0 else "Not clearly better than"
        yield Caution(f"{words} {best.name}", f"{compared}, within chance.")


def _about_ranks(
    contents: Contents, names: list[str], *, least_missed: int = 3, least_measured: int = 10
) -> Iterator[Caution]:
    """Warn of margins that collapsed, of ranks that are never found, and of those with few samples."""
    if contents.collapsed:
        boundaries = _listed([f"{names[low]} | {names[high]}" for low, high in contents.collapsed])
        yield Caution(
            "Collapsed margins",
            f"Between {boundaries} the learned margin is almost 0: training did not keep these ranks apart. Fix "
            "the margin, set a floor, or end phase one earlier.",
        )
    measured = np.bincount(contents.true, minlength=len(names))
    hits = np.bincount(contents.true[contents.errors == 0], minlength=len(names))
    missed = _named(names, measured, (hits == 0) & (measured >= least_missed))
    if len(np.unique(contents.predicted)) == 1 < len(np.unique(contents.true)):
        only = quoted_text(names[contents.predicted[0]])
        yield Caution("One rank for all samples", f"The model predicts {only} for all of them.")
    elif missed:
        yield Caution("Ranks it never finds", f"No sample of {missed} is predicted correctly.")
    rare = (hits > 0) & (measured >= least_measured) & (hits < measured / 3)
    if rare.any():
        found = [
            f"{hits[rank]} of {counted(measured[rank], 'sample')} of “{names[rank]}”" for rank in np.flatnonzero(rare)
        ]
        yield Caution("Ranks it rarely finds", f"Predicted correctly: {_listed(found)}.")
    if contents.training_labels is not None:
        counts = np.bincount(contents.training_labels, minlength=len(names))
        small = _named(names, counts, counts < FEW)
        if small:
            yield Caution("Ranks with few training samples", f"{small}: fewer than {FEW} to learn from.")
    absent = [name for name, count in zip(names, measured, strict=True) if count == 0]
    if absent:
        yield Caution("Ranks without a sample here", f"{_listed(absent)}: nothing is known of them.")
    small = _named(names, measured, (measured > 0) & (measured < least_measured))
    if small:
        yield Caution("Ranks with few samples here", f"{small}: scores on them are mostly chance.")


def _about_boundaries(
    contents: Contents, names: list[str], *, least_share: float = 0.1, least_crossed: int = 3
) -> Iterator[Caution]:
    """Warn of the boundary that is crossed most often, if that is by a share and a number of samples that count."""
    rates = adjacent_error_rates(contents.true, contents.predicted, len(names))
    worst = int(np.nanargmax(rates))
    lower = np.minimum(contents.true, contents.predicted)
    crossed = np.sum((lower == worst) & (np.abs(contents.errors) == 1))
    if rates[worst] >= least_share and crossed >= least_crossed:
        yield Caution(
            f"The boundary {names[worst]} | {names[worst + 1]} is often crossed",
            f"{rates[worst]:.0%} of the samples of these two ranks are taken for the other one.",
        )


def _about_probabilities(contents: Contents, calibration: Calibration, most_error: float = 0.1) -> Iterator[Caution]:
    if calibration.error <= max(most_error, calibration.by_chance):
        return
    promised = np.nansum(calibration.promised * calibration.counts) / len(contents)
    right = np.mean(contents.errors == 0)
    by_chance = 2 * np.sqrt(right * (1 - right) / len(contents))  # About the half of a 95% interval.
    title = "Its probabilities are off"
    if promised > right + by_chance:
        title = "Its probabilities are too sure"
    elif promised < right - by_chance:
        title = "Its probabilities are not sure enough"
    advice = ""
    scale = getattr(getattr(contents.model.predictor, "temperature", None), "scale", None)
    is_calibrated = scale is not None and float(scale) != 1
    if is_calibrated:
        advice = " They were calibrated on other samples than these, which may be too few or differ from these."
    elif not contents.is_blend:
        advice = (
            " Validation samples (a column of the split, or fit's validation) calibrate a model's probabilities; "
            "without them, a second training with training.calibration=true does, which is the default for tables."
        )
    yield Caution(
        title,
        f"They promise {promised:.0%} right on average; {right:.0%} are. Among samples with about the same probability "
        f"the two differ by {calibration.error:.0%} on average. Do not read them as chances.{advice}",
    )


def _about_coverage(
    contents: Contents, names: list[str], coverage: pd.DataFrame, *, least_measured: int = 5
) -> Iterator[Caution]:
    """Warn of ranks that sets hold clearly less often than all samples, by the highest coverage that shows it."""
    counts = np.bincount(contents.true, minlength=len(names))
    for _, row in coverage[::-1].iterrows():
        short = []
        for name, count in zip(names, counts, strict=True):
            promised, held = float(row["promised"]), float(row[name]) if count else 1.0
            if count >= least_measured and held < promised - 2 * np.sqrt(promised * (1 - promised) / count):
                short.append(f"{held:.0%} of {name}")
        if short:
            yield Caution(
                "Prediction sets that hold some ranks too rarely",
                f"Sets that hold the label of {row['promised']:.0%} of all samples hold {_listed(short)}. Sets by "
                "rank, which “ordinate predict” and predict_set (by_rank=True) give too, promise it for every rank.",
            )
            return


def _about_labels(contents: Contents, suspects: pd.DataFrame) -> Iterator[Caution]:
    if contents.contradicting:
        yield Caution(
            "The same sample, other labels",
            f"{counted(contents.contradicting, 'sample')} equal another in all that the model sees and have another "
            "label. No model can be right on all of them.",
        )
    if len(suspects):
        yield Caution(
            f"{counted(len(suspects), 'label')} to check",
            "Their labels are far from what is predicted for them here; see “Labels to check”.",
        )


def _label(contents: Contents, target: str) -> str:
    if contents.names is None:
        low, high = contents.true.min(), contents.true.max()
        return f"{target}, a number ({low:.4g} to {high:.4g} here)"
    names = contents.names
    if len(names) > 8:
        return f"{target}, one of {counted(len(names), 'rank')} from {names[0]} to {names[-1]}"
    return f"{target}, one of {counted(len(names), 'rank')}: {' < '.join(names)}"


def percent(share: float) -> str:
    """Return a share in whole percent, or in tenths where it is nearly all or nearly nothing.

    Example:
        >>> percent(0.91), percent(0.997), percent(1.0), percent(0.575)
        ('91%', '99.7%', '100%', '58%')
    """
    in_tenths = 0 < share < 0.01 or 0.99 < share < 1
    return f"{rounded(100 * share, 1 if in_tenths else 0)}%"


def rounded(number: float, digits: int) -> str:
    """Return a number with so many digits after the point; halves are rounded away from 0.

    Example:
        >>> rounded(0.425, 2), rounded(62.5, 0), f"{0.425:.2f}", f"{62.5:.0f}"
        ('0.43', '63', '0.42', '62')
    """
    shown = Decimal(f"{number:.12g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{shown:f}"


def _named(names: Sequence[str], counts: NDArray[np.int64], kept: NDArray[np.bool_]) -> str:
    """Return some of the ranks with their numbers of samples."""
    return _listed([f"“{names[rank]}” ({counts[rank]:,})" for rank in np.flatnonzero(kept).tolist()])


def _listed(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    if len(names) > most:
        shown += f" and {len(names) - most} more"
    return shown
