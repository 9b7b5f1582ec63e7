"""Packages that add models, encoders, recipes, data sets and commands to the core.

A package offers an :class:`Extension` under the entry point group ``ordinate.extensions``; the core imports none by
name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources.abc import Traversable
from typing import Any, Literal

Task = Literal["ranks", "continuous"]


@dataclass(frozen=True)
class NamedModel:
    """What the name of a model stands for.

    Args:
        estimators: Estimator of each task, as ``"module:Class"``.
        settings: Settings of the estimator.
        packages: Import names of packages that it needs beyond those of ``pip install ordinate``.
        embeds: Whether it learns an embedding.

    Example:
        >>> NamedModel({"ranks": "ordinate.estimators.cloc:CLOCClassifier"}).estimator("ranks").__name__
        'CLOCClassifier'
    """

    estimators: Mapping[Task, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    embeds: bool = True

    def estimator(self, task: Task) -> type[Any]:
        """Return the class of the estimator for a task."""
        estimator: type[Any] = load_object(self.estimators[task])
        return estimator


def of_ranks(estimator: str, *packages: str, **settings: object) -> NamedModel:
    """Return a model of ranks.

    Example:
        >>> of_ranks("cheese.narrow:NarrowCLOC", margin_floor=0.25).settings
        {'margin_floor': 0.25}
    """
    return NamedModel({"ranks": estimator}, settings, packages)


def of_targets(estimator: str, *packages: str, **settings: object) -> NamedModel:
    """Return a model of continuous targets.

    Example:
        >>> of_targets("cheese.wide:WideSupCR", "scikit-image").packages
        ('scikit-image',)
    """
    return NamedModel({"continuous": estimator}, settings, packages)


@dataclass(frozen=True)
class Extension:
    """What a package adds to the core. Objects are named as ``"module:name"``, so that nothing is imported early.

    Args:
        models: Estimators by the name that commands use.
        encoders: Functions from a reader and an embedding dimension to an encoder, by the name of the encoder.
        recipes: Folder of recipe files.
        data_sets: Module that reads data sets by name.
        names_of_sets: Mapping whose keys are the names of the data sets, in a module that imports nothing heavy; with
            them a misspelt name is an error at once.
        augmentations: Functions from a size (height, width) to one that draws a view of each image (n, c, h, w), by the
            name of the augmentation.
        heads: Heads of continuous targets by the name of their loss: subclasses of
            :class:`~ordinate.heads.RegressionHead`, built from the dimensions of embeddings and targets and a bin size.
        text_readers: Readers of texts, :class:`~ordinate.data.text.reader.TextReader`, by the name of the encoder that
            they are for; ``"own"`` for networks of the user.
        option_groups: Groups of options, :class:`~ordinate.methods.balance.BalanceOptions` for ``"imbalance"``, by the
            parameter of the estimators that takes them.
        predictors: Predictors of saved models by the names of their classes.
        commands: Sequence of :class:`~ordinate.commands.catalogue.Command`.

    Example:
        >>> sorted(Extension(models={"narrow_cloc": of_ranks("cheese.narrow:NarrowCLOC")}).models)
        ['narrow_cloc']
    """

    models: Mapping[str, NamedModel] = field(default_factory=dict)
    encoders: Mapping[str, str] = field(default_factory=dict)
    recipes: Traversable | None = None
    data_sets: str | None = None
    names_of_sets: str | None = None
    augmentations: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    text_readers: Mapping[str, str] = field(default_factory=dict)
    option_groups: Mapping[str, str] = field(default_factory=dict)
    predictors: Mapping[str, str] = field(default_factory=dict)
    commands: str | None = None


@cache
def extensions() -> tuple[Extension, ...]:
    """Return the extensions of all installed packages, in the order of their names."""
    found = sorted(entry_points(group="ordinate.extensions"), key=lambda point: point.name)
    return tuple(point.load() for point in found)


def may_be_data_set(name: str) -> bool:
    """Return whether an extension has, or may have, a data set of this name."""
    with_sets = [extension for extension in extensions() if extension.data_sets is not None]
    return any(each.names_of_sets is None or name in load_object(each.names_of_sets) for each in with_sets)


def added_heads() -> Mapping[str, str]:
    """Return the heads of extensions by the name of their loss."""
    return {name: place for extension in extensions() for name, place in extension.heads.items()}


def added_augmentations() -> Mapping[str, str]:
    """Return the augmentations of extensions by name."""
    return {name: place for extension in extensions() for name, place in extension.augmentations.items()}


def load_object(place: str) -> Any:
    """Return an object by its ``"module:name"``, or a module by its name."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)
