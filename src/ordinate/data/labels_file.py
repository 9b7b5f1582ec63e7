"""A ``labels.csv``, or another table: files with their labels, splits and groups."""

import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import pandas as pd

from ordinate.data.csv_files import read_csv, read_csv_parts
from ordinate.data.csv_format import CSV, recognise
from ordinate.data.excel_files import read_excel
from ordinate.data.file_formats import EXCEL, IMAGE_SUFFIXES, LABELS, PARQUET, PATH_COLUMNS, ends_in
from ordinate.data.file_tree import FileTree
from ordinate.data.labelled import Labelled, require_filled, require_labels
from ordinate.data.numbers import plain_text
from ordinate.data.paths import absent_files, is_file, no_image_there, require_names
from ordinate.data.rows import Samples
from ordinate.data.typed import Reading, typed
from ordinate.errors import OrdinateError, warn

Tree = TypeVar("Tree", bound=FileTree)
SPLITS = {
    "train": "train", "training": "train", "val": "validation", "valid": "validation", "validation": "validation",
    "dev": "validation", "test": "test", "testing": "test",
}  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """Columns of a labelled data set.

    Args:
        target: Column of the label; None leaves the choice to the data.
        split: Column that says what is held out.
        group: Column of the group, such as a subject, which stays on one side of a split.
        weight: Column of the weight of a sample.
        how: What is known of the columns.
        known_group: Column of the group if there is such a column and no cell of it is empty.
    """

    target: str | None = None
    split: str | None = None
    group: str | None = None
    weight: str | None = None
    how: Reading = field(default=Reading(), kw_only=True)
    known_group: str | None = field(default=None, kw_only=True)

    @property
    def given(self) -> dict[str, str]:
        """The columns that are given, by what they are."""
        names = {"target": self.target, "split": self.split, "group": self.group, "weight": self.weight}
        return {option: name for option, name in names.items() if name is not None}


@dataclass(frozen=True)
class ListedFiles:
    """Files that a labels.csv names.

    Args:
        names: Names of the files that are there, below their folder or zip.
        frame: Rows of the labels.csv for these files.
        where: Path of the labels.csv, for messages.
        left_out: Reasons for the other files.
    """

    names: list[str]
    frame: pd.DataFrame
    where: str
    left_out: tuple[str, ...]

    def labelled(self, samples: Samples, columns: Columns) -> Labelled:
        """Return samples of the files with their labels."""
        return labelled_by(samples, self.frame, self.where, columns, self.left_out)


def read_labels_file(
    tree: FileTree, noun: str, text: tuple[str, ...] = (), say: Callable[[str], None] = warn
) -> pd.DataFrame:
    """Return the table of a labels.csv, some columns as text; ``noun`` is one for several of the files it names."""
    name = tree.labels or tree.root + LABELS
    where, content = tree.where(name), io.BytesIO(tree.content(name))
    if ends_in(name, PARQUET):
        frame = pd.read_parquet(content)
    elif ends_in(name, EXCEL):
        frame = _as_text(read_excel(Path(where), say), text)
    else:
        frame = read_csv(content, where, say, dtype=dict.fromkeys(text, str))
    if frame.empty:
        raise OrdinateError(where, problem=f"names no {noun}")
    return frame


