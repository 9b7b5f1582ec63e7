import tomllib
from importlib.resources import files

import pytest

from ordinate.errors import OrdinateError
from ordinate.estimators.recipes import read_recipe, recipe_names
from ordinate.estimators.registry import model
from ordinate.extensions import load_object
from ordinate_papers.datasets.catalogue import SETS


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_names_its_paper_set_and_method_and_builds_both_ways(name):
    for quick in (False, True):
        recipe = read_recipe(name, quick=quick)
        assert recipe.name == name
        assert recipe.dataset in SETS
        assert name.replace("ukbiobank", "uk_biobank") == f"{recipe.method}-{recipe.dataset}"
        assert "(" in recipe.title
        built = recipe.build(random_state=3)
        assert isinstance(built, next(map(load_object, model(recipe.method).estimators.values())))
        assert built.random_state == 3


def test_quick_changes_only_what_it_names():
    content = tomllib.loads(files("ordinate_papers").joinpath("recipes", "cloc-koa.toml").read_text())
    full, quick = read_recipe("cloc-koa").settings, read_recipe("cloc-koa", quick=True).settings
    changed = {name for name in full if full[name] != quick[name]}
    assert changed <= set(content["quick"])
    for group in ("images", "training"):
        changed = {name for name in full[group] if full[group][name] != quick[group][name]}
        assert changed <= set(content["quick"][group])


def test_an_unknown_recipe_is_refused_with_the_nearest():
    with pytest.raises(OrdinateError, match=r"recipe: got 'koa-cloc', expected one of .*; did you mean 'cloc-koa'"):
        read_recipe("koa-cloc")
