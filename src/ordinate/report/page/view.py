"""What a page shows: everything measured, as the values that its template and its script fill in."""

import base64
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import cos, pi, sin
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import torch
from bokeh.models import Plot
from numpy.typing import NDArray

from ordinate import __version__
from ordinate.data.csv_files import without_formulas
from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.option_group import OptionGroup
from ordinate.report.evaluation import fixed_margins
from ordinate.report.page import document, plots, words
from ordinate.report.page.contents import Contents
from ordinate.report.page.measures import (
    BINS,
    FEW,
    LOWER_IS_BETTER,
    MANY,
    Calibration,
    Groups,
    Measures,
    Order,
    Predictor,
)
from ordinate.report.page.projections import Projection
from ordinate.report.page.samples import packed, show_samples
from ordinate.report.text import boundary_names

NEIGHBOURS = 8  # shown of a chosen sample
SUSPECTS = 30  # in the table; the csv has all
EPOCHS = 12  # of a history as a table
LARGE_ERROR = 0.95  # quantile of the errors


@dataclass(frozen=True)
class Told:
    """What a report is told beside the model and the samples; see :func:`~ordinate.report.page.page.write_report`."""

    target: str
    given: int
    names: Sequence[str] | None
    has_suspects: bool
    costs: pd.DataFrame | None
    sweep: Mapping[str, Any] | None
    command: str | None
    facts: Mapping[str, str]


def view(contents: Contents, X: Any, measures: Measures, projected: Sequence[Projection], told: Told) -> dict[str, Any]:
    """Return the values of the report of one model, on samples X as they were given."""
    model, groups = contents.model, measures.groups
    shown = show_samples(contents, X)
    history = model.history_ if isinstance(model, CLOCClassifier) else []
    cautions = words.find_cautions(
        contents, measures.predictors, measures.calibration, measures.duplicates, measures.suspects
    )
    return {
        **shared_values(contents, groups, measures.predictors, told.command),
        "title": f"{contents.method} on {told.target}",
        "introduction": words.introduce(contents, told.target, told.given),
        "quality": words.describe_quality(contents, measures.predictors),
        "cautions": cautions,
        "projections": [(each.key, each.name) for each in projected],
        "method": contents.method,
        "count": len(contents),
        "groups": groups,
        "shots": groups.shots,
        "few": FEW,
        "many": MANY,
        "shown_note": shown["note"],
        "boundaries": boundary_names(contents.names or []),
        "order": None if measures.order is None else _order(contents.names or [], measures.order),
        "margins": _margins(model, contents.names or [], history) if isinstance(model, CLOCClassifier) else None,
        "sweep": None if told.sweep is None else _sweep(told.sweep),
        "calibration": None if measures.calibration is None else _calibration(measures.calibration),
        "coverage": None if measures.coverage is None else _plain_table(measures.coverage),
        "costs": None if told.costs is None else _plain_table(told.costs),
        "suspects": _suspects(measures.suspects, told.names, contents, given=told.has_suspects),
        "facts": [*told.facts.items(), *versions(), ("Seed", str(model.random_state))],
        "settings": _settings(model),
        "data": _data(contents, measures, projected, told.names, shown),
        "plots": plots.document(_plots(contents, measures, projected[0], history, told.sweep)),
    }


def _settings(model: EmbeddingEstimator) -> list[list[str]]:
    """Return the parameters of a model, those of groups of options one by one, with their values."""
    params = {name: value for name, value in model.get_params().items() if not isinstance(value, OptionGroup)}
    return [[name.replace("__", "."), str(value)] for name, value in params.items()]


def shared_values(
    contents: Contents, groups: Groups, predictors: Sequence[Predictor], command: str | None, models: int = 1
) -> dict[str, Any]:
    """Return the values that the pages of one model and of several have in common."""
    return {
        "scores": score_rows(predictors, models),
        "metrics": list(predictors[0].scores),
        "colours": document.rank_colours(len(contents.names) if contents.names else document.SHADES),
        "ranks": contents.names,
        "counts": np.bincount(groups.of, minlength=len(groups.names)).tolist(),
        "range": [contents.label_name(contents.true.min()), contents.label_name(contents.true.max())],
        "command": command,
        "version": __version__,
        "date": date.today().isoformat(),
    }


def _plots(
    contents: Contents, measures: Measures, first: Projection, history: Sequence[Any], sweep: Mapping[str, Any] | None
) -> list[Plot]:
    source = plots.point_source(
        x=first.points[:, 0], y=first.points[:, 1], true=contents.true.astype(np.float32),
        predicted=contents.predicted.astype(np.float32), colour=plots.uncoloured(len(contents)),
    )  # fmt: skip
    n = len(contents)
    drawn = [plots.cloud("embedding", source, size=9.0 if n < 200 else 7.0 if n < 1500 else 5.5 if n < 5000 else 4.5)]
    if contents.names is None:
        drawn.append(plots.predicted_targets(source, np.concatenate([contents.true, contents.predicted])))
    if history:
        drawn.append(plots.margins_over_training(history, len(contents.names or []) - 1))
    if measures.calibration is not None:
        drawn.append(plots.reliability(measures.calibration))
    if measures.coverage is not None:
        drawn.append(plots.promised_coverage(measures.coverage))
    if sweep is not None:
        drawn.append(plots.margin_trade(sweep["margins"], sweep["critical_error"], sweep["accuracy"]))
    return drawn


