"""What ``X`` may be, and how it becomes the batch of an encoder."""

from collections.abc import Sized
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy.sparse import issparse
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from ordinate.data.modality import Modality, Reader
from ordinate.data.registry import modalities, modality_of, modality_of_reader
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.errors import OrdinateError


def unpack(X: Any, y: Any, options: Any = None) -> tuple[Any, Any]:
    """Return samples that other libraries hold as arrays and tables, and their labels where y is None.

    Samples of a Dataset or DataLoader are read once: what it draws at random, it draws once. Those of a Dataset that
    streams, by the options of its kind of data, are read whenever they are needed; for their labels once. Labels in
    parquet files are read, very many of them into a file of their own.
    """
    if isinstance(y, ParquetTable):
        y = y.labels()
    samples, workers = _streamed(X, options)
    if samples is not None:
        return samples, samples.labels(workers) if y is None else y
    if isinstance(X, DataLoader):
        return _of_batches(X, y)
    if isinstance(X, Dataset):
        return _of_items(X, y)
    if issparse(X):
        return cast(Any, X).toarray(), y
    if hasattr(X, "to_pandas") and not isinstance(X, ParquetTable):  # of polars, pyarrow or datasets
        return X.to_pandas(), y
    return X, y


def _streamed(X: Any, options: Any) -> tuple[Any, int]:
    """Return the samples of a Dataset that streams, and the processes that read them; None for anything else."""
    if not isinstance(X, Dataset) or isinstance(X, IterableDataset):
        return None, 0
    for modality in modalities():
        if modality.options_class is not None and isinstance(options, modality.options_class):
            samples = modality.of_dataset(X, options)
            if samples is not None:
                return samples, options.workers
    return None, 0


def _of_batches(loader: DataLoader[Any], y: Any) -> tuple[Any, Any]:
    """Return the samples and labels of a DataLoader, in the order in which it gives them."""
    samples, labels = [], []
    for batch in loader:
        part, *rest = batch if isinstance(batch, tuple | list) else (batch,)
        samples.append(np.asarray(part))
        labels += [] if not rest else [np.asarray(rest[0])]
    if not samples:
        raise OrdinateError("X", "a DataLoader without batches", "samples")
    return np.concatenate(samples), np.concatenate(labels) if y is None and labels else y


def _of_items(items: Dataset[Any], y: Any) -> tuple[Any, Any]:
    """Return the samples of a Dataset as an array, those of an iterable one as they come."""
    samples, labels = [], []
    in_order = items if isinstance(items, IterableDataset) else map(items.__getitem__, range(len(cast(Sized, items))))
    for item in in_order:
        sample, *rest = item if isinstance(item, tuple | list) else (item,)
        samples.append(np.asarray(sample))
        labels.append(rest[0] if rest else None)
    several_shapes = len({sample.shape for sample in samples}) > 1
    if several_shapes and samples[0].ndim == 2 and samples[0].dtype != np.uint8:  # series; uint8 are grey pictures
        return samples, np.asarray(labels) if y is None and labels[0] is not None else y
    if several_shapes:
        shapes = sorted({sample.shape for sample in samples})[:3]
        raise OrdinateError("X", f"a Dataset of samples of different shapes, such as {shapes}", "one shape")
    stacked = np.stack(samples) if samples else np.zeros((0,))
    if stacked.ndim == 3 and stacked.dtype == np.uint8:  # grey pictures come without channels
        stacked = stacked[:, None]
    if y is None and samples and labels[0] is not None:
        y = np.asarray([np.asarray(label) for label in labels])
    return stacked, y


def unlabelled(X: Any, options: Any) -> Any:
    """Return samples as :func:`unpack` does, without their labels."""
    samples, _ = _streamed(X, options)
    return unpack(X, None)[0] if samples is None else samples


def check_options(options: Any, encoder: Any) -> None:
    """Raise an error if the options of the data are of no known class, or missing for the encoder."""
    known = [modality.options_class for modality in modalities() if modality.options_class is not None]
    if options is not None and not isinstance(options, tuple(known)):
        names = ", ".join(f"{kind.__name__}(...)" for kind in known)
        raise OrdinateError("data", repr(options), f"one of {names}, or None")
    if not isinstance(encoder, str) or options is not None:
        return
    for modality in modalities():
        if modality.options_class is not None and encoder in modality.encoders:
            expected = f"ordinate.{modality.options_class.__name__}(...)"
            raise OrdinateError("data", f"None with the encoder {encoder!r}", expected)


def check_input(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X in the form in which its kind of data is read and its rows are selected; ``reset`` in fitting."""
    modality = modality_of(X, estimator.data)
    options = estimator.data
    if options is not None and not isinstance(options, modality.options_class or ()):
        raise OrdinateError(
            "data", f"{type(options).__name__} for {modality.name}", f"options of {modality.name}, or None"
        )
    return modality.check(estimator, X, reset=reset)


def fit_reader(X: Any, options: Any, encoder: Any, *, progress: bool = False) -> tuple[Reader, Any]:
    """Learn how to read checked training samples; return the reader, and X with its files read."""
    return modality_of(X).fit(X, options, encoder=encoder, progress=progress)


def check_kind(reader: Reader, modality: Modality) -> None:
    """Raise an error if samples are of another kind than the training samples."""
    if not modality.reads_with(reader):
        raise OrdinateError("X", "another kind of data", f"{modality_of_reader(reader).expected}, as in training")


def read(reader: Reader, X: Any, folder: Path | None = None) -> Tensor:
    """Return checked samples as the batch of the encoder; one that is too large for memory lies in ``folder``."""
    check_kind(reader, modality_of(X))
    return reader.read(X, folder)


def read_new(estimator: Any, X: Any) -> Tensor:
    """Return new samples of a fitted estimator as the batch of its encoder."""
    X = unlabelled(X, estimator.data)
    modality = modality_of(X, estimator.data)
    check_kind(estimator.reader_, modality)
    return estimator.reader_.read(modality.check(estimator, X, reset=False))
