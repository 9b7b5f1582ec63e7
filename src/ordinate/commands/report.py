"""``ordinate report``: a page on a saved model and its predictions of labelled samples."""

import json
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.labels import costs_of_rules, understand_labels
from ordinate.commands.samples import LabelledData, decode, fit_to, modality_of_data, open_samples, with_preprocessing
from ordinate.commands.split_file import SPLIT, read_split, trained_on
from ordinate.counts import counted
from ordinate.data.csv_files import read_csv
from ordinate.data.csv_format import Given, csv_given, given_format
from ordinate.data.known_scales import other_ranks
from ordinate.data.modality import Request
from ordinate.data.numbers import as_numbers, plain_text
from ordinate.data.paths import reading
from ordinate.data.registry import modality_of
from ordinate.data.rows import Labels, Samples, column_of, take
from ordinate.data.splits import note_on_groups
from ordinate.data.tables.parquet_table import in_memory
from ordinate.decisions import compare_decisions
from ordinate.decisions.label_errors import is_doubted
from ordinate.errors import OrdinateError
from ordinate.estimators.loading import load
from ordinate.model.batches import reading_of
from ordinate.model.folder import CONFIG
from ordinate.model.held_out import HeldOut
from ordinate.model.model import Model
from ordinate.model.predictions import Predictions
from ordinate.report.page import write_report


@dataclass(frozen=True)
class ReportSamples:
    """Samples as a model expects them, those to measure on, and those of its training where they are known.

    ``rows`` are the rows of the data that the samples are, and ``groups`` those that a column of it names.
    ``paths`` are those of files.
    """

    X: Samples
    y: Labels
    rows: NDArray[np.int64]
    names: list[str]
    digest: str
    measured: NDArray[np.int64]
    trained: NDArray[np.int64] | None
    notes: tuple[str, ...] = ()
    groups: NDArray[np.str_] | None = None
    paths: NDArray[np.str_] | None = None

    def take(self, rows: NDArray[np.int64]) -> tuple[Samples, Labels]:
        """Return the samples of some rows, and their labels."""
        return take(self.X, rows), self.y[rows]

    def predictions(self, model: Model, rows: NDArray[np.int64]) -> Predictions:
        """Return the predictions of some rows."""
        return Predictions.of(model, *self.take(rows), column_of(self.groups, rows))

    @property
    def training(self) -> tuple[Samples, Labels] | None:
        """The samples that the model was trained on, and their labels; None where they are not known."""
        return None if self.trained is None else self.take(self.trained)

    def note_on_groups(self, column: str | None, rows: NDArray[np.int64], known: "ReportSamples | None") -> str | None:
        """Return a note on rows whose groups are among those of training, which ``known`` has; None without any."""
        if known is None or known.trained is None or known.groups is None or self.groups is None:
            return None
        return note_on_groups(column, self.groups[rows], known.groups[known.trained])


def report(
    model: str,
    data: str,
    target: str | None,
    out: str,
    suspects: str | None = None,
    *,
    skip_unreadable: bool = False,
) -> None:
    """Write the page of a model to ``out``; ``suspects`` is a csv that ``ordinate suspects`` wrote for the data."""
    start = time.monotonic()
    fitted = load(model).fitted
    split = read_split(model)
    target = target or split["target"] or fitted.target
    doubted = None if suspects is None else _read_suspects(suspects, of_ranks=fitted.is_of_ranks)
    samples = read_report_samples(fitted, split, data, target, skip_unreadable=skip_unreadable)
    X, y = samples.take(samples.measured)
    if doubted is not None:
        _require_of_these(doubted, samples, data)
        every, doubted = len(doubted), _among(doubted, samples.rows[samples.measured])
        if len(doubted) < every:
            others = f"{counted(every - len(doubted), 'label')} of {every:,} to check"
            print(f"note: {others} belong to samples of training, which the page does not show")
    known = samples_of_training(fitted, model, split, target, samples)
    training = None if known is None else known.training
    seen = samples.note_on_groups(split["group"], samples.measured, known)
    held_out = HeldOut.read(model) if samples.trained is None and HeldOut.is_in(model) else None
    predictions, costs = samples.predictions(fitted, samples.measured), None
    larger = None if held_out is None else held_out.note_on_errors(predictions)
    if fitted.is_of_ranks and not isinstance(fitted.rule, str):
        of_costs = HeldOut.of(predictions)
        costs = costs_of_rules(compare_decisions(of_costs.labels, of_costs.predicted, fitted.rule))
    of_suspects = [] if suspects is None else ["--suspects", suspects]
    path = write_report(
        fitted,
        X,
        y,
        out,
        predictions=predictions,
        training=training,
        target=target or "the label",
        names=[samples.names[row] for row in samples.measured],
        suspects=doubted,
        costs=costs,
        held_out=held_out,
        command=page_command(["report", model, data, *of_suspects], target, out),
        notes=[*samples.notes, *filter(None, [seen, larger])],
        facts={"Model": model, **hashes(model), "Data": data, "Data, sha256": samples.digest},
    )
    size = path.stat().st_size / 1e6
    print(f"report on {counted(len(y), 'sample')}: {path}, {size:.1f} MB, in {time.monotonic() - start:.0f} s")


