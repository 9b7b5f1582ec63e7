"""The kinds of data, and which of them samples and files are."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from ordinate.data.labels_file import lists_images
from ordinate.data.modality import Modality, Reader
from ordinate.data.options import DataOptions
from ordinate.data.paths import refuse_url
from ordinate.data.saved_fields import JsonObject
from ordinate.errors import OrdinateError

_registered: list[Modality] = []


def register_modality(modality: Modality) -> None:
    """Add a kind of data, which is asked before the others; its name and readers' kinds must be new.

    Example:
        >>> register_modality(modality_named("tables"))
        Traceback (most recent call last):
        ...
        ordinate.errors.OrdinateError: modality: got 'tables', expected another name and other kinds of readers
    """
    kinds = {reader.kind for reader in modality.readers}
    for known in modalities():
        if known.name == modality.name or not kinds.isdisjoint(reader.kind for reader in known.readers):
            raise OrdinateError("modality", repr(modality.name), "another name and other kinds of readers")
    _registered.insert(0, modality)


def modalities() -> tuple[Modality, ...]:
    """Return all kinds of data, in the order in which they are asked.

    Example:
        >>> [modality.name for modality in modalities()]
        ['text', 'tables', 'volumes', 'series', 'images']
    """
    return (*_registered, *_built_in())


@cache
def _built_in() -> tuple[Modality, ...]:
    folders = ("text", "tables", "volumes", "series", "images")
    return tuple(import_module(f"ordinate.data.{folder}.modality").MODALITY for folder in folders)


def modality_of(X: object, options: DataOptions | None = None) -> Modality:
    """Return the kind of samples, in any form that an estimator accepts; tables if nothing is known of them.

    Options of an estimator decide for kinds that samples alone do not show, such as text.
    """
    if isinstance(X, Mapping):
        raise OrdinateError("X", type(X).__name__, "samples in rows", "pandas.DataFrame(X) makes a table of columns")
    if isinstance(X, list | tuple) and X and (hasattr(X[0], "getbands") or getattr(X[0], "ndim", 0) > 2):
        expected = "paths of images, or one array (n, height, width, channels)"
        raise OrdinateError("X", "a list of pictures", expected, "numpy.stack makes one of pictures of one size")
    for modality in modalities():
        given = None
        if isinstance(options, modality.options_class or ()):
            given = options
        if modality.recognises(X, given):
            return modality
    return modality_named("tables")


def modality_of_files(path: str | Path, *, as_table: bool = False) -> Modality:
    """Return the kind of samples that lie in a file or folder; tables where nothing is known of it.

    A csv, parquet or Excel file that names images is read as these, unless ``as_table`` is true.
    """
    refuse_url(path)
    if as_table and lists_images(path):
        return modality_named("tables")
    return next((modality for modality in modalities() if modality.opens(path)), modality_named("tables"))


def modality_named(name: str) -> Modality:
    """Return a kind of data by its name."""
    return next(modality for modality in modalities() if modality.name == name)


def modality_of_reader(reader: Reader) -> Modality:
    """Return the kind of data that a reader reads."""
    return next(modality for modality in modalities() if modality.reads_with(reader))


def check_kind(reader: Reader, modality: Modality) -> None:
    """Raise an error if samples are of another kind than the training samples."""
    if modality.reads_with(reader):
        return
    expected = f"{modality_of_reader(reader).expected}, as in training"
    raise OrdinateError("X", modality.name, expected)


def read_state(state: JsonObject) -> Reader:
    """Return the reader that a saved model holds as ``{"kind": ..., **reader.to_dict()}``."""
    kind = state.pop("kind")
    for modality in modalities():
        for reader in modality.readers:
            if reader.kind == kind:
                return reader.from_dict(state)
    raise OrdinateError("model", f"a reader of {kind!r}", "a kind of data that register_modality has added")
