"""``ordinate fit``: from data with a graded label to a trained, measured, saved model."""

import difflib
import json
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.costs import COSTS, costs_of_rules, parse_costs, write_costs
from ordinate.commands.labels import Label, parse_boundaries, understand_label
from ordinate.commands.samples import (
    Samples,
    array_as_pictures,
    array_as_volumes,
    duplicates_across,
    is_images,
    is_series,
    read_pictures,
    read_scans,
    read_signals,
    read_table,
    text_columns,
)
from ordinate.commands.workspace import Workspace
from ordinate.data.image_options import ImageOptions
from ordinate.data.labelled_volumes import holds_volumes
from ordinate.data.pixels import Decoded
from ordinate.data.series_options import SeriesOptions
from ordinate.data.splits import split_groups, split_rows
from ordinate.data.text_options import TextOptions
from ordinate.data.volume_options import VolumeOptions
from ordinate.data.volumes import DecodedVolumes
from ordinate.decisions import compare_decisions, margins_from_costs
from ordinate.errors import OrdinateError
from ordinate.estimators import CLOCClassifier, OTDClassifier, SupCRRegressor, SupReMixRegressor
from ordinate.estimators.choice import choose_within
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.held_out import HeldOut
from ordinate.estimators.persistence import write_estimator
from ordinate.estimators.recipes import Recipe, read_recipe
from ordinate.methods.training import check_accelerator
from ordinate.report.evaluation import Metrics, draw, evaluate
from ordinate.report.page import write_report
from ordinate.report.text import metric_lines
from ordinate.tables.models import MODELS, build, unavailable

RANK_METHODS, CONTINUOUS_METHODS = ("cloc", "otd"), ("supcr", "supremix")
RANK_HEADS, CONTINUOUS_HEADS = ("cross_entropy", "orcnn", "corn_ranks"), ("l1", "mse", "huber")  # tried after these
VALIDATION_FRACTION = 0.2
LEAST_ROWS = 10
SIDES = ("train", "validation", "test")
LEAST_REPORTED = 3  # held-out samples
REPORT = "report.html"
CHOICE = "choice.json"  # among the checkpoints: what is known of the candidates of a time limit
SPLIT = "split.json"  # in a model's folder: the rows of the data that it was trained and measured on

