"""What a page shows: everything measured, as the values that its template and its script fill in."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import cos, pi, sin

import numpy as np
import pandas as pd
from bokeh.models import Plot
from numpy.typing import NDArray

from ordinate.data.csv_files import without_formulas
from ordinate.data.rows import Samples
from ordinate.model.model import Model
from ordinate.report.card import intended_use, limits, parts_of, versions
from ordinate.report.page import document, plots, words
from ordinate.report.page.contents import Contents
from ordinate.report.page.document import Values
from ordinate.report.page.effects import Reason
from ordinate.report.page.importance import MOST_COLUMNS, Importance
from ordinate.report.page.measures import Calibration, EmbeddingOrder, Groups, Measures, Predictor, Score
from ordinate.report.page.projections import Projection
from ordinate.report.page.samples import packed, show_samples
from ordinate.report.page.verdict import Compared
from ordinate.report.text import METRICS, boundary_names
from ordinate.version import __version__


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report, in addition to model and samples; see :func:`~ordinate.report.page.page.write_report`."""

    targets: Sequence[str]
    given: int
    names: Sequence[str] | None
    has_suspects: bool
    has_held_out: bool
    costs: pd.DataFrame | None
    command: str | None
    facts: Mapping[str, str]
    notes: Sequence[str] = ()


def view(
    by_target: Sequence[Contents],
    X: Samples,
    measures_by_target: Sequence[Measures],
    importance: Importance | None,
    projected: Sequence[Projection],
    options: ReportOptions,
    compared: Compared,
    columns: Sequence[Sequence[str]],
    reasons: Mapping[int, Reason],
) -> Values:
    """Return the values of the report of one model, on samples X as they were given.

    Contents and measures are those of every target; everything that is not in the part of a target is of the first one.

    Args:
        by_target: Contents.
        X: Samples.
        measures_by_target: Measures.
        importance: Importance of columns; None for other data than tables.
        projected: Projections of the embeddings.
        options: Options of the report.
        compared: Comparison with simple predictors.
        columns: Cells of the table of columns, see :func:`~ordinate.report.page.overview.describe_columns`.
        reasons: Explanations of single samples.
    """
    contents, measures = by_target[0], measures_by_target[0]
    model, groups = contents.model, measures.groups
    shown = show_samples(contents, X)
    values: Values = dict.fromkeys(("importance", "order", "margins", "calibration", "costs"))
    if importance is not None:
        values["importance"] = _importance(importance, contents)
    if measures.order is not None:
        values["order"] = _order(contents.names or [], measures.order)
    if "margins_" in model.facts:
        values["margins"] = _margins(model, contents.names or [])
    if measures.calibration is not None:
        values["calibration"] = _calibration(measures.calibration)
    if options.costs is not None:
        values["costs"] = _plain_table(options.costs)
    return {
        **values,
        "metrics": [METRICS[name] for name in measures.predictors[0].scores],
        "colours": document.colours(contents.names),
        "ranks": contents.names,
        "counts": np.bincount(groups.of, minlength=len(groups.names)).tolist(),
        "range": [contents.label_name(contents.true.min()), contents.label_name(contents.true.max())],
        "command": options.command,
        "version": __version__,
        "date": date.today().isoformat(),
        "title": _title(options.targets, compared),
        "introduction": words.introduce(by_target, options.targets, options.given),
        "targets": [
            _target(*each, compared) for each in zip(options.targets, by_target, measures_by_target, strict=True)
        ],
        "cautions": compared.cautions,
        "labels": _labels(groups),
        "columns": list(columns),
        "are_columns_of_training": contents.training_labels is not None,
        "notes": [note.removeprefix("note: ") for note in (*options.notes, *model.reader.notes)],
        "is_blend": contents.is_blend,
        "is_learning_shown": contents.has_learning_curve,
        "intended_use": intended_use(options.targets),
        "limits": limits(len(contents), contents.known_from_training, of_table=model.reader.kind == "table"),
        "projections": [(each.key, each.name) for each in projected],
        "method": contents.method,
        "count": len(contents),
        "groups": groups,
        "shown_note": shown["note"],
        "has_held_out": options.has_held_out,
        "boundaries": boundary_names(contents.names or []),
        "suspects": _suspects(_all_suspects(measures_by_target, options.targets), contents, options),
        "facts": [
            *options.facts.items(),
            *parts_of(model).items(),
            *versions().items(),
            ("Seed", str(model.origin.params["random_state"])),
        ],
        "settings": _settings(model),
        "data": {
            **_data(by_target, measures_by_target, projected, options, shown),
            "reasons": _reasons(reasons),
        },
        "plots": plots.document(_plots(by_target, measures_by_target, projected[0])),
    }


