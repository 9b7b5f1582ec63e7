"""The report of one model: a page that holds everything it shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ordinate.counts import counted
from ordinate.data.other_containers import unpack
from ordinate.data.registry import modality_of
from ordinate.data.rows import Samples, random_part, take
from ordinate.data.streamed import StreamedPixels
from ordinate.data.tables.features import TableFeatures
from ordinate.data.tables.parquet_table import in_memory
from ordinate.errors import OrdinateError
from ordinate.model.contributions import background_of
from ordinate.model.held_out import HeldOut
from ordinate.model.model import Model
from ordinate.model.predictions import Predictions
from ordinate.report.output import PAGE, check_ending, check_output, write_page
from ordinate.report.page import document
from ordinate.report.page.contents import MOST_SAMPLES, MOST_STREAMED, Contents, LabelledSamples, gather
from ordinate.report.page.effects import Reason, explain_cases
from ordinate.report.page.importance import measure_importance
from ordinate.report.page.measures import Measures, check_suspects, measure_contents
from ordinate.report.page.overview import describe_columns
from ordinate.report.page.projections import PROJECTIONS, project
from ordinate.report.page.verdict import Compared
from ordinate.report.page.view import ReportOptions, view
from ordinate.report.page.words import cautions_of_notes, cautions_of_targets

MOST_EXPLAINED = 10  # So many label errors and so many prediction errors are explained.


def write_report(
    model: Model,
    X: Any,
    y: Any,
    path: str | Path,
    *,
    training: LabelledSamples | None = None,
    target: str | Sequence[str] = "the label",
    predictions: Predictions | None = None,
    names: Sequence[str] | None = None,
    projections: tuple[str, ...] = PROJECTIONS,
    suspects: pd.DataFrame | None = None,
    costs: pd.DataFrame | None = None,
    held_out: HeldOut | None = None,
    command: str | None = None,
    facts: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    simple_models: bool = True,
    importance_seconds: float = 10.0,
    on_scores: Callable[[Compared], None] | None = None,
) -> Path:
    """Write the report of a fitted model: one HTML file that opens in any browser and needs no network.

    Args:
        model: Fitted model.
        X: (n, ...) samples to measure on, best ones that it was not trained on; 3 or more, as the model expects them.
            Of more than 20,000 (2,000 that stream) the page measures and shows as many, drawn at random, and says so.
        y: (n,) their labels; (n, p) of a model of several targets, each of which has its own part of the page.
        path: Path of the file; one that is there is replaced.
        training: ``(X, y)`` that the model was trained on, for baselines, counts and duplicates; without them the
            page says that it may have seen the samples.
        target: Name of the label, or of each of several targets.
        predictions: Predictions of the samples, where they have been made already.
        names: (n,) of the samples, such as their files or texts.
        projections: Some of ``"pca"`` and ``"tsne"``.
        suspects: Labels to check, with the columns ``row`` (0 to n-1), ``label``, ``suggested`` and ``suspicion``, the
            worst first, of a model of one label; None suspects labels that the predictions contradict.
        costs: Costs of decisions: a column of rules, then columns of numbers.
        held_out: Other samples that calibrate the model's sets or intervals, of a model of one label, so that the page
            measures those which ``predict_interval`` gives; None, or these very samples, calibrates with halves.
        command: Command that made the model or the page.
        facts: Further facts for reproduction, such as the sha256 of the data.
        notes: Notes on the data, such as which columns were left out.
        simple_models: Whether to compare a blend with its parts, and another model on a table with a linear model, a
            random forest and gradient boosting, trained on ``training``, which takes some seconds; not on more than
            200,000 numbers.
        importance_seconds: Seconds that the importance of the columns of a table may take; 0 leaves it out. Half of
            them again may be used to explain the predictions of single samples.
        on_scores: Function that gets the scores of the model and of what it is compared with once they are measured.

    Returns:
        The path.

    Raises:
        OrdinateError: samples or labels that do not fit the model, fewer than 3, another number of names than of
            targets, a table without its columns, or a path that cannot be written.

    Example:
        >>> import tempfile
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> model = OTDClassifier(epochs=2, random_state=0).fit(X, X[:, 0] > 0.5).fitted
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = write_report(model, X, X[:, 0] > 0.5, f"{folder}/report.html", projections=("pca",))
        ...     page.read_text().startswith("<!doctype html>")
        True
    """
    check_output(path)
    check_ending(path, PAGE)
    unknown = set(projections) - set(PROJECTIONS)
    if unknown or not projections:
        raise OrdinateError("projections", repr(projections), f"some of {', '.join(PROJECTIONS)}")
    X, y = unpack(X, y)
    X, training = model.own_columns(X), _with_own_columns(model, training)
    given = len(X)
    if names is not None and len(names) != given:
        raise OrdinateError("names", len(names), f"{given}, one per sample")
    has_suspects = suspects is not None
    if suspects is not None:
        suspects = check_suspects(suspects, given)
    most = MOST_SAMPLES
    if predictions is not None and isinstance(predictions.inputs, StreamedPixels):
        most = MOST_STREAMED
    if given > most and len(y) == given:
        part = random_part(given, most)
        X, y = take(X, part), np.asarray(y)[part]
        if predictions is not None:
            predictions = predictions.take(part)
        if names is not None:
            names = [names[row] for row in part]
        if suspects is not None:
            kept = suspects[suspects["row"].isin(part)]
            suspects = kept.assign(row=np.searchsorted(part, kept["row"])).reset_index(drop=True)

    predictions = predictions or Predictions.of(model, X, y)
    contents = gather(predictions, training).by_target()
    targets = _names_of_targets(target, len(contents))
    if has_suspects and len(contents) > 1:
        raise OrdinateError("suspects", f"a table, and the model predicts {counted(len(contents), 'target')}", "None")
    calibrating = _others(held_out, predictions) if len(contents) == 1 else None
    measures = [measure_contents(each, suspects, calibrating, simple_models=simple_models) for each in contents]
    compared = Compared.of(contents, [each.predictors for each in measures], targets)
    cautions = [*cautions_of_notes(notes), *cautions_of_targets(contents, measures, targets)]
    compared = replace(compared, cautions=cautions)
    if on_scores is not None:
        on_scores(compared)
    importance = measure_importance(model, X, y, importance_seconds)
    projected = project(contents[0].embeddings, projections)
    columns, reasons = [], {}
    if modality_of(X).name == "tables":
        columns = _columns(model, X, training)
        if len(contents) == 1:
            reasons = _explain(contents[0], X, measures[0], training, importance_seconds / 2)
    options = ReportOptions(
        targets, given, names, has_suspects, calibrating is not None, costs, command, facts or {}, notes
    )
    values = view(contents, X, measures, importance, projected, options, compared, columns, reasons)
    return write_page(document.render("report.html", "report.js", **values), path)


def _others(held_out: HeldOut | None, predictions: Predictions) -> HeldOut | None:
    """Return what calibrates intervals of one target, unless these very samples do."""
    return None if held_out is None or held_out.is_of(predictions) else held_out


def _with_own_columns(model: Model, training: LabelledSamples | None) -> LabelledSamples | None:
    """Return training samples with the columns that the model has, and their labels."""
    if training is None:
        return None
    X, y = unpack(*training)
    return model.own_columns(X), y


def _columns(model: Model, X: Samples, training: LabelledSamples | None) -> list[list[str]]:
    """Return what the columns of a table hold, in the samples of training where they are known."""
    table = X if training is None else unpack(*training)[0]
    table = in_memory(take(table, random_part(len(table), MOST_SAMPLES)))
    if not isinstance(table, pd.DataFrame) or not isinstance(model.reader, TableFeatures):
        return []
    return list(describe_columns(table, model.reader.columns))


def _explain(
    contents: Contents, X: Samples, measures: Measures, training: LabelledSamples | None, seconds: float
) -> dict[int, Reason]:
    """Explain the predictions of some samples of a table: those that look mislabelled, and the largest errors."""
    table = in_memory(X)
    background = background_of(table if training is None else unpack(*training)[0])
    if seconds <= 0 or not isinstance(table, pd.DataFrame) or not isinstance(background, pd.DataFrame):
        return {}
    worst = np.argsort(-np.abs(contents.errors), kind="stable")[:MOST_EXPLAINED].tolist()
    suspected = measures.suspects["row"].tolist()[:MOST_EXPLAINED]
    return explain_cases(contents.model, table, background, list(dict.fromkeys([*suspected, *worst])), seconds)


def _names_of_targets(target: str | Sequence[str], count: int) -> list[str]:
    names = [target] if isinstance(target, str) else list(target)
    if len(names) == count:
        return names
    if isinstance(target, str):
        return [f"{target} {number}" for number in range(1, count + 1)]
    raise OrdinateError("target", counted(len(names), "name"), f"{count}, one per target")
