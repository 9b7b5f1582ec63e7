"""The second stage of ``ordinate fit``: what is to be trained on samples that were read."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ordinate.commands.fit.image_plan import (
    BATCH_SIZE,
    BLEND,
    ImagePlan,
    Wanted,
    plan_from_record,
    plan_images,
    read_plan,
)
from ordinate.commands.fit.read import data_options
from ordinate.commands.fit.time_limit import TimeLimit
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.label_methods import METHODS, require_fitting
from ordinate.commands.labels import (
    Label,
    parse_boundaries,
    parse_costs,
    parse_decision,
    understand_label,
    understand_labels,
)
from ordinate.commands.options import ParsedOptions
from ordinate.commands.samples import Samples
from ordinate.commands.settings import TypedSettings, parameters
from ordinate.commands.workspace import LOGS, partial_folder
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pixels import own_size, seconds_to_decode
from ordinate.data.registry import modalities
from ordinate.errors import OrdinateError, argument
from ordinate.estimators.cloc import CLOCClassifier, two_phases
from ordinate.estimators.defaults import defaults_of
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.registry import build, models, option_groups, unavailable
from ordinate.estimators.target_regressor import with_head
from ordinate.extensions import load_object
from ordinate.torchrun import broadcast_from_rank_zero, joined_processes
from ordinate.training.loggers import CSVLogger, Logger, MLflowLogger, TensorBoardLogger, WandbLogger
from ordinate.training.options import RUNTIME, Training


@dataclass(frozen=True)
class Plan:
    """The methods to choose from, and everything that their estimators are built from.

    Args:
        options: Options of the command, with the choices of the plan of images.
        label: Labels of all samples.
        candidates: Names of the methods, in the order in which they are tried.
        data: Options of the kind of data; None if it has none.
        costs: (C, C), costs of mistakes, true by predicted rank; None without any.
        decision: Rule that predicts a rank; None for that of the method.
        margins: CLOC's fixed margins by the ranks of their boundary.
        images: Plan of images; None for other data, or if a recipe plans the training.
    """

    options: FitOptions
    label: Label
    candidates: tuple[str, ...]
    data: Any = None
    costs: NDArray[np.float64] | None = None
    decision: str | list[list[float]] | None = None
    margins: Mapping[tuple[int, int], float] = field(default_factory=dict)
    images: ImagePlan | None = None

    def build(self, name: str, folder: Path) -> EmbeddingEstimator:
        """Return the unfitted estimator of a method, which keeps its state in the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        callbacks = None
        if self.options.logger is not None:
            callbacks = [self._logger(self.options.logger, folder.name)]
        return self.estimator(name).set_params(training__checkpoint_dir=str(folder), training__callbacks=callbacks)

    def _logger(self, kind: str, run: str) -> Logger:
        """Return the logger of a training run."""
        path = self.options.path
        model = path.resolve().name
        if kind == "wandb":
            return WandbLogger(f"{model}/{run}")
        if kind == "mlflow":
            return MLflowLogger(model, run)
        of_files = {"csv": CSVLogger, "tensorboard": TensorBoardLogger}
        return of_files[kind](partial_folder(path) / LOGS / run)

    def estimator(self, name: str) -> EmbeddingEstimator:
        """Return the unfitted estimator of a method.

        Raises:
            OrdinateError: The method cannot be trained here, or lacks a setting.
        """
        reason = unavailable(name)
        if reason is not None:
            raise OrdinateError("--method", problem=f'{reason}: pip install "ordinate[baselines]"')
        options, recipe = self.options, self.options.recipe_of_paper
        estimator: EmbeddingEstimator
        estimator = build(name, self.label.task) if recipe is None else recipe.build()
        params = settings_of(options.settings, estimator, name)
        params |= {"random_state": options.seed, "verbose": int(not options.quiet)}
        if self.data is not None:
            if "data" not in parameters(type(estimator)):
                raise OrdinateError("--method", problem=f"{name} is for tables")
            params["data"] = self.data
        epochs = options.epochs
        images = self.images
        if images is not None and name == BLEND:
            mirror = None if images.mirror else self.data.mirror  # The plan's is for networks that are fine-tuned.
            params["encoder"] = images.blend_network
            pretrained = self.data.pretrained or True
            params["data"] = replace(self.data, size=images.blend_size, pretrained=pretrained, mirror=mirror)
            if images.candidates > 0:
                epochs = None  # Those of the plan are for networks that are fine-tuned.
        if self.decision is not None:
            params["decision"] = self.decision
        if self.label.is_ranks:
            params["class_order"] = self.label.classes
        if self.margins and isinstance(estimator, CLOCClassifier):
            classes = self.label.classes or []
            margins = {(classes[low], classes[high]): margin for (low, high), margin in self.margins.items()}
            params["critical_margins"] = margins
        if epochs is not None:
            params["epochs"] = stage_epochs(estimator, epochs)
        return estimator.set_params(**params)