def _title(targets: Sequence[str], compared: Compared) -> str:
    """Return what is predicted and, of one label, how well."""
    if len(targets) > 1:
        return f"Predicting {', '.join(targets)}"
    (verdict,) = compared.verdicts.values()
    return f"Predicting {targets[0]}: {verdict.result}"


def _labels(groups: Groups) -> Values:
    """Return how many samples have which label, or a label in which range."""
    header, counts = ["label", "samples here"], [np.bincount(groups.of, minlength=len(groups.names))]
    if groups.trained_on is not None:
        header, counts = ["label", "trained on", "samples here"], [groups.trained_on, *counts]
    rows = []
    for place, name in enumerate(groups.names):
        shares = [f"{count[place]:,} ({words.percent(count[place] / count.sum())})" for count in counts]
        rows.append([name, *shares])
    return {"header": header, "rows": rows}


def _reasons(reasons: Mapping[int, Reason]) -> Values:
    """Return what each column adds to the predictions of some samples, ready for the page's script."""
    found = {}
    for row, reason in reasons.items():
        parts = [[name, float(f"{part:.3g}")] for name, part in reason.parts]
        found[str(row)] = {"baseline": float(f"{reason.baseline:.4g}"), "parts": parts}
    return found


def _target(name: str, contents: Contents, measures: Measures, compared: Compared) -> Values:
    """Return the values of the parts of the page that every target has."""
    coverage = None
    if measures.coverage is not None:
        coverage = _plain_table(measures.coverage)
    return {
        "name": name,
        "verdict": compared.verdicts[name],
        "quality": words.describe_quality(contents, measures.predictors),
        "scores": _score_rows(measures.predictors),
        "groups": measures.groups,
        "coverage": coverage,
    }


def _settings(model: Model) -> list[list[str]]:
    """Return the parameters of a model, those of groups of options one by one, with their values."""
    shown: list[list[str]] = []
    for name, value in sorted(model.origin.params.items()):
        if isinstance(value, dict) and name != "encoder":
            shown += [[f"{name}.{option}", str(each)] for option, each in value.items()]
        else:
            shown.append([name, str(value)])
    return shown


def _plots(by_target: Sequence[Contents], measures_by_target: Sequence[Measures], first: Projection) -> list[Plot]:
    contents, measures = by_target[0], measures_by_target[0]
    columns: dict[str, NDArray[np.generic]] = {"x": first.points[:, 0], "y": first.points[:, 1]}
    for place, each in enumerate(by_target):
        columns[f"true{_end(place)}"] = each.true.astype(np.float32)
        columns[f"predicted{_end(place)}"] = each.predicted.astype(np.float32)
    source = plots.point_source(**columns, colour=plots.uncoloured(len(contents)))
    size = (9.0, 7.0, 5.5, 4.5)[int(np.digitize(len(contents), [200, 1500, 5000]))]
    drawn = [plots.cloud("embedding", source, size=size)]
    if contents.has_learning_curve:
        drawn.append(plots.learning_curve(contents.model.history))
    if contents.names is None:
        for place, each in enumerate(by_target):
            drawn.append(plots.predicted_targets(source, np.concatenate([each.true, each.predicted]), _end(place)))
    if "margins_" in contents.model.facts and contents.model.history:
        drawn.append(plots.margins_over_training(contents.model.history, len(contents.model.facts["margins_"])))
    if measures.calibration is not None:
        drawn.append(plots.reliability(measures.calibration))
    for place, of_target in enumerate(measures_by_target):
        if of_target.coverage is not None:
            drawn.append(plots.promised_coverage(of_target.coverage, _end(place)))
    return drawn


def _end(place: int) -> str:
    """Return how names of plots and columns end that belong to a target; the first one's are plain."""
    return str(place) if place > 0 else ""


def _data(
    by_target: Sequence[Contents],
    measures_by_target: Sequence[Measures],
    projected: Sequence[Projection],
    options: ReportOptions,
    shown: Values,
) -> Values:
    """Return what the page's script reads."""
    contents = by_target[0]
    values: Values = dict.fromkeys(("confidence", "probabilities", "names"))
    if contents.probabilities is not None:
        values["confidence"] = _short(contents.confidence)
        values["probabilities"] = (100 * contents.probabilities.T).round().astype(int).tolist()
    if options.names is not None:
        values["names"] = [str(name) for name in options.names]
    drawn = []
    for each in projected:
        x, y = (packed(axis, "f4") for axis in each.points.T)
        drawn.append({"key": each.key, "note": each.note, "x": x, "y": y})
    first, *others = map(_target_data, options.targets, by_target, measures_by_target)
    return {
        **values,
        **first,
        "others": others,
        "ranks": contents.names,
        "neighbours": packed(measures_by_target[0].neighbours[:, :8], "i4"),
        "projections": drawn,
        "shown": shown,
    }


