"""From the path of a data set to its samples, whichever kind they are."""

from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from ordinate.commands.fit_options import FitOptions, names_in, volume_options
from ordinate.commands.row_columns import leave_out_row_columns
from ordinate.commands.samples import (
    Samples,
    array_as_pictures,
    array_as_volumes,
    is_images,
    is_named,
    is_series,
    named_folder,
    read_named,
    read_parquet,
    read_pictures,
    read_scans,
    read_signals,
    read_table,
    text_columns,
)
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import Preprocessing
from ordinate.data.tables.parquet_table import holds_parquet
from ordinate.data.volumes.labelled import holds_volumes
from ordinate.data.volumes.options import VolumeOptions
from ordinate.errors import OrdinateError

LEAST_ROWS = 10


FOR = {  # the options that are for some kinds of data alone; those of volumes and series are checked with the methods
    "drop": ("a table",),
    "keep": ("a table",),
    "categorical": ("a table",),
    "text": ("a table",),
    "image_size": ("images",),
    "augmentation": ("images",),
    "pretrained": ("images",),
    "frozen": ("images",),
    "fold": ("images",),
    "skip_unreadable": ("images", "volumes", "series"),
}
KINDS = {2: "a table", 3: "series", 4: "images", 5: "volumes"}  # by the dimensions of what a file holds


def read(
    options: FitOptions,
    images: ImageOptions,
    volumes: VolumeOptions | None = None,
    size_for: Callable[[Preprocessing, pd.Series, float], tuple[int, int]] | None = None,
    *,
    all_columns: bool = False,
) -> Samples:
    """Return the samples, images and volumes decoded.

    Args:
        options: of the command.
        images: how images are read.
        volumes: how volumes are read.
        size_for: chooses the size of image files.
        all_columns: keep columns that identify rows too, for a model that was trained on other data.
    """
    samples = _read(options, images, volumes or volume_options({}, options), size_for, all_columns)
    if len(samples.y) < LEAST_ROWS:
        raise OrdinateError(
            f"{options.data}: holds {len(samples.y)} rows, expected at least {LEAST_ROWS} to train and to measure on"
        )
    if samples.splits is not None and options.test_fraction is not None:
        raise OrdinateError(
            f"--test-fraction: got {options.test_fraction}, and {options.data} says itself what is held out"
        )
    if samples.splits is not None and samples.groups is not None:
        across = int((samples.splits.groupby(samples.groups.to_numpy()).nunique() > 1).sum())
        if across:
            print(f"note: {across} of {samples.groups.nunique()} groups stand on more than one side of the split")
    return samples


def _read(
    options: FitOptions,
    images: ImageOptions,
    volumes: VolumeOptions,
    size_for: Callable[[Preprocessing, pd.Series, float], tuple[int, int]] | None,
    all_columns: bool,
) -> Samples:
    if is_named(options.data):
        folder = named_folder(options.data)
        if folder is None:
            for name in ("drop", "keep", "categorical", "skip_unreadable", "fold"):
                _refuse(options, name, "is a data set with its own columns and split")
            samples = read_named(options.data, options.target, options.split, options.group)
            samples = text_columns(samples, options.text, options.data) if options.text else samples
            return _of_their_kind(options, samples, images, volumes)
        options = replace(options, data=folder)
    place = (options.data, options.target, options.split, options.group)
    columns = (*place[:2], names_in(options.drop), names_in(options.categorical), *place[2:])
    if holds_parquet(options.data):
        return _of_their_kind(options, _columns(options, read_parquet(*columns), all_columns), images, volumes)
    if holds_volumes(options.data):
        _check_kind(options, "volumes")
        return read_scans(
            *place, volumes, skip_unreadable=options.skip_unreadable, progress=not options.quiet, say=print
        )
    if is_series(options.data):
        _check_kind(options, "series")
        return read_signals(*place, skip_unreadable=options.skip_unreadable, progress=not options.quiet, say=print)
    if is_images(options.data):
        _check_kind(options, "images")
        return read_pictures(
            *place, images, fold=options.fold, skip_unreadable=options.skip_unreadable, progress=not options.quiet,
            say=print, size_for=size_for,
        )  # fmt: skip
    return _of_their_kind(options, _columns(options, read_table(*columns), all_columns), images, volumes)


def _columns(options: FitOptions, samples: Samples, all_columns: bool) -> Samples:
    """Return the samples with the columns to train on: the texts, or all that do not identify rows."""
    if options.text:
        return text_columns(samples, options.text, options.data)
    return samples if all_columns else leave_out_row_columns(samples, names_in(options.keep), options.data, print)


def _of_their_kind(options: FitOptions, samples: Samples, images: ImageOptions, volumes: VolumeOptions) -> Samples:
    """Return the samples of a file as what their dimensions make them: columns, series, images or volumes."""
    dimensions = getattr(samples.X, "ndim", 2)
    for name in ("fold", "skip_unreadable"):
        _refuse(options, name, "is one file")
    _check_kind(options, KINDS[dimensions])
    if dimensions == 4:
        return array_as_pictures(samples, images)
    if options.recipe is not None and dimensions == 2:
        raise OrdinateError(f"--recipe: is for images, volumes or series, and {options.data} holds a table")
    return array_as_volumes(samples, volumes, print) if dimensions == 5 else samples


def _check_kind(options: FitOptions, kind: str) -> None:
    """Raise where an option is for other data than this kind, and would do nothing."""
    for name, kinds in FOR.items():
        if kind not in kinds:
            _refuse(options, name, f"holds {kind}", f"is for {' or '.join(kinds)}")


def _refuse(options: FitOptions, name: str, held: str, purpose: str | None = None) -> None:
    """Raise where an option is given that the data have no use for."""
    value = getattr(options, name)
    if value:
        raise OrdinateError(f"--{name.replace('_', '-')}: {purpose or f'got {value!r}'}, and {options.data} {held}")
