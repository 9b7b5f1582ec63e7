"""The labelled samples that a command trains or measures on, whichever kind of data they are."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.batches import names_of_samples
from ordinate.counts import counted
from ordinate.data.decoded import require_readable
from ordinate.data.labelled import Labelled, require_filled
from ordinate.data.modality import Modality, Request
from ordinate.data.numbers import plain_text
from ordinate.data.outliers import Outliers
from ordinate.data.paths import reading, require_names
from ordinate.data.registry import modality_named, modality_of, modality_of_files
from ordinate.data.rows import take
from ordinate.data.streamed import StreamedPixels
from ordinate.data.tables.features import unusable_columns
from ordinate.data.tables.parquet_table import ParquetTable, in_memory
from ordinate.data.tables.row_columns import (
    DETERMINES,
    UNNAMED,
    find_far_values,
    find_label_columns,
    find_row_columns,
    find_row_order,
    find_sentinels,
)
from ordinate.data.text.samples import as_texts
from ordinate.errors import OrdinateError, argument
from ordinate.estimators.samples import check_sample_weight
from ordinate.extensions import extensions, load_object
from ordinate.model.batches import trained_columns
from ordinate.model.model import Model


@dataclass(frozen=True)
class LabelledData:
    """Labelled samples that were read and found usable.

    Args:
        X: Samples.
        y: Labels (n,) as a Series, or several targets (n, p) as a DataFrame.
        name: Name of the label for messages.
        digest: SHA-256 of everything that was read; empty for files that are still to be decoded.
        splits: Sides (n,) that the data assign the samples to; None without any.
        groups: Groups (n,) that stay on one side of a split; None without any.
        weights: Sample weights (n,); None for equal ones.
        paths: Files (n,) that the samples lie in; None if they do not lie in one each.
        is_text: Whether columns of a table are read as text.
        identity: Columns that identify the rows, as a table; None if X holds them, or there are none.
        rows: Rows (n,) of the data that the samples are, rising; None for all of them.
        notes: Notes on what was left out, and on columns that are suspicious.
        preprocessing: What is done to every sample when it is decoded; None where nothing is decoded.
        unused: Columns of a labels.csv that say none of this.
    """

    X: Any
    y: Any
    name: str
    digest: str
    splits: pd.Series | None = None
    groups: pd.Series | None = None
    weights: NDArray[np.float64] | None = None
    paths: NDArray[np.str_] | None = None
    is_text: bool = False
    identity: pd.DataFrame | ParquetTable | None = None
    rows: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    preprocessing: Any = None
    unused: tuple[str, ...] = ()

    def take(self, places: NDArray[np.int64]) -> "LabelledData":
        """Return some of the samples, by their places."""
        taken = {}
        for name in ("X", "y", "splits", "groups", "weights", "paths", "identity"):
            column = getattr(self, name)
            if column is not None:
                taken[name] = take(column, places, renumber=True)
        return replace(self, **taken, rows=self.in_data(places))

    def resized(self, size: tuple[int, int]) -> "LabelledData":
        """Return images that are still to be decoded, with another size to decode them at."""
        return replace(self, preprocessing=replace(self.preprocessing, size=size))

    @cached_property
    def exact_copies(self) -> NDArray[np.uint64 | np.int64] | None:
        """Codes (n,) that exact copies of a sample share; None if the samples are still to be read."""
        return self.modality.exact_copies(self.X)

    def in_data(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the data that some samples are, by their places among the samples."""
        return places if self.rows is None else self.rows[places]

    def names(self, places: NDArray[np.int64], paths: NDArray[np.str_] | None) -> list[str]:
        """Return the names of some samples: the ``paths`` of their files if all lie in one each, or their rows.

        A row of a table that a column identifies has that name, too.
        """
        if paths is not None:
            return [str(path) for path in paths[places]]
        if self.identity is None:
            return row_names(self.in_data(places))
        identity = names_of_samples(take(self.identity, places), list(self.identity.columns))
        return row_names(self.in_data(places), identity)

    def describe_outliers(self, outliers: Outliers) -> str:
        """Return what a column holds that lies far from its other values, with the names of the samples."""
        described = outliers.described(self.names(np.array(outliers.rows), self.known_paths))
        if self.known_paths is None and self.identity is None:
            described += " (rows count from 0)"
        return described

    @property
    def modality(self) -> Modality:
        """The kind of data that the samples are."""
        return modality_named("text") if self.is_text else modality_of(self.X)

    @property
    def known_paths(self) -> NDArray[np.str_] | None:
        """The files (n,) that name the samples, also where their number is too large to list them in ``paths``."""
        return self.modality.paths(self.X) if self.paths is None else self.paths