def settings_of(settings: TypedSettings, estimator: EmbeddingEstimator, method: str) -> dict[str, Any]:
    """Return the settings as parameters of an estimator."""
    known = parameters(type(estimator))
    groups = [group for group in option_groups() if group != "training" and settings.names(group)]
    for name in [*settings.names(), *groups]:
        if name not in known:
            raise OrdinateError(
                settings.source(name), problem=f"{method} has no such setting", expected=f"another {argument('method')}"
            )
    params = settings.values(type(estimator))
    params |= {f"training__{name}": value for name, value in settings.values(Training, "training").items()}
    for group in groups:
        declared, default = load_object(option_groups()[group]), getattr(estimator, group)
        if default is None:
            params[group] = settings.build(declared, group)
        elif isinstance(default, declared):
            params[group] = replace(default, **settings.values(declared, group))
        else:
            problem = f"{method} has no such {group}"
            raise OrdinateError(f"--set {group}", problem=problem, expected=f"another {argument('method')}")
    return params


def stage_epochs(estimator: EmbeddingEstimator, epochs: int) -> int | tuple[int, int]:
    """Return so many epochs as an estimator takes them: CLOC's in its two phases, and a quarter more for a head."""
    if isinstance(estimator, CLOCClassifier):
        return two_phases(epochs)
    if isinstance(getattr(estimator, "epochs", None), tuple):
        return with_head(epochs)
    return epochs


def epochs_of_cut(model: EmbeddingEstimator) -> int | None:
    """Return the epochs that a training had before its time was over, as --epochs has them; None if it was not cut."""
    if not any("passed" in epoch for epoch in model.history_):
        return None
    epochs = sum(epoch.get("passed", 1.0) for epoch in model.history_)
    has_head = isinstance(getattr(model, "epochs", None), tuple) and not isinstance(model, CLOCClassifier)
    if has_head:
        epochs /= 1.25
    return max(1, int(epochs))


def wanted_of_images(options: FitOptions) -> Wanted:
    """Return the choices that the options make of a training on images.

    The blend is a candidate where a network comes with weights and nothing is said about how it trains.
    """
    images = next(kind for kind in modalities() if kind.plans_training)
    settings = options.settings
    image_options = data_options(options, images)
    is_open = options.method == "auto" and not options.margin and options.epochs is None
    has_no_weights = "pretrained" in settings.names("data") and not image_options.pretrained
    blend: Literal["also", "only", "no"] = "no"
    if options.method == BLEND:
        blend = "only"
    elif is_open and not options.stream and not has_no_weights and _may_blend(options):
        blend = "also"
    batch_size = settings.texts.get("batch_size", "")
    mirror = None
    if "mirror" in settings.names("data"):
        mirror = image_options.mirror
    return Wanted(
        encoder=options.encoder,
        options=image_options,
        fixed_size="size" in settings.names("data"),
        mirror=mirror,
        train_encoder=options.training.train_encoder,
        epochs=options.epochs,
        folds=options.folds,
        needs_views=options.method in ("simclr", "dino"),
        batch_size=int(batch_size) if batch_size.isdecimal() else BATCH_SIZE,
        blend=blend,
    )


def planned_images(options: FitOptions, opened: Samples, time: TimeLimit) -> ImagePlan | None:
    """Return the plan of a training on images that are still to be decoded; that of the run that is continued if any.

    None for other data, or if a recipe plans the training.
    """
    if options.recipe is not None or not opened.modality.plans_training:
        return None
    kept = read_plan(partial_folder(options.path), options.determining)
    if kept is not None:
        return kept
    wanted, images = wanted_of_images(options), opened.preprocessing
    own, reading = None, 0.0  # Images of an array keep their size.
    if isinstance(opened.X, ImageFiles):
        own = own_size(opened.X, images)
        if not wanted.options.stream:
            reading = seconds_to_decode(opened.X, images, wanted.options.workers)
    time.warn_of_reading(len(opened.y), reading)
    samples, validated = math.ceil(len(opened.y) * (1 - (options.test_fraction or 0.2))), False
    if opened.splits is not None:
        samples, validated = max(1, int((opened.splits == "train").sum())), bool((opened.splits == "validation").any())
    is_alone = options.method != "auto" or bool(options.margin) or wanted.blend != "no"
    # Continuous targets pass two views, and a head after the encoder.
    cost = 1.0 if understand_label(opened.y, options.task, options.order, opened.name).is_ranks else 2.2
    on_gpu = options.training.accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()

    def planned() -> ImagePlan:
        return plan_images(
            images.size, images.channels, samples, wanted, validated=validated, seconds=time.for_plan,
            candidates=(1,) if is_alone else (2, 1), cost=cost, own=own, gpu=on_gpu,
        )  # fmt: skip

    return plan_from_record(broadcast_from_rank_zero(lambda: asdict(planned())))