def _data(
    contents: Contents,
    measures: Measures,
    projected: Sequence[Projection],
    names: Sequence[str] | None,
    shown: dict[str, Any],
) -> dict[str, Any]:
    """Return what the page's script reads."""
    groups = measures.groups
    mean_errors = pd.Series(np.abs(contents.errors)).groupby(groups.of).mean()
    probabilities = contents.probabilities
    return {
        "ranks": contents.names,
        "true": contents.true.tolist(),
        "predicted": _short(contents.predicted),
        "error": _short(contents.errors),
        "confidence": None if probabilities is None else _short(contents.confidence),
        "probabilities": None if probabilities is None else (100 * probabilities.T).round().astype(int).tolist(),
        "names": None if names is None else [str(name) for name in names],
        "neighbours": packed(measures.neighbours[:, :NEIGHBOURS], "i4"),
        "groups": groups.names,
        "groupOf": groups.of.tolist(),
        "errorScale": float(mean_errors.max()) or 1.0,
        "largeError": float(np.quantile(np.abs(contents.errors), LARGE_ERROR)) or 1.0,
        "range": [float(np.min(contents.true)), float(np.max(contents.true))],
        "projections": [
            {
                "key": each.key,
                "note": each.note,
                "x": packed(each.points[:, 0], "f4"),
                "y": packed(each.points[:, 1], "f4"),
            }
            for each in projected
        ],
        "shown": shown,
    }


def score_rows(predictors: Sequence[Predictor], models: int) -> list[dict[str, Any]]:
    """Return the rows of a table of scores; the first ``models`` are those of models."""
    rows: list[dict[str, Any]] = []
    limits = {}
    for metric in predictors[0].scores:
        found = [each.scores[metric] for each in predictors]
        high = max(score.high for score in found)
        limits[metric] = (0.0, (high or 1.0) if metric in LOWER_IS_BETTER else 1.0)
    for place, predictor in enumerate(predictors):
        cells = []
        for metric, score in predictor.scores.items():
            low, high = limits[metric]
            at = [float(np.clip((value - low) / (high - low), 0, 1)) for value in (score.low, score.high, score.value)]
            text = [_number(value, share=metric == "accuracy") for value in (score.value, score.low, score.high)]
            cells.append(
                {"text": text[0], "interval": f"{text[1]} to {text[2]}", "low": at[0], "high": at[1], "at": at[2]}
            )
        rows.append({"name": predictor.name, "own": place < models, "cells": cells})
    return rows


def versions() -> list[tuple[str, str]]:
    """Return what a page was made with."""
    return [
        ("Versions", f"ordinate {__version__}, torch {torch.__version__}, scikit-learn {sklearn.__version__}"),
        ("Python", f"{platform.python_version()} on {sys.platform}, {platform.machine()}"),
    ]


def _order(names: Sequence[str], order: Order) -> dict[str, Any]:
    even = [180 * rank / (len(names) - 1) for rank in range(len(names))]
    known = [(name, angle) for name, angle in zip(names, order.angles, strict=True) if not np.isnan(angle)]
    cosines = [
        [
            {
                "text": "" if np.isnan(cosine) else f"{cosine:.2f}".replace("-", "\u2212"),
                "share": 0 if np.isnan(cosine) else round(abs(float(cosine)), 3),
                "kind": "against" if cosine < 0 else "",
            }
            for cosine in row
        ]
        for row in order.cosines
    ]
    return {
        "ordered": order.ordered,
        "cosines": cosines,
        "marks": _marks(names, order.angles, even),
        "angles_text": ", ".join(f"{name} at {angle:.0f} degrees" for name, angle in known),
        "rows": [
            [name, "\u2013" if np.isnan(angle) else f"{angle:.1f}", f"{place:.1f}"]
            for name, angle, place in zip(names, order.angles, even, strict=True)
        ],
    }


def _marks(names: Sequence[str], angles: NDArray[np.float64], even: Sequence[float]) -> list[dict[str, Any]]:
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
            mark["anchor"] = "middle" if 75 < place < 105 else "end" if place <= 75 else "start"
            mark["degrees"] = f"{angles[rank]:.0f}"
        marks.append(mark)
    return marks


