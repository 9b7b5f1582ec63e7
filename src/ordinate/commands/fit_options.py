"""The options of ``ordinate fit``, declared once."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from ordinate.checks import check_network_folder
from ordinate.commands.options import ParsedOptions, check_numbers, check_seed, command_line, default_of, option
from ordinate.commands.settings import TypedSettings
from ordinate.counts import counted
from ordinate.errors import OrdinateError, are_arguments_typed, argument, did_you_mean
from ordinate.estimators.head_options import Head
from ordinate.estimators.recipes import Recipe, read_recipe
from ordinate.estimators.registry import CORE, models
from ordinate.training.options import RUNTIME, Training

# Options that the command to train the same model again leaves out.
NOT_REPEATED = ("out", "no_report", "quiet", "config")


@dataclass(frozen=True)
class FitOptions:
    """The options of the command line, under their names there, found possible whatever the data.

    Options with ``rare=True`` are shown by ``--help-all`` alone.

    Raises:
        OrdinateError: Options contradict each other, or have impossible values.
    """

    data: str = option(
        ...,
        "table (csv, Excel, SPSS, Stata, SAS, R, ARFF, parquet, Feather, JSON, npz) or .ts file; a folder or zip of "
        "images, volumes or matrices with a labels.csv (path, label), or of images in one folder per rank; a csv of "
        "paths of images; or a name "
        "of `ordinate datasets`",
        determines=False,
        nargs="?",
    )
    target: str | list[str] | None = option(
        None,
        "column (or npz array) of the label, several for SupCR; not required for .ts or a labels.csv with a label",
        nargs="+",
        metavar="COLUMN",
    )
    method: str = option(
        "auto",
        "cloc or otd for ranks, supcr or supremix for a continuous target, blend for tables and images, or plain "
        "networks such as cross_entropy, orcnn, l1 or dex; auto compares those that suit the label",
        metavar="NAME",
    )
    task: str = option(
        "auto",
        "kind of label; auto: whole numbers of up to 20 values, and ordered text, are ranks",
        choices=("auto", "ranks", "continuous"),
    )
    order: str | None = option(
        None,
        'ranks from lowest to highest, for labels that are text or fractions; with commas in them \'["a, b", "c"]\'',
        metavar="A,B,C",
        may_be_list=True,
        takes_labels=True,
    )
    margin: list[str] = option(
        [], "fix CLOC's margin between ranks A and B; repeatable", metavar="A,B=M", takes_labels=True
    )
    costs: str | None = option(
        None,
        "cost of mistakes (rows: true, columns: predicted labels): predict the rank of least expected cost",
        metavar="CSV",
        determines=False,  # The content of the file does.
    )
    decision: str | None = option(
        None,
        "rank to predict: the most probable one (mode) or the median of the probabilities (the median for tables "
        "and blends, otherwise that of the method's paper)",
        choices=("mode", "median"),
    )
    drop: str = option("", "columns to leave out, separated by commas", metavar="COLUMNS")
    categorical: str = option("", "numeric columns that are codes of categories", metavar="COLUMNS")
    missing: str | None = option(
        None,
        "values that mean missing; COLUMN=VALUE for one column",
        metavar="VALUES",
        may_be_list=True,
        takes_labels=True,
    )
    split: str | None = option(None, "column with the values train, validation and test", metavar="COLUMN")
    group: str | None = option(
        None, "column of groups, such as subjects, that stay on one side of a split", metavar="COLUMN"
    )
    weight: str | None = option(None, "column of sample weights; 0 leaves one out", metavar="COLUMN")
    out: str | None = option(
        None, "new folder for the model (DATA's name with -model)", determines=False, metavar="FOLDER"
    )
    test_fraction: float | None = option(
        None, "share held out, without --split (0.2 or 100,000 rows)", metavar="SHARE", above=0, below=1
    )
    epochs: int | None = option(None, "epochs of training (the method's default)", metavar="N", least=1)
    encoder: str | None = option(
        None,
        "network: for images any network of timm, such as resnet18; for images or text, hf:FOLDER or hf:NAME for a "
        "network of transformers (auto)",
        metavar="NAME",
    )
    image_size: str | None = option(
        None, "image size for the encoder in pixels (that of the files, up to 256)", metavar="HxW", setting="data.size"
    )
    pretrained: bool = option(False, "start from ImageNet weights", setting="data.pretrained")
    text: list[str] = option(
        [], "train on one column of texts, or on two of pairs, instead of all columns", nargs="+", metavar="COLUMN"
    )
    time_limit: float | None = option(
        None,
        "finish within this time, including reading and report (2 for tables of up to 20,000 rows, 5 for larger ones, "
        "10 for series and text; none for images and a given --method)",
        metavar="MINUTES",
        above=0,
    )
    recipe: str | None = option(None, "train with the settings of a paper, such as cloc-koa", metavar="NAME")
    seed: int = option(0, "seed of splits and training (%(default)s)", metavar="N")
    no_report: bool = option(False, "write no report.html", determines=False)
    quiet: bool = option(False, "show no progress bar", determines=False)
    config: str | None = option(
        None,
        "file of options (_ for - in their names) and settings, such as run.toml of a model; typed options override it",
        metavar="TOML",
        determines=False,
    )
    set: list[str] = option(
        [],
        "any other setting, such as training.learning_rate=3e-4, data.crop=2000 or temperature=0.5; see --help-all",
        metavar="NAME=VALUE",
        determines=False,  # Those do that do not only say where to train.
    )

    keep_missing: bool = option(
        False,
        "read codes that a file declares as missing, and labels such as 'refused' or \"don't know\", as values",
        rare=True,
    )
    sep: str | None = option(
        None, "separator of csv files, such as ';' or tab (detected by default)", metavar="CHARACTER", rare=True
    )
    decimal: str | None = option(
        None, "decimal mark in csv files (detected by default)", choices=(".", ","), metavar="MARK", rare=True
    )
    encoding: str | None = option(
        None, "encoding of csv files, such as latin-1 (detected by default)", metavar="NAME", rare=True
    )
    keep: str = option("", "columns to train on although they identify the rows", metavar="COLUMNS", rare=True)
    folds: int | None = option(
        None,
        "folds of the cross-validation that compares the candidates of --method auto (5 for a table of up to 300 "
        "training samples; otherwise a fifth of the samples is held out once)",
        metavar="K",
        least=1,
        rare=True,
    )
    stream: bool = option(
        False,
        "read images or volumes when a batch needs them, without keeping them in memory (automatic if they do not fit)",
        rare=True,
    )
    skip_unreadable: bool = option(False, "leave out files that cannot be read", rare=True)
    quick: bool = option(False, "use the small version of the recipe, for a CPU", rare=True)
    logger: str | None = option(
        None,
        "log losses and learning rate while training: csv and tensorboard into OUT/logs (OUT.partial/logs until "
        "then), wandb and mlflow to where these packages are set up to log",
        choices=("csv", "tensorboard", "wandb", "mlflow"),
        determines=False,
        rare=True,
    )

    @classmethod
    def of(cls, given: ParsedOptions) -> Self:
        """Return the options that a parser or a file gives, of which ``--target`` takes every word after it."""
        data, target = given.get("data"), given.get("target")
        if isinstance(target, list):
            if data is None and len(target) > 1:
                *target, data = target
            if len(target) == 1:
                (target,) = target
        return cls(**{**given, "data": data, "target": target})

    def __post_init__(self) -> None:
        if not self.data:
            raise OrdinateError("data", problem="is missing", expected=f"DATA, or a {argument('config')} that names it")
        check_seed(self.seed)
        if self.method != "auto" and self.method not in models():
            hint = did_you_mean(self.method, models())
            expected = None
            if hint is None:
                expected = f"auto, {', '.join(CORE)}"
            raise OrdinateError("--method", repr(self.method), expected, hint)
        check_numbers(self)
        if self.logger not in (None, "csv") and find_spec(str(self.logger)) is None:
            problem = f"{self.logger} requires the package {self.logger}, which is not installed"
            raise OrdinateError("--logger", problem=problem, hint=f"pip install {self.logger}")
        if self.order is not None:
            ranks_in(self.order)
        if self.missing is not None:
            values_in(self.missing, "--missing")
        if self.encoder is not None:
            check_network_folder(self.encoder)
        self.training  # noqa: B018  # It is built here.
        self.settings.build(Head, "head")
        self._check_columns()
        self._check_choice()
        if len(self.text) > 2:
            raise OrdinateError("--text", counted(len(self.text), "column"), "one or two")

    def _check_choice(self) -> None:
        recipe = self.recipe_of_paper
        if recipe is not None and self.method not in ("auto", recipe.method):
            raise OrdinateError("--method", f"{self.method}, but the recipe {recipe.name} is one of {recipe.method}")
        if self.test_fraction is not None and self.split is not None:
            raise OrdinateError(
                "--test-fraction",
                f"{self.test_fraction} and {argument('split', self.split)}, which says what is held out",
                "one of the two",
            )
        if self.folds is not None and (self.method != "auto" or self.recipe is not None):
            raise OrdinateError(
                "--folds",
                problem="apply only to the choice of a method",
                expected=f"neither {argument('method')} nor {argument('recipe')}",
            )
        if self.time_limit is not None and self.recipe is not None:
            raise OrdinateError("--time-limit", problem="a recipe has its own epochs", hint="leave one of the two out")
        if self.quick and self.recipe is None:
            raise OrdinateError("--quick", problem="is the small version of a recipe", expected=argument("recipe"))
        if self.epochs is not None and "epochs" in self.settings.texts:
            raise OrdinateError("--epochs", f"{self.epochs} and {argument('set', 'epochs')}", "one of the two")

    def _check_columns(self) -> None:
        """Raise an error for a column that is given to two options of which only one can have it."""
        for name in ("drop", "keep", "categorical"):
            if self.text and getattr(self, name):
                got = f"{getattr(self, name)!r} and {argument('text')}, which names the columns"
                raise OrdinateError(f"--{name}", got)
        used: dict[str, str] = {}
        _claim(used, "target", self.targets)
        for name in ("split", "group", "weight"):
            _claim(used, name, filter(None, [getattr(self, name)]))
        _claim(used, "drop", names_in(self.drop))
        _claim(dict(used), "keep", names_in(self.keep))
        _claim(dict(used), "text", self.text)

    @cached_property
    def targets(self) -> list[str]:
        """The columns of the label; none if the data have one of their own."""
        if self.target is None:
            return []
        if isinstance(self.target, str):
            return [self.target]
        return self.target

    @cached_property
    def missing_values(self) -> tuple[str, ...]:
        """The values that mean missing, except those of columns that are dropped."""
        if self.missing is None:
            return ()
        dropped = tuple(f"{name}=" for name in names_in(self.drop))
        return tuple(text for text in values_in(self.missing, "--missing") if not text.startswith(dropped))

    @cached_property
    def settings(self) -> TypedSettings:
        """The settings of the estimator and its groups, those that options of their own give among them."""
        flags = {}
        if self.encoder is not None:
            flags["encoder"] = ("--encoder", self.encoder)
        if self.image_size is not None:
            flags["data.size"] = ("--image-size", repr(_size(self.image_size)))
        if self.pretrained:
            flags["data.pretrained"] = ("--pretrained", "true")
        return TypedSettings.of(self.set, flags)

    @cached_property
    def training(self) -> Training:
        """The options of training that the settings give, with the defaults of the others."""
        return self.settings.build(Training, "training")

    @cached_property
    def recipe_of_paper(self) -> Recipe | None:
        """What ``--recipe`` names."""
        return None if self.recipe is None else read_recipe(self.recipe, quick=self.quick)

    @property
    def trained_method(self) -> str:
        """The method that is trained, which a recipe may name, or "auto"."""
        return self.method if self.recipe_of_paper is None else self.recipe_of_paper.method

    def of_recipe(self, group: str) -> Mapping[str, Any]:
        """Return the settings of a group that a recipe gives."""
        if self.recipe_of_paper is None:
            return {}
        settings: Mapping[str, Any] = self.recipe_of_paper.settings.get(group, {})
        return settings

    @property
    def path(self) -> Path:
        """The folder of the model."""
        if self.out is not None:
            return Path(self.out)
        stem, *_ = Path(self.data).name.split(".")
        return Path(f"{stem}-model")

    def test_share(self, rows: int) -> float:
        """Return the share of so many rows to measure on, where the data do not say which."""
        return self.test_fraction or min(0.2, 100_000 / rows)

    @property
    def command(self) -> str:
        """The command to get the same; the call in Python where it came from there."""
        if not are_arguments_typed():
            return self._call
        return command_line(["ordinate", "fit", self.data], self, leave_out=("data", *NOT_REPEATED))

    @property
    def _call(self) -> str:
        """The call of ``ordinate.fit`` with the options."""
        given: ParsedOptions = {}
        for declared in fields(self):
            value = getattr(self, declared.name)
            if declared.name not in ("data", "set", *NOT_REPEATED) and value != default_of(declared):
                given[declared.name] = value
        if self.time_limit is not None:
            given["time_limit"] = self.time_limit * 60
        parts = [repr(self.data), *(f"{name}={value!r}" for name, value in given.items())]
        groups: dict[str, list[str]] = {}
        for name, text in self.settings.typed.items():
            group, _, setting = name.rpartition(".")
            if group:
                groups.setdefault(group, []).append(f"{setting!r}: {text}")
            else:
                parts.append(f"{name}={text}")
        parts += [f"{group}={{{', '.join(settings)}}}" for group, settings in groups.items()]
        return f"ordinate.fit({', '.join(parts)})"

    @cached_property
    def determining(self) -> list[object]:
        """Everything that the model depends on in addition to the data."""
        kept = [getattr(self, each.name) for each in fields(self) if each.metadata.get("determines", True)]
        elsewhere = {f"training.{name}" for name in RUNTIME}
        settings = self.settings.typed.items()
        return [*kept, sorted(item for item in settings if item[0] not in elsewhere)]


def _claim(used: dict[str, str], name: str, columns: Iterable[str]) -> None:
    for column in columns:
        if used.setdefault(column, name) != name:
            raise OrdinateError(f"--{name}", f"{column!r}, which {argument(used[column])} has already", "another")


def _size(text: str) -> tuple[int, int]:
    sides = text.lower().split("x")
    if not all(side.isdecimal() and int(side) > 0 for side in sides) or len(sides) > 2:
        raise OrdinateError("--image-size", repr(text), "SIDE or HEIGHTxWIDTH in pixels")
    return int(sides[0]), int(sides[-1])


def ranks_in(order: str) -> list[str]:
    """Return the ranks that ``--order`` names, separated by commas or by <, or as a list of TOML or JSON.

    Example:
        >>> ranks_in("low, high"), ranks_in("low < high"), ranks_in('["a, b", "c"]')
        (['low', 'high'], ['low', 'high'], ['a, b', 'c'])
    """
    are_compared = "," not in order and not order.lstrip().startswith("[")
    ranks = values_in(order.replace("<", ",") if are_compared else order, "--order")
    if len(set(ranks)) != len(ranks) or len(ranks) < 2 or "" in ranks:
        raise OrdinateError("--order", order, "two or more different ranks")
    return ranks


def values_in(text: str, option: str) -> list[str]:
    """Return the values that an option names, separated by commas or as a list of TOML or JSON."""
    if not text.lstrip().startswith("["):
        return [value.strip() for value in text.split(",")]
    try:
        listed = tomllib.loads(f"values = {text}")["values"]
    except tomllib.TOMLDecodeError as error:
        raise OrdinateError(option, text, 'a list such as ["a, b", "c"]') from error
    return [str(value) for value in listed]


def names_in(text: str) -> list[str]:
    """Return the columns that an option names, separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