def _target_data(name: str, contents: Contents, measures: Measures) -> Values:
    """Return what the page's script reads of a target."""
    groups = measures.groups
    mean_errors = pd.Series(np.abs(contents.errors)).groupby(groups.of).mean()
    return {
        "target": name,
        "true": contents.true.tolist(),
        "predicted": _short(contents.predicted),
        "error": _short(contents.errors),
        "groups": groups.names,
        "groupOf": groups.of.tolist(),
        "errorScale": float(mean_errors.max()) or 1.0,
        "largeError": large_error(contents.errors),
        "range": [float(np.min(contents.true)), float(np.max(contents.true))],
    }


def _score_rows(predictors: Sequence[Predictor]) -> list[Values]:
    """Return the rows of a table of scores, of which the first is the model's."""
    rows: list[Values] = []
    largest = dict.fromkeys(predictors[0].scores, 1.0)
    for metric in largest:
        if metric == "mae":
            largest[metric] = max(each.scores[metric].high for each in predictors) or 1.0
    for place, predictor in enumerate(predictors):
        cells = []
        for metric, score in predictor.scores.items():
            shown = words.percent if metric == "accuracy" else _number
            cells.append(_cell(score, largest[metric], shown))
        rows.append({"name": predictor.name, "own": place == 0, "cells": cells})
    return rows


def _cell(score: Score, largest: float, shown: Callable[[float], str]) -> Values:
    """Return a cell of a table of scores, whose picture reaches from 0 to the largest score."""
    low, high, at = np.clip(np.array([score.low, score.high, score.value]) / largest, 0, 1).tolist()
    interval = f"{shown(score.low)} to {shown(score.high)}"
    return {"text": shown(score.value), "interval": interval, "low": low, "high": high, "at": at}


def _importance(importance: Importance, contents: Contents) -> Values:
    scores = {name: Score(*numbers) for name, *numbers in importance.columns.head(MOST_COLUMNS).to_numpy().tolist()}
    largest = max((score.high for score in scores.values()), default=0.0) or 1.0
    rows = []
    for name, score in scores.items():
        effect = importance.effects.get(name)
        direction = "" if effect is None else words.describe_effect(effect, contents)
        cells = [_cell(score, largest, _number)]
        rows.append({"name": name, "own": False, "cells": cells, "direction": direction})
    return {"rows": rows, "sentence": words.describe_importance(contents, importance, len(rows))}


def large_error(errors: NDArray[np.float64]) -> float:
    """Return the error from which one counts as large, that of the 95th percentile."""
    return float(np.quantile(np.abs(errors), 0.95)) or 1.0


def _order(names: Sequence[str], order: EmbeddingOrder) -> Values:
    even = np.linspace(0, 180, len(names)).tolist()
    rows, described = [], []
    for name, angle, place in zip(names, order.angles, even, strict=True):
        rows.append([name, _or_dash(angle, ".1f"), f"{place:.1f}"])
        if not np.isnan(angle):
            described.append(f"{name} at {angle:.0f} degrees")
    return {
        "ordered": order.ordered,
        "cosines": [[_cosine(cosine) for cosine in row] for row in order.cosines.tolist()],
        "marks": _marks(names, order.angles, even),
        "angles_text": ", ".join(described),
        "rows": rows,
    }


def _cosine(cosine: float) -> Values:
    if np.isnan(cosine):
        return {"text": "", "share": 0, "kind": ""}
    text = f"{cosine:z.2f}".replace("-", "\u2212")
    return {"text": text, "share": round(abs(cosine), 3), "kind": "against" if cosine < 0 else ""}


def _marks(names: Sequence[str], angles: NDArray[np.float64], even: Sequence[float]) -> list[Values]:
    """Place ranks on the half circle around (250, 215), their names outside it, none over another."""

    def at(degrees: float, radius: float) -> tuple[float, float]:
        return round(250 - radius * cos(pi * degrees / 180), 1), round(215 - radius * sin(pi * degrees / 180), 1)

    marks = []
    apart, free = min(9.0, 180 / len(names)), -1e9
    written = {}
    for rank in np.argsort(angles)[: int(np.sum(~np.isnan(angles)))]:
        free = written[rank] = max(angles[rank], free + apart)
    too_far = max(0.0, free - 180)
    for rank, name in enumerate(names):
        ideal_x, ideal_y = at(even[rank], 170)
        mark = {"rank": rank, "name": _shortened(name), "ideal_x": ideal_x, "ideal_y": ideal_y, "x": None}
        if rank in written:
            place = written[rank] - too_far
            mark["x"], mark["y"] = at(angles[rank], 170)
            mark["text_x"], text_y = at(place, 187)
            mark["text_y"] = text_y + 4
            mark["anchor"] = ("end", "middle", "start")[int(np.digitize(place, [75, 105]))]
            mark["degrees"] = f"{angles[rank]:.0f}"
        marks.append(mark)
    return marks


