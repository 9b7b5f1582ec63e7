"""What commands refuse before anything heavy is imported: options, absent files, and what the rows of a csv show.

Whoever reads a file or folder checks the same again, as Python may call it too.
"""

import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ordinate.commands.against_model import check_against_model, listed_images
from ordinate.commands.fit_options import FitOptions, names_in, ranks_in
from ordinate.commands.label_methods import require_fitting
from ordinate.commands.options import ParsedOptions, flag
from ordinate.counts import counted
from ordinate.data.csv_format import CSV, MISSING, CsvFormat, column_cells, recognise
from ordinate.data.file_formats import DICOM, IMAGE_SUFFIXES, LABELS, PATH_COLUMNS, require_ending, require_packages
from ordinate.data.known_scales import misspelt_rank
from ordinate.data.no_answer import no_answers_among
from ordinate.data.paths import (
    absent_files,
    first_named,
    is_file,
    no_image_there,
    refuse_url,
    require_names,
    require_path,
    walk,
)
from ordinate.errors import OrdinateError, did_you_mean
from ordinate.estimators.registry import models
from ordinate.extensions import may_be_data_set
from ordinate.model.folder import CONFIG, require_model
from ordinate.report.output import check_free
from ordinate.torchrun import is_first_process

LEAST_ROWS = 10


def check_fit(options: FitOptions) -> None:
    """Raise where ``ordinate fit`` cannot run with its options."""
    check_accelerator(options.training.accelerator)
    found = check_data(options.data, options.targets)
    if found is not None:
        check_names(options, found)
        check_labels(options, found)
    check_columns(options)
    check_costs_file(options.costs)
    if not options.skip_unreadable:
        check_images(Path(options.data))
    if found is not None and not _given_columns(options):
        check_listed_images(Path(options.data), found)
    if is_first_process():  # Other processes may find the files that the first one has created.
        check_free(options.path)


def check_inputs(options: ParsedOptions) -> None:
    """Raise where a folder holds no model, or data is not there; models of a hub are left to what fetches them."""
    models = options.get("models", [options.get("model", "hf://")])
    for folder in models:
        if not folder.startswith("hf://"):
            require_model(folder)
    places = [Path(folder).resolve() for folder in models]
    for place, folder in zip(places, models, strict=True):
        if places.count(place) > 1:
            raise OrdinateError("models", f"{folder} twice", "different ones")
    target = options.get("target")
    for name in options.keys() & {"data", "among", "query"}:
        if (Path(options[name]) / CONFIG).is_file():
            problem = f"{options[name]} is a model"
            raise OrdinateError(name, problem=problem, expected="a file or folder of samples, after the models")
    for name in options.keys() & {"data", "among"}:
        check_data(options[name], [] if target is None else [target])
        for folder in [] if name == "among" else models:
            labelled = "target" in options and "rows" not in options  # Rows are explained without a label, too.
            skip = options.get("skip_unreadable")
            check_against_model(folder, options[name], target, labelled=labelled, skip=skip)
    if "query" in options:
        check_data(options["query"])
    check_costs_file(options.get("costs"))
    coverage = options.get("coverage")
    if coverage is not None and not 0 < coverage < 1:
        raise OrdinateError("coverage", coverage, "a share above 0 and below 1, such as 0.9")


