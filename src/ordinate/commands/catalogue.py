"""The commands of the core: what each is, its options, and what it refuses before anything heavy is imported."""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ordinate.commands.against_model import reads_images
from ordinate.commands.early_checks import check_fit, check_inputs
from ordinate.commands.fit_help import add_fit_options
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.options import ParsedOptions, add_options
from ordinate.commands.split_file import trained_on
from ordinate.commands.table_file import TABLE, check_new
from ordinate.data.file_formats import IMAGE_SUFFIXES
from ordinate.errors import OrdinateError
from ordinate.model.folder import require_model
from ordinate.report.output import PAGE, check_free, check_output
from ordinate.torchrun import is_first_process

OF_FIT = "; without it those that fit held out"
LEFT_OUT = "leave out images and volumes that cannot be read"
KNOWN_LABEL = "column (or npz array) of the label; not required for a labels.csv with a column label, or for a .ts file"
OF_SUSPECTS = (
    "data", "target", "task", "order", "missing", "keep_missing", "drop", "keep", "categorical", "group", "epochs",
    "skip_unreadable",
)  # fmt: skip
SUFFIXES = {"onnx": ".onnx", "torch": ".pt2"}  # Of the formats that models are exported to.
CSV_FORMAT = ("sep", "decimal", "encoding")  # Every command that reads a csv has these options.


def without_csv_format(options: ParsedOptions) -> ParsedOptions:
    """Return options without those that say how csv files are written, which hold for all that a command reads."""
    return {name: value for name, value in options.items() if name not in CSV_FORMAT}


@dataclass(frozen=True)
class Command:
    """A command, of which nothing heavy is imported before it runs.

    Args:
        name: Name, such as ``"fit"``.
        help: One line of help.
        description: Text that ``--help`` begins with.
        add_options: Function that adds arguments and options to a parser.
        run: Function that runs the command, as ``"module:function"``.
        check: Function of the arguments of ``run`` that raises an error if the command cannot run, as far as they and
            the names of files show; None accepts all.
        extra: Extra of ordinate without which the command cannot run; None if it always can.
        group: Heading that ``ordinate --help`` lists it under.
        prepare: Function from the parsed options to the arguments of ``run``.

    Example:
        >>> Command("count", "count rows", "Count rows.", lambda parser: None, run="cheese.count:count").extra is None
        True
    """

    name: str
    help: str
    description: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: str
    check: Callable[[ParsedOptions], None] | None = None
    extra: str | None = None
    group: str = "your data"
    prepare: Callable[[ParsedOptions], ParsedOptions] = without_csv_format


