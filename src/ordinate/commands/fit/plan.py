"""The second stage of ``ordinate fit``: what is to be trained on samples that were read."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ordinate.commands.fit.image_plan import BLEND, ImagePlan, Wanted, has_weights, plan_images
from ordinate.commands.fit.read import data_options
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.label_methods import METHODS, require_fitting
from ordinate.commands.labels import (
    Label,
    parse_boundaries,
    parse_costs,
    parse_decision,
    understand_labels,
)
from ordinate.commands.options import ParsedOptions
from ordinate.commands.samples import LabelledData
from ordinate.commands.settings import TypedSettings, parameters
from ordinate.commands.workspace import LOGS, partial_folder
from ordinate.data.images.pixels import own_size
from ordinate.data.registry import modalities
from ordinate.errors import OrdinateError, argument
from ordinate.estimators.blend import BlendClassifier, BlendRegressor
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
class FitPlan:
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
            hint = None
            if all(name in parameters(blend) for blend in (BlendClassifier, BlendRegressor)):
                hint = (
                    f"{argument('method', 'blend')} has it; other settings, such as epochs or an encoder, leave it out"
                )
            expected = f"another {argument('method')}"
            raise OrdinateError(settings.source(name), None, expected, hint, problem=f"{method} has no such setting")
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


def wanted_of_images(options: FitOptions, label: Label) -> Wanted:
    """Return the choices that the options make of a training on images.

    The blend is trained where a network comes with weights and nothing is said about how it trains.
    """
    images = next(kind for kind in modalities() if kind.plans_training)
    names, image_options = options.settings.names("data"), data_options(options, images)
    is_open = options.method == "auto" and not options.margin and options.epochs is None and label.values.ndim == 1
    pretrained = bool(image_options.pretrained) if "pretrained" in names else None
    brings_weights = has_weights() if pretrained is None else pretrained
    one_view = image_options.augmentation in ("auto", "none") and image_options.views in (None, 1)
    given = {name: int(text) for name, text in options.settings.texts.items() if text.isdecimal()}
    part = options.training.train_encoder
    is_known = options.method == "auto" or options.method in METHODS[label.task]
    return Wanted(
        blend=options.method == BLEND or (is_open and brings_weights and _may_blend(options)),
        encoder=options.encoder,
        options=image_options,
        pretrained=pretrained,
        may_mirror=(image_options.mirror is None and image_options.augmentation == "auto" and part != "none"),
        fixed_size="size" in names,
        epochs=options.epochs,
        fine_tuned=0 if image_options.frozen or part == "none" else given.get("fine_tuned"),
        side=given.get("fine_tuned_side"),
        may_freeze=is_known and one_view and part is None and options.encoder is None and options.epochs is None,
        passes=1.0 if label.is_ranks else 2.2,  # Targets pass in two views, and a head after the encoder.
    )


def planned_images(options: FitOptions, opened: LabelledData, seconds: float | None = None) -> ImagePlan | None:
    """Return the plan of a training, of so many seconds, on images that are still to be decoded.

    None for other data, or if a recipe plans the training.
    """
    if options.recipe is not None or not opened.modality.plans_training:
        return None
    images, label = opened.preprocessing, understand_labels(opened.y, options.task, options.order, opened.name)
    samples = math.ceil(len(opened.y) * (1 - (options.test_fraction or 0.2)))
    if opened.splits is not None:
        samples = max(1, int((opened.splits == "train").sum()))
    on_gpu = options.training.accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available()
    cores, gpu = broadcast_from_rank_zero(lambda: (os.cpu_count() or 1, on_gpu))  # Other machines may have more.
    return plan_images(
        images.size, samples, wanted_of_images(options, label), own=own_size(opened.X, images), seconds=seconds,
        cores=cores, gpu=gpu,
    )  # fmt: skip


def filled_in(options: FitOptions, plan: ImagePlan | None) -> FitOptions:
    """Return the options with the choices of a plan for everything that was left open."""
    if plan is None:
        return options
    names, of_data = options.settings.names(), options.settings.names("data")
    settings: dict[str, object] = {}
    chosen: ParsedOptions = {"encoder": plan.network}
    if plan.blend:
        chosen["method"] = BLEND
        settings = {"fine_tuned": plan.fine_tuned}
        if plan.fine_tuned:
            settings["fine_tuned_side"] = plan.side
    elif "epochs" not in names:
        chosen["epochs"] = plan.epochs
    for name, is_on in (("frozen", plan.frozen), ("mirror", plan.mirror)):
        if is_on and name not in of_data:
            settings[f"data.{name}"] = "true"
    if "size" not in of_data:
        chosen["image_size"] = f"{plan.size[0]}x{plan.size[1]}"
    if "pretrained" not in of_data:
        chosen["pretrained"] = plan.pretrained
    chosen["set"] = [*options.set, *(f"{name}={value}" for name, value in settings.items() if name not in names)]
    return replace(options, **chosen)


def make_plan(options: FitOptions, samples: LabelledData, images: ImagePlan | None = None) -> FitPlan:
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
            candidates = candidates[:1]  # A further one would take as long again.
    else:
        require_fitting(options.trained_method, label.task)
    if margins and "cloc" not in candidates:
        raise OrdinateError("--margin", problem="is for CLOC", expected=argument("method", "cloc"))
    if margins:
        candidates = ("cloc",)  # Only CLOC has margins.
    plan = FitPlan(options, label, candidates, data, costs, decision, margins, images)
    for name in candidates:
        estimator = plan.estimator(name)
        estimator.checked_method()
        if options.weight is not None and estimator.unweighted is not None:
            problem = f"is not for {name}: {estimator.unweighted}"
            raise OrdinateError("--weight", problem=problem, expected=f"another {argument('method')}")
    return plan


def _may_blend(options: FitOptions) -> bool:
    """Return whether the blend is tried: it trains in one process, and most settings are for the methods."""
    of_blend = {"class_weight", "data.pretrained", "data.size", "fine_tuned", "fine_tuned_side"}
    elsewhere = {*(f"training.{name}" for name in RUNTIME), *of_blend}
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
