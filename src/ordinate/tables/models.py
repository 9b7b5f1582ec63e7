"""The models of the tables by name, and how each is built for a task, a budget and a table's settings."""

import difflib
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ordinate.data.image_options import ImageOptions
from ordinate.data.image_sets.catalogue import DATA
from ordinate.data.series_options import SeriesOptions
from ordinate.data.text_options import TextOptions
from ordinate.data.volume_options import VolumeOptions
from ordinate.errors import OrdinateError
from ordinate.methods.imbalance import Imbalance
from ordinate.tables.budgets import Budget
from ordinate.tables.datasets import Task

RIVALS = "ordinate.estimators.rivals"


@dataclass(frozen=True)
class Model:
    """What a name of a model stands for.

    Args:
        estimators: by the task that it is for, where the estimator is, as ``"module:Class"``.
        settings: of the estimator.
        packages: that it needs beyond those of ``pip install ordinate``, by the names that they are imported by.
    """

    estimators: Mapping[Task, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    packages: tuple[str, ...] = ()

    @property
    def embeds(self) -> bool:
        """Whether it is one of the estimators that learn an embedding."""
        return CODES not in self.estimators.values()


def _ranks(estimator: str, *packages: str, **settings: Any) -> Model:
    return Model({"ranks": estimator}, settings, packages)


def _continuous(estimator: str, *packages: str, **settings: Any) -> Model:
    return Model({"continuous": estimator}, settings, packages)


def _representation(loss: str, *packages: str, **settings: Any) -> Model:
    module = f"{RIVALS}.representation"
    estimators: dict[Task, str] = {"ranks": f"{module}:RepresentationClassifier"}
    if loss in ("supcon", "simclr", "dino"):
        estimators["continuous"] = f"{module}:RepresentationRegressor"
    return Model(estimators, {"loss": loss, **settings}, packages)


HEAD_LOSSES = ("l1", "mse", "huber", "dex", "dldl_v2", "or", "corn")
SUPCR, SUPREMIX = "ordinate:SupCRRegressor", "ordinate:SupReMixRegressor"
END_TO_END, ORDINAL = f"{RIVALS}.end_to_end:EndToEndRegressor", f"{RIVALS}.ordinal:OrdinalClassifier"
CODES = f"{RIVALS}.codes:NeighbourClassifier"
METRIC_LEARNING = "pytorch_metric_learning"

MODELS: Mapping[str, Model] = {
    "cloc": _ranks("ordinate:CLOCClassifier"),
    "otd": _ranks("ordinate:OTDClassifier"),
    "supcr": _continuous(SUPCR, head="linear", head_loss="l1"),
    "supremix": _continuous(SUPREMIX, head="linear", head_loss="l1"),
    **{name: _continuous(END_TO_END, head_loss=name) for name in HEAD_LOSSES},
    **{f"supcr_{name}": _continuous(SUPCR, head="linear", head_loss=name) for name in HEAD_LOSSES},
    **{f"supremix_{name}": _continuous(SUPREMIX, head="linear", head_loss=name) for name in HEAD_LOSSES},
    "supcon": _representation("supcon", METRIC_LEARNING),
    "simclr": _representation("simclr", METRIC_LEARNING),
    "dino": _representation("dino"),
    "simcse": _continuous(f"{RIVALS}.representation:RepresentationRegressor", METRIC_LEARNING, loss="simcse"),
    "rnc": _representation("supcr"),
    "siamese": _representation("siamese", METRIC_LEARNING, head="neighbours"),
    **{name: _representation(name, head="neighbours") for name in ("triplet", "quadruplet", "n_pair")},
    "cross_entropy": _ranks(ORDINAL, loss="cross_entropy"),
    "orcnn": _ranks(ORDINAL, loss="or"),
    "corn_ranks": _ranks(ORDINAL, loss="corn"),
    "coral": _ranks(ORDINAL, loss="coral"),
    "poe": _ranks(f"{RIVALS}.poe:POEClassifier"),
    "gol": _ranks(f"{RIVALS}.gol:GOLClassifier"),
    "mwr": _ranks(f"{RIVALS}.mwr:MWRClassifier"),
    **{f"knn_{code}": _ranks(CODES, code=code, metric="euclidean") for code in ("raw", "one_hot", "thermometer")},
    **{f"lmnn_{code}": _ranks(CODES, code=code, metric="lmnn") for code in ("raw", "one_hot", "thermometer")},
}


def model(name: str) -> Model:
    """Return what a name stands for.

    Raises:
        OrdinateError: there is no such model; names the nearest.
    """
    if name not in MODELS:
        near = difflib.get_close_matches(name, MODELS)
        hint = f"did you mean {near[0]!r}?" if near else f"takes one of {', '.join(MODELS)}"
        raise OrdinateError(f"model: got {name!r}; {hint}")
    return MODELS[name]


def task_of(name: str, task: Task) -> Task | None:
    """Return the task that a model sees in a data set's: ranks may serve as numbers. None where it cannot take it.

    Example:
        >>> task_of("cloc", "ranks"), task_of("supcr_l1", "ranks"), task_of("cloc", "continuous")
        ('ranks', 'continuous', None)
    """
    estimators = model(name).estimators
    if task in estimators:
        return task
    return "continuous" if task == "ranks" and "continuous" in estimators else None


def unavailable(name: str) -> str | None:
    """Return why a model cannot be trained here, or None where it can."""
    lacking = [package for package in model(name).packages if find_spec(package) is None]
    if lacking:
        return f"{name}: needs {', '.join(package.replace('_', '-') for package in lacking)}, which is not installed"
    return None


def build(
    name: str,
    task: Task,
    *,
    budget: Budget | None = None,
    checkpoint_dir: Path | None = None,
    seed: int = 0,
    num_classes: int | None = None,
    **settings: Any,
) -> Any:
    """Return the unfitted estimator of a model.

    Args:
        name: of the model.
        task: that it is for.
        budget: what it may spend; None takes the estimator's own.
        checkpoint_dir: that a fit which was killed continues from.
        seed: of training.
        num_classes: C, so that a rank without a training sample is known all the same.
        settings: of the estimator, before the budget's and the model's own; or names of
            :data:`~ordinate.tables.variants.VARIANTS`. ``critical_margins`` is by ``"1|2"``, the boundary.

    Raises:
        OrdinateError: no such model, one that is not for this task, or a setting that it lacks.

    Example:
        >>> build("otd", "ranks", seed=3, embedding_dim=16).embedding_dim
        16
    """
    from ordinate.tables.variants import VARIANTS, varied  # with all that trains, which takes seconds

    estimators = model(name).estimators
    if task not in estimators:
        raise OrdinateError(f"model: got {name!r}, which is for {' or '.join(estimators)}, for labels that are {task}")
    module, _, attribute = estimators[task].partition(":")
    kind = getattr(import_module(module), attribute)
    takes = inspect.signature(kind).parameters
    variants = {key: settings.pop(key) for key in VARIANTS if key in settings and key not in takes}
    spent = {} if budget is None else _spend(budget, takes)
    network = settings.pop("network", None if budget is None else budget.network)
    chosen = {**spent, **model(name).settings, **settings}
    own = {"checkpoint_dir": checkpoint_dir, "random_state": seed}
    chosen |= {option: value for option, value in own.items() if option in takes}
    if num_classes is not None and "class_order" in takes:
        chosen["class_order"] = list(range(num_classes))
    unknown = sorted(set(chosen) - set(takes))
    if unknown:
        raise OrdinateError(f"settings: got {', '.join(map(repr, unknown))} for {name}, which takes {', '.join(takes)}")
    for option, made in OPTIONS.items():
        if isinstance(chosen.get(option), Mapping):
            chosen[option] = made(**chosen[option])
    if chosen.get("critical_margins"):
        chosen["critical_margins"] = {
            tuple(map(int, boundary.split("|"))): margin for boundary, margin in chosen["critical_margins"].items()
        }
    if variants or (network is not None and "encoder" in takes):
        kind = varied(kind, variants, network)
    return kind(**chosen)


def _spend(budget: Budget, takes: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Return a budget in the words of an estimator, without what it has no word for."""
    two_stages = "epochs" in takes and isinstance(takes["epochs"].default, tuple)
    spent = {
        "encoder": budget.encoder,
        "embedding_dim": budget.embedding_dim,
        "epochs": (budget.epochs, budget.head_epochs) if two_stages else budget.epochs,
        "phase_epochs": (budget.phase_one, budget.epochs - budget.phase_one),
        "head_epochs": budget.head_epochs,
        "batch_size": budget.batch_size,
        "learning_rate": budget.learning_rate,
        "patience": budget.patience,
        "validation_fraction": 0.0,
        "images": budget.images,
        "text": budget.text,
        "series": budget.series,
        "volumes": budget.volumes,
    }
    if budget.weight_decay is not None:
        spent["weight_decay"] = budget.weight_decay
    if budget.label_distance is not None:
        spent["label_distance"] = budget.label_distance
    return {name: value for name, value in spent.items() if name in takes}


def _text_options(word_vectors: str | None = None, **others: Any) -> TextOptions:
    """Options whose word vectors lie below ``ORDINATE_DATA``: the key of a run is the same wherever that is."""
    return TextOptions(word_vectors and Path(os.environ.get(DATA, "")) / word_vectors, **others)


OPTIONS: Mapping[str, Callable[..., Any]] = {
    "images": ImageOptions,
    "text": _text_options,
    "series": SeriesOptions,
    "volumes": VolumeOptions,
    "imbalance": Imbalance,
}
