"""What commands refuse before anything heavy is imported: options, and files and folders that are not there.

Whoever reads a file or folder checks the same again, as Python may call it too.
"""

from collections.abc import Sequence
from pathlib import Path

from ordinate.commands.fit_options import FitOptions
from ordinate.commands.options import ParsedOptions
from ordinate.data.csv_format import CSV, recognise
from ordinate.data.paths import is_url, require_names, require_path
from ordinate.data.table_formats import require_packages
from ordinate.errors import OrdinateError
from ordinate.estimators.model_folder import require_model
from ordinate.estimators.recipes import read_recipe
from ordinate.report.output import check_free
from ordinate.torchrun import is_first_process


def check_fit(options: FitOptions) -> None:
    """Raise where ``ordinate fit`` cannot run with its options."""
    if not options.data:
        raise OrdinateError("data", problem="is missing", expected="DATA, or a --config that names it")
    options.check()
    if options.recipe is not None:
        read_recipe(options.recipe, quick=options.quick)
    check_data(options.data, options.targets)
    if is_first_process():  # Other processes may find the files that the first one has created.
        check_free(options.path)


def check_inputs(options: ParsedOptions) -> None:
    """Raise where a folder holds no model, or data is not there; models of a hub are left to what fetches them."""
    for folder in options.get("models", [options.get("model", "hf://")]):
        if not folder.startswith("hf://"):
            require_model(folder)
    target = options.get("target")
    for name in options.keys() & {"data", "among"}:
        check_data(options[name], [] if target is None else [target])
    if "query" in options:
        check_data(options["query"])


def check_data(data: str, targets: Sequence[str] = ()) -> None:
    """Raise where data is a path to nothing, or a table without a target; names of data sets are left to others."""
    require_packages(data)
    if is_url(data):
        return
    path = Path(data)
    if path.suffix or len(path.parts) > 1:
        require_path(path)
    if not path.name.lower().endswith(CSV) or not path.is_file():
        return
    names = recognise(path, path).names
    if len(names) > 1 and all(names):  # Others are renamed when they are read.
        require_names(names, targets, path)
