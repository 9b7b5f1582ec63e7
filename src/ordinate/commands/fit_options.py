"""The options of ``ordinate fit``, declared once, and the options of images and volumes that follow from them."""

import difflib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.checks import HUGGING_FACE, check_embedding_dim, check_network_folder, check_train_encoder
from ordinate.commands.options import check_numbers, command_line, flag, option
from ordinate.errors import OrdinateError
from ordinate.estimators.registry import models

if TYPE_CHECKING:
    from ordinate.data.images.options import ImageOptions
    from ordinate.data.volumes.options import VolumeOptions

AUGMENTATIONS = ("auto", "none", "flip", "supcr", "gaze", "adience", "hid", "koa", "idrid", "bracs")
LOSS, IMAGES, VOLUMES = "loss, of methods that have such a setting", "images", "volumes"
TRAINING, TRAINER = "optimization", "what runs the training"
SETTINGS = (LOSS, TRAINING)  # groups whose options are parameters of the estimators, under the same names

NOT_REPEATED = ("out", "quiet", "config")  # of a command that trains the same model again


@dataclass(frozen=True)
class FitOptions:
    """The options of the command line, under their names there."""

    data: str = option(
        ...,
        "csv, tsv, parquet (a file or a folder of them), .ts; npz with X (n, features), (n, channels, length), "
        "(n, channels, height, width) or (n, channels, depth, height, width); a folder or zip of images with a "
        "labels.csv (path, label) or one folder per rank; a folder of matrices (csv, npy) or NIfTI volumes with a "
        "labels.csv; TUAB's folder of EDF files; or a name of `ordinate datasets`",
        determines=False,
        nargs="?",
    )
    target: str | None = option(
        None, "column (or npz array) of the label; a labels.csv may have it as label, a .ts file needs none"
    )
    method: str = option(
        "auto",
        "cloc or otd for ranks, supcr or supremix for a continuous target, blend for tables, or a baseline such as "
        "cross_entropy, supcon, l1 or dex; auto trains those of the first that fit and keeps the one that validates "
        "best",
        metavar="NAME",
    )
    task: str = option(
        "auto",
        "what the label is; auto: whole numbers of up to 20 values, and ordered text, are ranks",
        choices=("auto", "ranks", "continuous"),
    )
    order: str | None = option(None, "the ranks from lowest to highest, for labels that are text", metavar="A,B,C")
    margin: list[str] = option(
        [], "fix CLOC's margin between the adjacent ranks A and B; may be repeated", metavar="A,B=M"
    )
    critical: list[str] = option(
        [],
        "train with wider margins where mistakes cost more, and predict the rank of least expected cost: the cost of "
        "a mistake across the boundary of A and B, 1 at others; may be repeated",
        metavar="A,B=COST",
    )
    costs: str | None = option(
        None,
        "the same for every mistake: true labels in the first column, predicted ones in the first row",
        metavar="CSV",
        determines=False,  # what the file holds does
    )
    decision: str | None = option(
        None,
        "the rank that is predicted: the most probable (mode: fewest wrong ranks) or the median of the probabilities "
        "(least mean distance of ranks); without it the median for tables, and otherwise that of the method's paper: "
        "the mode, or the median for orcnn, corn_ranks and coral",
        choices=("mode", "median"),
    )
    drop: str = option("", "columns to leave out, separated by commas", metavar="COLUMNS")
    keep: str = option("", "columns to train on although they identify the rows", metavar="COLUMNS")
    categorical: str = option("", "columns whose numbers are codes", metavar="COLUMNS")
    split: str | None = option(None, "column that says train, validation or test", metavar="COLUMN")
    group: str | None = option(None, "column of what stays on one side of a split, such as a subject", metavar="COLUMN")
    weight: str | None = option(
        None, "column of what a sample counts, in training and in what is measured; 0 leaves it out", metavar="COLUMN"
    )
    fold: int = option(0, "held out, where an image set comes in folds (%(default)s)")
    out: str | None = option(None, "new folder for the model (DATA's name with -model)", determines=False)
    test_fraction: float | None = option(
        None, "share of rows held out to measure on, where no --split says which (0.2)", above=0, below=1
    )
    folds: int | None = option(
        None,
        "measure the candidates of --method auto on so many parts of the training samples, each by models trained on "
        "the others (5 for a table of up to 300 training samples; otherwise once, on a fifth)",
        metavar="K",
        least=1,
    )
    epochs: int | None = option(None, "of training, instead of the method's default", least=1)
    encoder: str | None = option(
        None,
        "network, for images any of timm's, such as resnet18; hf:FOLDER or hf:NAME for one of transformers, for images "
        "or text (auto)",
        metavar="NAME",
    )
    embedding_dim: str | None = option(
        None, "dimensions of the embedding, none for the encoder's own features (64)", metavar="D"
    )
    train_encoder: str | None = option(
        None, "how much of a network that brings weights is trained: all, none or its last K blocks", metavar="PART"
    )
    label_distance: str | None = option(None, "between targets (l1)", group=LOSS, choices=("l1", "l2", "angular"))
    similarity: str | None = option(
        None, "between embeddings (neg_l2)", group=LOSS, choices=("neg_l2", "neg_l1", "cosine")
    )
    temperature: float | None = option(
        None, "of the similarities (the method's default)", group=LOSS, metavar="NUMBER", above=0
    )
    num_positives: int | None = option(
        None, "contrast only the K closest samples as positives (all)", group=LOSS, metavar="K", least=1
    )
    tie_tolerance: float | None = option(
        None, "count label distances that differ by no more as equal (0)", group=LOSS, metavar="NUMBER", least=0
    )
    reduction: str | None = option(
        None,
        "of CLOC's margin loss over pairs: sum is the paper's (pair_mean)",
        group=LOSS,
        choices=("pair_mean", "sum"),
    )
    mmnp_weight: float | None = option(
        None, "of CLOC's margin loss beside the cross-entropy (1)", group=LOSS, metavar="NUMBER", least=0
    )
    optimization: str | None = option(
        None, "the usual one, or that of the method's paper (usual)", group=TRAINING, choices=("usual", "paper")
    )
    optimizer: str | None = option(None, "of the weights (adamw)", group=TRAINING, choices=("adam", "adamw", "sgd"))
    learning_rate: float | None = option(None, "the highest one (0.001)", group=TRAINING, metavar="NUMBER", above=0)
    encoder_learning_rate: float | None = option(
        None, "of a network that brings weights (that of the rest)", group=TRAINING, metavar="NUMBER", above=0
    )
    head_learning_rate: float | None = option(
        None, "of a regressor's second stage, head or fine-tuning (10 times)", group=TRAINING, metavar="NUMBER", above=0
    )
    weight_decay: float | None = option(
        None, "of the encoder (what suits method and data)", group=TRAINING, metavar="NUMBER", least=0
    )
    schedule: str | None = option(None, "of the learning rate (cosine)", group=TRAINING, choices=("cosine", "constant"))
    warmup: float | None = option(
        None, "share of training in which it rises (0.1)", group=TRAINING, metavar="SHARE", least=0, below=1
    )
    batch_size: int | None = option(None, "samples (256; images and volumes 64)", group=TRAINING, metavar="N", least=4)
    gradient_clip_val: float | None = option(
        None, "largest norm of a gradient (any)", group=TRAINING, metavar="NUMBER", above=0
    )
    accumulate_grad_batches: int | None = option(
        None, "batches whose gradients make a step (1)", group=TRAINING, metavar="N", least=1
    )
    precision: str | None = option(
        None, "of training (32-true)", group=TRAINING, choices=("32-true", "16-mixed", "bf16-mixed")
    )
    image_size: str | None = option(
        None, "pixels that the encoder sees (the images' own, up to 256)", group=IMAGES, metavar="HxW"
    )
    volume_size: str | None = option(
        None,
        "voxels that the encoder sees, cut or padded around the centre (the volumes' own, up to 100)",
        group=VOLUMES,
        metavar="DxHxW",
    )
    spacing: str | None = option(
        None, "resample to voxels of so many mm, one number or AxBxC (each file's own)", group=VOLUMES, metavar="MM"
    )
    augmentation: str | None = option(None, "of training images (auto)", group=IMAGES, choices=AUGMENTATIONS)
    pretrained: bool = option(False, "start from ImageNet weights", group=IMAGES)
    frozen: bool = option(
        False,
        "keep the pretrained network as it is and train an embedding on its features: a first answer, soon",
        group=IMAGES,
    )
    mirror: bool | None = option(
        None,
        "predict from an image and its mirror image, in twice the time (where a network that starts from ImageNet "
        "weights is trained with the augmentation auto)",
        group=IMAGES,
    )
    stream: bool = option(
        False,
        "decode files of images or volumes, or rows of parquet files, when batches need them, and keep none (by itself "
        "where memory does not hold them)",
    )
    max_pixels: int | None = option(
        None, "of an image; larger ones are an error (178956970)", group=IMAGES, metavar="N", least=1
    )
    text: list[str] = option(
        [],
        "one column of texts, or two of pairs, instead of all columns; read by MiniLM, or with --word-vectors by a "
        "BiLSTM",
        group="text",
        nargs="+",
        metavar="COLUMN",
    )
    word_vectors: str | None = option(None, "GloVe's text file, or an npz", group="text", metavar="FILE")
    crop: int | None = option(
        None, "train on random parts of so many points (whole series)", group="series", metavar="POINTS"
    )
    skip_unreadable: bool = option(
        False, "leave out files that cannot be read; replace those that stream by others of their label", group=IMAGES
    )
    recipe: str | None = option(None, "train as a paper does, such as cloc-koa", group=IMAGES, metavar="NAME")
    quick: bool = option(False, "the recipe's small version, for a CPU", group=IMAGES)
    time_limit: float | None = option(
        None,
        "end within so many minutes, reading and report included, always with a model; --method auto chooses between "
        "the methods and plain heads as far as the time reaches",
        metavar="MINUTES",
        above=0,
    )
    accelerator: str = option("auto", group=TRAINER, choices=("auto", "cpu", "gpu"), determines=False)
    devices: int | None = option(
        None,
        "how many share each batch; under torchrun all of its processes (1)",
        group=TRAINER,
        metavar="N",
        least=1,
        determines=False,
    )
    num_nodes: int | None = option(
        None, "machines (under torchrun all)", group=TRAINER, metavar="N", least=1, determines=False
    )
    strategy: str | None = option(
        None, "of Lightning's Trainer (ddp_spawn; under torchrun ddp)", group=TRAINER, metavar="NAME", determines=False
    )
    ray: str | None = option(
        None,
        "train on a Ray cluster: its address, auto for the one this machine is in, or local for one started here; the "
        "folder of --out is on storage that all its machines share",
        group=TRAINER,
        metavar="ADDRESS",
        determines=False,
    )
    workers: int | None = option(
        None, "of the cluster, which share each batch", group=TRAINER, metavar="N", least=1, determines=False
    )
    logger: str | None = option(
        None,
        "of losses and learning rate while training, into OUT-logs",
        group=TRAINER,
        choices=("csv", "tensorboard"),
        determines=False,
    )
    seed: int = option(0, "of splits and training (%(default)s)")
    quiet: bool = option(False, "no progress bar", determines=False)
    config: str | None = option(
        None,
        "file of options, under their names here with _ for -, as in run.toml of a model; what is typed comes first",
        metavar="TOML",
        determines=False,
    )

    @property
    def encoder_settings(self) -> dict[str, Any]:
        """What was given of the encoder, as settings of an estimator."""
        settings: dict[str, Any] = {}
        if self.encoder is not None:
            settings["encoder"] = check_network_folder(self.encoder)
        if self.embedding_dim is not None:
            settings["embedding_dim"] = check_embedding_dim(_number_or(self.embedding_dim, {"none": None}))
        if self.train_encoder is not None:
            settings["train_encoder"] = check_train_encoder(_number_or(self.train_encoder, {}))
        return settings

    def check(self) -> None:
        """Raise where an option cannot be what it is, whatever the data."""
        brings_weights = self.pretrained or self.text or self.recipe or str(self.encoder).startswith(HUGGING_FACE)
        if self.encoder_settings.get("train_encoder", "all") != "all" and not brings_weights:
            raise OrdinateError(
                "train_encoder", f"{self.train_encoder} without weights to keep", "--pretrained or --encoder hf:FOLDER"
            )
        if self.accelerator not in ("auto", "cpu"):
            from ordinate.training.devices import check_accelerator

            check_accelerator(self.accelerator)
        if self.method != "auto" and self.method not in models():
            near = difflib.get_close_matches(self.method, models(), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f", expected auto, {', '.join(models())}"
            raise OrdinateError("--method", f"{self.method!r}{hint}")
        check_numbers(self)
        if self.test_fraction is not None and self.split is not None:
            raise OrdinateError(
                "--test-fraction",
                f"{self.test_fraction} beside --split {self.split}, which says what is held out",
                "one of the two",
            )
        if self.folds is not None and (self.method != "auto" or self.time_limit is not None or self.recipe is not None):
            raise OrdinateError(
                "--folds",
                problem="are for the choice of a method",
                expected="neither --method, --time-limit nor --recipe",
            )
        self._check_columns()
        self._check_cluster()
        if self.time_limit is not None and self.recipe is not None:
            raise OrdinateError("--time-limit", problem="a recipe has its own epochs", hint="leave one of the two out")
        if len(self.text) > 2:
            raise OrdinateError("--text", f"{len(self.text)} columns", "one or two")
        if self.word_vectors is not None and not self.text:
            raise OrdinateError("--word-vectors", problem="are for text", expected="--text COLUMN beside it")
        if self.frozen and not self.pretrained:
            raise OrdinateError(
                "--frozen", problem="keeps pretrained weights as they are", hint="give --pretrained as well"
            )
        if self.quick and self.recipe is None:
            raise OrdinateError("--quick", problem="is the small version of a recipe", expected="--recipe beside it")

    def _check_cluster(self) -> None:
        """Raise where the options of a Ray cluster do not go together, or with those of one machine."""
        if (self.ray is None) != (self.workers is None):
            given, lacking = ("--ray", "--workers N") if self.workers is None else ("--workers", "--ray ADDRESS")
            raise OrdinateError(given, problem="is alone", expected=f"{lacking} beside it")
        for name in ("devices", "num_nodes", "strategy", "time_limit"):
            if self.ray is not None and getattr(self, name) is not None:
                raise OrdinateError(flag(name), problem="is for training without --ray", hint="leave one out")

    def _check_columns(self) -> None:
        """Raise where a column is given to two options of which only one can have it."""
        for name in ("drop", "keep", "categorical"):
            if self.text and getattr(self, name):
                raise OrdinateError(f"--{name}", f"{getattr(self, name)!r} beside --text, which names the columns")
        used: dict[str, str] = {}
        single = {name: getattr(self, name) for name in ("target", "split", "group", "weight")}
        claims = {name: [column] for name, column in single.items() if column is not None}
        for name, columns in {**claims, "drop": names_in(self.drop)}.items():
            _claim(used, name, columns)
        for name, columns in (("keep", names_in(self.keep)), ("text", self.text)):
            _claim(dict(used), name, columns)

    @property
    def path(self) -> Path:
        """The folder of the model."""
        return Path(f"{self.stem}-model" if self.out is None else self.out)

    @property
    def logs(self) -> Path:
        """The folder of what ``--logger`` writes."""
        return Path(f"{self.path}-logs")

    @property
    def stem(self) -> str:
        """The name of the data without its ending."""
        return Path(self.data).name.split(".")[0]

    @property
    def command(self) -> str:
        """What to type to get the same, in a folder of its usual name."""
        return command_line(["ordinate", "fit", self.data], self, leave_out=("data", *NOT_REPEATED))

    @property
    def estimator_settings(self) -> dict[str, Any]:
        """Options that were given and are parameters of estimators."""
        chosen = {each.name: getattr(self, each.name) for each in fields(self) if each.metadata["group"] in SETTINGS}
        return {name: value for name, value in chosen.items() if value is not None}

    @property
    def determining(self) -> list[Any]:
        """All that the model depends on, beside the data."""
        values = asdict(self)
        return [values[each.name] for each in fields(self) if each.metadata.get("determines", True)]


def _claim(used: dict[str, str], name: str, columns: list[str]) -> None:
    for column in columns:
        if used.setdefault(column, name) != name:
            raise OrdinateError(f"--{name}", f"{column!r}, which --{used[column]} has already", "another")


def _number_or(text: str, words: dict[str, Any]) -> Any:
    """Return the whole number that a text is, or else what it stands for among the words, by itself the text."""
    return int(text) if text.removeprefix("-").isdecimal() else words.get(text, text)


def names_in(text: str) -> list[str]:
    """Return the columns that an option names, separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def image_options(settings: dict[str, Any], options: FitOptions) -> "ImageOptions":
    """Return the recipe's options of images, with those of the command line in their place."""
    from ordinate.data.images.options import ImageOptions

    given: dict[str, Any] = {"augmentation": options.augmentation}
    given |= {"pretrained": options.pretrained or None, "frozen": options.frozen or None}
    given |= {"mirror": options.mirror}
    given |= {"stream": options.stream or None, "skip_unreadable": options.skip_unreadable or None}
    given |= {"max_pixels": options.max_pixels}
    if options.image_size is not None:
        sides = options.image_size.lower().split("x")
        if not all(side.isdecimal() and int(side) > 0 for side in sides) or len(sides) > 2:
            raise OrdinateError("--image-size", repr(options.image_size), "SIDE or HEIGHTxWIDTH in pixels")
        given["size"] = (int(sides[0]), int(sides[-1]))
    return ImageOptions(**{**settings, **{name: value for name, value in given.items() if value is not None}})


def volume_options(settings: dict[str, Any], options: FitOptions) -> "VolumeOptions":
    """Return the recipe's options of volumes, with those of the command line, as in 100 or 2x2x1.5, in their place."""
    from ordinate.data.volumes.options import VolumeOptions

    read = settings | {name: True for name in ("stream", "skip_unreadable") if getattr(options, name)}
    for name, option_name, number in (("size", "volume_size", int), ("spacing", "spacing", float)):
        given = getattr(options, option_name)
        if given is None:
            continue
        try:
            values = tuple(number(part) for part in given.lower().split("x"))
            read[name] = values[0] if len(values) == 1 else values
            VolumeOptions(**{name: read[name]})
        except ValueError as error:
            raise OrdinateError(flag(option_name), repr(given), "a number above 0, or three as AxBxC") from error
    return VolumeOptions(**read)