def _as_text(frame: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Return a table with some columns as text, in which 7 is no 7.0."""
    return frame.assign(**{name: frame[name].map(plain_text, na_action="ignore") for name in names if name in frame})


def lists_images(path: str | Path, looked_at: int = 20, largest_workbook: int = 2**23) -> bool:
    """Return whether a table is a csv, parquet or Excel file, one column of which names image files, there or not."""
    path = Path(path)
    if not (ends_in(path, (*CSV, *PARQUET, *EXCEL)) and path.is_file()):
        return False
    if ends_in(path, EXCEL) and path.stat().st_size > largest_workbook:  # It would have to be read as a whole.
        return False
    with suppress(OrdinateError, OSError, ValueError):  # Whoever reads the table says what is wrong with it.
        first = _first_rows(path, looked_at)
        column = path_column(first)
        if column is not None and are_images(_as_written(first[column].dropna()).tolist()):
            return True
        return _column_of_stems(first, path.parent) is not None
    return False


def with_absolute_paths(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table that names images with their absolute paths; any other as it is."""
    column = path_column(frame)
    if column is None or not are_images(frame[column].dropna().astype(str).tolist()):
        return frame
    return frame.assign(**{column: frame[column].map(lambda path: str(Path(path).absolute()), na_action="ignore")})


def open_tree(kind: type[Tree], path: str | Path) -> Tree:
    """Return the files of a folder or zip, or those that a table names, as a kind of tree."""
    if not lists_images(path):
        return kind.of(path)
    path = Path(path)
    tree = kind(path.parent, (path.name,), path.name)
    frame = read_labels_file(tree, "images", say=lambda _: None)  # Whoever reads the labels says it.
    column = path_column(frame) or _column_of_stems(frame, path.parent)
    names = _as_written(frame[str(column)].dropna())
    there = dict.fromkeys(filter(None, (_file_named(path.parent, name) for name in names)))
    return replace(tree, names=(path.name, *there))


def _column_of_stems(frame: pd.DataFrame, folder: Path) -> str | None:
    """Return the column of text whose cells name images of a folder without their endings."""
    texts = frame.select_dtypes(["object", "string", "category"])
    for name in texts:
        cells = _as_written(texts[name].dropna())[:20]
        if len(cells) and all(_file_named(folder, cell) is not None for cell in cells):
            return str(name)
    return None


def _file_named(folder: Path, name: str) -> str | None:
    """Return the name of a file of a folder, or of an image that is named without its ending."""
    if is_file(folder / name):
        return name
    if ends_in(name, IMAGE_SUFFIXES):
        return None
    with_endings = (name + ending for ending in (*IMAGE_SUFFIXES, *map(str.upper, IMAGE_SUFFIXES)))
    return next((each for each in with_endings if is_file(folder / each)), None)


def _as_written(paths: pd.Series) -> pd.Series:
    """Return paths in the form that names of files have."""
    return paths.astype(str).str.replace("\\", "/", regex=False).str.removeprefix("./")


def _first_rows(path: Path, count: int) -> pd.DataFrame:
    """Return the first rows of a csv, parquet or Excel file."""
    if ends_in(path, EXCEL):
        return read_excel(path, lambda _: None).head(count)
    if ends_in(path, CSV):
        return next(read_csv_parts(path, count, recognise(path, path)), pd.DataFrame())
    from pyarrow.parquet import ParquetFile

    return next((part.to_pandas() for part in ParquetFile(path).iter_batches(count)), pd.DataFrame())


def are_images(names: Sequence[str]) -> bool:
    """Return whether names are those of image files, by their endings."""
    return len(names) > 0 and all(ends_in(name, IMAGE_SUFFIXES) for name in names)


def read_listed(tree: FileTree, noun: str, skip_absent: bool | None, text: tuple[str, ...] = ()) -> ListedFiles:
    """Return the files that a labels.csv names.

    A file may be named without its ending, wherever it lies; such names may be the first column, of any name.

    Args:
        tree: Folder or zip with the labels.csv at its top.
        noun: Noun for several of the files, for messages.
        skip_absent: Whether files that are not there are left out; None raises an error that names no way out.
        text: Columns to read as text.
    """
    where = tree.where(tree.labels or tree.root + LABELS)
    frame = read_labels_file(tree, noun, text)
    column = path_column(frame)
    if column is None and tree.listed_in is not None:
        column = _column_of_stems(frame, tree.path)
    column = column or str(frame.columns[0])
    require_filled(frame[column], where, "path")
    if pd.api.types.is_numeric_dtype(frame[column]):
        frame = read_labels_file(tree, noun, (*text, column))  # The file of 007 is not that of 7.
    names = tree.root + _as_written(frame[column])
    present = names.isin(tree.names)
    found = names.where(present, names.map(_files_by_name(tree, set(names[~present]), where)))
    present = found.notna()
    if path_column(frame) is None:
        if not present.any():
            expected = f"a column of paths named {', '.join(map(repr, PATH_COLUMNS))}, or names of files in the first"
            raise OrdinateError(where, expected=expected)
        frame = frame.rename(columns={column: PATH_COLUMNS[0]})
    absent = sorted(name.removeprefix(tree.root) for name in set(names[~present]))
    if absent and not (skip_absent and present.any()):
        may_skip = skip_absent is False and bool(present.any())
        error = absent_files(where, absent, noun, may_skip=may_skip, below=tree.listed_in is None)
        if not present.any() and tree.listed_in is not None:
            error = no_image_there(where, absent[0], column)
        raise error
    left_out = tuple(f"{name}: no such file" for name in absent)
    return ListedFiles(found[present].tolist(), frame[present].reset_index(drop=True), where, left_out)


def _files_by_name(tree: FileTree, wanted: set[str], where: str) -> dict[str, str]:
    """Return the files of names without an ending, with or without their folder; images, if there are some."""
    found: dict[str, str] = {}
    if not wanted:
        return found
    for file in tree.ending_in(IMAGE_SUFFIXES) or tree.names:
        folder, slash, last = file.rpartition("/")
        stems = {last.partition(".")[0], last.rpartition(".")[0]}
        for name in {f"{above}{stem}" for stem in stems for above in (tree.root, folder + slash)} & wanted:
            if name in found:
                problem = f"{name.removeprefix(tree.root)!r} is the name of {found[name]} and of {file}"
                raise OrdinateError(where, problem=problem, expected="paths with their endings")
            found[name] = file
    return found


def listed_names(tree: FileTree, noun: str, left_out: Callable[[str], None] | None) -> list[str]:
    """Return the names of the files that a labels.csv names.

    ``left_out`` gets the reason for every file that is not there, which is an error without it.
    """
    if left_out is None:
        return read_listed(tree, noun, skip_absent=None).names
    listed = read_listed(tree, noun, skip_absent=True)
    for reason in listed.left_out:
        left_out(reason)
    return listed.names


def path_column(frame: pd.DataFrame) -> str | None:
    """Return the column that names the files, by its name or since all its cells name images; None without any."""
    named = next((name for name in PATH_COLUMNS if name in frame), None)
    if named is not None:
        return named
    texts = frame.select_dtypes(["object", "string", "category"])
    return next((str(name) for name in texts if are_images(texts[name].dropna().astype(str).tolist())), None)


def labelled_by(
    samples: Samples, frame: pd.DataFrame, where: Path | str, columns: Columns, left_out: tuple[str, ...] = ()
) -> Labelled:
    """Return samples with the labels, splits, groups and weights in the rows of a table.

    Args:
        samples: Samples, one per row.
        frame: Table, such as that of a labels.csv.
        where: Path of the table, for messages.
        columns: Columns of the label and of more. Without a target, the label is in the column ``label``, or in the
            only column that is left; without a split or group, these are in the columns of those names, if there are
            such columns.
        left_out: Reasons for files that are not among the samples.

    Raises:
        OrdinateError: A column is not there, or values are missing.
    """
    require_names(frame.columns, list(columns.given.values()), where)
    target, weight, paths = columns.target, columns.weight, path_column(frame)
    split, group = columns.split, columns.group
    if split is None and "split" in frame and target != "split":
        split = "split"
    if group is None and "group" in frame and target != "group":
        group = "group"
    known = columns.known_group
    if known is not None and known != target and known in frame and frame[known].notna().all():
        group = known
    if target is None:
        left = [str(name) for name in frame.columns if name not in (paths, split, group, weight)]
        if "label" not in left and len(left) != 1:
            raise OrdinateError("target", "none", f"the column of the label, one of {', '.join(map(repr, left))}")
        target = "label" if "label" in left else left[0]
    how = replace(columns.how, targets=(target,))
    labels, found = typed(frame[[target]], {}, how, frame.columns)
    require_labels(labels[target], where)
    notes = tuple(f"{where}: {note}" for note in found.notes(how))
    used = (paths, target, split, group, weight)
    unused = tuple(str(name) for name in frame.columns if name not in used)
    labelled = Labelled(samples, labels[target], left_out=left_out, notes=notes, unused=unused)
    return with_parts(labelled, frame, where, split, group, weight)


def with_parts(
    labelled: Labelled, table: Samples, where: Path | str, split: str | None, group: str | None, weight: str | None
) -> Labelled:
    """Return samples with the splits, groups and weights in columns of a table, which none with a label lacks."""
    has_label = pd.DataFrame(labelled.labels).notna().all(axis=1).to_numpy()
    for name in filter(None, (split, group, weight)):
        require_filled(table[name][has_label], where)
    if split is not None:
        labelled = replace(labelled, splits=table[split].astype(str).map(split_name, na_action="ignore"))
    if group is not None:
        labelled = replace(labelled, groups=table[group].astype(str))
    if weight is not None:
        labelled = replace(labelled, weights=table[weight])
    return labelled


def split_name(name: str) -> str:
    """Return ``"train"``, ``"validation"`` or ``"test"`` for words that mean it, in any case; others as they are.

    Example:
        >>> split_name("Training"), split_name("VAL"), split_name("dev"), split_name("fold 1")
        ('train', 'validation', 'validation', 'fold 1')
    """
    return SPLITS.get(name.strip().lower(), name)
