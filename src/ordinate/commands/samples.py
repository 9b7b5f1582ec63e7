"""The samples that a command trains on: a table, series or images, with labels, and any splits and groups."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.images.files import ImageFiles
from ordinate.data.images.folds import FOLDS, hold_out
from ordinate.data.images.labelled import holds_images, read_labelled_images
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import (
    Decoded,
    Preprocessing,
    as_images,
    choose_preprocessing,
    decode,
    duplicates,
    require_readable,
    seconds_to_decode,
)
from ordinate.data.series.eeg import holds_recordings, read_tuab
from ordinate.data.series.matrices import holds_matrices, read_matrices
from ordinate.data.tables.files import TS, TS_TARGET, read_labelled, require_columns, require_labels
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.data.text.samples import as_texts
from ordinate.data.volumes.labelled import read_labelled_volumes
from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.voxels import (
    DecodedVolumes,
    as_volumes,
    choose_volume_preprocessing,
    decode_volumes,
)
from ordinate.errors import OrdinateError
from ordinate.extensions import extensions

NAMED = 5  # images that a note names


@dataclass(frozen=True)
class Samples:
    """Labelled samples that have been read and found usable.

    Args:
        X: a DataFrame, a table in parquet files, an array of series, or decoded images or volumes.
        y: (n,) labels.
        name: of the label, for messages.
        digest: of all that was read.
        splits: (n,) "train", "validation" or "test".
        groups: (n,).
        paths: (n,) of samples that are files.
    """

    X: Any
    y: pd.Series
    name: str
    digest: str
    splits: pd.Series | None = None
    groups: pd.Series | None = None
    paths: NDArray[np.str_] | None = None


def is_images(data: str) -> bool:
    """Return whether DATA is a folder or zip of images, or the name of an image set."""
    return holds_images(data) or _named_sets(data, "holds_images") is not None


def is_named(data: str) -> bool:
    """Return whether DATA is the name of a data set that holds no images."""
    return _named_sets(data, "holds_others") is not None


def named_folder(data: str) -> str | None:
    """Return the folder of a named data set that is read as any folder of its kind; None for another."""
    folder: str | None = _named_sets(data, "holds_others").folder(data)
    return folder


def _named_sets(data: str, holds: str) -> Any:
    """Return the data sets that a name belongs to, None where there are none or there is such a path."""
    if Path(data).exists():
        return None
    known = (extension.data_sets() for extension in extensions())
    return next((data_sets for data_sets in known if getattr(data_sets, holds)(data)), None)


def read_named(data: str, target: str | None, split: str | None, group: str | None) -> Samples:
    """Read a data set of the papers by its name, with its split; ranks are numbers from 0."""
    _refuse_columns(data, target, split, group)
    X, y, splits, digest = _named_sets(data, "holds_others").read(data)
    return Samples(X, pd.Series(y), f"label of {data}", digest, pd.Series(splits))


def _refuse_columns(data: str, target: str | None, split: str | None, group: str | None) -> None:
    given = next((name for name, value in (("target", target), ("split", split), ("group", group)) if value), None)
    if given is not None:
        raise OrdinateError(f"--{given}: {data} is a data set with its own label and split, takes none")


def read_table(
    data: str, target: str | None, drop: list[str], categorical: list[str], split: str | None, group: str | None
) -> Samples:
    """Read a csv, parquet or npz file."""
    if target is None and data.lower().endswith(TS):
        target = TS_TARGET
    target = _require_target(target)
    X, y = read_labelled(data, target, drop, categorical)
    if not isinstance(X, pd.DataFrame):
        for option, value in (("drop", drop), ("categorical", categorical), ("split", split), ("group", group)):
            if value:
                raise OrdinateError(f"--{option}: {data} holds arrays, expected a table")
    sides = _sides(X, data, split, group)
    if split or group:
        X = X.drop(columns=[name for name in (split, group) if name is not None])
    return Samples(X, y, f"column {target!r}", _digest(Path(data)), *sides)


def read_parquet(
    data: str, target: str | None, drop: list[str], categorical: list[str], split: str | None, group: str | None
) -> Samples:
    """Open a parquet file or a folder of them: the label is read, the other columns when they are asked for."""
    target = _require_target(target)
    left_out = {target, *drop}.intersection(categorical)
    if left_out:
        raise OrdinateError(f"--categorical: {', '.join(left_out)} is the target or dropped, takes columns of X")
    y = ParquetTable(data)[target]
    require_labels(y, target, Path(data))
    X = ParquetTable(data, drop=[target, *drop], categorical=categorical)
    sides = _sides(X, data, split, group)
    names = [name for name in X.columns if name not in (split, group)]
    if not names:
        raise OrdinateError(f"{data}: no column is left beside the target, takes at least one")
    return Samples(X[names], y, f"column {target!r}", _digest(Path(data)), *sides)


def _require_target(target: str | None) -> str:
    if target is None:
        raise OrdinateError("--target: takes the column of the label (only images can do without)")
    return target


def _sides(X: Any, data: str, split: str | None, group: str | None) -> tuple[pd.Series | None, pd.Series | None]:
    """Return the columns of a table that say the side of the split, and the group."""
    for option, name in (("--split", split), ("--group", group)):
        if name is not None and name not in X.columns:
            raise OrdinateError(f"{option}: no column {name!r} in {data}")
    splits, groups = (None if name is None else X[name].astype(str) for name in (split, group))
    return splits, groups


def _digest(path: Path) -> str:
    """Return the sha256 of a file, or of the names and contents of a folder's files."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    for part in sorted(path.rglob("*.parquet")):
        digest.update(f"{part.relative_to(path)} {_digest(part)}\n".encode())
    return digest.hexdigest()