def modality_of_data(data: str, *, as_table: bool = False) -> Modality:
    """Return the kind of data that a path holds, or the name of an image set stands for."""
    return modality_named("images") if named_sets(data, "holds_images") else modality_of_files(data, as_table=as_table)


def named_sets(data: str, holds: Literal["holds_images", "holds_others"]) -> Any:
    """Return the data sets that a name belongs to, None where there are none or there is such a path."""
    if Path(data).exists():
        return None
    known = (load_object(each.data_sets) for each in extensions() if each.data_sets is not None)
    return next((data_sets for data_sets in known if getattr(data_sets, holds)(data)), None)


def read_named(data_sets: Any, data: str, request: Request) -> LabelledData:
    """Read one of the data sets of the papers by its name, with its split; ranks are numbers from 0."""
    _refuse_columns(data, request)
    X, y, splits, digest = data_sets.read(data)
    return LabelledData(X, pd.Series(y), f"label of {data}", digest, pd.Series(splits))


def _refuse_columns(data: str, request: Request) -> None:
    given = next((name for name in ("target", "split", "group", "weight") if getattr(request, name)), None)
    if given is not None:
        raise OrdinateError(f"--{given}", problem=f"{data} is a data set with its own label and split", expected="none")


def open_samples(data: str, request: Request, modality: Modality) -> LabelledData:
    """Return the labelled samples of a file, folder, zip or image set; images and the like are still to be decoded."""
    image_sets = named_sets(data, "holds_images")
    if image_sets is None:
        with reading(data):
            labelled = modality.read_labelled(data, request)
    else:
        _refuse_columns(data, request)
        labelled = image_sets.read_images(data)
    y = labelled.labels
    if isinstance(y, pd.DataFrame) and not request.more_targets:
        raise OrdinateError(
            data, problem="has targets of several dimensions", expected="one", hint="see SupCRRegressor for more"
        )
    if request.more_targets and not isinstance(y, pd.DataFrame):
        count = 1 + len(request.more_targets)
        raise OrdinateError(
            "--target", f"{counted(count, 'column')}, and {data} holds no table", "one; several are for tables"
        )
    for note in labelled.notes:
        request.say(f"note: {note}")
    left_out = [f"left out: {reason}" for reason in labelled.left_out]
    rows = None
    missing = pd.DataFrame(y).isna().any(axis=1).to_numpy()
    if missing.any():
        left_out.append(f"left out: {missing.sum():,} of {counted(len(missing), 'row')}, which have no label")
        rows = np.flatnonzero(~missing)
        labelled = labelled.take(rows)
        y = labelled.labels
    for note in left_out:
        request.say(note)
    if modality.holds_arrays:
        name = f"column {y.name!r}" if isinstance(y, pd.Series) else f"columns {', '.join(map(repr, y))}"
        digest = digest_of_files(Path(data))
    else:
        y = pd.Series(y)
        name, digest = f"label {y.name!r}", ""
    return LabelledData(
        labelled.samples, y, name, digest, labelled.splits, labelled.groups, _weights(labelled), labelled.paths,
        rows=rows, notes=tuple(left_out), unused=labelled.unused,
    )  # fmt: skip


def _weights(labelled: Labelled) -> NDArray[np.float64] | None:
    """Return the weights of samples where there are some, none of which is missing or below 0."""
    if labelled.weights is None:
        return None
    try:
        return check_sample_weight(labelled.weights, len(labelled))
    except OrdinateError as error:
        raise error.of(f"--weight: column {labelled.weights.name!r}") from None


def with_preprocessing(samples: LabelledData, options: Any, say: Callable[[str], None]) -> LabelledData:
    """Return samples with what is to be done to each when it is decoded."""
    return replace(samples, preprocessing=samples.modality.preprocessing(samples.X, options, say))