Rows = NDArray[np.int64]


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
    drop: str = ""
    categorical: str = ""
    split: str | None = None
    group: str | None = None
    fold: int = 0
    out: str | None = None
    test_fraction: float = 0.2
    epochs: int | None = None
    encoder: str | None = None
    image_size: str | None = None
    volume_size: str | None = None
    spacing: str | None = None
    augmentation: str | None = None
    pretrained: bool = False
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
        if self.method != "auto" and self.method not in MODELS:
            near = difflib.get_close_matches(self.method, MODELS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f", takes auto, {', '.join(MODELS)}"
            raise OrdinateError(f"--method: got {self.method!r}{hint}")
        if not 0 < self.test_fraction < 1:
            raise OrdinateError(f"--test-fraction: got {self.test_fraction}, takes a share above 0 and below 1")
        if self.epochs is not None and self.epochs < 1:
            raise OrdinateError(f"--epochs: got {self.epochs}, takes at least 1")
        if self.time_limit is not None:
            if not (self.time_limit > 0 and np.isfinite(self.time_limit)):
                raise OrdinateError(f"--time-limit: got {self.time_limit}, takes minutes above 0")
            if self.method != "auto" or self.recipe is not None:
                raise OrdinateError("--time-limit: is for choosing a method, takes --method auto and no --recipe")
        if len(self.text) > 2:
            raise OrdinateError(f"--text: got {len(self.text)} columns, takes one or two")
        if self.word_vectors is not None and not self.text:
            raise OrdinateError("--word-vectors: are for text, takes --text COLUMN")
        if self.quick and self.recipe is None:
            raise OrdinateError("--quick: is the small version of a recipe, takes --recipe")

    @property
    def path(self) -> Path:
        return Path(self.out) if self.out is not None else Path(f"{Path(self.data).name.split('.')[0]}-model")

    @property
    def command(self) -> str:
        """What to type to get the same, in a folder of its usual name."""
        usual = {"method": "auto", "task": "auto", "fold": 0, "test_fraction": 0.2, "accelerator": "auto"}
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


@dataclass(frozen=True)
class Plan:
    """What is to be trained: settings of the estimators, and the methods to choose from."""

    label: Label
    candidates: tuple[str, ...]
    margins: dict[tuple[int, int], float]
    costs: NDArray[np.float64] | None
    settings: dict[str, Any]

    def build(self, name: str, options: FitOptions, folder: Path) -> EmbeddingEstimator:
        """Return the unfitted estimator of a method, which keeps its state in the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        settings = {
            **self.settings, "accelerator": options.accelerator, "checkpoint_dir": str(folder),
            "verbose": 0 if options.quiet else 1, "random_state": options.seed,
        }  # fmt: skip
        return _estimator(name, self.label, self.margins, options.epochs, settings)


def fit(options: FitOptions) -> None:
    """Train, measure and save."""
    options.check()
    recipe = None if options.recipe is None else read_recipe(options.recipe, quick=options.quick)
    images = image_options({} if recipe is None else recipe.settings.get("images", {}), options)
    volumes = volume_options({} if recipe is None else recipe.settings.get("volumes", {}), options)
    samples = read(options, images, volumes)
    plan = make_plan(options, recipe, images, samples, volumes)
    costs = None if plan.costs is None else plan.costs.tolist()
    run = {"data": samples.digest, "options": options.determining, "costs": costs}
    with Workspace(options.path, run) as workspace:
        if workspace.resumes:
            print("continuing the run that was stopped")
        rows, validation_rows, test_rows = divide_rows(plan.label, samples, options)
        _describe(samples, plan.label, rows, validation_rows, test_rows)
        chosen = _choose(plan, options, samples, rows, validation_rows, workspace.checkpoints)
        print(f"training {chosen}")
        X, y = samples.X, plan.label.values
        watched = (_take(X, validation_rows), y[validation_rows]) if len(validation_rows) else None
        model = plan.build(chosen, options, workspace.checkpoints / f"{chosen}-final")
        model.fit(_take(X, rows), y[rows], validation=watched)
        model.checkpoint_dir = None
        model.verbose = 0
        for note in model.reader_.notes:
            print(f"note: {note}")

        result = workspace.partial / "model"
        result.mkdir(exist_ok=True)
        unseen, seen = (_take(X, test_rows), y[test_rows]), (_take(X, rows), y[rows])
        metrics = _judge(model, *unseen, plan, result)
        write_estimator(model, result)
        record = {"method": chosen, "test_samples": len(test_rows), "training_samples": len(rows), **metrics}
        (result / "metrics.json").write_text(json.dumps(record, indent=2) + "\n")
        split = {"data": samples.digest, "target": options.target, "train": rows.tolist(), "test": test_rows.tolist()}
        (result / SPLIT).write_text(json.dumps(split) + "\n")
        pictures = draw(model, *unseen, result, seen)
        if len(test_rows) >= LEAST_REPORTED:
            names = [f"row {row}" for row in test_rows] if samples.paths is None else samples.paths[test_rows].tolist()
            write_report(
                model, *unseen, result / REPORT, training=seen, target=options.target or "the label", names=names,
                projections=("pca", "tsne"), costs=costs_of_rules(metrics.get("decisions")), command=options.command,
                facts={"Data": options.data, "Data, sha256": samples.digest},
            )  # fmt: skip
        workspace.publish(result)
    names = [str(name) for name in plan.label.classes or []]
    print(f"\n{chosen} on {len(test_rows)} held-out samples")
    print("\n".join(metric_lines(metrics, names)))
    print(f"\nmodel, metrics, report and {len(pictures)} pictures: {options.path}")


def _judge(model: EmbeddingEstimator, X: Any, y: Any, plan: Plan, folder: Path) -> Metrics:
    """Return the metrics on samples held out, and keep in the folder what was said of them."""
    metrics = evaluate(model, X, y)
    held_out = HeldOut.measure(model, X, y)
    held_out.write(folder)
    if plan.costs is not None and plan.label.classes is not None:
        metrics["decisions"] = compare_decisions(held_out.labels, held_out.predicted, plan.costs)
        write_costs(folder / COSTS, plan.costs, plan.label.classes)
    return metrics


def read(options: FitOptions, images: ImageOptions, volumes: VolumeOptions | None = None) -> Samples:
    """Return the samples, images and volumes decoded."""
    volumes = volumes or volume_options({}, options)
    if options.text and (holds_volumes(options.data) or is_images(options.data)):
        raise OrdinateError(f"--text: {options.data} holds images, takes a table with {', '.join(options.text)}")
    if holds_volumes(options.data):
        if options.image_size or options.augmentation or options.pretrained or options.fold:
            raise OrdinateError(f"{options.data}: holds volumes, takes none of the options of images")
        return _enough(options, read_scans(
            options.data, options.target, options.split, options.group, volumes,
            skip_unreadable=options.skip_unreadable, progress=not options.quiet, say=print,
        ))  # fmt: skip
    if is_series(options.data):
        if options.image_size or options.augmentation or options.pretrained or options.fold:
            raise OrdinateError(f"{options.data}: holds series, takes none of the options of images")
        return _enough(options, read_signals(
            options.data, options.target, options.split, options.group,
            skip_unreadable=options.skip_unreadable, progress=not options.quiet, say=print,
        ))  # fmt: skip
    if is_images(options.data):
        samples = read_pictures(
            options.data, options.target, options.split, options.group, images, fold=options.fold,
            skip_unreadable=options.skip_unreadable, progress=not options.quiet, say=print,
        )  # fmt: skip
    else:
        drop, categorical = _names(options.drop), _names(options.categorical)
        samples = read_table(options.data, options.target, drop, categorical, options.split, options.group)
        if options.text:
            samples = text_columns(samples, options.text, options.data)
        dimensions = getattr(samples.X, "ndim", 2)
        of_images = options.recipe is not None and dimensions == 2
        if dimensions == 4:
            samples = array_as_pictures(samples, images)
        elif of_images or options.image_size or options.augmentation or options.pretrained:
            raise OrdinateError(f"{options.data}: holds no images, takes none of the options of images")
        elif dimensions == 5:
            samples = array_as_volumes(samples, volumes, print)
    return _enough(options, samples)


def _enough(options: FitOptions, samples: Samples) -> Samples:
    if len(samples.y) < LEAST_ROWS:
        raise OrdinateError(
            f"{options.data}: holds {len(samples.y)} rows, takes at least {LEAST_ROWS} to train and to measure on"
        )
    return samples


def make_plan(
    options: FitOptions,
    recipe: Recipe | None,
    images: ImageOptions,
    samples: Samples,
    volumes: VolumeOptions | None = None,
) -> Plan:
    """Return what is to be trained on the samples."""
    settings = {} if recipe is None else dict(recipe.settings)
    if isinstance(samples.X, Decoded):
        settings["images"] = images
    holds_scans = isinstance(samples.X, DecodedVolumes)
    if recipe is not None:
        kind = next((name for name in ("volumes", "series") if name in settings), "images")
        if kind != ("volumes" if holds_scans else "series" if _are_series(samples) else "images"):
            raise OrdinateError(f"--recipe: {recipe.name} is for {kind}, {options.data} holds others")
    if holds_scans:
        settings["volumes"] = volumes or volume_options({}, options)
    elif options.volume_size or options.spacing:
        raise OrdinateError(f"{options.data}: holds no volumes, takes neither --volume-size nor --spacing")
    if options.text:
        settings["text"] = TextOptions(word_vectors=options.word_vectors)
    if options.crop is not None and not _are_series(samples):
        raise OrdinateError(f"--crop: is for series, and {options.data} holds none")
    if _are_series(samples):
        crop = {} if options.crop is None else {"crop": options.crop}
        settings["series"] = SeriesOptions(**{**settings.get("series", {}), **crop})
    if options.encoder is not None:
        settings["encoder"] = options.encoder
    method = options.method if recipe is None else _method_of(recipe, options.method)
    label = understand_label(samples.y, options.task, options.order, samples.name)
    candidates = _candidates(method, label, with_heads=options.time_limit is not None)
    margins = parse_boundaries("--margin", options.margin, label.classes)
    if margins and "cloc" not in candidates:
        raise OrdinateError("--margin: is for CLOC, takes --method cloc")
    costs = parse_costs(options.costs, options.critical, label.classes)
    if costs is not None and "cloc" in candidates:
        margins = {**margins_from_costs(costs), **margins}
    candidates = ("cloc",) if margins else candidates  # only CLOC has margins to keep to
    return Plan(label, candidates, margins, costs, settings)


def _are_series(samples: Samples) -> bool:
    return isinstance(samples.X, np.ndarray) and samples.X.ndim == 3


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


def _method_of(recipe: Recipe, method: str) -> str:
    if method not in ("auto", recipe.method):
        raise OrdinateError(f"--method: got {method}, but the recipe {recipe.name} is one of {recipe.method}")
    return recipe.method


def _candidates(method: str, label: Label, *, with_heads: bool) -> tuple[str, ...]:
    own, heads = (RANK_METHODS, RANK_HEADS) if label.is_ranks else (CONTINUOUS_METHODS, CONTINUOUS_HEADS)
    if method == "auto":
        return own + heads if with_heads else own
    fitting = methods_for(label.is_ranks)
    if method not in fitting:
        kind, other = ("ranks", "continuous") if label.is_ranks else ("a continuous target", "ranks")
        raise OrdinateError(
            f"--method: {method} does not take {kind}; takes one of {', '.join(fitting)}, or --task {other}"
        )
    return (method,)


def methods_for(ranks: bool) -> list[str]:
    """Return the names of the methods, and of the rivals that embed, for ranks or for continuous targets."""
    own, task = (RANK_METHODS, "ranks") if ranks else (CONTINUOUS_METHODS, "continuous")
    rivals = [name for name, model in MODELS.items() if task in model.estimators and model.embeds]
    return list(dict.fromkeys([*own, *rivals]))


def divide_rows(label: Label, samples: Samples, options: FitOptions) -> tuple[Rows, Rows, Rows]:
    """Rows to train, to validate (none unless the data set says which) and to measure on."""
    if samples.splits is not None:
        splits = samples.splits.to_numpy()
        unknown = sorted(set(splits) - set(SIDES))
        if unknown or "test" not in splits or "train" not in splits:
            shown = ", ".join(map(repr, sorted(set(splits))[:6]))
            raise OrdinateError(f"split: got {shown}, takes train and test, with or without validation")
        rows, validation_rows, test_rows = (np.flatnonzero(splits == side) for side in SIDES)
    else:
        rows, test_rows = _divide(
            label, samples.groups, np.arange(len(label.values)), options.test_fraction, options.seed
        )
        validation_rows = test_rows[:0]
    if len(test_rows) < 2 or len(rows) < 4:
        raise OrdinateError(f"--test-fraction: leaves {len(rows)} rows to train and {len(test_rows)} to measure on")
    if label.classes is not None:
        sizes = pd.Series(label.values[rows]).value_counts()
        if (sizes >= 2).sum() < 2:
            raise OrdinateError("label: takes at least two ranks with two samples or more")
    return rows, validation_rows, test_rows


def _divide(label: Label, groups: pd.Series | None, rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
    """Divide rows in two, the second with a share of them; no group in both."""
    labels = label.values[rows]
    if groups is None:
        rest, held_out = split_rows(labels, share, seed, stratify=label.is_ranks)
    else:
        rest, held_out = split_groups(labels, groups.iloc[rows], share, seed, stratify=label.is_ranks)
    return rows[rest], rows[held_out]


def _choose(
    plan: Plan, options: FitOptions, samples: Samples, rows: Rows, validation_rows: Rows, checkpoints: Path
) -> str:
    """Train each candidate on a part of the training rows and return the one with the lowest MAE on the rest.

    With a time limit, the methods come first and the plain heads after them, as far as the time reaches.
    """
    if len(plan.candidates) == 1:
        return plan.candidates[0]
    part, validation = rows, validation_rows
    if len(validation_rows) == 0:
        part, validation = _divide(plan.label, samples.groups, rows, VALIDATION_FRACTION, options.seed)
    X, y = samples.X, plan.label.values

    def trial(name: str) -> float:
        print(f"trying {name}")
        model = plan.build(name, options, checkpoints / f"{name}-trial").fit(_take(X, part), y[part])
        return float(evaluate(model, _take(X, validation), y[validation])["mae"])

    if options.time_limit is None:
        errors = {name: trial(name) for name in plan.candidates}
        _say_errors(errors)
        return min(errors, key=errors.__getitem__)
    choice = choose_within(
        plan.candidates, trial, 60 * options.time_limit, growth=len(rows) / len(part), record=checkpoints / CHOICE
    )
    _say_errors(choice.errors)
    if choice.untried:
        print(f"no time within {options.time_limit:g} minutes for {', '.join(choice.untried)}")
    if not choice.errors:
        print(f"none could be tried to its end: takes {choice.chosen}, the first")
    return str(choice.chosen)


def _say_errors(errors: dict[str, float]) -> None:
    if errors:
        print("validation MAE: " + ", ".join(f"{name} {error:.4f}" for name, error in errors.items()))


def _estimator(
    name: str,
    label: Label,
    margins: dict[tuple[int, int], float],
    epochs: int | None,
    settings: dict[str, Any],
) -> EmbeddingEstimator:
    settings = dict(settings)
    if name not in (*RANK_METHODS, *CONTINUOUS_METHODS):
        return _rival(name, label, epochs, settings)
    if name == "cloc":
        if epochs is not None:
            settings["phase_epochs"] = (max(1, epochs // 3), max(1, epochs - epochs // 3))
        return CLOCClassifier(critical_margins=margins or None, class_order=label.classes, **settings)
    if name == "otd":
        if epochs is not None:
            settings["epochs"] = epochs
        return OTDClassifier(class_order=label.classes, **settings)
    if epochs is not None:
        settings["epochs"] = (epochs, max(1, epochs // 4))
    return {"supcr": SupCRRegressor, "supremix": SupReMixRegressor}[name](**settings)


def _rival(name: str, label: Label, epochs: int | None, settings: dict[str, Any]) -> EmbeddingEstimator:
    """Return what the methods are compared with, under its own defaults."""
    reason = unavailable(name)
    if reason is not None:
        raise OrdinateError(f'--method: {reason}: pip install "ordinate[rivals]"')
    estimator: EmbeddingEstimator = build(name, "ranks" if label.is_ranks else "continuous")
    two_stages = isinstance(estimator.get_params()["epochs"], tuple)
    if label.is_ranks:
        settings = {**settings, "class_order": label.classes}
    if epochs is not None:
        settings = {**settings, "epochs": (epochs, max(1, epochs // 4)) if two_stages else epochs}
    return estimator.set_params(**settings)


def _describe(samples: Samples, label: Label, rows: Rows, validation_rows: Rows, test_rows: Rows) -> None:
    X = samples.X
    if isinstance(X, Decoded):
        height, width = X.preprocessing.size
        shape = f"{height} x {width} pixels, {'grey' if X.preprocessing.channels == 1 else 'in colour'}"
    elif isinstance(X, DecodedVolumes):
        shape = f"{' x '.join(map(str, X.preprocessing.size))} voxels"
    else:
        shape = f"{X.shape[1]} columns" if isinstance(X, pd.DataFrame) else f"shape {X.shape[1:]}"
    if label.classes is None:
        kind = f"a continuous target from {np.min(label.values):g} to {np.max(label.values):g}"
    else:
        kind = f"{len(label.classes)} ranks, {' < '.join(map(str, label.classes))}"
    training = len(rows) + len(validation_rows)
    print(f"{len(label.values)} samples of {shape}, {kind}; {training} to train, {len(test_rows)} held out")
    if isinstance(X, Decoded):
        sides = np.full(len(label.values), "training", dtype=object)
        sides[test_rows] = "test"
        for note in duplicates_across(samples, sides):
            print(f"note: {note}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