def _read_suspects(path: str, *, of_ranks: bool) -> pd.DataFrame:
    with csv_given(Given()):  # It has its own format.
        frame = read_csv(Path(path), path)
    absent = {"row", "label", "suggested", "suspicion"} - set(frame.columns)
    if absent:
        raise OrdinateError(
            "--suspects", problem=f"{path} lacks {', '.join(sorted(absent))}", expected="what `suspects` wrote"
        )
    return frame[(frame["label"] != frame["suggested"]) & is_doubted(frame["suspicion"], of_ranks=of_ranks)]


def _require_of_these(suspects: pd.DataFrame, samples: ReportSamples, data: str) -> None:
    """Raise where suspects are of other data, in which their rows have other labels or paths."""
    places = pd.Series(np.arange(len(samples.y)), index=samples.rows)
    for row, label, *path in suspects[["row", "label", *({"path"} & {*suspects})]].itertuples(index=False):
        if row not in places.index:
            problem = f"it names row {row}, and {data} has no such labelled row"
        elif not _are_same(own := samples.y[places[row]], label):
            problem = f"it has the label {plain_text(label)} for row {row}, and {data} has {plain_text(own)}"
        elif path and samples.paths is not None and samples.paths[places[row]] != path[0]:
            problem = f"it names {path[0]} for row {row}, where {data} has {samples.paths[places[row]]}"
        else:
            continue
        raise OrdinateError("--suspects", problem=problem, expected="what `suspects` wrote for these data")


def _are_same(label: object, written: object) -> bool:
    """Return whether a label was written to a csv, with 12 digits if it is a number."""
    try:
        return bool(np.isclose(float(str(label)), float(str(written)), rtol=1e-9, atol=0))
    except ValueError:
        return plain_text(label) == plain_text(written)


def _among(suspects: pd.DataFrame, measured: NDArray[np.int64]) -> pd.DataFrame:
    """Return the suspects among the measured rows, numbered as these are."""
    places = pd.Series(np.arange(len(measured)), index=measured)
    kept = suspects[suspects["row"].isin(places.index)]
    return kept.assign(row=places.loc[kept["row"]].to_numpy())


def page_command(words: list[str], target: str | list[str] | None, out: str) -> str:
    """Return what to type to get the page again."""
    of_target = ["--target", target] if isinstance(target, str) else []  # Several are those of the model.
    return shlex.join(["ordinate", *words, *of_target, *given_format().words, "--out", out])


def hashes(model: str) -> dict[str, str]:
    """Return the sha256 of a saved model's configuration and weights, by what they are."""
    saved = json.loads((Path(model) / CONFIG).read_text())["sha256"]
    return {f"Model, sha256 of {name}": digest for name, digest in saved.items()}


