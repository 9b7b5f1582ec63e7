"""From the options of ``ordinate fit`` to its samples."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import pandas as pd

from ordinate.commands.fit_options import FitOptions, names_in, volume_options
from ordinate.commands.row_columns import leave_out_row_columns
from ordinate.commands.samples import (
    Samples,
    decode_array,
    is_named,
    modality_of_data,
    named_folder,
    read_named,
    read_samples,
    text_columns,
)
from ordinate.data.images.options import ImageOptions
from ordinate.data.modality import Modality, Request
from ordinate.data.registry import modalities, modality_of
from ordinate.data.tables.parquet_table import holds_parquet
from ordinate.data.volumes.options import VolumeOptions
from ordinate.errors import OrdinateError

LEAST_ROWS = 10


def read(
    options: FitOptions,
    images: ImageOptions,
    volumes: VolumeOptions | None = None,
    size_for: Callable[[Any, pd.Series, float], tuple[int, int]] | None = None,
    *,
    all_columns: bool = False,
) -> Samples:
    """Return the samples, with files of images and the like read.

    ``size_for`` chooses the size of image files; ``all_columns`` keeps columns that identify rows too.
    """
    data_options = {"images": images, "volumes": volumes or volume_options({}, options)}
    samples = _read(options, data_options, size_for, all_columns)
    if len(samples.y) < LEAST_ROWS:
        raise OrdinateError(
            options.data,
            problem=f"holds {len(samples.y)} rows",
            expected=f"at least {LEAST_ROWS} to train and to measure on",
        )
    if samples.splits is not None and options.test_fraction is not None:
        raise OrdinateError(
            "--test-fraction", f"{options.test_fraction}, and {options.data} says itself what is held out"
        )
    if samples.splits is not None and samples.groups is not None:
        across = int((samples.splits.groupby(samples.groups.to_numpy()).nunique() > 1).sum())
        if across:
            print(f"note: {across} of {samples.groups.nunique()} groups stand on more than one side of the split")
    return samples


def _read(
    options: FitOptions,
    data_options: Mapping[str, Any],
    size_for: Callable[[Any, pd.Series, float], tuple[int, int]] | None,
    all_columns: bool,
) -> Samples:
    request = Request(
        options.target, options.split, options.group, options.weight, tuple(names_in(options.drop)),
        tuple(names_in(options.categorical)), options.fold, options.stream, options.skip_unreadable,
        progress=not options.quiet,
    )  # fmt: skip
    if is_named(options.data):
        folder = named_folder(options.data)
        if folder is None:
            for name in ("drop", "keep", "categorical", "skip_unreadable", "fold", "stream"):
                _refuse(options, name, "is a data set with its own columns and split")
            samples = read_named(options.data, request)
            samples = text_columns(samples, options.text, options.data) if options.text else samples
            return _of_file(options, samples, request, data_options)
        options = replace(options, data=folder)
    modality = modality_of_data(options.data)
    if modality.name != "tables":
        _check_modality(options, modality)
        return read_samples(options.data, request, data_options, size_for)
    if not holds_parquet(options.data):
        _refuse(options, "stream", "is in another format", "is for parquet files, images and volumes")
    samples = read_samples(options.data, request, data_options)
    if options.text:
        samples = text_columns(samples, options.text, options.data)
    elif not all_columns:
        samples = leave_out_row_columns(samples, names_in(options.keep), options.data, print)
    return _of_file(options, samples, request, data_options)


def _of_file(options: FitOptions, samples: Samples, request: Request, data_options: Mapping[str, Any]) -> Samples:
    """Return the samples of a file, which may hold any kind of data."""
    modality = modality_of(samples.X)
    for name in ("fold", "skip_unreadable"):
        _refuse(options, name, "is one file")
    _check_modality(options, modality)
    return decode_array(samples, request, data_options)


def _check_modality(options: FitOptions, modality: Modality) -> None:
    """Raise where an option is for other kinds of data, and would do nothing."""
    for name in dict.fromkeys(name for known in modalities() for name in known.command_options):
        if name not in modality.command_options:
            kinds = [known.noun for known in modalities() if name in known.command_options]
            _refuse(options, name, f"holds {modality.noun}", f"is for {' or '.join(kinds)}")


def _refuse(options: FitOptions, name: str, held: str, purpose: str | None = None) -> None:
    """Raise where an option is given that the data have no use for."""
    value = getattr(options, name)
    default = next(each.default for each in fields(options) if each.name == name)
    if value or (value is False and default is None):
        flag = f"--{'no-' if value is False else ''}{name.replace('_', '-')}"
        raise OrdinateError(flag, problem=f"{purpose or f'got {value!r}'}, and {options.data} {held}")
