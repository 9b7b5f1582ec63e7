"""Prediction over more samples than memory holds: batches of a file, and what a model says of them."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ordinate.counts import counted
from ordinate.data.findings import Finding, collected, report_findings
from ordinate.data.numbers import plain_text
from ordinate.data.paths import lacks_columns, reading
from ordinate.data.registry import modality_of_files
from ordinate.data.rows import BatchedSamples, Samples, take
from ordinate.data.tables.csv_table import CsvTable
from ordinate.data.tables.features import TableFeatures
from ordinate.data.tables.parquet_table import in_memory
from ordinate.data.typed import Reading
from ordinate.errors import OrdinateError, warn
from ordinate.model.model import Model

Item = TypeVar("Item")


def read_batches(model: Model, data: str | Path, left_out: Callable[[str], None] | None = None) -> BatchedSamples:
    """Return the samples of a file, folder or zip in batches, each of which the model's methods accept as X.

    csv, tsv and parquet are read a batch at a time, and so are files of images and volumes, in which a batch holds
    paths; arrays are read whole. A batch is of the size that suits the kind of data. ``len`` is the number of samples.

    Args:
        model: Fitted model, which uses the columns of a table that it was trained on.
        data: A csv, tsv, parquet (file or folder of files), npz, or a folder or zip of images or volumes.
        left_out: Function called with every image or volume that a labels.csv names and that is not there; None raises.

    Raises:
        OrdinateError: data that cannot be read, or lacks a column; types of a csv's columns follow from all of it, so
            that an error in them is raised with the first batch that shows it.

    Example:
        >>> import tempfile
        >>> import numpy as np, pandas as pd
        >>> from ordinate import OTDClassifier
        >>> X = pd.DataFrame({"a": np.linspace(0, 1, 40)})
        >>> model = OTDClassifier(epochs=20, random_state=0).fit(X, X["a"] > 0.5).fitted
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     X.to_csv(f"{folder}/new.csv")
        ...     [model.transform(batch).shape for batch in read_batches(model, f"{folder}/new.csv")]
        [(40, 64)]
    """
    return BatchedSamples(
        trained_columns(model, read_unlabelled(data, model, left_out), data),
        model.reader.read_at_once,
    )


def read_all(model: Model, data: str | Path) -> Samples:
    """Return the samples of a file, folder or zip, of a table the columns that a model was trained on, in memory."""
    return all_in_memory(model, read_unlabelled(data, model), data)


def all_in_memory(model: Model, samples: Samples, data: str | Path) -> Samples:
    """Return samples of a file, of a table the columns that a model was trained on, in memory."""
    samples = trained_columns(model, samples, data)
    if not hasattr(samples, "columns"):
        return samples
    parts = map(in_memory, BatchedSamples(samples, model.reader.read_at_once))
    return pd.concat(parts, ignore_index=True)


def read_unlabelled(
    data: str | Path, model: Model, left_out: Callable[[str], None] | None = None, target: str | None = None
) -> Samples:
    """Return the samples of a file, folder or zip: an array, files, or a table that is read in batches.

    ``left_out`` gets the reason for every file that is not there; ``target`` is the column of the label, if the table
    is read for that, too.
    """
    modality = modality_of_files(data, as_table=bool(model.feature_names_in))
    with reading(data):
        return modality.read_unlabelled(data, left_out, reading_of(model, target))


def reading_of(model: Model, target: str | None = None) -> Reading:
    """Return what a model knows of the columns of a table, as training has decided it, and of the ``target``."""
    reader = model.reader
    how = Reading(order=_ranks_of(model))
    if target is not None:
        how = replace(how, targets=(target,))
    if not isinstance(reader, TableFeatures):
        return how
    numbers, labels = set(reader.numbers), set(reader.categorical)
    if target is not None:
        (labels if any(not _is_numeric(rank) for rank in how.order) else numbers).add(target)
    return replace(
        how, missing=reader.missing, keep_missing=reader.keep_missing, numbers=frozenset(numbers),
        labels=frozenset(labels),
    )  # fmt: skip


def _ranks_of(model: Model) -> tuple[str, ...]:
    """Return the ranks of a classifier as text, from the lowest to the highest."""
    if model.classes is None:
        return ()
    return tuple(plain_text(rank) for rank in model.classes)


def _is_numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def trained_columns(model: Model, X: Any, data: str | Path) -> Any:
    """Return the columns of a table that a model was trained on; samples without columns as they are."""
    names = model.feature_names_in
    if not names:
        return X
    if not hasattr(X, "columns"):
        raise OrdinateError(data, problem="holds no table", expected="one with the columns of the training data")
    absent = [name for name in names if name not in X.columns]
    if absent:
        raise lacks_columns(data, absent, [str(name) for name in X.columns if name not in names])
    X = X[list(names)]
    if isinstance(X, CsvTable):
        return X.with_text(getattr(model.reader, "categorical", ()))
    return X


def map_batches(
    model: Model,
    method: Callable[[Model, Any], Any],
    batches: Iterable[Samples],
    left_out: Callable[[str], None] | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Yield every batch with what a method of the model returns for it, in the order of the batches.

    Args:
        model: Fitted model.
        method: Method, such as ``Model.predict`` or ``Model.transform``.
        batches: Batches of samples; at most two are held at a time.
        left_out: Function called with every file that cannot be read, which is then left out of its batch;
            None raises.

    A warning at the end says which rows of all batches lie outside what training had seen.

    Raises:
        OrdinateError: An error of the method, with the place of the batch.
    """
    said: set[str] = set()
    findings: list[Finding] = []
    place = read = 0
    for X in made_ahead(batches):
        failures: dict[int, str] = {}
        readable, result = X, None
        with warnings.catch_warnings(record=True) as caught, collected() as found:
            warnings.simplefilter("always", UserWarning)
            try:
                if left_out is not None:
                    readable, failures = model.reader.readable(X)
                if len(readable):
                    result = method(model, readable)
            except OrdinateError as error:
                raise _placed(error, place, len(X)) from error
        findings += [finding.after(place) for finding in found]
        for message in (str(each.message) for each in caught if issubclass(each.category, UserWarning)):
            if message not in said:
                warn(message)
            said.add(message)
        place += len(X)
        read += len(X) - len(failures)
        if left_out is not None:
            for reason in failures.values():
                left_out(reason)
        if failures:
            X = take(X, np.setdiff1d(np.arange(len(X)), list(failures)))  # noqa: PLW2901
        if len(X):
            yield X, result
    report_findings(findings)
    if place and not read:
        raise OrdinateError(
            "X", problem=f"none of the {counted(place, 'file')} can be read: {next(iter(failures.values()))}"
        )


def made_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, none of them None, the next of which is made by another thread meanwhile."""
    rest, context = iter(items), copy_context()

    def make() -> Item | None:
        return next(rest, None)

    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(context.run, make)
        while (item := following.result()) is not None:
            following = thread.submit(context.run, make)
            yield item


def _placed(error: OrdinateError, start: int, count: int) -> OrdinateError:
    """Return the error of a batch with the place of the batch, unless it is the first."""
    if start == 0:
        return error
    place = f"in samples {start} to {start + count - 1}, counted from 0"
    hint = "; ".join(filter(None, (error.hint, place)))
    return type(error)(error.argument, error.got, error.expected, hint, problem=error.problem)