def _margins(model: CLOCClassifier, names: Sequence[str], history: Sequence[Any]) -> dict[str, Any]:
    values = model.margins_
    fixed = fixed_margins(model)
    width = max(680, 64 * len(names))
    scale = (width - 80) / max(float(values.sum()), 1e-9)
    places = 40 + scale * np.concatenate([[0.0], np.cumsum(values)])
    parts = [
        {
            "x1": round(low, 1), "x2": round(high, 1), "middle": round((low + high) / 2, 1), "text": f"{value:.2f}",
            "fixed": bool(is_fixed),
        }
        for low, high, value, is_fixed in zip(places[:-1], places[1:], values, fixed, strict=True)
    ]  # fmt: skip
    boundaries = boundary_names(names)
    described = [
        f"{boundary} {value:.2f}{' (fixed)' if is_fixed else ''}"
        for boundary, value, is_fixed in zip(boundaries, values, fixed, strict=True)
    ]
    every = np.unique(np.linspace(0, len(history) - 1, min(EPOCHS, len(history))).astype(int))
    return {
        "width": width,
        "parts": parts,
        "marks": [{"x": round(x, 1), "name": _shortened(name)} for x, name in zip(places, names, strict=True)],
        "crowded": bool(np.diff(places).min() < 12 * max(4, *(len(_shortened(name)) for name in names))),
        "any_fixed": bool(fixed.any()),
        "any_learned": not fixed.all(),
        "text": "Margins on a line: " + ", ".join(described),
        "rows": [
            [boundary, f"{value:.4f}", "fixed" if is_fixed else "learned"]
            for boundary, value, is_fixed in zip(boundaries, values, fixed, strict=True)
        ],
        "history": [
            [
                f"{history[row]['epoch'] + 1:.0f}",
                *(f"{history[row][f'margin_{h}|{h + 1}']:.3f}" for h in range(len(values))),
            ]
            for row in every
        ],
    }


def _sweep(sweep: Mapping[str, Any]) -> dict[str, Any]:
    rows = zip(sweep["margins"], sweep["critical_error"], sweep["accuracy"], strict=True)
    return {
        "boundary": sweep.get("boundary_name", "in question"),
        "rows": [["learned" if m is None else f"{m:g}", f"{error:.1%}", f"{share:.1%}"] for m, error, share in rows],
    }


def _calibration(calibration: Calibration) -> dict[str, Any]:
    off = f"On average the probability of the predicted rank is {100 * calibration.error:.1f} points off"
    rows = [
        [f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}", f"{count:,}", _share(promised), _share(measured)]
        for place, (count, promised, measured) in enumerate(
            zip(calibration.counts, calibration.promised, calibration.measured, strict=True)
        )
    ]
    chance = f"; of correct probabilities it is up to {100 * calibration.by_chance:.1f} points off by chance"
    return {"sentence": f"{off} the share that is right{chance}.", "rows": rows}


def _plain_table(frame: pd.DataFrame) -> dict[str, Any]:
    cells = [[_cell(cell) for cell in row] for row in frame.to_numpy(dtype=object).tolist()]
    return {"header": [str(name).replace("_", " ") for name in frame.columns], "rows": cells}


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "\u2013"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _suspects(doubted: pd.DataFrame, names: Sequence[str] | None, contents: Contents, *, given: bool) -> dict[str, Any]:
    rows = doubted["row"].tolist()
    named = doubted.assign(sample=[f"sample {row}" if names is None else str(names[row]) for row in rows])
    first = named.head(SUSPECTS)
    table = first.assign(name=first["sample"], suspicion=[f"{value:.2f}" for value in first["suspicion"]])
    csv = base64.b64encode(without_formulas(named).to_csv(index=False).encode()).decode()
    how = (
        "Predictions by models that had not seen them disagree with these labels"
        if given
        else "At least 8 of the ten nearest samples agree on one other rank"
        if contents.names
        else "Their label is far from the median of the ten nearest samples"
    )
    more = f"; here are the first {SUSPECTS} of {len(rows)}" if len(rows) > SUSPECTS else ""
    return {
        "rows": table[["row", "name", "label", "suggested", "suspicion"]].to_dict("records"),
        "count": len(rows),
        "csv": f"data:text/csv;charset=utf-8;base64,{csv}",
        "sentence": f"{how}, the worst first{more}. Either the label is wrong or the sample is hard: look.",
    }


def _short(values: NDArray[Any]) -> list[Any]:
    """Numbers with as many digits as a page shows."""
    if values.dtype.kind in "iu":
        return values.tolist()
    return [int(v) if v == int(v) else float(f"{v:.5g}") for v in values.tolist()]


def _share(value: float) -> str:
    return "\u2013" if np.isnan(value) else f"{value:.1%}"


def _number(value: float, *, share: bool) -> str:
    return words.percent(value) if share else f"{round(value, 3) + 0.0:.3g}".replace("-", "\u2212")


def _shortened(name: str) -> str:
    return name if len(name) <= 12 else name[:11] + "…"
