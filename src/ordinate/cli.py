"""The command ``ordinate``: parses arguments, and turns what a user can mend into one line and exit code 2.

Nothing heavy is imported before a command runs, so that help comes at once.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ordinate import __version__
from ordinate.errors import OrdinateError

AUGMENTATIONS = ("auto", "none", "flip", "supcr", "gaze", "adience", "hid", "koa", "idrid", "bracs")
PROTOCOLS = (
    "corruption-robustness", "epoch-time", "label-bias", "label-permutation", "reduced-data", "transfer",
    "unseen-targets",
)  # fmt: skip
OF_PAPERS = ("bench", "datasets", "protocol", "table")  # commands
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

    _add_demo(commands)
    _add_fit(commands)
    _add_predict(commands)
    _add_report(commands)
    _add_compare(commands)
    _add_suspects(commands)
    _add_search(commands)
    _add_export(commands)
    _add_bench(commands)
    _add_datasets(commands)
    _add_protocol(commands)
    _add_table(commands)
    return parser


def _add_demo(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="the main job on real data, no network",
        description="Train on SWD (ranks) and diabetes (continuous), measure beside simple baselines, "
        "save models, reports and pictures.",
    )
    parser.add_argument(
        "--out", default="ordinate-demo", help="new folder for models, reports and pictures (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of splits and training (%(default)s)")


def _add_fit(commands: Any) -> None:
    parser = commands.add_parser(
        "fit",
        help="train, measure and save a model",
        description="Train on a table, series or images with a graded label, measure on held-out samples, save the "
        "model. A run that was stopped continues when the same command is given again.",
    )
    parser.add_argument(
        "data",
        help="csv, tsv, parquet (a file or a folder of them), .ts; npz with X (n, features), (n, channels, length), "
        "(n, channels, height, width) or (n, channels, depth, height, width); a folder or zip of images with a "
        "labels.csv (path, label) or a folder a rank; a folder of matrices (csv, npy) or NIfTI volumes with a "
        "labels.csv; TUAB's folder of EDF files; or a name of `ordinate datasets`",
    )
    parser.add_argument(
        "--target",
        help="column (or npz array) of the label; a labels.csv may have it as label, a .ts file needs none",
    )
    parser.add_argument(
        "--method",
        default="auto",
        metavar="NAME",
        help="cloc or otd for ranks, supcr or supremix for a continuous target, or what they are compared with, such "
        "as cross_entropy, supcon, l1 or dex; auto trains the two that fit the label and keeps the one that validates "
        "best",
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="MINUTES",
        help="end within so many minutes, reading and report included, always with a model; --method auto chooses "
        "between the methods and plain heads as far as the time reaches",
    )
    parser.add_argument(
        "--task",
        choices=("auto", "ranks", "continuous"),
        default="auto",
        help="what the label is; auto: whole numbers of up to 20 values, and ordered text, are ranks",
    )
    parser.add_argument("--order", metavar="A,B,C", help="the ranks from lowest to highest, for labels that are text")
    parser.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="A,B=M",
        help="fix CLOC's margin between the adjacent ranks A and B; may be repeated",
    )
    _add_costs(parser, "train with wider margins where mistakes cost more, and predict the rank of least expected cost")
    _add_decision(parser, "its paper's: the mode, or the median for orcnn, corn_ranks and coral")
    parser.add_argument("--drop", default="", metavar="COLUMNS", help="columns to leave out, separated by commas")
    parser.add_argument(
        "--keep", default="", metavar="COLUMNS", help="columns to train on although they identify the rows"
    )
    parser.add_argument("--categorical", default="", metavar="COLUMNS", help="columns whose numbers are codes")
    parser.add_argument("--split", metavar="COLUMN", help="column that says train, validation or test")
    parser.add_argument(
        "--group", metavar="COLUMN", help="column of what stays on one side of a split, such as a subject"
    )
    parser.add_argument("--fold", type=int, default=0, help="held out, where an image set comes in folds (%(default)s)")
    parser.add_argument("--out", help="new folder for the model (DATA's name with -model)")
    parser.add_argument(
        "--test-fraction", type=float, help="share of rows held out to measure on, where no --split says which (0.2)"
    )
    parser.add_argument("--epochs", type=int, help="of training, instead of the method's own")
    parser.add_argument("--encoder", metavar="NAME", help="network, for images any of timm's, such as resnet18 (auto)")
    loss = parser.add_argument_group("loss, of methods that have such a setting")
    loss.add_argument("--label-distance", choices=("l1", "l2", "angular"), help="between targets (l1)")
    loss.add_argument("--similarity", choices=("neg_l2", "neg_l1", "cosine"), help="between embeddings (neg_l2)")
    loss.add_argument("--temperature", type=float, metavar="NUMBER", help="of the similarities (the method's own)")
    loss.add_argument(
        "--num-positives", type=int, metavar="K", help="contrast only the K closest samples as positives (all)"
    )
    images = parser.add_argument_group("images")
    images.add_argument("--image-size", metavar="HxW", help="pixels that the encoder sees (the images' own, up to 256)")
    images.add_argument("--augmentation", choices=AUGMENTATIONS, help="of training images (auto)")
    images.add_argument("--pretrained", action="store_true", help="start from ImageNet weights")
    images.add_argument(
        "--frozen",
        action="store_true",
        help="keep the pretrained network as it is and train an embedding on its features: a first answer, soon",
    )
    images.add_argument("--skip-unreadable", action="store_true", help="leave out files that cannot be read")
    images.add_argument("--recipe", metavar="NAME", help="train as a paper does, such as cloc-koa")
    images.add_argument("--quick", action="store_true", help="the recipe's small version, for a CPU")
    volumes = parser.add_argument_group("volumes")
    volumes.add_argument(
        "--volume-size",
        metavar="DxHxW",
        help="voxels that the encoder sees, cut or padded around the centre (the volumes' own, up to 100)",
    )
    volumes.add_argument(
        "--spacing", metavar="MM", help="resample to voxels of so many mm, one number or AxBxC (each file's own)"
    )
    series = parser.add_argument_group("series")
    series.add_argument(
        "--crop", type=int, metavar="POINTS", help="train on random parts of so many points (whole series)"
    )
    text = parser.add_argument_group("text")
    text.add_argument(
        "--text",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="one column of texts, or two of pairs, instead of all columns; read by MiniLM, or with --word-vectors by "
        "a BiLSTM",
    )
    text.add_argument("--word-vectors", metavar="FILE", help="GloVe's text file, or an npz")
    parser.add_argument("--accelerator", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--seed", type=int, default=0, help="of splits and training (%(default)s)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_predict(commands: Any) -> None:
    parser = commands.add_parser(
        "predict",
        help="predict with a saved model",
        description="Predict every row of a file; ranks come with a column of probability each.",
    )
    parser.add_argument("model", help="folder that fit wrote")
    parser.add_argument("data", help="file with the columns that the model was trained on; others are ignored")
    parser.add_argument(
        "--coverage", type=float, metavar="SHARE",
        help="add lower and upper, between which the label lies this often, such as 0.9",
    )  # fmt: skip
    _add_costs(parser, "predict the rank of least expected cost")
    _add_decision(parser, "as the model was trained")
    parser.add_argument("--out", help="csv file to write; without it the predictions are printed")


def _add_costs(parser: argparse.ArgumentParser, purpose: str) -> None:
    parser.add_argument(
        "--critical", action="append", default=[], metavar="A,B=COST",
        help=f"{purpose}: the cost of a mistake across the boundary of A and B, 1 at others; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--costs", metavar="CSV",
        help="the same for every mistake: true labels in the first column, predicted ones in the first row",
    )  # fmt: skip


def _add_decision(parser: argparse.ArgumentParser, usual: str) -> None:
    parser.add_argument(
        "--decision", choices=("mode", "median"),
        help=f"the rank that is predicted: the most probable (mode: fewest wrong ranks) or the median of the "
        f"probabilities (least mean distance of ranks); without it {usual}",
    )  # fmt: skip


def _add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="one HTML page on a model",
        description="Write one HTML file, which opens offline, on a saved model and what it makes of labelled samples: "
        "those that fit held out, where DATA is what it was given.",
    )
    parser.add_argument("model", help="folder that fit wrote")
    parser.add_argument("data", help="labelled samples, as fit takes them")
    parser.add_argument("--target", help="column of the label (the one that fit was given)")
    parser.add_argument("--suspects", metavar="CSV", help="labels to check, as `ordinate suspects` wrote them for DATA")
    parser.add_argument(
        "--out", default="report.html", help="file to write; one that is there is replaced (%(default)s)"
    )


def _add_compare(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="several models on one HTML page",
        description="Set saved models side by side on the same labelled samples.",
    )
    parser.add_argument("models", nargs="+", help="folders that fit wrote, two or more")
    parser.add_argument("--data", required=True, help="labelled samples, as fit takes them")
    parser.add_argument("--target", help="column of the label (the one that fit was given)")
    parser.add_argument(
        "--out", default="comparison.html", help="file to write; one that is there is replaced (%(default)s)"
    )


def _add_suspects(commands: Any) -> None:
    parser = commands.add_parser(
        "suspects",
        help="samples that look mislabelled, worst first",
        description="Judge every label by models that were trained without it: CLOC for ranks, SupCR for continuous "
        "targets.",
    )
    parser.add_argument("data", help="as for fit")
    parser.add_argument("--target", help="column (or npz array) of the label; a labels.csv may have it as label")
    parser.add_argument("--task", choices=("auto", "ranks", "continuous"), default="auto", help="what the label is")
    parser.add_argument("--order", metavar="A,B,C", help="the ranks from lowest to highest, for labels that are text")
    parser.add_argument("--drop", default="", metavar="COLUMNS", help="columns to leave out, separated by commas")
    parser.add_argument(
        "--keep", default="", metavar="COLUMNS", help="columns to train on although they identify the rows"
    )
    parser.add_argument("--categorical", default="", metavar="COLUMNS", help="columns whose numbers are codes")
    parser.add_argument(
        "--group", metavar="COLUMN", help="column of what stays on one side of a fold, such as a subject"
    )
    parser.add_argument("--folds", type=int, default=5, help="as many models are trained (%(default)s)")
    parser.add_argument("--epochs", type=int, help="of each, instead of the method's own; 60 often do for a table")
    parser.add_argument("--out", help="csv file to write; without it the table is printed")
    parser.add_argument("--accelerator", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--seed", type=int, default=0, help="of folds and training (%(default)s)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_search(commands: Any) -> None:
    parser = commands.add_parser(
        "search",
        help="the samples nearest to a query in a model's embedding",
        description="Find the samples of a data set that lie nearest to each query, by the cosine of their embeddings.",
    )
    parser.add_argument("model", help="folder that fit wrote")
    parser.add_argument("query", help="file, or folder or zip of images, with the samples to search by")
    parser.add_argument("--among", required=True, metavar="DATA", help="file, or folder or zip of images, to search in")
    parser.add_argument(
        "--target", metavar="COLUMN", help="column of DATA's label, to show it; folders a rank need none"
    )
    parser.add_argument("--k", type=int, default=10, help="neighbours of each query (%(default)s)")
    parser.add_argument("--out", help="csv file to write; without it a table is printed")


def _add_export(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="a saved model as one graph for other runtimes",
        description="Write a model's inference as one graph, from what it reads to embeddings and predictions, with a "
        "JSON that says how a row becomes its input. The graph is checked against the model first.",
    )
    parser.add_argument("model", help="folder that fit wrote")
    parser.add_argument(
        "--format", dest="file_format", choices=("onnx", "torch"), default="onnx",
        help="onnx, or torch for a .pt2 of torch.export (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", help="new file (MODEL's name with .onnx or .pt2)")


def _add_bench(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="time and memory of the losses",
        description="Time each loss, forward and backward, and its peak memory, beside its published loop, "
        "pytorch-metric-learning's losses and the three matrix products that it cannot do without.",
    )
    parser.add_argument(
        "--losses", nargs="+", choices=LOSSES, default=list(LOSSES), metavar="LOSS", help=", ".join(LOSSES)
    )
    parser.add_argument(
        "--sizes", nargs="+", type=int, metavar="N", help="of the batch (128, doubled to 16384; on a GPU to 131072)"
    )
    parser.add_argument("--dim", type=int, default=128, help="of the embeddings (%(default)s)")
    parser.add_argument("--dtype", choices=("float32", "float64", "bfloat16"), default="float32")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--repeats", type=int, default=5, help="interleaved runs, for their median (%(default)s)")
    parser.add_argument("--out", default="ordinate-bench", help="folder for figures and picture (%(default)s)")


def _add_datasets(commands: Any) -> None:
    parser = commands.add_parser(
        "datasets",
        help="the papers' data sets: which are here, where to get the others",
        description="List the data sets of the papers and which of them lie in $ORDINATE_DATA; with a name, explain "
        "one: what it is, where to ask for it, what to put where, and what is there.",
    )
    parser.add_argument("name", nargs="?", help="of the set to explain")
    parser.add_argument("--download", metavar="FOLDER", help="fetch the set into FOLDER, where it may be fetched")


def _add_protocol(commands: Any) -> None:
    parser = commands.add_parser(
        "protocol",
        help="an experiment of the papers on your data",
        description="Compare methods by a protocol of the papers, print a table, and write figures (JSON, CSV) and "
        "pictures. A run that was stopped continues when the same command is given again.",
    )
    parser.add_argument("name", choices=PROTOCOLS, metavar="NAME", help=", ".join(PROTOCOLS))
    parser.add_argument("data", help="as for fit")
    parser.add_argument("--target", help="column (or npz array) of the label; a labels.csv may have it as label")
    parser.add_argument(
        "--method",
        nargs="+",
        default=[],
        metavar="METHOD",
        help="names as for fit (those that the paper compares)",
    )
    parser.add_argument("--repeats", type=int, default=1, help="trainings of each method, a seed each (%(default)s)")
    own = parser.add_argument_group("of one protocol")
    own.add_argument(
        "--sizes",
        nargs="+",
        type=int,
        default=[],
        metavar="N",
        help="reduced-data: training samples (1/8, 1/4, 1/2, all)",
    )
    own.add_argument(
        "--leave-out",
        nargs="+",
        default=[],
        metavar="LOW:HIGH",
        help="unseen-targets: ranges left out of training",
    )
    own.add_argument("--to", metavar="DATA", help="transfer: the second data set")
    own.add_argument("--to-target", metavar="COLUMN", help="transfer: its label, where that has another name")
    own.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="A,B=M",
        help="label-bias: the boundary that is biased, and the margin fixed there",
    )
    own.add_argument("--up", type=float, default=0.6, help="label-bias: share of A relabelled as B (%(default)s)")
    own.add_argument("--down", type=float, default=0.3, help="label-bias: share of B relabelled as A (%(default)s)")
    own.add_argument("--rounds", type=int, default=3, help="epoch-time: trainings of each, in turns (%(default)s)")
    parser.add_argument("--task", choices=("auto", "ranks", "continuous"), default="auto", help="what the label is")
    parser.add_argument("--order", metavar="A,B,C", help="the ranks from lowest to highest, for labels that are text")
    parser.add_argument("--drop", default="", metavar="COLUMNS", help="columns to leave out, separated by commas")
    parser.add_argument(
        "--keep", default="", metavar="COLUMNS", help="columns to train on although they identify the rows"
    )
    parser.add_argument("--categorical", default="", metavar="COLUMNS", help="columns whose numbers are codes")
    parser.add_argument("--split", metavar="COLUMN", help="column that says train, validation or test")
    parser.add_argument("--group", metavar="COLUMN", help="column of what stays on one side of a split")
    parser.add_argument("--fold", type=int, default=0, help="held out, where an image set comes in folds (%(default)s)")
    parser.add_argument(
        "--test-fraction", type=float, help="share of rows to measure on, where no --split says which (0.2)"
    )
    parser.add_argument("--epochs", type=int, help="of training, instead of each method's own")
    parser.add_argument("--encoder", metavar="NAME", help="network (auto)")
    parser.add_argument("--image-size", metavar="HxW", help="pixels that the encoder sees")
    parser.add_argument("--augmentation", choices=AUGMENTATIONS, help="of training images (auto)")
    parser.add_argument("--pretrained", action="store_true", help="start from ImageNet weights")
    parser.add_argument("--skip-unreadable", action="store_true", help="leave out images that cannot be read")
    parser.add_argument("--out", help="new folder (DATA's name with that of the protocol)")
    parser.add_argument("--accelerator", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument(
        "--seed", type=int, default=0, help="of split and training, the first of --repeats (%(default)s)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_table(commands: Any) -> None:
    parser = commands.add_parser(
        "table",
        help="the papers' tables, computed here beside their figures",
        description="List the numbered tables and curves of the four papers and how much of each can be computed here; "
        "with a name, run what is missing and print the paper's figure, ours and the difference. Runs are kept in a "
        "database: none is run twice, and a command that was stopped continues when it is given again.",
    )
    parser.add_argument("name", nargs="?", help="such as otd-2; none lists them all")
    parser.add_argument(
        "--dataset", nargs="+", default=[], metavar="NAME", help="compare the table's models on other data sets"
    )
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each cell, for mean and deviation (3)")
    parser.add_argument("--quick", action="store_true", help="small networks and few epochs, for a CPU")
    parser.add_argument(
        "--tune",
        type=int,
        metavar="TRIALS",
        help="choose every model's learning rate and weight decay first, on validation samples",
    )
    parser.add_argument("--jobs", type=int, help="worker processes (as many as there are cores)")
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="spread the runs over a Ray cluster: its address, auto, or local"
    )
    parser.add_argument("--results", default="ordinate-results.db", help="database of the runs (%(default)s)")
    parser.add_argument(
        "--out", default="ordinate-tables", help="folder for text, CSV, Markdown and pictures (%(default)s)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what is there and what lacks; run nothing")
    parser.add_argument("--retry-failed", action="store_true", help="run failed runs again")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    started = time.monotonic()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # where cores are busy, spinning made steps 10 times as long
    options = vars(build_parser().parse_args(argv))
    command = options.pop("command")
    warnings.showwarning = _show_warning
    try:
        _run(command, options, started)
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


def _run(command: str, options: dict[str, Any], started: float) -> None:
    if not 0 <= options.get("seed", 0) < 2**32:
        raise OrdinateError(f"--seed: got {options['seed']}, takes a whole number from 0 to 4294967295")
    if command == "demo":
        from ordinate.commands.demo import demo

        demo(**options)
    elif command == "fit":
        from ordinate.commands.fit import fit
        from ordinate.commands.fit_options import FitOptions

        fit(FitOptions(**options), started)
    else:  # a module of its own name holds each of the others
        package = "ordinate.papers.commands" if command in OF_PAPERS else "ordinate.commands"
        getattr(import_module(f"{package}.{command}"), command)(**options)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning):
        print(f"ordinate: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
