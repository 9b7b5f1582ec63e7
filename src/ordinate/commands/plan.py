"""What is to be trained on a data set: the methods that fit its label, and the settings of their estimators."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.commands.costs import parse_costs, parse_decision
from ordinate.commands.fit_options import FitOptions, volume_options
from ordinate.commands.labels import Label, parse_boundaries, understand_label
from ordinate.commands.options import flag
from ordinate.commands.samples import Samples
from ordinate.data.images.options import ImageOptions
from ordinate.data.series.options import SeriesOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.volumes.options import VolumeOptions
from ordinate.decisions import margins_from_costs
from ordinate.errors import OrdinateError
from ordinate.estimators.cloc import two_phases
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.recipes import Recipe
from ordinate.estimators.registry import build, models, unavailable
from ordinate.torchrun import joined_processes
from ordinate.training.ray_cluster import RayCluster

METHODS: dict[Task, tuple[str, ...]] = {"ranks": ("cloc", "otd"), "continuous": ("supcr", "supremix")}
BLEND = "blend"  # tried before them on tables
HEADS: dict[Task, tuple[str, ...]] = {  # tried after these, within a time limit
    "ranks": ("cross_entropy", "orcnn", "corn_ranks"),
    "continuous": ("l1", "mse", "huber"),
}


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
            **self.settings, "accelerator": options.accelerator, "devices": options.devices,
            "num_nodes": options.num_nodes, "strategy": options.strategy,
            "cluster": _cluster(options),
            "checkpoint_dir": str(folder), "verbose": 0 if options.quiet else 1, "random_state": options.seed,
            "logger": _logger(options, folder.name),
        }  # fmt: skip
        return _estimator(name, self.label, self.margins, options.epochs, settings)


def _cluster(options: FitOptions) -> RayCluster | None:
    return None if options.ray is None or options.workers is None else RayCluster(options.ray, options.workers)


def _logger(options: FitOptions, name: str) -> Any:
    """Return what logs a training, beside the model's folder."""
    if options.logger is None:
        return None
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

    return {"csv": CSVLogger, "tensorboard": TensorBoardLogger}[options.logger](options.logs.resolve(), name)


def make_plan(
    options: FitOptions,
    recipe: Recipe | None,
    images: ImageOptions,
    samples: Samples,
    volumes: VolumeOptions | None = None,
) -> Plan:
    """Return what is to be trained on the samples."""
    settings = {} if recipe is None else dict(recipe.settings)
    modality = samples.modality
    if recipe is not None and recipe.kind != modality.name:
        needed = f"{recipe.name} is for {recipe.kind}"
        raise OrdinateError("--recipe", problem=f"{needed}, and {options.data} holds {modality.noun}")
    given = {"images": images, "volumes": volumes or volume_options({}, options)}
    if modality.parameter in given:
        settings[modality.parameter] = given[modality.parameter]
    if options.text:
        settings["text"] = TextOptions(**{**settings.get("text", {}), "word_vectors": options.word_vectors})
    if modality.name == "series":
        crop = {} if options.crop is None else {"crop": options.crop}
        settings["series"] = SeriesOptions(**{**settings.get("series", {}), **crop})
    settings |= options.encoder_settings
    method = options.method if recipe is None else _method_of(recipe, options.method)
    label = understand_label(samples.y, options.task, options.order, samples.name)
    candidates = _candidates(method, label, options, with_blend=modality.name == "tables")
    if options.weight is not None:
        for name in candidates:
            reason = build(name, label.task).unweighted
            if reason is not None:
                raise OrdinateError("--weight", problem=f"is not for {name}: {reason}", expected="another --method")
    margins = parse_boundaries("--margin", options.margin, label.classes)
    if margins and "cloc" not in candidates:
        raise OrdinateError("--margin", problem="is for CLOC", expected="--method cloc")
    costs = parse_costs(options.costs, options.critical, label.classes)
    decision = parse_decision(options.decision, costs, label.classes)
    if decision is not None:
        settings["decision"] = decision
    if costs is not None and "cloc" in candidates:
        margins = {**margins_from_costs(costs), **margins}
    candidates = ("cloc",) if margins else candidates  # only CLOC has margins to keep to
    return Plan(label, candidates, margins, costs, settings | _given_settings(options, candidates, label))


def _given_settings(options: FitOptions, methods: Sequence[str], label: Label) -> dict[str, Any]:
    """Return the options that are settings of estimators; one that a method does not have is an error."""
    given = options.estimator_settings
    for method in methods if given else ():
        settings = build(method, label.task).get_params()
        for name in given:
            if name not in settings:
                raise OrdinateError(
                    flag(name), problem=f"{method} has no such setting", expected="a --method that has, such as supcr"
                )
    return given


def _method_of(recipe: Recipe, method: str) -> str:
    if method not in ("auto", recipe.method):
        raise OrdinateError("--method", f"{method}, but the recipe {recipe.name} is one of {recipe.method}")
    return recipe.method


def _candidates(method: str, label: Label, options: FitOptions, *, with_blend: bool) -> tuple[str, ...]:
    if method != "auto":
        require_fitting(method, label)
        return (method,)
    # settings of losses and networks are for the methods, and the blend trains in one process
    for_methods = options.estimator_settings or options.encoder_settings
    several = joined_processes() > 1 or options.devices not in (None, 1) or options.ray is not None
    first = (BLEND,) if with_blend and not for_methods and not several else ()
    return (*first, *METHODS[label.task], *(HEADS[label.task] if options.time_limit is not None else ()))


def require_fitting(method: str, label: Label) -> None:
    """Raise where a method is not for this kind of label, or learns no embedding."""
    kind, other = ("ranks", "continuous") if label.is_ranks else ("a continuous target", "ranks")
    embedding = [name for name, model in models().items() if label.task in model.estimators and model.embeds]
    fitting = list(dict.fromkeys([*METHODS[label.task], *embedding]))
    if method not in fitting:
        raise OrdinateError(
            "--method",
            problem=f"{method} is not for {kind}",
            expected=f"one of {', '.join(fitting)}, or --task {other}",
        )


def _estimator(
    name: str,
    label: Label,
    margins: dict[tuple[int, int], float],
    epochs: int | None,
    settings: dict[str, Any],
) -> EmbeddingEstimator:
    reason = unavailable(name)
    if reason is not None:
        raise OrdinateError("--method", problem=f'{reason}: pip install "ordinate[baselines]"')
    estimator: EmbeddingEstimator = build(name, label.task)
    settings = dict(settings)
    if label.is_ranks:
        settings["class_order"] = label.classes
    if margins and name == "cloc":
        classes = label.classes or []
        settings["critical_margins"] = {
            (classes[low], classes[high]): margin for (low, high), margin in margins.items()
        }
    if epochs is not None:
        settings |= _epochs(estimator, epochs)
    return estimator.set_params(**settings)


def _epochs(estimator: EmbeddingEstimator, epochs: int) -> dict[str, Any]:
    """Return so many epochs in an estimator's settings, CLOC's in its two phases; a head has a quarter more."""
    settings = estimator.get_params()
    if "phase_epochs" in settings:
        return {"phase_epochs": two_phases(epochs)}
    return {"epochs": (epochs, max(1, epochs // 4)) if isinstance(settings["epochs"], tuple) else epochs}
