"""Recipes: the settings of one of a paper's runs, one readable file each, and a small version for a CPU."""

import difflib
import tomllib
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from ordinate.errors import OrdinateError
from ordinate.estimators.registry import model
from ordinate.extensions import extensions, load_object
from ordinate.option_group import Settings

if TYPE_CHECKING:
    from ordinate.estimators.embedding_estimator import EmbeddingEstimator

KINDS = ("images", "volumes", "series", "text")


@dataclass(frozen=True)
class Recipe:
    """A training of a paper.

    Args:
        name: Name of the file, such as ``"cloc-koa"``.
        title: Description, and its place in the paper.
        dataset: Name of the data set, see ``ordinate datasets``.
        method: ``"cloc"``, ``"otd"``, ``"supcr"`` or ``"supremix"``.
        settings: Parameters of the method's estimator; ``training`` and ``head`` hold those of
            :class:`~ordinate.Training` and :class:`~ordinate.Head`, and ``images``, ``volumes``, ``series`` or ``text``
            those of the kind of data.

    Example:
        >>> recipe = Recipe("mine", "CLOC with ten epochs", "koa", "cloc", {"epochs": [5, 5]})
        >>> recipe.build(random_state=0).epochs
        (5, 5)
    """

    name: str
    title: str
    dataset: str
    method: str
    settings: Settings

    @property
    def kind(self) -> str:
        """The kind of data that it is for, as its settings tell."""
        return next((kind for kind in KINDS if kind in self.settings), "tables")

    def build(self, **others: object) -> "EmbeddingEstimator":
        """Return an unfitted estimator with the recipe's settings, and others that take their place."""
        from ordinate.estimators.params import from_plain  # This imports torch.

        kind = load_object(next(iter(model(self.method).estimators.values())))
        return kind(**from_plain(self.settings)).set_params(**from_plain(others))


def recipe_names() -> list[str]:
    """Return the names of all recipes.

    Example:
        >>> "cloc-koa" in recipe_names()
        True
    """
    return sorted(_files())


def _files() -> dict[str, Traversable]:
    folders = [extension.recipes for extension in extensions() if extension.recipes is not None]
    return {file.name.removesuffix(".toml"): file for folder in folders for file in folder.iterdir()}


def read_recipe(name: str, *, quick: bool = False) -> Recipe:
    """Return a recipe.

    Args:
        name: Name of the recipe.
        quick: Whether to use its ``[quick]`` settings, which two CPU cores train in minutes, instead of the paper's.

    Example:
        >>> read_recipe("cloc-koa").settings["encoder"], read_recipe("cloc-koa", quick=True).settings["encoder"]
        ('resnet50', 'test_resnet')
    """
    if name not in recipe_names():
        near = difflib.get_close_matches(name, recipe_names(), n=1, cutoff=0.3)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise OrdinateError("recipe", repr(name), f"one of {', '.join(map(repr, recipe_names()))}{hint}")
    content = tomllib.loads(_files()[name].read_text("utf-8"))
    settings = content["settings"]
    if quick:
        small = content["quick"]
        for group in {"training", "head", *KINDS}.intersection(settings):
            small[group] = {**settings[group], **small.get(group, {})}
        settings = {**settings, **small}
    for values in (settings, settings.get("training", {})):
        for parameter in ("embedding_dim", "patience"):
            if values.get(parameter) == "none":  # TOML has no None.
                values[parameter] = None
    return Recipe(name, content["title"], content["dataset"], content["method"], settings)