def check_accelerator(accelerator: str, *, there: Sequence[str] = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")) -> None:
    """Raise where a GPU is asked for, and Linux has no device of NVIDIA, AMD or Windows."""
    if (
        accelerator in ("gpu", "cuda")
        and sys.platform == "linux"
        and not any(Path(device).exists() for device in there)
    ):
        raise OrdinateError("accelerator", f"{accelerator!r}, and this machine has no GPU", "'auto' or 'cpu'")


def check_data(data: str, targets: Sequence[str] = ()) -> CsvFormat | None:
    """Raise where data is a path to nothing, or a table without a target; names of data sets are left to others.

    Returns how a csv is written; None for other files.
    """
    refuse_url(data)
    require_packages(data)
    path = Path(data)
    if path.suffix or len(path.parts) > 1 or not (path.exists() or may_be_data_set(data)):
        require_path(path)
    if path.is_file() and path.stat().st_size == 0:
        raise OrdinateError(path, problem="is empty", expected="a table with a header and samples")
    if path.is_file() and "ordinate.data.registry" not in sys.modules:  # Python may have registered other kinds.
        require_ending(path)
    if not path.name.lower().endswith(CSV) or not path.is_file():
        return None
    found = recognise(path, path)
    if len(found.names) > 1 and all(found.names):  # Others are renamed when they are read.
        require_names(found.names, targets, path)
    return found


def check_names(options: FitOptions, found: CsvFormat) -> None:
    """Raise where options name columns that the header of a csv lacks."""
    path = Path(options.data)
    if len(found.names) < 2 or not all(found.names):  # Others are renamed when they are read.
        return
    listed = [*names_in(options.drop), *names_in(options.keep), *names_in(options.categorical), *options.text]
    require_names(found.names, listed, path)
    for name in ("split", "group", "weight"):
        column = getattr(options, name)
        if column is not None and column not in found.names:
            hint = did_you_mean(column, found.names)
            raise OrdinateError(name, problem=f"no column {column!r} in {path}", hint=hint)


def check_costs_file(path: str | None) -> None:
    """Raise where the csv of costs is not there."""
    if path is not None and not Path(path).exists():
        raise OrdinateError("costs", problem=f"{path} cannot be read: no such file")


def check_labels(options: FitOptions, found: CsvFormat, most_ranks: int = 20) -> None:
    """Raise where the header and the rows of a csv of some MB show that no model can be fitted to its labels."""
    path = Path(options.data)
    if not options.targets:
        columns = first_named(map(repr, found.names), 20)
        raise OrdinateError("target", "none", f"the column of the label, one of {columns}")
    if len(options.targets) > 1 or options.missing or options.targets[0] not in found.names:
        return
    name = options.targets[0]
    cells = column_cells(path, found, name)
    if cells is None:
        return
    if not cells:
        raise OrdinateError(path, problem="holds no rows", expected="a table with a header and samples")
    missing = set(MISSING) - set(() if options.order is None else ranks_in(options.order))  # NA may be a rank.
    labels = [cell for cell in cells if cell not in missing]
    if not labels:
        raise OrdinateError(path, problem=f"no row has a label in {name!r}", expected="a label per row")
    if len(labels) < LEAST_ROWS:
        expected = f"at least {LEAST_ROWS} to train and to measure on"
        raise OrdinateError(path, problem=f"holds {counted(len(labels), 'row')}", expected=expected)
    different = set(labels)
    if len(different) == 1:
        problem = f"every row has the one value {different.pop()}"
        raise OrdinateError(f"column {name!r}", problem=problem, expected="a label that differs between rows")
    if options.order is not None:
        gone: set[str] = set() if options.keep_missing else no_answers_among(different)
        _check_order(options.order, different - gone, name)
    numbers = [_number(cell, found) for cell in different]
    if options.method == "auto" or options.method not in models() or options.order is not None or None in numbers:
        return
    whole = {number for number in numbers if number is not None and number % 1 == 0}
    are_few_whole = whole == set(numbers) and len(whole) <= most_ranks
    are_ranks = options.task == "ranks" or (options.task == "auto" and are_few_whole)
    require_fitting(options.method, "ranks" if are_ranks else "continuous")


def _check_order(order: str, labels: set[str], name: str) -> None:
    """Raise where a rank of --order is nearly a label of the column; others are for whoever reads the file."""
    labels = {label.strip() for label in labels}
    ranks = ranks_in(order)
    unknown = sorted(labels.difference(ranks))
    hint = misspelt_rank(labels, ranks)
    if hint is not None and {label.casefold() for label in unknown}.isdisjoint(map(str.casefold, ranks)):
        problem = f"column {name!r} also holds {first_named(unknown)}"
        raise OrdinateError("--order", problem=problem, expected="every rank of the data", hint=hint)


def check_columns(options: FitOptions) -> None:
    """Raise where options name columns of a table, and the data are images."""
    given = _given_columns(options)
    path = Path(options.data)
    names: list[str] = []
    if given and path.is_dir():
        names = [name for _, _, files in walk(path) for name in files]
    elif given and path.suffix.lower() == ".zip" and zipfile.is_zipfile(path):
        names = zipfile.ZipFile(path).namelist()
    if any(name.lower().endswith(IMAGE_SUFFIXES) and not name.lower().endswith(DICOM) for name in names):
        raise OrdinateError(flag(given[0]), problem=f"is for a table, and {options.data} holds images")


def _given_columns(options: FitOptions) -> list[str]:
    """Return the options for columns of a table that are given; with them a table of images is read as a table."""
    return [name for name in ("drop", "keep", "categorical", "text") if getattr(options, name)]


def check_listed_images(path: Path, found: CsvFormat) -> None:
    """Raise where a column of a csv of some MB names images alone, none of which is there."""
    column, images = listed_images(path, found)
    if images and not any(is_file(path.parent / name.replace("\\", "/")) for name in images.values()):
        raise no_image_there(path, next(iter(images.values())), column)


def check_images(folder: Path) -> None:
    """Raise where the labels.csv of a folder names images that are not there, under any folder or ending."""
    labels = folder / LABELS
    if not labels.is_file():
        return
    found = recognise(labels, labels)
    column = next((name for name in PATH_COLUMNS if name in found.names), None)
    names = None if column is None else column_cells(labels, found, column)
    images = [name.replace("\\", "/").removeprefix("./") for name in names or ()]
    if not images or not all(name.lower().endswith(IMAGE_SUFFIXES) for name in images):
        return
    there = {(below / name).relative_to(folder).as_posix() for below, _, files in walk(folder) for name in files}
    stems = {Path(name).name.rpartition(".")[0] for name in there} | {
        Path(name).name.partition(".")[0] for name in there
    }
    absent = sorted({name for name in images if name not in there and name.rpartition("/")[2] not in stems})
    if absent:
        raise absent_files(labels, absent, "images", may_skip=len(absent) < len(set(images)))


def _number(cell: str, found: CsvFormat) -> float | None:
    if found.thousands is not None:
        cell = cell.replace(found.thousands, "")
    try:
        return float(cell.replace(found.decimal, "."))
    except ValueError:
        return None
