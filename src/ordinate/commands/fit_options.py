"""The options of ``ordinate fit``, and those of images and volumes that follow from them."""

import difflib
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.data.images.options import ImageOptions
from ordinate.data.volumes.options import VolumeOptions
from ordinate.errors import OrdinateError
from ordinate.estimators.registry import models
from ordinate.functional.inputs import check_positive, check_whole
from ordinate.methods.training import check_accelerator


@dataclass(frozen=True)
class FitOptions:
    """The options of the command line, under their names there."""

    data: str
    target: str | None = None
    method: str = "auto"
    task: str = "auto"
    order: str | None = None
    margin: list[str] = field(default_factory=list)
    critical: list[str] = field(default_factory=list)
    costs: str | None = None
    decision: str | None = None
    drop: str = ""
    keep: str = ""
    categorical: str = ""
    split: str | None = None
    group: str | None = None
    fold: int = 0
    out: str | None = None
    test_fraction: float | None = None
    epochs: int | None = None
    encoder: str | None = None
    label_distance: str | None = None
    similarity: str | None = None
    temperature: float | None = None
    num_positives: int | None = None
    image_size: str | None = None
    volume_size: str | None = None
    spacing: str | None = None
    augmentation: str | None = None
    pretrained: bool = False
    frozen: bool = False
    text: list[str] = field(default_factory=list)
    word_vectors: str | None = None
    crop: int | None = None
    skip_unreadable: bool = False
    recipe: str | None = None
    quick: bool = False
    time_limit: float | None = None
    accelerator: str = "auto"
    seed: int = 0
    quiet: bool = False

    def check(self) -> None:
        """Raise where an option cannot be what it is, whatever the data."""
        check_accelerator(self.accelerator)
        if self.method != "auto" and self.method not in models():
            near = difflib.get_close_matches(self.method, models(), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f", takes auto, {', '.join(models())}"
            raise OrdinateError(f"--method: got {self.method!r}{hint}")
        if self.test_fraction is not None:
            if not 0 < self.test_fraction < 1:
                raise OrdinateError(f"--test-fraction: got {self.test_fraction}, expected a share above 0 and below 1")
            if self.split is not None:
                raise OrdinateError(
                    f"--test-fraction: got {self.test_fraction} beside --split {self.split}, which says what is held "
                    "out; expected one of the two"
                )
        self._check_columns()
        if self.epochs is not None and self.epochs < 1:
            raise OrdinateError(f"--epochs: got {self.epochs}, takes at least 1")
        self._check_loss()
        if self.time_limit is not None:
            if not (self.time_limit > 0 and np.isfinite(self.time_limit)):
                raise OrdinateError(f"--time-limit: got {self.time_limit}, expected minutes above 0")
            if self.recipe is not None:
                raise OrdinateError("--time-limit: a recipe has its own epochs; leave one of the two out")
        if len(self.text) > 2:
            raise OrdinateError(f"--text: got {len(self.text)} columns, takes one or two")
        if self.word_vectors is not None and not self.text:
            raise OrdinateError("--word-vectors: are for text, takes --text COLUMN")
        if self.frozen and not self.pretrained:
            raise OrdinateError("--frozen: keeps pretrained weights as they are; give --pretrained as well")
        if self.quick and self.recipe is None:
            raise OrdinateError("--quick: is the small version of a recipe, takes --recipe")

    def _check_loss(self) -> None:
        if self.temperature is not None:
            check_positive(self.temperature, "--temperature")
        if self.num_positives is not None:
            check_whole(self.num_positives, "--num-positives")

    def _check_columns(self) -> None:
        """Raise where a column is given to two options of which only one can have it."""
        for option in ("drop", "keep", "categorical"):
            if self.text and getattr(self, option):
                raise OrdinateError(f"--{option}: got {getattr(self, option)!r} beside --text, which names the columns")
        used: dict[str, str] = {}
        for option, value in (("target", self.target), ("split", self.split), ("group", self.group)):
            _claim(used, option, [] if value is None else [value])
        _claim(used, "drop", names_in(self.drop))
        for option, columns in (("keep", names_in(self.keep)), ("text", self.text)):
            _claim(dict(used), option, columns)

    @property
    def path(self) -> Path:
        return Path(self.out) if self.out is not None else Path(f"{Path(self.data).name.split('.')[0]}-model")

    @property
    def command(self) -> str:
        """What to type to get the same, in a folder of its usual name."""
        usual = {"method": "auto", "task": "auto", "fold": 0, "accelerator": "auto"}
        words = ["ordinate", "fit", self.data]
        for name, value in asdict(self).items():
            if name in ("data", "out", "quiet") or not value or value == usual.get(name):
                continue
            for each in value if isinstance(value, list) else [value]:
                words += [f"--{name.replace('_', '-')}", *([] if each is True else [str(each)])]
        return shlex.join(words)

    @property
    def determining(self) -> list[Any]:
        """All that the model depends on, beside the data."""
        elsewhere = ("data", "out", "accelerator", "quiet", "costs")
        return [value for name, value in asdict(self).items() if name not in elsewhere]


def _claim(used: dict[str, str], option: str, columns: list[str]) -> None:
    for column in columns:
        if used.setdefault(column, option) != option:
            raise OrdinateError(f"--{option}: got {column!r}, which --{used[column]} has already; expected another")


def names_in(text: str) -> list[str]:
    """Return the columns that an option names, separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def image_options(settings: dict[str, Any], options: FitOptions) -> ImageOptions:
    """The recipe's options of images, with those of the command line in their place."""
    settings = dict(settings)
    if options.image_size is not None:
        sides = options.image_size.lower().split("x")
        if not all(side.isdecimal() and int(side) > 0 for side in sides) or len(sides) > 2:
            raise OrdinateError(f"--image-size: got {options.image_size!r}, takes SIDE or HEIGHTxWIDTH in pixels")
        settings["size"] = (int(sides[0]), int(sides[-1]))
    if options.augmentation is not None:
        settings["augmentation"] = options.augmentation
    if options.pretrained:
        settings["pretrained"] = True
    if options.frozen:
        settings["frozen"] = True
    return ImageOptions(**settings)


def volume_options(settings: dict[str, Any], options: FitOptions) -> VolumeOptions:
    """The recipe's options of volumes, with those of the command line, as in 100 or 2x2x1.5, in their place."""
    read = dict(settings)
    for name, given, number in (("size", options.volume_size, int), ("spacing", options.spacing, float)):
        if given is not None:
            try:
                values = tuple(number(part) for part in given.lower().split("x"))
                read[name] = values[0] if len(values) == 1 else values
                VolumeOptions(**{name: read[name]})
            except ValueError as error:
                option = "--volume-size" if name == "size" else "--spacing"
                raise OrdinateError(f"{option}: got {given!r}, takes a number above 0, or three as AxBxC") from error
    return VolumeOptions(**read)