def filled_in(options: FitOptions, plan: ImagePlan | None) -> FitOptions:
    """Return the options with the choices of a plan for everything that was left open."""
    if plan is None:
        return options
    names = options.settings.names("data")
    chosen: ParsedOptions = {"encoder": plan.network, "set": list(options.set)}
    for name, is_on in (("frozen", plan.frozen), ("mirror", plan.mirror)):
        if is_on and name not in names:
            chosen["set"].append(f"data.{name}=true")
    if "size" not in names:
        chosen["image_size"] = f"{plan.size[0]}x{plan.size[1]}"
    if "pretrained" not in names:
        chosen["pretrained"] = plan.pretrained
    if plan.candidates > 0 and "epochs" not in options.settings.names():  # The blend has its own epochs.
        chosen["epochs"] = plan.epochs
    return replace(options, **chosen)


def make_plan(options: FitOptions, samples: Samples, images: ImagePlan | None = None) -> Plan:
    """Return what is to be trained on the samples.

    Args:
        options: Options of the command.
        samples: Samples that were read.
        images: Plan of images, whose choices fill in the options; None for other data.

    Raises:
        OrdinateError: Options contradict the label or each other.
    """
    options, modality, recipe = filled_in(options, images), samples.modality, options.recipe_of_paper
    if recipe is not None and recipe.kind != modality.name:
        needed = f"{recipe.name} is for {recipe.kind}"
        raise OrdinateError("--recipe", problem=f"{needed}, and {options.data} holds {modality.noun}")
    data = data_options(options, modality)
    label = understand_labels(samples.y, options.task, options.order, samples.name)
    margins = parse_boundaries("--margin", options.margin, label.classes)
    costs = parse_costs(options.costs, label.classes)
    decision = parse_decision(options.decision, costs, label.classes)
    candidates: tuple[str, ...] = (options.trained_method,)
    if options.trained_method == "auto":
        first = defaults_of(modality).has_columns
        if first and not _may_blend(options):
            trains = f"{argument('method', BLEND)} trains the blend with them"
            print(f"note: these settings leave the methods without the blend; {trains}")
            first = False
        candidates = _candidates(label, blend=first)
        if images is not None:
            candidates = candidates[: images.candidates]
            if images.blend_size is not None:
                candidates = (BLEND, *candidates)
    else:
        require_fitting(options.trained_method, label.task)
    if margins and "cloc" not in candidates:
        raise OrdinateError("--margin", problem="is for CLOC", expected=argument("method", "cloc"))
    if margins:
        candidates = ("cloc",)  # Only CLOC has margins.
    plan = Plan(options, label, candidates, data, costs, decision, margins, images)
    for name in candidates:
        estimator = plan.estimator(name)
        estimator.checked_method()
        if options.weight is not None and estimator.unweighted is not None:
            problem = f"is not for {name}: {estimator.unweighted}"
            raise OrdinateError("--weight", problem=problem, expected=f"another {argument('method')}")
    return plan


def _may_blend(options: FitOptions) -> bool:
    """Return whether the blend is tried: it trains in one process, and most settings are for the methods."""
    elsewhere = {*(f"training.{name}" for name in RUNTIME), "class_weight", "data.pretrained"}
    return elsewhere.issuperset(options.settings.texts) and joined_processes() == 1


def _candidates(label: Label, *, blend: bool) -> tuple[str, ...]:
    """Return the methods to choose from, in the order in which they are tried."""
    candidates = METHODS[label.task]
    if blend:
        candidates = (BLEND, *candidates)
    if label.values.ndim == 1:
        return candidates
    return tuple(name for name in candidates if supports_several(name))


def supports_several(method: str) -> bool:
    """Return whether a method supports several continuous targets."""
    model = models()[method]
    return "continuous" in model.estimators and not model.estimator("continuous").one_dimension