def read_report_samples(
    fitted: Model,
    split: Mapping[str, Any],
    data: str,
    target: str | list[str] | None,
    *,
    say: Callable[[str], None] = print,
    skip_unreadable: bool | None = None,
) -> ReportSamples:
    """Read the labelled samples of a file, folder, zip or image set as a saved model expects them.

    Measured are the rows that the model's folder or the data itself says it was not trained on, or all.

    Args:
        fitted: Model.
        split: What its folder says of its training samples, see :func:`~ordinate.commands.split_file.read_split`.
        data: Path, or name of an image set.
        target: Column of the label, or a list of those of several targets.
        say: Function that gets notes for the user.
        skip_unreadable: Whether files that cannot be read are left out; None raises an error that names no way out.
    """
    more: list[str] = []
    if isinstance(target, str) and target in fitted.feature_names_in:
        raise OrdinateError("--target", repr(target), "the column of the label, and the model predicts from this one")
    if isinstance(target, list):
        target, *more = target
    if not fitted.is_of_ranks and fitted.labels.outputs != 1 + len(more):
        expected = f"the {counted(fitted.labels.outputs, 'column')} that the model was fitted to"
        raise OrdinateError("--target", repr(target), expected, "without --target, the model's folder names them")
    how = replace(reading_of(fitted, target), keep_missing=split["keep_missing"])
    if split["missing"]:
        how = replace(how, missing=tuple(split["missing"]))
    request = Request(target, more_targets=tuple(more), how=how, say=say, known_group=split["group"])
    request = replace(request, skip_unreadable=skip_unreadable)
    samples = _read(fitted, data, request)
    identity = [name for name in split["identity"] if name in getattr(samples.X, "columns", ())]
    if identity:
        samples = replace(samples, identity=samples.X[identity])
    groups, group = None, split["group"]
    if group is not None and group in getattr(samples.X, "columns", ()):
        column = in_memory(samples.X[[group]])[group]
        groups = column.astype(str).to_numpy(dtype=np.str_) if column.notna().all() else None
    elif samples.groups is not None:
        groups = samples.groups.astype(str).to_numpy(dtype=np.str_)
    X = fit_to(fitted, samples.X, data)
    paths = samples.paths
    if paths is None:
        paths = modality_of(X).paths(X)
    every = np.arange(len(samples.y))
    if isinstance(X, pd.DataFrame):
        X = X.set_axis(samples.in_data(every))  # Warnings name rows by their numbers in the data.
    measured, trained = _sides(split, samples)
    labels = labels_for(fitted, samples.y, samples.name)
    return ReportSamples(
        X, labels, samples.in_data(every), samples.names(every, paths), samples.digest, measured, trained,
        samples.notes, groups, paths,
    )  # fmt: skip


def samples_of_training(
    fitted: Model, model: str, split: Mapping[str, Any], target: str | list[str] | None, samples: ReportSamples
) -> ReportSamples | None:
    """Return the samples among which a model was trained; None if their file is not there any more, or has changed."""
    if samples.trained is not None:
        return samples
    path = trained_on(model)
    if path is None or not Path(path).exists():
        return None
    known = read_report_samples(fitted, split, path, split["target"] or target, say=_say_nothing, skip_unreadable=True)
    return None if known.trained is None else known


def _say_nothing(_: str) -> None:
    """Take no notice of notes, which were printed before."""


def labels_for(fitted: Model, y: pd.Series | pd.DataFrame, name: str) -> Labels:
    """Return labels of the type of the model's classes, or targets."""
    if not fitted.is_of_ranks or isinstance(y, pd.DataFrame):
        return understand_labels(y, "continuous", None, name).values
    known = {plain_text(label): label for label in fitted.ranks.tolist()}
    y = as_numbers(y.infer_objects())
    if pd.api.types.is_bool_dtype(y):
        y = y.astype(int)
    shown = [plain_text(label) for label in y]
    if not set(shown) <= set(known) and (numbers := pd.to_numeric(y, errors="coerce")).notna().all():
        shown = [plain_text(number) for number in numbers]  # An example is "01", which fit has read as 1.
    unknown = sorted(set(shown) - set(known))
    if unknown:
        raise other_ranks(name, unknown, known)
    return np.array([known[text] for text in shown])


def _read(fitted: Model, data: str, request: Request) -> LabelledData:
    reader = fitted.reader
    modality = modality_of_data(data, as_table=bool(fitted.feature_names_in))
    if not modality.holds_arrays and not modality.reads_with(reader):
        raise OrdinateError(data, problem=f"holds {modality.name}, and the model was trained on other data")
    samples = open_samples(data, request, modality)
    if not modality_of(samples.X).reads_with(reader):
        return samples
    options = reader.options()
    return decode(with_preprocessing(samples, options, request.say), data, request, options)


def _sides(split: Mapping[str, Any], samples: LabelledData) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the rows to measure on, and those that the model was trained on if that is known."""
    every = np.arange(len(samples.y))
    rows = samples.in_data(every)
    if "test" in split:
        with reading("model", f"{SPLIT} is damaged"):
            known = split["data"] == samples.digest
            measured, trained = (np.asarray(split[side], dtype=np.int64) for side in ("test", "train"))
            if known and not np.isin(np.concatenate([measured, trained]), rows).all():
                raise ValueError(f"it names rows that are none of the {len(every)}")
        return (np.searchsorted(rows, measured), np.searchsorted(rows, trained)) if known else (every, None)
    if samples.splits is not None and {"train", "test"} <= set(samples.splits):
        splits = samples.splits.to_numpy()
        return np.flatnonzero(splits == "test"), np.flatnonzero(splits == "train")
    return every, None
