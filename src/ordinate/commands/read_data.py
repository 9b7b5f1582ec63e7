"""From the path of a data set to its samples, whichever kind they are."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ordinate.commands.fit_options import FitOptions, volume_options
from ordinate.commands.samples import (
    Samples,
    array_as_pictures,
    array_as_volumes,
    is_images,
    is_named,
    is_series,
    read_named,
    read_parquet,
    read_pictures,
    read_scans,
    read_signals,
    read_table,
    text_columns,
)
from ordinate.data.image_options import ImageOptions
from ordinate.data.image_sets.catalogue import DATA
from ordinate.data.labelled_volumes import holds_volumes
from ordinate.data.parquet_table import holds_parquet
from ordinate.data.pixels import Preprocessing
from ordinate.data.volume_options import VolumeOptions
from ordinate.errors import OrdinateError
from ordinate.tables import datasets as sets_of_tables

LEAST_ROWS = 10
IN_FOLDERS = ("tuab", "hcp_aging", "uk_biobank")  # sets that are read as any folder of their kind


def read(
    options: FitOptions,
    images: ImageOptions,
    volumes: VolumeOptions | None = None,
    size_for: Callable[[Preprocessing, pd.Series], tuple[int, int]] | None = None,
) -> Samples:
    """Return the samples, images and volumes decoded; ``size_for`` chooses the size of image files."""
    volumes = volumes or volume_options({}, options)
    if is_named(options.data):
        if options.data not in IN_FOLDERS:
            samples = read_named(options.data, options.target, options.split, options.group)
            return _enough(options, _of_their_kind(options, samples, images, volumes))
        reason = sets_of_tables.unavailable(options.data)
        if reason is not None:
            raise OrdinateError(reason)
        options = replace(options, data=str(Path(os.environ[DATA]) / options.data))
    drop, categorical = _names(options.drop), _names(options.categorical)
    columns = (options.data, options.target, drop, categorical, options.split, options.group)
    if holds_parquet(options.data):
        return _enough(options, _of_their_kind(options, read_parquet(*columns), images, volumes))
    if options.text and (holds_volumes(options.data) or is_images(options.data)):
        raise OrdinateError(f"--text: {options.data} holds images, takes a table with {', '.join(options.text)}")
    if holds_volumes(options.data):
        if options.image_size or options.augmentation or options.pretrained or options.fold:
            raise OrdinateError(f"{options.data}: holds volumes, takes none of the options of images")
        return _enough(options, read_scans(
            options.data, options.target, options.split, options.group, volumes,
            skip_unreadable=options.skip_unreadable, progress=not options.quiet, say=print,
        ))  # fmt: skip
    if is_series(options.data):
        if options.image_size or options.augmentation or options.pretrained or options.fold:
            raise OrdinateError(f"{options.data}: holds series, takes none of the options of images")
        return _enough(options, read_signals(
            options.data, options.target, options.split, options.group,
            skip_unreadable=options.skip_unreadable, progress=not options.quiet, say=print,
        ))  # fmt: skip
    if is_images(options.data):
        return _enough(options, read_pictures(
            options.data, options.target, options.split, options.group, images, fold=options.fold,
            skip_unreadable=options.skip_unreadable, progress=not options.quiet, say=print, size_for=size_for,
        ))  # fmt: skip
    return _enough(options, _of_their_kind(options, read_table(*columns), images, volumes))


def _of_their_kind(options: FitOptions, samples: Samples, images: ImageOptions, volumes: VolumeOptions) -> Samples:
    """Return the samples of a file as what options and dimensions make them: columns, texts, images or volumes."""
    if options.text:
        samples = text_columns(samples, options.text, options.data)
    dimensions = getattr(samples.X, "ndim", 2)
    of_images = options.recipe is not None and dimensions == 2
    if dimensions == 4:
        return array_as_pictures(samples, images)
    if of_images or options.image_size or options.augmentation or options.pretrained:
        raise OrdinateError(f"{options.data}: holds no images, takes none of the options of images")
    return array_as_volumes(samples, volumes, print) if dimensions == 5 else samples


def _enough(options: FitOptions, samples: Samples) -> Samples:
    if len(samples.y) < LEAST_ROWS:
        raise OrdinateError(
            f"{options.data}: holds {len(samples.y)} rows, takes at least {LEAST_ROWS} to train and to measure on"
        )
    return samples


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