def read_pictures(
    data: str,
    target: str | None,
    split: str | None,
    group: str | None,
    options: ImageOptions,
    *,
    fold: int,
    skip_unreadable: bool,
    progress: bool,
    say: Callable[[str], None],
    size_for: Callable[[Preprocessing, pd.Series, float], tuple[int, int]] | None = None,
) -> Samples:
    """Read and decode all images, before any work is lost to one that cannot be read.

    ``size_for`` chooses their size by how they would be read, their labels, and the seconds that reading takes.
    """
    if holds_images(data):
        images = read_labelled_images(data, target, split, group)
    else:
        _refuse_columns(data, target, split, group)
        images = _named_sets(data, "holds_images").read_images(data)
    if images.splits is not None and set(FOLDS).intersection(images.splits):
        images = hold_out(images, fold)
        say(f"fold {fold} of {len(FOLDS)} is held out")
    elif fold:
        raise OrdinateError(f"--fold: got {fold}, but {data} has no folds")
    if isinstance(images.labels, pd.DataFrame):
        raise OrdinateError(f"{data}: has targets of several dimensions, takes one; see SupCRRegressor for more")
    chosen = choose_preprocessing(images.images, options.size, options.channels, options.crop, options.equalize)
    if size_for is not None:
        seconds = seconds_to_decode(images.images, chosen, options.workers)
        chosen = replace(chosen, size=size_for(chosen, pd.Series(images.labels), seconds))
    pixels, failures = decode(images.images, chosen, options.workers, progress)
    if not skip_unreadable:
        _require_readable(data, failures, len(images), "images")
    kept = np.setdiff1d(np.arange(len(images)), list(failures))
    for reason in failures.values():
        say(f"left out: {reason}")
    if failures:
        images, pixels = images.take(kept), pixels[kept]
    labels = pd.Series(images.labels)
    columns = [None if column is None else column.tolist() for column in (labels, images.splits, images.groups)]
    digest = hashlib.sha256(repr(columns).encode())
    for part in np.array_split(pixels, max(1, len(pixels) // 1024)):
        digest.update(part.tobytes())
    paths = images.images.paths if isinstance(images.images, ImageFiles) else None
    return Samples(
        Decoded(pixels, chosen), labels, f"label {labels.name!r}", digest.hexdigest(),
        images.splits, images.groups, paths,
    )  # fmt: skip


def _require_readable(data: str, failures: dict[int, str], total: int, kind: str) -> None:
    """Raise where some could not be read, with the way out."""
    try:
        require_readable(failures, total, kind)
    except OrdinateError as error:
        raise OrdinateError(f"{data}: {str(error).removeprefix('X: ')}; --skip-unreadable leaves them out") from None


def array_as_pictures(samples: Samples, options: ImageOptions) -> Samples:
    """Return samples of an npz that are images as decoded ones."""
    array = as_images(samples.X)
    chosen = choose_preprocessing(array, options.size, options.channels, options.crop, options.equalize)
    return replace(samples, X=Decoded(decode(array, chosen, options.workers)[0], chosen))


def read_scans(
    data: str,
    target: str | None,
    split: str | None,
    group: str | None,
    options: VolumeOptions,
    *,
    skip_unreadable: bool,
    progress: bool,
    say: Callable[[str], None],
) -> Samples:
    """Read all volumes of a folder, before any work is lost to one that cannot be read."""
    labelled = read_labelled_volumes(data, target, split, group)
    chosen, notes = choose_volume_preprocessing(labelled.volumes, options)
    for note in notes:
        say(f"note: {note}")
    voxels, failures = decode_volumes(labelled.volumes, chosen, options.workers, progress)
    if not skip_unreadable:
        _require_readable(data, failures, len(labelled), "volumes")
    for reason in failures.values():
        say(f"left out: {reason}")
    if failures:
        kept = np.setdiff1d(np.arange(len(labelled)), list(failures))
        labelled, voxels = labelled.take(kept), voxels[kept]
    columns = (labelled.labels, labelled.splits, labelled.groups)
    digest = hashlib.sha256(repr([None if column is None else column.tolist() for column in columns]).encode())
    for volume in voxels:
        digest.update(volume.tobytes())
    return Samples(
        DecodedVolumes(voxels, chosen), labelled.labels, f"label {labelled.labels.name!r}", digest.hexdigest(),
        labelled.splits, labelled.groups, labelled.volumes.paths,
    )  # fmt: skip


def is_series(data: str) -> bool:
    """Return whether DATA is a folder of matrices or of EEG recordings."""
    return holds_matrices(data) or holds_recordings(data)


def read_signals(
    data: str,
    target: str | None,
    split: str | None,
    group: str | None,
    *,
    skip_unreadable: bool,
    progress: bool,
    say: Callable[[str], None],
) -> Samples:
    """Read all series of a folder, before any work is lost to one that cannot be read."""
    if holds_matrices(data):
        read = read_matrices(data, target, split, group, skip_unreadable=skip_unreadable)
    else:
        other = None if target == "age" else target
        for option, value in (("--target", other), ("--split", split), ("--group", group)):
            if value is not None:
                raise OrdinateError(f"{option}: got {value!r}, and {data} holds EEG recordings, whose label is the age")
        read = read_tuab(data, skip_unreadable=skip_unreadable, progress=progress)
    for reason in read.left_out:
        say(f"left out: {reason}")
    columns = (read.labels, read.splits, read.groups)
    digest = hashlib.sha256(repr([None if column is None else column.tolist() for column in columns]).encode())
    for one in read.series:
        digest.update(one.tobytes())
    name = f"label {read.labels.name!r}"
    return Samples(read.series, read.labels, name, digest.hexdigest(), read.splits, read.groups, read.paths)


def array_as_volumes(samples: Samples, options: VolumeOptions, say: Callable[[str], None]) -> Samples:
    """Return samples of an npz that are volumes as decoded ones."""
    array = as_volumes(samples.X)
    chosen, notes = choose_volume_preprocessing(array, options)
    for note in notes:
        say(f"note: {note}")
    voxels, failures = decode_volumes(array, chosen, options.workers)
    require_readable(failures, len(array), "volumes")
    return replace(samples, X=DecodedVolumes(voxels, chosen))


def text_columns(samples: Samples, names: list[str], data: str) -> Samples:
    """Return samples of a table as the texts in one or two of its columns."""
    if not isinstance(samples.X, pd.DataFrame | ParquetTable):
        raise OrdinateError(f"--text: {data} holds no table, takes one with the columns {', '.join(names)}")
    require_columns(samples.X, names, Path(data))
    texts = samples.X[names]
    texts = texts.to_pandas() if isinstance(texts, ParquetTable) else texts
    try:
        as_texts(texts)
    except OrdinateError as error:
        raise OrdinateError(f"--text: {data}: {str(error).removeprefix('X: ')}") from None
    return replace(samples, X=texts)


def duplicates_across(samples: Samples, sides: NDArray[Any]) -> list[str]:
    """Return notes on images whose pixels stand on more than one side of the split."""
    groups = [group for group in duplicates(samples.X.pixels) if len(set(sides[group])) > 1]
    if not groups:
        return []
    names = samples.paths if samples.paths is not None else np.arange(len(sides)).astype(str)
    shown = "; ".join(" = ".join(f"{names[row]} ({sides[row]})" for row in group[:3]) for group in groups[:NAMED])
    many = f"{len(groups)} images stand" if len(groups) > 1 else "an image stands"
    return [f"{many} on both sides of the split, pixel for pixel: {shown}"]