def _shortened(name: str) -> str:
    return name if len(name) <= 12 else f"{name[:11]}…"


def _margins(model: Model, names: Sequence[str]) -> Values:
    fixed, history = model.facts["fixed_margins_"], model.history
    rows = []
    for boundary, value, is_fixed in zip(boundary_names(names), model.facts["margins_"], fixed, strict=True):
        rows.append([boundary, f"{value:z.4f}", ("learned", "fixed")[int(is_fixed)]])
    trained = []
    for epoch in np.unique(np.linspace(0, len(history) - 1, min(12, len(history))).astype(int)):
        margins = [f"{history[epoch][f'margin_{h}|{h + 1}']:.3f}" for h in range(len(fixed))]
        trained.append([f"{history[epoch]['epoch'] + 1:.0f}", *margins])
    return {"any_learned": not fixed.all(), "rows": rows, "history": trained}


def _calibration(calibration: Calibration) -> Values:
    rows = []
    measured = zip(calibration.counts, calibration.promised, calibration.measured, strict=True)
    for place, (count, promised, share) in enumerate(measured):
        tenth = f"{place / 10:.1f} to {(place + 1) / 10:.1f}"
        rows.append([tenth, f"{count:,}", _or_dash(promised, ".1%"), _or_dash(share, ".1%")])
    error, by_chance = 100 * calibration.error, 100 * calibration.by_chance
    sentence = (
        f"On average the probability of the predicted rank is {error:.1f} points off the share that is right. Of as "
        f"many samples, correct probabilities would be up to {by_chance:.1f} points off by chance."
    )
    return {"sentence": sentence, "rows": rows}


def _plain_table(frame: pd.DataFrame) -> Values:
    cells = [[_or_dash(cell, ".3g") for cell in row] for row in frame.to_numpy(dtype=object).tolist()]
    return {"header": [str(name).replace("_", " ") for name in frame.columns], "rows": cells}


def _or_dash(value: object, digits: str) -> str:
    """Return a number with so many digits, anything else as text, and a dash for what is missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "\u2013"
    return f"{value:{digits}}" if isinstance(value, float) else str(value)


def _all_suspects(measures_by_target: Sequence[Measures], targets: Sequence[str]) -> pd.DataFrame:
    """Return the suspects; those of several targets in one table, which names the target in a column."""
    if len(targets) == 1:
        return measures_by_target[0].suspects
    found = [of.suspects.assign(target=name) for name, of in zip(targets, measures_by_target, strict=True)]
    return pd.concat(found).sort_values("suspicion", ascending=False, kind="stable", ignore_index=True)


def _suspects(found: pd.DataFrame, contents: Contents, options: ReportOptions) -> Values:
    names, given = options.names, options.has_suspects
    named = found.assign(sample=[f"sample {row}" if names is None else str(names[row]) for row in found["row"]])
    first = named.head(30)
    table = first.assign(name=first["sample"], suspicion=[f"{value:z.2f}" for value in first["suspicion"]])
    csv = base64.b64encode(without_formulas(named).to_csv(index=False).encode()).decode()
    how = "Their label is far from the prediction, for samples with similar predictions"
    if given:
        how = "Predictions by models that had not seen them disagree with these labels"
    elif contents.names:
        how = "The model and the ten nearest samples expect another rank"
    how += ", the worst first"
    if len(found) > len(first):
        how += f"; here are the first {len(first)} of {len(found)}"
    return {
        "rows": table.to_dict("records"),
        "count": len(found),
        "csv": f"data:text/csv;charset=utf-8;base64,{csv}",
        "sentence": f"{how}. Either the label is wrong or the sample is hard: look.",
    }


def _short(values: NDArray[np.float64]) -> list[float]:
    """Numbers with as many digits as a page shows."""
    if (values == np.floor(values)).all():
        return values.astype(np.int64).tolist()
    return [float(f"{value:.5g}") for value in values.tolist()]


def _number(value: float) -> str:
    """Return a number with three digits after the point, of larger ones with fewer, so that those of a table match."""
    digits = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1 if abs(value) < 1000 else 0
    return f"{value:z.{digits}f}".replace("-", "\u2212")
