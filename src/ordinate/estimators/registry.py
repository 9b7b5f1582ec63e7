"""The models by name: the estimator, task and settings behind each, for commands, protocols, tables and loading."""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, get_args

from ordinate.errors import OrdinateError, did_you_mean
from ordinate.extensions import NamedModel, Task, extensions, load_object, of_ranks, of_targets
from ordinate.options import LinearLoss

CORE: Mapping[str, NamedModel] = {
    "cloc": of_ranks("ordinate.estimators.cloc:CLOCClassifier"),
    "otd": of_ranks("ordinate.estimators.otd:OTDClassifier"),
    "supcr": of_targets("ordinate.estimators.supcr:SupCRRegressor"),
    "supremix": of_targets("ordinate.estimators.supremix:SupReMixRegressor"),
    **{name: of_targets("ordinate.estimators.plain:EndToEndRegressor", loss=name) for name in get_args(LinearLoss)},
    "cross_entropy": of_ranks("ordinate.estimators.plain:CrossEntropyClassifier"),
    "blend": NamedModel(
        {"ranks": "ordinate.estimators.blend:BlendClassifier", "continuous": "ordinate.estimators.blend:BlendRegressor"}
    ),
}


@cache
def named_encoders() -> Mapping[str, str]:
    """Return the encoders of extensions by name, as ``"module:function"`` of a reader and an embedding dimension."""
    return {name: place for extension in extensions() for name, place in extension.encoders.items()}


GROUPS: Mapping[str, str] = {
    "training": "ordinate.training.options:Training",
    "head": "ordinate.estimators.head_options:Head",
}


@cache
def option_groups() -> Mapping[str, str]:
    """Return the groups of options by the parameters that take them, as ``"module:Class"``; without the data's."""
    return {**GROUPS, **added_option_groups()}


def added_option_groups() -> Mapping[str, str]:
    """Return the groups of options of extensions, as :func:`option_groups` does."""
    return {name: place for extension in extensions() for name, place in extension.option_groups.items()}


@cache
def models() -> Mapping[str, NamedModel]:
    """Return all models by name, the core's first."""
    found = dict(CORE)
    for extension in extensions():
        found |= extension.models
    return found


def model(name: str) -> NamedModel:
    """Return what a name stands for.

    Raises:
        OrdinateError: there is no such model; names the nearest.
    """
    if name not in models():
        hint = did_you_mean(name, models()) or f"expected one of {', '.join(models())}"
        raise OrdinateError("model", repr(name), hint=hint)
    return models()[name]


def unavailable(name: str) -> str | None:
    """Return why a model cannot be trained here, or None where it can."""
    lacking = [package for package in model(name).packages if find_spec(package) is None]
    if lacking:
        return f"{name}: needs {', '.join(package.replace('_', '-') for package in lacking)}, which is not installed"
    return None


def build(name: str, task: Task, **settings: Any) -> Any:
    """Return the unfitted estimator of a model, with settings that replace the model's own.

    Raises:
        OrdinateError: no such model, or one that is not for this task.

    Example:
        >>> build("otd", "ranks", embedding_dim=16).embedding_dim
        16
    """
    chosen = model(name)
    if task not in chosen.estimators:
        got = f"{name!r}, which is for {' or '.join(chosen.estimators)}, for labels that are {task}"
        raise OrdinateError("model", got)
    return chosen.estimator(task)().set_params(**chosen.settings).set_params(**settings)


def estimator_named(name: str) -> type[Any] | None:
    """Return the class of an estimator by its own name, as saved models have it; None where there is none."""
    for known in models().values():
        for place in known.estimators.values():
            if place.partition(":")[2] == name:
                return load_object(place)
    return None