def decode(samples: LabelledData, data: str, request: Request, options: Any) -> LabelledData:
    """Return samples with their files read, without those that cannot be read if the request says so."""
    files, modality = samples.X, samples.modality
    X, failures = modality.decode(files, samples.preprocessing, options, request)
    if not request.skip_unreadable:
        way_out = "" if request.skip_unreadable is None else f"; {argument('skip_unreadable', True)} leaves them out"
        require_readable(failures, len(files), modality.name, data, way_out)
    for reason in failures.values():
        request.say(f"left out: {reason}")
    if samples.digest:
        return replace(samples, X=X)
    streams = isinstance(getattr(X, "pixels", None), StreamedPixels)  # There may be too many names to list.
    if samples.paths is None and not streams:
        samples = replace(samples, paths=modality.paths(files))
    samples = replace(samples, X=X)
    if failures:
        samples = samples.take(np.setdiff1d(np.arange(len(files)), list(failures)))
    return replace(samples, digest=_digest(samples))


def _digest(samples: LabelledData) -> str:
    """Return the sha256 of decoded samples and of their labels, whatever other columns were asked for."""
    pixels = getattr(samples.X, "pixels", samples.X)
    if isinstance(pixels, StreamedPixels):
        digest = hashlib.sha256(pixels.digest())
    else:
        digest = hashlib.sha256()
        for sample in pixels:
            digest.update(np.ascontiguousarray(sample).tobytes())
    digest.update(digest_of_columns([samples.y]).encode())
    return digest.hexdigest()


def digest_of_columns(columns: Iterable[Any]) -> str:
    """Return the sha256 of columns (n,), each of which may be None."""
    digest = hashlib.sha256()
    for column in columns:
        digest.update(b"no column")
        if column is not None:
            digest.update(pd.util.hash_pandas_object(pd.Series(column), index=False).to_numpy().data)
    return digest.hexdigest()


def fit_to(model: Model, X: Any, data: str) -> Any:
    """Return samples with the columns of the training data, their files read once for everything that needs them."""
    X = trained_columns(model, X, data)
    if model.feature_names_in:
        return X
    return model.reader.decode(X)


def row_names(rows: NDArray[np.int64], identity: NDArray[np.generic] | None = None) -> list[str]:
    """Return names of rows: their numbers, and what identifies them where it is known and another.

    Example:
        >>> row_names(np.array([0, 7]), np.array(["P31", "7"])), row_names(np.array([3]))
        (['row 0, P31', 'row 7'], ['row 3'])
    """
    named = [f"row {row}" for row in rows]
    if identity is None:
        return named
    known = ["" if pd.isna(own) else plain_text(own) for own in identity.tolist()]
    for place, (row, own) in enumerate(zip(rows, known, strict=True)):
        if own not in ("", str(row)):
            named[place] += f", {own}"
    return named


