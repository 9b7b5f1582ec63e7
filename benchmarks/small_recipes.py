"""The small recipes by the optimizer of ``fit`` in the place of the papers': what docs/measured.md has figures of."""

from dataclasses import replace
from typing import Any

from ordinate.estimators.recipes import Recipe, read_recipe

OF_FIT: dict[str, Any] = {"optimizer": "adamw", "schedule": "cosine", "warmup": 0.1, "weight_decay": 0.05}
OF_CLOC: dict[str, Any] = {"embedding_dim": 64, "reduction": "pair_mean"}


def small_recipe(name: str) -> Recipe:
    """Return the small version of a recipe with the optimizer, and CLOC with the embedding and the loss, of ``fit``."""
    recipe = read_recipe(name, quick=True)
    others = OF_FIT | OF_CLOC if recipe.method == "cloc" else OF_FIT
    return replace(recipe, settings={**recipe.settings, **others})
