"""The report of one model: a page that holds everything it shows."""

import base64
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import torch
from bokeh.models import Plot
from numpy.typing import NDArray

from ordinate import __version__
from ordinate.data.part import random_part
from ordinate.data.rows import take
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.report.page import document, plots, words
from ordinate.report.page.calibration import BINS, Calibration, calibrate
from ordinate.report.page.contents import MOST_SAMPLES, Contents, gather
from ordinate.report.page.coverage import measure_coverage
from ordinate.report.page.duplicates import find_duplicates
from ordinate.report.page.groups import FEW, MANY, group_by_label
from ordinate.report.page.order import Order, find_order
from ordinate.report.page.projections import PROJECTIONS, project
from ordinate.report.page.samples import packed, show_samples
from ordinate.report.page.scores import LOWER_IS_BETTER, Predictor, score_all
from ordinate.report.page.suspects import check_suspects, find_suspects, nearest

NEIGHBOURS = 8  # of a chosen sample
SUSPECTS = 30  # in the table; the csv has all
EPOCHS = 12  # of a history as a table


def write_report(
    model: EmbeddingEstimator,
    X: Any,
    y: Any,
    path: str | Path,
    *,
    training: tuple[Any, Any] | None = None,
    target: str = "the label",
    names: Sequence[str] | None = None,
    projections: tuple[str, ...] = PROJECTIONS,
    suspects: pd.DataFrame | None = None,
    coverage: pd.DataFrame | None = None,
    costs: pd.DataFrame | None = None,
    sweep: Mapping[str, Any] | None = None,
    command: str | None = None,
    facts: Mapping[str, str] | None = None,
) -> Path:
    """Write the report of a fitted model: one HTML file that opens in any browser and needs no network.

    Args:
        model: fitted.
        X: (n, ...) samples to measure on, best ones that it was not trained on; 3 or more, whatever the model takes.
            Of more than 20,000 the page measures and shows as many, drawn at random, and says so.
        y: (n,) their labels.
        path: of the file; one that is there is replaced.
        training: ``(X, y)`` that the model was trained on, for baselines, counts and duplicates; without them the
            page says that it may have seen the samples.
        target: name of the label.
        names: (n,) of the samples, such as their files or texts.
        projections: which of ``"pca"``, ``"tsne"`` and ``"umap"``; UMAP is left out without umap-learn.
        suspects: labels to check, with the columns ``row`` (0 to n-1), ``label``, ``suggested`` and ``suspicion``, the
            worst first; None suspects labels that the neighbours in the embedding disagree with.
        coverage: of prediction sets: the columns ``promised``, ``measured`` and ``mean_size``, and any others, such as
            the coverage of every rank under its name; None measures it, half the samples calibrating for the others.
        costs: of decisions: a column of rules, then columns of numbers.
        sweep: what :func:`~ordinate.report.margin_sweep.mean_trade` returns, and ``boundary_name``.
        command: that made the model or the page.
        facts: more to get it again by, such as the sha256 of the data.

    Returns:
        The path.

    Raises:
        OrdinateError: samples or labels that the model does not take, fewer than 3, targets of several dimensions, a
            table without its columns, or a path that cannot be written.

    Example:
        >>> import tempfile
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> model = OTDClassifier(epochs=2, random_state=0).fit(X, X[:, 0] > 0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = write_report(model, X, X[:, 0] > 0.5, f"{folder}/report.html", projections=("pca",))
        ...     page.read_text().startswith("<!doctype html>")
        True
    """
    unknown = set(projections) - set(PROJECTIONS)
    if unknown or not projections:
        raise OrdinateError(f"projections: got {projections!r}, takes some of {', '.join(PROJECTIONS)}")
    X, y = inputs.unpack(X, y)
    given = len(X)
    if names is not None and len(names) != given:
        raise OrdinateError(f"names: got {len(names)}, takes {given}, one a sample")
    suspects = None if suspects is None else check_suspects(suspects, given)
    if given > MOST_SAMPLES and len(y) == given:
        part = random_part(given, MOST_SAMPLES)
        X, y = take(X, part, renumber=True), np.asarray(y)[part]
        names = None if names is None else [names[row] for row in part]
        suspects = None if suspects is None else _among(suspects, part)
    contents = gather(model, X, y, training)
    if coverage is not None and not {"promised", "measured", "mean_size"} <= set(coverage.columns):
        raise OrdinateError(
            f"coverage: got the columns {list(coverage.columns)}, takes promised, measured and mean_size"
        )
    coverage = measure_coverage(contents) if coverage is None else coverage
    near = nearest(contents.embeddings, max(10, NEIGHBOURS))
    doubted = find_suspects(contents, near) if suspects is None else suspects
    calibration = None
    if contents.probabilities is not None:
        calibration = calibrate(contents.confidence, contents.errors == 0)
    predictors = score_all(contents)
    cautions = words.find_cautions(contents, predictors, calibration, find_duplicates(contents), doubted)
    projected = project(contents.embeddings, projections)
    shown = show_samples(contents, X)
    groups = group_by_label(contents)
    first = projected[0].points
    source = plots.point_source(
        x=first[:, 0], y=first[:, 1], true=contents.true.astype(np.float32),
        predicted=contents.predicted.astype(np.float32), colour=plots.uncoloured(len(contents)),
    )  # fmt: skip
    history = model.history_ if isinstance(model, CLOCClassifier) else []

    drawn: list[Plot] = [plots.cloud("embedding", source, size=_point_size(len(contents)))]
    if contents.names is None:
        drawn.append(plots.predicted_targets(source, np.concatenate([contents.true, contents.predicted])))
    if history:
        drawn.append(plots.margins_over_training(history, len(contents.names or []) - 1))
    if calibration is not None:
        drawn.append(plots.reliability(calibration))
    if coverage is not None:
        drawn.append(plots.promised_coverage(coverage))
    if sweep is not None:
        drawn.append(plots.margin_trade(sweep["margins"], sweep["critical_error"], sweep["accuracy"]))

    large = float(np.quantile(np.abs(contents.errors), 0.95))
    mean_errors = pd.Series(np.abs(contents.errors)).groupby(groups.of).mean()
    data = {
        "ranks": contents.names,
        "true": contents.true.tolist(),
        "predicted": _short(contents.predicted),
        "error": _short(contents.errors),
        "confidence": None if contents.probabilities is None else _short(contents.confidence),
        "probabilities": _percentages(contents.probabilities),
        "names": None if names is None else [str(name) for name in names],
        "neighbours": packed(near[:, :NEIGHBOURS], "i4"),
        "groups": groups.names,
        "groupOf": groups.of.tolist(),
        "errorScale": float(mean_errors.max()) or 1.0,
        "largeError": large or 1.0,
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
    page = document.render(
        "report.html",
        "report.js",
        title=f"{contents.method} on {target}",
        introduction=words.introduce(contents, target, given),
        judgement=words.judge(contents, predictors),
        scores=score_rows(predictors),
        metrics=list(predictors[0].scores),
        cautions=cautions,
        projections=[(each.key, each.name) for each in projected],
        colours=document.rank_colours(len(contents.names) if contents.names else document.SHADES),
        ranks=contents.names,
        method=contents.method,
        counts=np.bincount(groups.of, minlength=len(groups.names)).tolist(),
        count=len(contents),
        range=[contents.label_name(contents.true.min()), contents.label_name(contents.true.max())],
        groups=groups,
        shots=groups.shots,
        few=FEW,
        many=MANY,
        shown_note=shown["note"],
        boundaries=words.boundary_names(contents.names or []),
        order=_order(contents),
        margins=_margins(model, contents.names, history) if isinstance(model, CLOCClassifier) else None,
        sweep=None if sweep is None else _sweep(sweep),
        calibration=None if calibration is None else _calibration(calibration),
        coverage=None if coverage is None else _plain_table(coverage),
        costs=None if costs is None else _plain_table(costs),
        suspects=_suspects(doubted, names, contents, given=suspects is not None),
        command=command,
        facts=[*(facts or {}).items(), *versions(), ("Seed", str(model.random_state))],
        settings=_settings(model),
        version=__version__,
        date=date.today().isoformat(),
        data=data,
        plots=plots.document(drawn),
    )
    return document.write(page, path)


def _among(suspects: pd.DataFrame, part: NDArray[np.int64]) -> pd.DataFrame:
    """Return the suspects in a part of the samples, ascending, numbered as in it."""
    kept = suspects[suspects["row"].isin(part)]
    return kept.assign(row=np.searchsorted(part, kept["row"])).reset_index(drop=True)


def score_rows(predictors: Sequence[Predictor], own: int = 1) -> list[dict[str, Any]]:
    """Return the rows of a table of scores; the first ``own`` are those of models."""
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
        rows.append({"name": predictor.name, "own": place < own, "cells": cells})
    return rows


def versions() -> list[tuple[str, str]]:
    """Return what a page was made with."""
    return [
        ("Versions", f"ordinate {__version__}, torch {torch.__version__}, scikit-learn {sklearn.__version__}"),
        ("Python", f"{platform.python_version()} on {sys.platform}, {platform.machine()}"),
    ]


def _order(contents: Contents) -> dict[str, Any] | None:
    if contents.names is None:
        return None
    count = len(contents.names)
    order = find_order(contents.embeddings, contents.true, count)
    even = [180 * rank / (count - 1) for rank in range(count)]
    marks = _marks(contents.names, order.angles, even)
    known = [(name, angle) for name, angle in zip(contents.names, order.angles, strict=True) if not np.isnan(angle)]
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
        "marks": marks,
        "angles_text": ", ".join(f"{name} at {angle:.0f} degrees" for name, angle in known),
        "rows": _angle_rows(contents.names, order, even),
    }


