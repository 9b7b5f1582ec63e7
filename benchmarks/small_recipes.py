"""The small recipes with the optimizer of ``fit`` instead of the papers'; docs/measured/images.md has the figures."""

from dataclasses import replace
from typing import Any

from ordinate.estimators.recipes import Recipe, read_recipe

OF_FIT: dict[str, Any] = {"optimizer": "adamw", "schedule": "cosine", "warmup": 0.1, "weight_decay": 0.05}
OF_METHOD: dict[str, dict[str, Any]] = {
    "cloc": {"embedding_dim": 64, "reduction": "pair_mean"},
    "otd": {"by_rank": True, "monitored": "loss"},
}
LARGER: dict[str, dict[str, Any]] = {  # Tables use smaller settings, because they train many models.
    "cloc-koa": {"images": {"size": (60, 100)}},
    "otd-fingers": {"encoder": "resnet18", "epochs": 4},
    "otd-busi": {"images": {"size": 144, "mirror": True}},
}


def small_recipe(name: str, *, is_larger: bool = True) -> Recipe:
    """Return the small version of a recipe with the optimizer, CLOC's embedding and the losses of ``fit``."""
    recipe = read_recipe(name, quick=True)
    larger = LARGER.get(name, {}) if is_larger else {}
    settings = {**recipe.settings, **OF_METHOD[recipe.method], **larger}
    settings["images"] = {**recipe.settings["images"], **larger.get("images", {})}
    settings["training"] = {**recipe.settings["training"], **OF_FIT}
    return replace(recipe, settings=settings)