def digest_of_files(path: Path) -> str:
    """Return the sha256 of a file, or of the names and contents of a folder's files."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    for part in sorted(path.rglob("*.parquet")):
        digest.update(f"{part.relative_to(path)} {digest_of_files(part)}\n".encode())
    return digest.hexdigest()


def text_columns(samples: LabelledData, names: Sequence[str], data: str, say: Callable[[str], None]) -> LabelledData:
    """Return samples of a table as the texts in one or two of its columns, and name the columns left out."""
    if not hasattr(samples.X, "columns"):
        raise OrdinateError(
            "--text", problem=f"{data} holds no table", expected=f"one with the columns {', '.join(names)}"
        )
    require_names(samples.X.columns, names, Path(data))
    texts = in_memory(samples.X[list(names)])
    for name in names:
        require_filled(texts[name], data, "text")
    try:
        as_texts(texts)
    except OrdinateError as error:
        raise error.of(f"--text: {data}") from None
    others = [repr(name) for name in samples.X.columns if name not in names and not UNNAMED.fullmatch(name)]
    if others:
        left_out = ", ".join(others[:20])
        if len(others) > 20:
            left_out += f" and {len(others) - 20} more"
        say(f"note: {argument('text')} trains on {' and '.join(map(repr, names))} alone, without {left_out}")
    return replace(samples, X=texts, is_text=True)


def leave_out_row_columns(
    samples: LabelledData, keep: Sequence[str], data: str, say: Callable[[str], None]
) -> LabelledData:
    """Return samples without the columns that identify the rows of a table, except those to keep, and name them."""
    X = samples.X
    if not hasattr(X, "columns"):
        if keep:
            raise OrdinateError("--keep", f"{', '.join(keep)}, and {data} holds arrays", "a table")
        return samples
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        say(text)

    require_names(X.columns, keep, Path(data))
    left_out = {name: reason for name, reason in find_row_columns(X).items() if name not in keep}
    for name, reason in left_out.items():
        note(f"left out: column {name!r} {reason}; {argument('keep', name)} keeps it")
    named = [name for name in left_out if not UNNAMED.fullmatch(name)]
    identity = X[named] if named else None
    names = [name for name in X.columns if name not in left_out]
    if not names:
        raise _none_left(data, left_out)
    X = _usable(X[names], keep, data, note, left_out, has_groups=samples.groups is not None)
    y = pd.DataFrame(samples.y)
    in_order = [name for each in y for name in find_row_order(X, y[each])]
    for name in dict.fromkeys(in_order):
        if name not in keep:
            note(
                f"note: column {name!r} rises or falls from row to row, as the label does; if it is a row number, "
                f"{argument('drop', name)}"
            )
    if sentinels := find_sentinels(X):
        note(_note_on_sentinels(sentinels))
    known = replace(samples, X=X, identity=identity)
    if far := find_far_values(X):
        described = {name: known.describe_outliers(outliers) for name, outliers in far.items()}
        note(f"note: {_of_columns(described)}; if these are errors, correct them or leave their cells empty")
    copies = [name for each in y for name in find_label_columns(X, y[each])]
    for name in dict.fromkeys(copies):
        note(f"note: column {name!r} {DETERMINES}; if it is not known before the label, {argument('drop', name)}")
    return replace(known, notes=(*samples.notes, *notes))


def _none_left(data: str, reasons: Mapping[str, str], most: int = 3) -> OrdinateError:
    """Return the error of a table all of whose columns are left out, with the first reasons."""
    listed = "; ".join(f"{name!r} {reason}" for name, reason in list(reasons.items())[:most])
    return OrdinateError(
        data,
        problem=f"no column except the target describes the rows: {listed}",
        expected="at least one that does",
        hint=f"{argument('keep')} trains on those it names",
    )


def _usable(
    X: Any,
    keep: Sequence[str],
    data: str,
    say: Callable[[str], None],
    left_out: Mapping[str, str],
    *,
    has_groups: bool,
    most: int = 3,
) -> Any:
    """Return a table without the columns that features cannot be learned from; one note names them all.

    A column to keep that cannot be used is an error, and so is a table of which no column is left.
    """
    problems = unusable_columns(X)
    if not problems:
        return X
    for name in keep:
        if name in problems:
            raise problems[name]
    left = [name for name in X.columns if name not in problems]
    if not left:
        raise _none_left(data, {**left_out, **{name: f"({_got(error)})" for name, error in problems.items()}})
    reasons = [f"{name!r} ({_got(error)})" for name, error in list(problems.items())[:most]]
    if len(problems) > most:
        reasons.append(f"{len(problems) - most} more")
    columns = "column" if len(problems) == 1 else "columns"
    advice = f"{argument('drop', ','.join(problems))} saves this note"
    repeated = next((name for name, error in problems.items() if argument("group") in str(error.hint)), None)
    if repeated is not None and not has_groups:
        advice = f"if rows of one {repeated!r} belong together, {argument('group', repeated)} keeps them on one side"
    say(f"left out: {columns} {', '.join(reasons)}, which cannot be used; {advice}")
    return X[left]


def _got(error: OrdinateError) -> str:
    return str(error.got or error.problem)


def _note_on_sentinels(problems: dict[str, str]) -> str:
    """Return one note on numbers in columns that may stand for missing values."""
    return f"note: {_of_columns(problems)}; if these are missing values, {argument('missing')} names them"


def _of_columns(problems: Mapping[str, object], most: int = 3) -> str:
    """Return what the first columns hold."""
    listed = [f"column {name!r} {problem}" for name, problem in list(problems.items())[:most]]
    if len(problems) > most:
        listed.append(f"{len(problems) - most} more hold such numbers")
    return "; ".join(listed)