def _angle_rows(names: Sequence[str], order: Order, even: Sequence[float]) -> list[list[str]]:
    return [
        [name, "\u2013" if np.isnan(angle) else f"{angle:.1f}", f"{place:.1f}"]
        for name, angle, place in zip(names, order.angles, even, strict=True)
    ]


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


def _margins(model: CLOCClassifier, names: Sequence[str] | None, history: Sequence[Any]) -> dict[str, Any]:
    names = names or []
    values = model.margins_
    fixed: NDArray[np.bool_] = model.method_.mmnp.fixed.numpy()
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
    boundaries = words.boundary_names(names)
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
    return {"sentence": f"{off} the share that is right.", "rows": rows}


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
    csv = base64.b64encode(named.to_csv(index=False).encode()).decode()
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


def _settings(model: EmbeddingEstimator) -> list[list[str]]:
    return [[name, str(value)] for name, value in model.get_params().items()]


def _point_size(n: int) -> float:
    return 9.0 if n < 200 else 7.0 if n < 1500 else 5.5 if n < 5000 else 4.5


def _short(values: NDArray[Any]) -> list[Any]:
    """Numbers with as many digits as a page shows."""
    if values.dtype.kind in "iu":
        return values.tolist()
    return [int(v) if v == int(v) else float(f"{v:.5g}") for v in values.tolist()]


def _percentages(probabilities: NDArray[np.float64] | None) -> list[list[int]] | None:
    return None if probabilities is None else (100 * probabilities.T).round().astype(int).tolist()


def _share(value: float) -> str:
    return "\u2013" if np.isnan(value) else f"{value:.1%}"


def _number(value: float, *, share: bool) -> str:
    return words.percent(value) if share else f"{round(value, 3) + 0.0:.3g}".replace("-", "\u2212")


def _shortened(name: str) -> str:
    return name if len(name) <= 12 else name[:11] + "…"