def _add_example(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--images", action="store_true", help="write images instead: eyes.zip and new-eyes.zip")
    parser.add_argument("--out", default=".", metavar="FOLDER", help="folder to write to (the one you are in)")
    parser.add_argument("--overwrite", action="store_true", help="replace the files if they exist")


def _add_tune(parser: argparse.ArgumentParser) -> None:
    not_tuned = {"margin", "costs", "decision", "recipe", "quick", "config", "folds"}
    add_options(
        parser,
        FitOptions,
        {each.name for each in fields(FitOptions)} - not_tuned,
        required=("data",),
        single=("target",),
        target=KNOWN_LABEL,
        method="method whose hyperparameters are tuned: blend for tables, cloc or otd for ranks, supcr or supremix "
        "for a continuous target (auto: blend for tables, otherwise cloc or supcr)",
        time_limit="minutes for trials; the final training and the report take additional time (10)",
        logger="log losses and learning rate of the final training, as fit does",
    )
    parser.add_argument("--trials", type=int, metavar="N", help="stop after so many trials")


def _prepare_fit(options: ParsedOptions) -> ParsedOptions:
    return {"options": FitOptions.of(options), "started": time.monotonic()}


def _check_fit(given: ParsedOptions) -> None:
    """Check what can be checked at once, and name what is read, as what the command imports takes seconds."""
    options = given["options"]
    check_fit(options)
    if is_first_process():
        print(f"reading {options.data}", flush=True)


def _prepare_tune(options: ParsedOptions) -> ParsedOptions:
    trials = options["trials"]
    shared = {name: value for name, value in options.items() if name != "trials"}
    return {"options": FitOptions.of(shared), "trials": trials}


def _check_tune(given: ParsedOptions) -> None:
    options, trials = given["options"], given["trials"]
    if trials is not None and trials < 1:
        raise OrdinateError("--trials", trials, "a whole number of at least 1")
    if options.method not in ("auto", "blend", "cloc", "otd", "supcr", "supremix"):
        expected = "auto, blend, cloc, otd, supcr or supremix, which have hyperparameters to tune"
        raise OrdinateError("--method", repr(options.method), expected)
    check_fit(options)


def _add_predict(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    _add_samples(parser)
    parser.add_argument(
        "--coverage", type=float, metavar="SHARE",
        help="add columns lower and upper, between which the label lies with this probability, such as 0.9",
    )  # fmt: skip
    parser.add_argument(
        "--by-rank", action="store_true",
        help="make --coverage hold for the samples of each rank, not only for all samples together",
    )  # fmt: skip
    add_options(
        parser,
        FitOptions,
        ("costs", "decision", "skip_unreadable", *CSV_FORMAT),
        costs="predict the rank of least expected cost: true labels in the first column, predicted ones in the first "
        "row",
        decision="rank to predict: the most probable one (mode: fewest wrong ranks) or the median of the probabilities "
        "(least mean distance of ranks); by default, the rule that the model was trained with",
        skip_unreadable=LEFT_OUT,
    )
    parser.add_argument(
        "--keep-columns",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns of DATA to write with the predictions",
    )
    _add_table(parser, "; without it the predictions are printed")


def _add_transform(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    _add_samples(parser)
    add_options(parser, FitOptions, ("skip_unreadable", *CSV_FORMAT), skip_unreadable=LEFT_OUT)
    _add_table(parser, ", or npy for one array (n, d)", required=True)


def _add_report(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    _add_labelled(parser, "data", OF_FIT, nargs="?")
    add_options(parser, FitOptions, ("skip_unreadable", *CSV_FORMAT), skip_unreadable=LEFT_OUT)
    parser.add_argument("--suspects", metavar="CSV", help="labels to check, as `ordinate suspects` wrote them for DATA")
    _add_out(parser, "file to write (%(default)s)", default="report.html")


def _add_explain(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    _add_labelled(parser, "data", OF_FIT, nargs="?")
    parser.add_argument(
        "--repeats", type=int, default=10, metavar="N", help="times each column is shuffled (%(default)s)"
    )
    parser.add_argument(
        "--row", dest="rows", nargs="+", action="extend", default=[], metavar="N",
        help="explain the predictions of these rows, given by the column of identifiers that fit left out, or by their "
        "numbers from 0, by what each column adds",
    )  # fmt: skip
    parser.add_argument("--images", type=int, default=8, metavar="N", help="explain the first N images (%(default)s)")
    add_options(parser, FitOptions, CSV_FORMAT)
    _add_table(parser, " as well; of images, new folder of the pictures")


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="MODEL", help="folders that fit wrote, one or several")
    _add_labelled(parser, "data", "", metavar="DATA")
    add_options(parser, FitOptions, ("skip_unreadable", *CSV_FORMAT), skip_unreadable=LEFT_OUT)
    _add_table(parser, " as well")


def _add_suspects(parser: argparse.ArgumentParser) -> None:
    add_options(
        parser,
        FitOptions,
        (*OF_SUSPECTS, *CSV_FORMAT),
        required=("data",),
        single=("target",),
        data="labelled samples, as for fit",
        target=KNOWN_LABEL,
        epochs="epochs of each model (the method's default); 60 are often enough for a table",
        skip_unreadable=LEFT_OUT,
    )
    parser.add_argument("--folds", type=int, default=5, help="number of folds, and of models to train (%(default)s)")
    _add_table(parser, "; without it the table is printed")
    add_options(
        parser,
        FitOptions,
        ("seed", "quiet", "set"),
        seed="seed of folds and training (%(default)s)",
        set="any other setting, such as training.learning_rate=3e-4; `ordinate fit --help-all` lists them",
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    parser.add_argument("query", help="file, or folder or zip of images, with the samples to search by")
    parser.add_argument("--among", required=True, metavar="DATA", help="file, or folder or zip of images, to search in")
    parser.add_argument(
        "--target", metavar="COLUMN", help="column of DATA's label, to print it (that of training, if DATA has it)"
    )
    parser.add_argument("--k", type=int, default=10, help="neighbours of each query (%(default)s)")
    add_options(parser, FitOptions, CSV_FORMAT)
    _add_table(parser, ", or html for a page with the pictures of images; without it a table is printed")


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    parser.add_argument(
        "--format", dest="file_format", choices=tuple(SUFFIXES), default="onnx",
        help="onnx, or torch for a .pt2 of torch.export (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", help="new file (MODEL's name with .onnx or .pt2)")


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="folder that fit wrote")


def _add_samples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", help="file with the columns that the model was trained on; others are ignored")


def _add_labelled(parser: argparse.ArgumentParser, data: str, more: str, **settings: Any) -> None:
    parser.add_argument(data, help=f"labelled samples, as for fit{more}", **settings)
    parser.add_argument("--target", help="column of the label (the one that fit was given)")


def _add_table(parser: argparse.ArgumentParser, more: str, *, required: bool = False) -> None:
    _add_out(parser, f"csv or parquet file to write, - for standard output{more}", required=required)


def _add_out(parser: argparse.ArgumentParser, text: str, *, default: str | None = None, required: bool = False) -> None:
    parser.add_argument("--out", default=default, required=required, help=text)
    parser.add_argument("--overwrite", action="store_true", help="replace the file of --out if it exists")


def _of_fit(options: ParsedOptions) -> ParsedOptions:
    """Return the arguments of a command with the data of the fit where none are given."""
    if options["data"] is None:
        require_model(options["model"])
        data = trained_on(options["model"])
        if data is None:
            raise OrdinateError("data", problem="is missing, and the model does not know those that it was fitted to")
        options = {**options, "data": data}
    return without_csv_format(options)


def _check_file(options: ParsedOptions, endings: tuple[str, ...] = TABLE) -> None:
    """Check the file of ``--out``, which the command then writes, and what it reads."""
    read = [options.get(name) for name in ("model", "data", "query", "among", "suspects", "costs")]
    inputs = [*options.get("models", ()), *filter(None, read)]
    check_new(options["out"], inputs, endings, overwrite=options.pop("overwrite"))
    check_inputs(options)


def _check_report(options: ParsedOptions) -> None:
    check_output(options["out"])  # Standard output, which other commands write tables to, takes no page.
    _check_file(options, PAGE)


def _check_search(options: ParsedOptions) -> None:
    _check_file(options, (*TABLE, *PAGE))


def _check_explain(options: ParsedOptions) -> None:
    """Check what the command reads; what it writes depends on the model."""
    for name in ("repeats", "images"):
        if options[name] < 1:
            raise OrdinateError(name, options[name], "a whole number of at least 1")
    check_inputs(options)
    if options["out"] is not None and reads_images(options["model"]):
        if options["out"].lower().endswith(IMAGE_SUFFIXES):
            raise OrdinateError("out", repr(options["out"]), "the name of a new folder for the pictures")
        check_free(Path(options["out"]))


def _check_transform(options: ParsedOptions) -> None:
    if options["skip_unreadable"] and options["out"].lower().endswith(".npy"):
        problem = f"an array in {options['out']} has no names of files"
        raise OrdinateError("--skip-unreadable", problem=problem, expected="--out with a csv or parquet file")
    _check_file(options, (*TABLE, ".npy"))


def _check_export(options: ParsedOptions) -> None:
    suffix = SUFFIXES[options["file_format"]]
    if options["out"] is not None and Path(options["out"]).suffix != suffix:
        expected = f"a name that ends in {suffix}, as --format is {options['file_format']}"
        raise OrdinateError("--out", repr(options["out"]), expected)
    check_inputs(options)


COMMANDS = (
    Command(
        "example",
        "write a small real table, or images, to try the other commands on",
        "Write wine.csv, a table of wines with grades, and new-wines.csv, one of other wines; or, with --images, "
        "photographs of retinas with grades.",
        _add_example,
        "ordinate.commands.example:example",
    ),
    Command(
        "fit",
        "train, measure and save a model",
        "Train on a table, series or images with a graded label, measure on held-out samples, save the model. A run "
        "that was stopped continues when the same command is given again.",
        add_fit_options,
        "ordinate.commands.fit.command:fit",
        _check_fit,
        prepare=_prepare_fit,
    ),
    Command(
        "tune",
        "tune a method's hyperparameters, then train with them",
        "Tune the hyperparameters of a method on parts of the training rows within a time limit, then "
        "train, measure and save a model with the best ones. The defaults are kept unless others are clearly better. A "
        "run that was stopped continues when the same command is given again.",
        _add_tune,
        "ordinate.commands.tune:tune",
        _check_tune,
        extra="tune",
        prepare=_prepare_tune,
    ),
    Command(
        "predict",
        "predict with a saved model",
        "Predict every row of a file, for ranks also the probability of each rank. Rows are identified by their path, "
        "by the column of identifiers that fit left out, or by their number from 0.",
        _add_predict,
        "ordinate.commands.predict:predict",
        _check_file,
    ),
    Command(
        "transform",
        "embed with a saved model",
        "Write the embedding of every row of a file.",
        _add_transform,
        "ordinate.commands.transform:transform",
        _check_transform,
    ),
    Command(
        "evaluate",
        "metrics of saved models on labelled samples",
        "Print the metrics of one or several saved models on labelled samples, and those of simple models. If DATA was "
        "given to fit, only the samples that fit held out are used.",
        _add_evaluate,
        "ordinate.commands.evaluate:evaluate",
        _check_file,
    ),
    Command(
        "report",
        "one HTML page about a model",
        "Write one HTML file, which opens offline, about a saved model and its predictions of labelled samples. If "
        "DATA was given to fit, only the samples that fit held out are used.",
        _add_report,
        "ordinate.commands.report:report",
        _check_report,
        prepare=_of_fit,
    ),
    Command(
        "explain",
        "the columns, or parts of images, that a model predicts from",
        "Measure how much the error of a saved model rises when the values of a column are shuffled (permutation "
        "importance). If DATA was given to fit, only the samples that fit held out are used. Of images, which need no "
        "labels, draw how much the expected rank or the predicted target changes when a part is hidden. With --row, "
        "print what each column adds to the prediction of a row (Shapley values).",
        _add_explain,
        "ordinate.commands.explain:explain",
        _check_explain,
        prepare=_of_fit,
    ),
    Command(
        "suspects",
        "samples that look mislabelled, worst first",
        "Check every label by models that were trained without it: CLOC for ranks, SupCR for continuous targets, the "
        "blend on features of a pretrained network for images. Rows count from 0.",
        _add_suspects,
        "ordinate.commands.suspects:suspects",
        _check_file,
    ),
    Command(
        "search",
        "the samples nearest to a query in a model's embedding",
        "Find the samples of a data set that lie nearest to each query, as the loss of the model compares embeddings.",
        _add_search,
        "ordinate.commands.search:search",
        _check_search,
    ),
    Command(
        "export",
        "a saved model as one graph for other runtimes",
        "Write a saved model as one graph, from inputs to embeddings and predictions, and a JSON file that describes "
        "how a row becomes an input. Before that, the outputs of the graph are compared with those of the model.",
        _add_export,
        "ordinate.commands.export:export",
        _check_export,
    ),
)
