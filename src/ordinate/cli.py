"""The command ``ordinate``: parses arguments, and turns what a user can mend into one line and exit code 2.

Nothing heavy is imported before a command runs, so that help comes at once.
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from ordinate import __version__
from ordinate.errors import OrdinateError

METHODS = ("auto", "cloc", "otd", "supcr", "supremix")
AUGMENTATIONS = ("auto", "none", "flip", "supcr", "gaze", "adience", "hid", "koa", "idrid", "bracs")
LOSSES = ("supcr", "mmnp", "supremix", "angular_triangle")


class _Parser(argparse.ArgumentParser):
    """Errors in one line."""

    def error(self, message: str) -> Any:
        self.exit(2, f"ordinate: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="ordinate", description="Learn representations that follow an ordered label: CLOC, SupCR, SupReMix, OTD."
    )
    parser.add_argument("--version", action="version", version=f"ordinate {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser(
        "demo",
        help="the main job on real data, no network",
        description="Train on SWD (ranks) and diabetes (continuous), measure beside simple baselines, "
        "save models and pictures.",
    )
    demo.add_argument("--out", default="ordinate-demo", help="new folder for models and pictures (%(default)s)")
    demo.add_argument("--seed", type=int, default=0, help="of splits and training (%(default)s)")

    fit = commands.add_parser(
        "fit",
        help="train, measure and save a model",
        description="Train on a table, series or images with a graded label, measure on held-out samples, save the "
        "model. A run that was stopped continues when the same command is given again.",
    )
    fit.add_argument(
        "data",
        help="csv, tsv, parquet; npz with X (n, features), (n, channels, length) or (n, channels, height, width); a "
        "folder or zip of images with a labels.csv (path, label) or a folder a rank; or a name of `ordinate datasets`",
    )
    fit.add_argument("--target", help="column (or npz array) of the label; a labels.csv may have it as label")
    fit.add_argument(
        "--method",
        choices=METHODS,
        default="auto",
        help="auto trains the two that fit the label and keeps the one that validates best",
    )
    fit.add_argument(
        "--task",
        choices=("auto", "ranks", "continuous"),
        default="auto",
        help="what the label is; auto: whole numbers of up to 20 values, and ordered text, are ranks",
    )
    fit.add_argument("--order", metavar="A,B,C", help="the ranks from lowest to highest, for labels that are text")
    fit.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="A,B=M",
        help="fix CLOC's margin between the adjacent ranks A and B; may be repeated",
    )
    fit.add_argument("--drop", default="", metavar="COLUMNS", help="columns to leave out, separated by commas")
    fit.add_argument("--categorical", default="", metavar="COLUMNS", help="columns whose numbers are codes")
    fit.add_argument("--split", metavar="COLUMN", help="column that says train, validation or test")
    fit.add_argument("--group", metavar="COLUMN", help="column of what stays on one side of a split, such as a subject")
    fit.add_argument("--fold", type=int, default=0, help="held out, where an image set comes in folds (%(default)s)")
    fit.add_argument("--out", help="new folder for the model (DATA's name with -model)")
    fit.add_argument(
        "--test-fraction", type=float, default=0.2, help="share of rows held out to measure on (%(default)s)"
    )
    fit.add_argument("--epochs", type=int, help="of training, instead of the method's own")
    fit.add_argument("--encoder", metavar="NAME", help="network, for images any of timm's, such as resnet18 (auto)")
    images = fit.add_argument_group("images")
    images.add_argument("--image-size", metavar="HxW", help="pixels that the encoder sees (the images' own, up to 256)")
    images.add_argument("--augmentation", choices=AUGMENTATIONS, help="of training images (auto)")
    images.add_argument("--pretrained", action="store_true", help="start from ImageNet weights")
    images.add_argument("--skip-unreadable", action="store_true", help="leave out images that cannot be read")
    images.add_argument("--recipe", metavar="NAME", help="train as a paper does, such as cloc-koa")
    images.add_argument("--quick", action="store_true", help="the recipe's small version, for a CPU")
    fit.add_argument("--accelerator", choices=("auto", "cpu", "gpu"), default="auto")
    fit.add_argument("--seed", type=int, default=0, help="of splits and training (%(default)s)")
    fit.add_argument("--quiet", action="store_true", help="no progress bar")

    predict = commands.add_parser(
        "predict",
        help="predict with a saved model",
        description="Predict every row of a file; ranks come with a column of probability each.",
    )
    predict.add_argument("model", help="folder that fit wrote")
    predict.add_argument("data", help="file with the columns that the model was trained on; others are ignored")
    predict.add_argument("--out", help="csv file to write; without it the predictions are printed")

    bench = commands.add_parser(
        "bench",
        help="time and memory of the losses",
        description="Time each loss, forward and backward, and its peak memory, beside its published loop, "
        "pytorch-metric-learning's losses and the three matrix products that it cannot do without.",
    )
    bench.add_argument(
        "--losses", nargs="+", choices=LOSSES, default=list(LOSSES), metavar="LOSS", help=", ".join(LOSSES)
    )
    bench.add_argument(
        "--sizes", nargs="+", type=int, metavar="N", help="of the batch (128, doubled to 16384; on a GPU to 131072)"
    )
    bench.add_argument("--dim", type=int, default=128, help="of the embeddings (%(default)s)")
    bench.add_argument("--dtype", choices=("float32", "float64", "bfloat16"), default="float32")
    bench.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    bench.add_argument("--repeats", type=int, default=5, help="interleaved runs, for their median (%(default)s)")
    bench.add_argument("--out", default="ordinate-bench", help="folder for figures and picture (%(default)s)")

    datasets = commands.add_parser(
        "datasets",
        help="the papers' image sets: which are here, where to get the others",
        description="List the image sets of the papers and which of them lie in $ORDINATE_DATA; with a name, explain "
        "one: what it is, where to ask for it, what to put where, and what is there.",
    )
    datasets.add_argument("name", nargs="?", help="of the set to explain")
    datasets.add_argument("--download", metavar="FOLDER", help="fetch the set into FOLDER, where it may be fetched")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = vars(build_parser().parse_args(argv))
    command = options.pop("command")
    warnings.showwarning = _show_warning
    try:
        _run(command, options)
    except OrdinateError as error:
        print(f"ordinate: {str(error).splitlines()[0]}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(f"ordinate: {str(stop) or 'stopped; the same command continues where it was'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return 0


def _run(command: str, options: dict[str, Any]) -> None:
    if not 0 <= options.get("seed", 0) < 2**32:
        raise OrdinateError(f"--seed: got {options['seed']}, takes a whole number from 0 to 4294967295")
    if command == "demo":
        from ordinate.commands.demo import demo

        demo(**options)
    elif command == "fit":
        from ordinate.commands.fit import FitOptions, fit

        fit(FitOptions(**options))
    elif command == "datasets":
        from ordinate.commands.datasets import datasets

        datasets(**options)
    elif command == "bench":
        from ordinate.commands.bench import bench

        bench(**options)
    else:
        from ordinate.commands.predict import predict

        predict(**options)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning):
        print(f"ordinate: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
